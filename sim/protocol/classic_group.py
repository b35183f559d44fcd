"""The coordinator's side of one classic consumer group.

The machine behind ``GroupMetadataManager``'s ``classicGroup*`` methods (Kafka 4.4), as prose:

A rebalance has two barriers. In *PreparingRebalance* JoinGroups are parked until everybody has rejoined, or until the
join timer drops whoever did not. Then the generation is bumped, an assignor is voted for, everybody is answered, and in
*CompletingRebalance* SyncGroups are parked until the leader's assignment is appended to the log. That append is the
transition to *Stable*.

Nothing is pushed. Members learn of a rebalance from the REBALANCE_IN_PROGRESS that answers their next heartbeat.

Timers, all exact and all keyed (arming replaces):

* join: in a group that was Empty the initial-rebalance delay, in windows that are extended while new members arrive, in
  all bounded by the first joiner's rebalance timeout; otherwise the largest rebalance timeout at the moment of arming.
* sync: the same length, from the end of the join phase; drops who never synced.
* session, one per member: armed by join completion, heartbeats, commits and the sync answer, never by JoinGroup or
  SyncGroup themselves. It does nothing to a member that is parked. A new member has five minutes instead, and those count
  even while it is parked. A pending id has one session timeout.

The 0.9 coordinator (``GroupCoordinator``, 0.9.0.1) is the same machine with a few switches (`CoordinatorConfig.version`):
a new group is "Stable", the second barrier is called "AwaitingSync" and has no timer, there is no initial delay, no member
id is asked for, SyncGroup renews the session and commits do not, heartbeats are refused outside Stable whoever sends them,
and a group without members is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sim.config import CoordinatorConfig
from sim.errors import ProtocolMisuse
from sim.protocol.deadlines import Deadlines
from sim.protocol.messages import (
    NO_PARTITIONS,
    Acknowledgement,
    Error,
    GroupState,
    Heartbeat,
    JoinGroup,
    JoinResponse,
    LeaveGroup,
    OffsetCommit,
    Positions,
    SyncGroup,
    SyncResponse,
)
from sim.protocol.roster import Member, Roster, Waiter
from sim.units import FOREVER

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = (
    GroupState.EMPTY,
    GroupState.PREPARING_REBALANCE,
    GroupState.COMPLETING_REBALANCE,
    GroupState.STABLE,
    GroupState.DEAD,
)

_FROM = {
    EMPTY: (PREPARING,),
    PREPARING: (EMPTY, STABLE, COMPLETING),
    COMPLETING: (PREPARING,),
    STABLE: (COMPLETING,),
    DEAD: (EMPTY, PREPARING, COMPLETING, STABLE),
}
"""Valid previous states (``ClassicGroupState.validPreviousStates``)."""


@dataclass(slots=True, eq=False)
class Reply:
    """An answer to a request that came in now or was parked earlier."""

    waiter: Waiter
    response: JoinResponse | SyncResponse | Acknowledgement


@dataclass(slots=True, eq=False)
class Fact:
    """Something that happened in the group, for whoever keeps the records.

    ``what`` is one of: transition, window (the initial delay was extended), generation, pending, joined, left, expired,
    kicked, unsynced, fenced.
    """

    what: str
    member_id: str = ""
    name: str = ""
    state: GroupState = EMPTY
    generation: int = 0
    reason: str = ""


Replies = list[Reply]


class ClassicGroup:
    """One group: ``on_<request>(now, request, waiter)`` gives replies, `deadline` can be read, `on_deadline` obeys it.

    Parameters
    ----------
    group_id : str
    config : CoordinatorConfig
    append_us : int, microseconds
        From handing a record to the log until the high watermark has passed it.
    """

    def __init__(self, group_id: str, config: CoordinatorConfig, append_us: int) -> None:
        self.group_id = group_id
        self.config = config
        self.append_us = append_us
        self.is_old = config.version == "0.9"
        self.state = EMPTY
        self.previous_state = DEAD
        self.generation = 0
        self.protocol: str | None = None
        self.roster = Roster()
        self.facts: list[Fact] = []
        self._sessions = Deadlines()
        self._pending_sync: dict[str, None] = {}
        self._new_member_added = False
        self._join_due = FOREVER
        self._join_window: tuple[int, int] | None = None
        self._sync_due = FOREVER
        self._appends: list[tuple[int, Callable[[int], Replies]]] = []

    # --- JoinGroup ----------------------------------------------------------------------------------------------------

    def on_join(self, now: int, request: JoinGroup, waiter: Waiter) -> Replies:
        """``GMM.classicGroupJoinToClassicGroup``: admit, refuse, or park until the join phase is over."""
        config = self.config
        if not config.min_session_timeout_us <= request.session_timeout_us <= config.max_session_timeout_us:
            return [Reply(waiter, JoinResponse(Error.INVALID_SESSION_TIMEOUT, member_id=request.member_id))]
        if self.state is DEAD:
            return [Reply(waiter, JoinResponse(Error.COORDINATOR_NOT_AVAILABLE))]
        if not self._has_room(request.member_id):
            self._turn_away(request.member_id)
            return [Reply(waiter, JoinResponse(Error.GROUP_MAX_SIZE_REACHED))]
        if not request.member_id:
            return self._join_without_id(now, request, waiter)
        return self._join_with_id(now, request, waiter)

    def _has_room(self, member_id: str) -> bool:
        """``GMM.acceptJoiningMember``: pending ids do not count; while preparing, the last to rejoin are too many."""
        limit = self.config.max_size
        if self.state is EMPTY:
            return True
        member = self.roster.get(member_id)
        if self.state is PREPARING:
            return (member is not None and member.join_waiter is not None) or self.roster.awaiting_join < limit
        return member is not None or len(self.roster) < limit

    def _turn_away(self, member_id: str) -> None:
        """Forget who is too many (``ClassicGroup.remove``); the join phase is not completed on its account."""
        if (name := self._forget_pending(member_id)) is not None:
            self.facts.append(Fact("kicked", member_id, name, reason="pending"))
        elif (member := self.roster.get(member_id)) is not None:
            self._remove(member)
            self.facts.append(Fact("kicked", member_id, member.name, reason="group is full"))

    def _forget_pending(self, member_id: str) -> str | None:
        """Take a handed-out id back; the name of who it was for, None if it is not pending."""
        name = self.roster.pending.pop(member_id, None)
        if name is not None:
            self._sessions.cancel(member_id)
        return name

    def _join_without_id(self, now: int, request: JoinGroup, waiter: Waiter) -> Replies:
        if not self.roster.supports(request.protocols):
            return [Reply(waiter, JoinResponse(Error.INCONSISTENT_GROUP_PROTOCOL))]
        fresh = request.fresh_id
        if request.instance_id is not None:
            known = self.roster.static.get(request.instance_id)
            if known is not None:
                return self._replace_static(now, known, request, waiter)
            return self._add(now, request, fresh, waiter)
        if request.knows_member_id_required and not self.is_old:
            self.roster.pending[fresh] = request.name
            self._sessions.arm(fresh, now + request.session_timeout_us)
            self.facts.append(Fact("pending", fresh, request.name))
            return [Reply(waiter, JoinResponse(Error.MEMBER_ID_REQUIRED, member_id=fresh))]
        return self._add(now, request, fresh, waiter)

    def _join_with_id(self, now: int, request: JoinGroup, waiter: Waiter) -> Replies:
        member_id = request.member_id
        if not self.roster.supports(request.protocols):
            return [Reply(waiter, JoinResponse(Error.INCONSISTENT_GROUP_PROTOCOL, member_id=member_id))]
        if member_id in self.roster.pending:
            return self._add(now, request, member_id, waiter)
        error = self.roster.validate(member_id, request.instance_id)
        if error is not Error.NONE or self.state is EMPTY:
            code = error if error is not Error.NONE else Error.UNKNOWN_MEMBER_ID
            return [Reply(waiter, JoinResponse(code, member_id=member_id))]
        member = self.roster.get(member_id)
        assert member is not None
        if self.state is PREPARING:
            return self._update(now, member, request, waiter, "")
        unchanged = member.same_protocols(request.protocols)
        if unchanged and (self.state is COMPLETING or self.roster.leader != member_id):
            return [Reply(waiter, self._join_response(member))]
        if self.state is STABLE and self.roster.leader == member_id:
            return self._update(now, member, request, waiter, f"Leader {request.name} re-joining group during Stable")
        return self._update(now, member, request, waiter, f"Updating metadata for member {request.name}")

    def _add(self, now: int, request: JoinGroup, member_id: str, waiter: Waiter) -> Replies:
        """``GMM.addMemberThenRebalanceOrCompleteJoin``."""
        if self.state is PREPARING and self.previous_state is EMPTY:
            self._new_member_added = True
        self.roster.add(request, member_id, waiter)
        if self.is_old:
            self._sessions.cancel(member_id)
        else:
            self._sessions.arm(member_id, now + self.config.new_member_join_timeout_us)
        self.facts.append(Fact("joined", member_id, request.name))
        return self._prepare_or_complete(now, f"Adding new member {request.name}; {request.reason}".rstrip("; "))

    def _update(self, now: int, member: Member, request: JoinGroup, waiter: Waiter, reason: str) -> Replies:
        """``GMM.updateMemberThenRebalanceOrCompleteJoin``: the session timer is not touched."""
        self.roster.update(member, request)
        self.roster.park_join(member, waiter)
        return self._prepare_or_complete(now, f"{reason}; {request.reason}".strip("; "))

    def _prepare_or_complete(self, now: int, reason: str) -> Replies:
        if self.state is not PREPARING:
            return self._prepare(now, reason)
        if self.previous_state is not EMPTY and self.roster.all_joined:
            return self._complete_join(now)
        return []

    def _join_response(self, member: Member) -> JoinResponse:
        """The current generation, with everybody's subscription if ``member`` leads."""
        leads = member.member_id == self.roster.leader
        members = ()
        if leads and self.protocol is not None:
            members = tuple((one.member_id, one.instance_id, dict(one.protocols)[self.protocol]) for one in self.roster)
        return JoinResponse(
            Error.NONE,
            generation=self.generation,
            protocol=self.protocol,
            leader=self.roster.leader or "",
            member_id=member.member_id,
            members=members,
        )

    # --- static members -----------------------------------------------------------------------------------------------

    def _replace_static(self, now: int, old_id: str, request: JoinGroup, waiter: Waiter) -> Replies:
        """``GMM.updateStaticMemberThenRebalanceOrCompleteJoin``: the instance comes back under a new member id.

        Only the selected protocol's *name* decides whether that is a rebalance (KIP-345, KIP-814).
        """
        old = self.roster.get(old_id)
        assert old is not None
        replies: Replies = []
        if (parked := self.roster.release_join(old)) is not None:
            replies.append(Reply(parked, JoinResponse(Error.FENCED_INSTANCE_ID, member_id=old_id)))
        if old.sync_waiter is not None:
            replies.append(Reply(old.sync_waiter, SyncResponse(Error.FENCED_INSTANCE_ID)))
        new = self.roster.replace_static(old, request.fresh_id)
        self._sessions.cancel(old_id)
        self._sessions.arm(new.member_id, now + old.session_timeout_us)
        self.roster.update(new, request)
        self.roster.park_join(new, waiter)
        self.facts.append(Fact("fenced", old_id, old.name, reason=new.member_id))
        self.facts.append(Fact("joined", new.member_id, request.name))
        if self.state is STABLE and self.roster.select_protocol() == self.protocol:
            self._append(now, lambda _: self._stored(new, old_id))
            return replies + self._due_append(now)
        if self.state is STABLE:
            reason = f"Group's selectedProtocol will change because static member {request.name} joined"
        else:
            reason = f"Static member {request.name} joined during {self.state.value}"
        return replies + self._prepare_or_complete(now, reason)

    def _stored(self, new: Member, old_id: str) -> Replies:
        """The replacement is in the log; whoever was answered otherwise meanwhile is not answered again."""
        waiter = self.roster.release_join(new)
        return [Reply(waiter, self._replacement_response(new, old_id))] if waiter is not None else []

    def _replacement_response(self, new: Member, old_id: str) -> JoinResponse:
        response = self._join_response(new)
        if response.leader == new.member_id:
            if new.knows_skip_assignment:
                response.skip_assignment = True
            else:
                response.leader = old_id
                response.members = ()
        return response

    # --- the rebalance ------------------------------------------------------------------------------------------------

    def _prepare(self, now: int, reason: str) -> Replies:
        """``GMM.prepareRebalance``."""
        replies: Replies = []
        if self.state is COMPLETING:
            for member in self.roster:
                member.assignment = NO_PARTITIONS
                replies += self._answer_sync(now, member, Error.REBALANCE_IN_PROGRESS)
        self._pending_sync.clear()
        self._sync_due = FOREVER
        initial = self.state is EMPTY and not self.is_old
        self._enter(PREPARING, reason)
        if initial:
            delay = self.config.initial_rebalance_delay_us
            self._open_window(now, delay, max(self.roster.rebalance_timeout_us - delay, 0))
            return replies
        if self.roster.all_joined:
            return replies + self._complete_join(now)
        self._join_due = now + self.roster.rebalance_timeout_us
        return replies

    def _open_window(self, now: int, delay: int, remaining: int) -> None:
        self._join_due = now + delay
        self._join_window = (delay, remaining)

    def _end_window(self, now: int) -> Replies:
        """``GMM.tryCompleteInitialRebalanceElseSchedule``: one arrival anywhere in a window buys one more window."""
        assert self._join_window is not None
        delay, remaining = self._join_window
        if self._new_member_added and remaining:
            self._new_member_added = False
            self._open_window(now, min(self.config.initial_rebalance_delay_us, remaining), max(remaining - delay, 0))
            self.facts.append(Fact("window"))
            return []
        return self._complete_join(now)

    def _complete_join(self, now: int) -> Replies:
        """``GMM.completeClassicGroupJoin``: absent dynamic members are out, absent static ones stay."""
        self._join_due, self._join_window = FOREVER, None
        for absent in [one for one in self.roster if one.join_waiter is None and not one.is_static]:
            self.roster.remove(absent.member_id)
            self._sessions.cancel(absent.member_id)
            self.facts.append(Fact("kicked", absent.member_id, absent.name))
        if len(self.roster) and not self.roster.elect_joined_leader():
            self._join_due = now + self.roster.rebalance_timeout_us
            return []
        if self.is_old and not len(self.roster):
            self._vanish()
            return []
        self.generation += 1
        self._pending_sync.clear()
        if not len(self.roster):
            self.protocol = None
            self._enter(EMPTY, "")
            return []
        self.protocol = self.roster.select_protocol()
        self._enter(COMPLETING, "")
        return self._answer_joins(now)

    def _answer_joins(self, now: int) -> Replies:
        replies: Replies = []
        for member in self.roster:
            waiter = self.roster.release_join(member)
            if waiter is not None:
                replies.append(Reply(waiter, self._join_response(member)))
            self._sessions.arm(member.member_id, now + member.session_timeout_us)
            member.is_new = False
            self._pending_sync[member.member_id] = None
        if not self.is_old:
            self._sync_due = now + self.roster.rebalance_timeout_us
        return replies

    def _vanish(self) -> None:
        """0.9: a group that is empty is removed; whoever joins next starts at generation 0."""
        self._enter(EMPTY, "")
        self.generation, self.protocol = 0, None
        self._appends.clear()

    def _enter(self, state: GroupState, reason: str) -> None:
        if self.state not in _FROM[state]:
            raise ProtocolMisuse(f"group {self.group_id}: {self.state.value} -> {state.value}")
        self.previous_state, self.state = self.state, state
        self.facts.append(Fact("transition", state=state, generation=self.generation, reason=reason))

    # --- SyncGroup ----------------------------------------------------------------------------------------------------

    def on_sync(self, now: int, request: SyncGroup, waiter: Waiter) -> Replies:
        """``GMM.classicGroupSyncToClassicGroup``."""
        error = self._validate(request.member_id, request.instance_id, request.generation)
        if error is Error.NONE and request.protocol is not None and request.protocol != self.protocol:
            error = Error.INCONSISTENT_GROUP_PROTOCOL
        if error is Error.NONE and self.state is PREPARING:
            error = Error.REBALANCE_IN_PROGRESS
        if error is not Error.NONE:
            return [Reply(waiter, SyncResponse(error))]
        member = self.roster.get(request.member_id)
        assert member is not None
        self._pending_sync.pop(member.member_id, None)
        if not self._pending_sync:
            self._sync_due = FOREVER
        if self.is_old:
            self._renew(now, member.member_id)
        if self.state is STABLE:
            return [Reply(waiter, SyncResponse(Error.NONE, member.assignment))]
        member.sync_waiter = waiter
        if member.member_id == self.roster.leader:
            generation, assignments = self.generation, request.assignments or {}
            self._append(now, lambda at: self._assigned(at, generation, assignments))
        return self._due_append(now)

    def _assigned(self, now: int, generation: int, assignments: dict[str, Positions]) -> Replies:
        """The append is committed: Stable, unless the group has moved on meanwhile."""
        if self.state is not COMPLETING or generation != self.generation:
            return []
        replies: Replies = []
        for member in self.roster:
            member.assignment = assignments.get(member.member_id, NO_PARTITIONS)
            replies += self._answer_sync(now, member, Error.NONE)
        self._enter(STABLE, "")
        return replies

    def _answer_sync(self, now: int, member: Member, error: Error) -> Replies:
        """Answer a parked SyncGroup, which re-arms the session (``GMM.propagateAssignment``, ``resetAndPropagate...``)."""
        waiter, member.sync_waiter = member.sync_waiter, None
        if waiter is None:
            return []
        self._sessions.arm(member.member_id, now + member.session_timeout_us)
        return [Reply(waiter, SyncResponse(error, member.assignment))]

    def _append(self, now: int, appended: Callable[[int], Replies]) -> None:
        self._appends.append((now + self.append_us, appended))

    def _due_append(self, now: int) -> Replies:
        replies: Replies = []
        while self._appends and self._appends[0][0] <= now:
            replies += self._appends.pop(0)[1](now)
        return replies

    # --- Heartbeat, LeaveGroup, OffsetCommit --------------------------------------------------------------------------

    def _validate(self, member_id: str, instance_id: str | None, generation: int) -> Error:
        if self.state is DEAD:
            return Error.COORDINATOR_NOT_AVAILABLE
        if self.state is EMPTY:
            return Error.UNKNOWN_MEMBER_ID
        error = self.roster.validate(member_id, instance_id)
        if error is Error.NONE and generation != self.generation:
            return Error.ILLEGAL_GENERATION
        return error

    def on_heartbeat(self, now: int, request: Heartbeat) -> Error:
        """``GMM.classicGroupHeartbeatToClassicGroup``; renews the session whatever it answers to a valid member."""
        if self.is_old and self.state in (PREPARING, COMPLETING):
            return Error.REBALANCE_IN_PROGRESS
        error = self._validate(request.member_id, request.instance_id, request.generation)
        if error is not Error.NONE:
            return error
        self._renew(now, request.member_id)
        return Error.REBALANCE_IN_PROGRESS if self.state is PREPARING else Error.NONE

    def on_commit(self, now: int, request: OffsetCommit) -> Error:
        """``ClassicGroup.validateOffsetCommit``: a commit is worth a heartbeat, and is refused while completing.

        Without a generation it comes from nobody in particular and needs a group without members.
        """
        if self.state is EMPTY and request.generation < 0:
            return Error.NONE
        if self.is_old and self.state is COMPLETING:
            return Error.REBALANCE_IN_PROGRESS
        error = self._validate(request.member_id, request.instance_id, request.generation)
        if error is not Error.NONE:
            return error
        if self.state is COMPLETING:
            return Error.REBALANCE_IN_PROGRESS
        if not self.is_old:
            self._renew(now, request.member_id)
        return Error.NONE

    def on_leave(self, now: int, request: LeaveGroup) -> tuple[Error, Replies]:
        """``GMM.classicGroupLeaveToClassicGroup``: leaving as a pending id is a success too, and rebalances."""
        if self.state is DEAD:
            return Error.COORDINATOR_NOT_AVAILABLE, []
        replies: Replies = []
        name = self._forget_pending(request.member_id)
        if name is None:
            error = self.roster.validate(request.member_id, request.instance_id)
            member = self.roster.get(request.member_id)
            if error is not Error.NONE or member is None:
                return error, []
            name = member.name
            replies = self._remove(member)
        self.facts.append(Fact("left", request.member_id, name, reason=request.reason))
        return Error.NONE, replies + self._after_removal(now, f"explicit LeaveGroup; {request.reason}", timed=False)

    def _remove(self, member: Member) -> Replies:
        """Take a member out; a parked JoinGroup is answered, a parked SyncGroup never is."""
        waiter = self.roster.release_join(member)
        self.roster.remove(member.member_id)
        self._sessions.cancel(member.member_id)
        self._pending_sync.pop(member.member_id, None)
        return [Reply(waiter, JoinResponse(Error.UNKNOWN_MEMBER_ID))] if waiter is not None else []

    def _after_removal(self, now: int, reason: str, *, timed: bool) -> Replies:
        """What a leave, or a removal by timer, does to the rebalance (``removeMemberAndUpdateClassicGroup``).

        In an initial rebalance only a removal by *timer* completes early.
        """
        if self.state in (STABLE, COMPLETING):
            return self._prepare(now, reason)
        early = timed or self.previous_state is not EMPTY
        if self.state is PREPARING and early and self.roster.all_joined:
            return self._complete_join(now)
        return []

    # --- sessions and time --------------------------------------------------------------------------------------------

    def _renew(self, now: int, member_id: str) -> None:
        member = self.roster.get(member_id)
        assert member is not None
        self._sessions.arm(member_id, now + member.session_timeout_us)

    def session_due(self, member_id: str) -> int:
        """When the session of ``member_id`` expires, microseconds; `FOREVER` while it has no timer."""
        return self._sessions.due(member_id)

    def suspend(self, member_id: str) -> None:
        """Take the session timer away from a member that is known to renew in time."""
        self._sessions.cancel(member_id)

    def resume(self, member_id: str, renewed_us: int) -> None:
        """Give the timer back, counting from the member's last renewal."""
        self._renew(renewed_us, member_id)

    @property
    def deadline(self) -> int:
        """The only thing the shell must watch, microseconds."""
        append_due = self._appends[0][0] if self._appends else FOREVER
        return min(self._join_due, self._sync_due, append_due, self._sessions.earliest)

    def on_deadline(self, now: int) -> Replies:
        """Everything that is due: the log first, then the barriers, then sessions (by member id)."""
        replies = self._due_append(now)
        if self._join_due <= now:
            replies += self._end_window(now) if self._join_window is not None else self._complete_join(now)
        if self._sync_due <= now:
            replies += self._expire_sync(now)
        while (member_id := self._sessions.pop(now)) is not None:
            replies += self._expire_session(now, member_id)
        return replies

    def _expire_sync(self, now: int) -> Replies:
        """``GMM.expirePendingSync`` (KAFKA-12890): whoever never synced is out, also in Stable.

        The id of a static member that was replaced before it synced is still waited for, and rebalances the group.
        """
        self._sync_due = FOREVER
        late = list(self._pending_sync)
        replies: Replies = []
        for member in filter(None, map(self.roster.get, late)):
            replies += self._remove(member)
            self.facts.append(Fact("unsynced", member.member_id, member.name))
        return replies + self._prepare(now, f"Removing {late} on pending sync request expiration")

    def _expire_session(self, now: int, member_id: str) -> Replies:
        """``GMM.expireClassicGroupMemberHeartbeat``; parked members are exempt unless they are new."""
        name = self._forget_pending(member_id)
        if name is not None:
            self.facts.append(Fact("expired", member_id, name, reason="pending"))
            return self._complete_join(now) if self.state is PREPARING and self.roster.all_joined else []
        member = self.roster.get(member_id)
        if member is None:
            return []
        parked = member.join_waiter is not None or member.sync_waiter is not None
        if parked and not (member.is_new and member.join_waiter is not None):
            return []
        replies = self._remove(member)
        self.facts.append(Fact("expired", member_id, member.name))
        return replies + self._after_removal(now, f"removing member {member.name} on heartbeat expiration", timed=True)
