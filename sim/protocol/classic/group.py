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
  SyncGroup themselves. It does nothing to a member that is parked. A new member has five minutes instead, and those
  count even while it is parked. A pending id has one session timeout.

The 0.9 coordinator (``GroupCoordinator``, 0.9.0.1) is the same machine with a few switches
(`CoordinatorConfig.version`): a new group is "Stable", the second barrier is called "AwaitingSync" and has no timer,
there is no initial delay, no member id is asked for, SyncGroup renews the session and commits do not, heartbeats are
refused outside Stable whoever sends them, and a group without members is gone.
"""

from __future__ import annotations

from groupsim.sim.protocol.classic.rebalance import (
    COMPLETING,
    DEAD,
    EMPTY,
    PREPARING,
    STABLE,
    Fact,
    Rebalance,
    Replies,
    Reply,
)
from groupsim.sim.protocol.classic.roster import Member, Waiter
from groupsim.sim.protocol.messages import (
    Error,
    Heartbeat,
    JoinGroup,
    JoinResponse,
    LeaveGroup,
    OffsetCommit,
    SyncGroup,
    SyncResponse,
)
from groupsim.sim.units import FOREVER

__all__ = ["ClassicGroup", "Fact", "Replies", "Reply"]


class ClassicGroup(Rebalance):
    """One group: ``on_<request>(now, request, waiter)`` gives replies, `on_deadline` at `deadline` too."""

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
        return self._prepare_or_complete(now, f"Adding new member {request.name}", request.reason)

    def _update(self, now: int, member: Member, request: JoinGroup, waiter: Waiter, reason: str) -> Replies:
        """``GMM.updateMemberThenRebalanceOrCompleteJoin``: the session timer is not touched."""
        self.roster.update(member, request)
        self.roster.park_join(member, waiter)
        return self._prepare_or_complete(now, reason, request.reason)

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
        return replies + self._prepare_or_complete(now, reason, "")

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

    # --- SyncGroup, Heartbeat, LeaveGroup, OffsetCommit ---------------------------------------------------------------

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
