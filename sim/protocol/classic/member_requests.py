"""What members ask of a classic group once they have joined: SyncGroup, Heartbeat and OffsetCommit.

Source: ``GroupMetadataManager`` (below: ``GMM``), ``OffsetMetadataManager`` and ``ClassicGroup``, Kafka 4.4.
"""

from __future__ import annotations

from groupsim.sim.protocol.classic.rebalance import COMPLETING, DEAD, EMPTY, PREPARING, STABLE, Rebalance
from groupsim.sim.protocol.classic.records import LeaderSync
from groupsim.sim.protocol.interface import Batch, Outcome, Reply, Waiter
from groupsim.sim.protocol.messages import (
    Acknowledgement,
    Error,
    Heartbeat,
    OffsetCommit,
    SyncGroup,
    SyncResponse,
    TxnOffsetCommit,
)
from groupsim.sim.protocol.offsets.records import accept
from groupsim.sim.units import FOREVER


class MemberRequests:
    """Works on what current members ask.

    Parameters
    ----------
    rebalance : Rebalance
        Of the group.
    """

    def __init__(self, rebalance: Rebalance) -> None:
        self._rebalance = rebalance

    def sync(self, now: int, request: SyncGroup, waiter: Waiter) -> None:
        """``GMM.classicGroupSyncToClassicGroup``: the leader's is answered when its assignment is in the log."""
        rebalance = self._rebalance
        error = Error.UNKNOWN_MEMBER_ID
        if rebalance.state is not EMPTY:
            error = self._validate(request.member_id, request.instance_id, request.generation)
        if error is Error.NONE and self._is_inconsistent(request):
            error = Error.INCONSISTENT_GROUP_PROTOCOL
        if error is Error.NONE and self._rebalance.state is PREPARING:
            error = Error.REBALANCE_IN_PROGRESS
        if error is not Error.NONE:
            rebalance.reply(waiter, SyncResponse(error))
            return
        member = self._rebalance.roster.get(request.member_id)
        assert member is not None
        rebalance.pending_sync.pop(member.member_id, None)
        if not rebalance.pending_sync:
            rebalance.timers.sync_due = FOREVER
        if self._rebalance.is_old:
            rebalance.timers.renew(now, member)
        if self._rebalance.state is STABLE:
            rebalance.reply(waiter, rebalance.sync_response(member))
            return
        member.sync_waiter = waiter
        if member.member_id == self._rebalance.roster.leader:
            given = LeaderSync(rebalance.generation, request.assignments or {}, request.with_user_data)
            rebalance.append(rebalance.summary(given), given)

    def _is_inconsistent(self, request: SyncGroup) -> bool:
        """``isProtocolInconsistent``: what one of the two does not know is consistent."""
        return _contradict(request.protocol, self._rebalance.protocol) or _contradict(
            request.protocol_type, self._rebalance.roster.protocol_type
        )

    def _validate(self, member_id: str, instance_id: str | None, generation: int) -> Error:
        if self._rebalance.state is DEAD:
            return Error.COORDINATOR_NOT_AVAILABLE
        error = self._rebalance.roster.validate(member_id, instance_id)
        if error is Error.NONE and generation != self._rebalance.generation:
            return Error.ILLEGAL_GENERATION
        return error

    def _renew(self, now: int, member_id: str) -> None:
        member = self._rebalance.roster.get(member_id)
        assert member is not None
        self._rebalance.timers.renew(now, member)

    def heartbeat(self, now: int, request: Heartbeat) -> Error:
        """``GMM.classicGroupHeartbeatToClassicGroup``; renews the session whatever it answers to a valid member."""
        if self._rebalance.is_old and self._rebalance.state in (PREPARING, COMPLETING):
            return Error.REBALANCE_IN_PROGRESS
        error = self._validate(request.member_id, request.instance_id, request.generation)
        if error is not Error.NONE or self._rebalance.state is EMPTY:
            return error if error is not Error.NONE else Error.UNKNOWN_MEMBER_ID
        self._renew(now, request.member_id)
        return Error.REBALANCE_IN_PROGRESS if self._rebalance.state is PREPARING else Error.NONE

    def commit(self, now: int, request: OffsetCommit | TxnOffsetCommit, waiter: Waiter) -> Outcome:
        """What is accepted is answered when it is in the log (``OffsetMetadataManager.commitOffset``)."""
        if isinstance(request, TxnOffsetCommit):
            error = self._validate_transactional(now, request)
        else:
            error = self._validate_commit(now, request)
        if error is not Error.NONE:
            return Outcome([Reply(waiter, Acknowledgement(error))])
        records, response = accept(now, request, self._rebalance.config)
        reply = Reply(waiter, response)
        if records is None:
            return Outcome([reply])
        return Outcome(batch=Batch(self._rebalance.next_batch(), (records,), [reply]))

    def _admit_anybody(self, now: int, generation: int, *, tells_missing: bool) -> Error:
        """Of a group that there is not, only nobody in particular commits offsets, and makes it (a *simple* group)."""
        if not self._rebalance.is_unknown:
            return Error.NONE
        if generation >= 0:
            return Error.GROUP_ID_NOT_FOUND if tells_missing else Error.ILLEGAL_GENERATION
        self._rebalance.create(now)
        return Error.NONE

    def _validate_transactional(self, now: int, request: TxnOffsetCommit) -> Error:
        """``ClassicGroup.validateOffsetCommit`` of a transaction: in every state, and worth no heartbeat."""
        error = self._admit_anybody(now, request.generation, tells_missing=request.knows_stale_epoch)
        if error is not Error.NONE or (request.is_anonymous and self._rebalance.state is not DEAD):
            return error
        if self._rebalance.state is EMPTY and request.generation < 0:
            return Error.NONE
        return self._validate(request.member_id, request.instance_id, request.generation)

    def _validate_commit(self, now: int, request: OffsetCommit) -> Error:
        """``ClassicGroup.validateOffsetCommit``: a commit is worth a heartbeat, and is refused while completing.

        Without a generation it comes from nobody in particular and needs a group without members; that may be new
        (``OffsetMetadataManager.validateOffsetCommit``).
        """
        error = self._admit_anybody(now, request.generation, tells_missing=request.knows_stale_epoch)
        if error is not Error.NONE:
            return error
        if self._rebalance.state is EMPTY and request.generation < 0:
            return Error.NONE
        if self._rebalance.is_old and self._rebalance.state is COMPLETING:
            return Error.REBALANCE_IN_PROGRESS
        error = self._validate(request.member_id, request.instance_id, request.generation)
        if error is not Error.NONE:
            return error
        if self._rebalance.state is COMPLETING:
            return Error.REBALANCE_IN_PROGRESS
        if not self._rebalance.is_old:
            self._renew(now, request.member_id)
        return Error.NONE


def _contradict(theirs: str | None, ours: str | None) -> bool:
    return theirs != ours and theirs is not None and ours is not None
