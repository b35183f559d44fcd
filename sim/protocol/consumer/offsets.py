"""Commits and fetches of offsets, as far as membership decides on them.

Source: ``ConsumerGroup.validateOffsetCommit``, ``validateOffsetFetch`` (Kafka 4.4).
"""

from __future__ import annotations

import numpy as np

from groupsim.sim.protocol.consumer.core import GroupCore
from groupsim.sim.protocol.consumer.records import (
    ConsumerGroupCurrentMemberAssignment,
    ConsumerGroupMemberMetadata,
    CurrentAssignment,
)
from groupsim.sim.protocol.consumer.roster import Member
from groupsim.sim.protocol.messages import Error, OffsetCommit, OffsetFetch, Positions, TxnOffsetCommit, within


class Offsets:
    """Who may commit and fetch offsets of one group.

    Parameters
    ----------
    core : GroupCore
    """

    def __init__(self, core: GroupCore) -> None:
        self._core = core

    def check_commit(self, request: OffsetCommit | TxnOffsetCommit) -> Error:
        """``generation`` is a member epoch; one partition that fails makes the whole commit fail.

        A transaction that says nothing about membership is nobody's. What older requests cannot be told is
        ILLEGAL_GENERATION to them (``OffsetMetadataManager.validateOffsetCommit``,
        ``validateTransactionalOffsetCommit``).
        """
        if isinstance(request, TxnOffsetCommit) and request.is_anonymous:
            return Error.NONE
        error = self._check(request)
        is_stale = error in (Error.STALE_MEMBER_EPOCH, Error.GROUP_ID_NOT_FOUND)
        return Error.ILLEGAL_GENERATION if is_stale and not request.knows_stale_epoch else error

    def _check(self, request: OffsetCommit | TxnOffsetCommit) -> Error:
        roster, epoch = self._core.roster, request.generation
        if epoch < 0 and not len(roster):
            return Error.NONE
        if not roster.exists:
            return Error.GROUP_ID_NOT_FOUND
        member = roster.members.get(request.member_id)
        if member is None:
            return Error.UNKNOWN_MEMBER_ID
        if isinstance(request, OffsetCommit) and not request.knows_stale_epoch and member.metadata.classic is None:
            return Error.UNSUPPORTED_VERSION
        if epoch == member.epoch:
            return Error.NONE
        stale = _stale(member)
        if epoch > member.epoch or not self._core.rules.accepts_older_epochs:
            return stale
        return Error.NONE if _held_since(member, request.positions, epoch) else stale

    def check_fetch(self, request: OffsetFetch) -> Error:
        """Only what the log has counts, and only the very epoch; without a member id, anybody may fetch."""
        if request.member_id is None and request.member_epoch < 0:
            return Error.NONE
        member_id = request.member_id or ""
        current = self._committed(member_id)
        if current is None:
            return Error.UNKNOWN_MEMBER_ID
        if current.member_epoch == request.member_epoch:
            return Error.NONE
        member = self._core.roster.members.get(member_id)
        return Error.STALE_MEMBER_EPOCH if member is None else _stale(member)

    def _committed(self, member_id: str) -> CurrentAssignment | None:
        """A member's current assignment as of the last batch that the log has; None if it was no member then."""
        for _, undo in sorted(self._core.journal.uncommitted.items()):
            for inverse in undo.inverses:
                if getattr(inverse, "member_id", None) != member_id:
                    continue
                if isinstance(inverse, ConsumerGroupMemberMetadata) and inverse.value is None:
                    return None
                if isinstance(inverse, ConsumerGroupCurrentMemberAssignment):
                    return inverse.value
        member = self._core.roster.members.get(member_id)
        return None if member is None else member.current


def _stale(member: Member) -> Error:
    """What a member is told whose epoch is not what it was, in the words of the protocol that it uses."""
    return Error.ILLEGAL_GENERATION if member.metadata.classic is not None else Error.STALE_MEMBER_EPOCH


def _held_since(member: Member, positions: Positions, epoch: int) -> bool:
    """Whether the member has had each of these, assigned or pending revocation, since ``epoch`` at least (KIP-1251)."""
    current = member.current
    held = np.concatenate([current.assigned, current.pending])
    since = np.concatenate([current.assigned_epochs, current.pending_epochs])
    return bool(within(positions, held[since <= epoch]).all())
