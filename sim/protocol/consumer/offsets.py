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
from groupsim.sim.protocol.messages import Error, OffsetCommit, OffsetFetch, Positions


class Offsets:
    """Who may commit and fetch offsets of one group.

    Parameters
    ----------
    core : GroupCore
    """

    def __init__(self, core: GroupCore) -> None:
        self._core = core

    def check_commit(self, request: OffsetCommit) -> Error:
        """``generation`` is a member epoch; one partition that fails makes the whole commit fail."""
        roster, epoch = self._core.roster, request.generation
        if epoch < 0 and not len(roster):
            return Error.NONE
        if not roster.exists:
            return Error.GROUP_ID_NOT_FOUND
        member = roster.members.get(request.member_id)
        if member is None:
            return Error.UNKNOWN_MEMBER_ID
        if epoch == member.epoch:
            return Error.NONE
        stale = Error.ILLEGAL_GENERATION if member.metadata.classic is not None else Error.STALE_MEMBER_EPOCH
        if epoch > member.epoch or not self._core.rules.accepts_older_epochs:
            return stale
        return Error.NONE if _held_since(member, request.positions, epoch) else stale

    def check_fetch(self, request: OffsetFetch) -> Error:
        """Only what the log has counts, and only the very epoch; without a member id, anybody may fetch."""
        if request.member_id is None and request.member_epoch < 0:
            return Error.NONE
        current = self._committed(request.member_id or "")
        if current is None:
            return Error.UNKNOWN_MEMBER_ID
        return Error.NONE if current.member_epoch == request.member_epoch else Error.STALE_MEMBER_EPOCH

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


def _held_since(member: Member, positions: Positions, epoch: int) -> bool:
    """Whether the member has had each of these, assigned or pending revocation, since ``epoch`` at least (KIP-1251)."""
    current = member.current
    held = np.concatenate([current.assigned, current.pending])
    since = np.concatenate([current.assigned_epochs, current.pending_epochs])
    return bool(np.isin(positions, held[since <= epoch]).all())
