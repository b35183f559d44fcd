"""One rebalance of a classic group: two barriers, the timers behind them, and who is dropped by which.

JoinGroups are parked until everybody has rejoined or the join timer ends, SyncGroups until the leader's assignment is
in the log. Source: ``GroupMetadataManager`` (below: ``GMM``) and ``ClassicGroup``, Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from groupsim.sim.config import CoordinatorConfig
from groupsim.sim.errors import ProtocolMisuse
from groupsim.sim.protocol.classic.roster import Member, Roster, Waiter
from groupsim.sim.protocol.deadlines import Deadlines
from groupsim.sim.protocol.messages import (
    NO_PARTITIONS,
    Acknowledgement,
    Error,
    GroupState,
    JoinResponse,
    Positions,
    Subscription,
    SyncResponse,
)
from groupsim.sim.units import FOREVER

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
    kicked, unsynced, fenced, forgotten (the group is gone, and its offsets).
    """

    what: str
    member_id: str = ""
    name: str = ""
    state: GroupState = EMPTY
    generation: int = 0
    reason: str = ""


Replies = list[Reply]


class Rebalance:
    """State, generation, members and timers of a group, and everything that moves it from phase to phase.

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
        self._expiry_due = FOREVER
        self._appends: list[tuple[int, Callable[[int], Replies]]] = []

    # --- join phase ---------------------------------------------------------------------------------------------------

    def _prepare_or_complete(self, now: int, reason: str, detail: str) -> Replies:
        if self.state is not PREPARING:
            return self._prepare(now, f"{reason}; {detail}".strip("; "))
        if self.previous_state is not EMPTY and self.roster.all_joined:
            return self._complete_join(now)
        return []

    def _prepare(self, now: int, reason: str) -> Replies:
        """``GMM.prepareRebalance``."""
        replies: Replies = []
        if self.state is COMPLETING:
            for member in self.roster:
                member.assignment = NO_PARTITIONS
                replies += self._answer_sync(now, member, Error.REBALANCE_IN_PROGRESS)
        self._pending_sync.clear()
        self._sync_due = FOREVER
        self._expiry_due = FOREVER
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
            self._expiry_due = self._first_check_at(now + self.config.offsets_retention_us)
            return []
        self.protocol = self.roster.select_protocol()
        self._enter(COMPLETING, "")
        return self._answer_joins(now)

    def _first_check_at(self, time: int) -> int:
        """Offsets are looked at in rounds (``GroupCoordinatorShard.scheduleGroupMetadataExpiration``)."""
        every = self.config.offsets_retention_check_interval_us
        return -(-time // every) * every

    def _forget(self) -> None:
        """The offsets of a group that has been Empty for too long expire, and so does it (KIP-211).

        ``OffsetMetadataManager.cleanupExpiredOffsets``, then ``GroupMetadataManager.maybeDeleteGroup``.
        """
        self._expiry_due = FOREVER
        self.generation = 0
        self.facts.append(Fact("forgotten"))

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

    def _join_response(self, member: Member) -> JoinResponse:
        """The current generation, with everybody's subscription if ``member`` leads."""
        leads = member.member_id == self.roster.leader
        members: tuple[tuple[str, str | None, Subscription], ...] = ()
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

    # --- sync phase and the log ---------------------------------------------------------------------------------------

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
        """Answer a parked SyncGroup, which re-arms the session (``GMM.propagateAssignment``)."""
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

    # --- members go ---------------------------------------------------------------------------------------------------

    def _forget_pending(self, member_id: str) -> str | None:
        """Take a handed-out id back; the name of who it was for, None if it is not pending."""
        name = self.roster.pending.pop(member_id, None)
        if name is not None:
            self._sessions.cancel(member_id)
        return name

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
    def join_due(self) -> int:
        """When the join phase ends though somebody is missing, microseconds."""
        return self._join_due

    @property
    def deadline(self) -> int:
        """The only thing the shell must watch, microseconds."""
        append_due = self._appends[0][0] if self._appends else FOREVER
        return min(self._join_due, self._sync_due, append_due, self._sessions.earliest, self._expiry_due)

    def on_deadline(self, now: int) -> Replies:
        """Everything that is due: the log first, then the barriers, then sessions (by member id)."""
        replies = self._due_append(now)
        if self._join_due <= now:
            replies += self._end_window(now) if self._join_window is not None else self._complete_join(now)
        if self._sync_due <= now:
            replies += self._expire_sync(now)
        while (member_id := self._sessions.pop(now)) is not None:
            replies += self._expire_session(now, member_id)
        if self._expiry_due <= now:
            self._forget()
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
