"""The fast path of one group: what its host and its consumers ask, and the phases that members go through together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from groupsim.sim.client.client import Client
from groupsim.sim.client.consumer import Consumer
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.fastpath.eligibility import has_cohort
from groupsim.sim.fastpath.end_of_run import finish_silent
from groupsim.sim.fastpath.itineraries.classic_keep import KeepPhase
from groupsim.sim.fastpath.itineraries.classic_late import LatePhase
from groupsim.sim.fastpath.itineraries.classic_late_resume import LateResumePhase
from groupsim.sim.fastpath.itineraries.classic_rejoin import RejoinPhase
from groupsim.sim.fastpath.itineraries.classic_resume import ResumePhase
from groupsim.sim.fastpath.itineraries.classic_sync import SyncPhase
from groupsim.sim.fastpath.phases.deferred import DeferredMembers
from groupsim.sim.fastpath.quiescence import Quiescence
from groupsim.sim.fastpath.transactions.parking import Parking
from groupsim.sim.kernel.environment import Environment
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.protocol.classic.states import GroupState
from groupsim.sim.protocol.interface import Reply
from groupsim.sim.protocol.messages import (
    Heartbeat,
    JoinGroup,
    JoinResponse,
    LeaveGroup,
    OffsetCommit,
    Positions,
    SyncGroup,
    SyncResponse,
)

_DECISIVE = frozenset({JoinGroup, SyncGroup, LeaveGroup})
"""Requests by which the group may move on."""
_RENEWING = frozenset({Heartbeat, OffsetCommit})
"""Requests that renew the session of whoever has sent them."""
_REJOINS = (1, 6, 7)
"""Numbers of the rejoin phases."""


class Engine:
    """Of one group.

    Parameters
    ----------
    env : Environment
    group : GroupHost
    consumers : sequence of Consumer
        Those of the group, by slot; filled later.
    slots : int
    is_loud : bool
        Message fidelity: nobody is ever quiet.
    """

    def __init__(
        self, env: Environment, group: GroupHost, consumers: Sequence[Consumer], slots: int, *, is_loud: bool
    ) -> None:
        self._env = env
        self._group = group
        self._is_loud = is_loud
        self.parking: Parking | None = None
        """Of a group whose members produce."""
        self._has_preceded = False
        self._quiet: dict[str, Quiescence] = {}
        self._deferred = deferred = DeferredMembers(env, group, consumers, slots)
        # Those who are quiet when the group leaves Stable, and those who come from `KeepPhase` and `LatePhase` then.
        self._rejoins = [RejoinPhase(env, group, deferred, number, self._quiet) for number in _REJOINS]
        self._sync = SyncPhase(env, group, deferred)
        self._resume = ResumePhase(env, group, deferred)
        self._keep = KeepPhase(env, group, deferred, self._gather)
        self._late = LatePhase(env, group, deferred, self._gather)
        self._late_resume = LateResumePhase(env, group, deferred)
        first, *others = self._rejoins
        deferred.rejoin_late = first.add_late
        deferred.phases = (None, first, self._sync, self._resume, self._keep, self._late, *others, self._late_resume)

    def elide(self, client: Client) -> Quiescence:
        """The fast path's view of a client that is about to open."""
        one = Quiescence(client, self._deferred, self._quiet, self.parking, is_loud=self._is_loud)
        self._deferred.elided[client.consumer.slot] = one
        return one

    def be_loud(self) -> None:
        """Nobody who opens from now on is ever quiet."""
        self.settle()
        self._is_loud = True

    # --- what the group's host asks -----------------------------------------------------------------------------------

    def before_request(self, request: Any, *, is_given_up: bool) -> bool:
        """A request is about to be worked on: who is disturbed by it is awake. Whether the group may move on by it."""
        if is_given_up and type(request) in _RENEWING:
            self._wake(request.member_id)
        if type(request) not in _DECISIVE:
            return False
        if not isinstance(request, SyncGroup) or self._is_logged_at_once(request):
            self._precede_decision()
        if isinstance(request, JoinGroup) and request.instance_id is not None and not request.member_id:
            # A static instance joins anew: the member that has its id so far is about to be fenced.
            self._wake(self._group.machine.roster.static.get(request.instance_id, ""))
        return True

    def _is_logged_at_once(self, request: SyncGroup) -> bool:
        """Whether the assignment is in the log as soon as it comes: who has sent SyncGroup by then has."""
        return request.assignments is not None and self._group.log.is_instant(self._env.now)

    def before_deadline(self, now: int) -> None:
        """A timer of the group is due: what members have done by now is done."""
        self._precede_decision(may_leave=self._group.machine.deadline <= now)
        if self._group.machine.join_due <= now:
            self._settle_rejoins()

    def _precede_decision(self, *, may_leave: bool = True) -> None:
        """The coordinator is about to decide: what members have done in the present generation is done.

        ``may_leave``: the group may leave Stable by it. If something is only in the log now, those go on who resume as
        the last SyncGroups come.
        """
        self._has_preceded = True
        if any(one.is_under_way for one in self._rejoins) and not has_cohort(self._group):
            self._settle_rejoins()  # no room for everybody: it matters who joins first
        is_resuming = self._resume.is_under_way or self._late_resume.is_under_way
        self._sync.precede_decision()
        if may_leave or is_resuming:
            self._settle_resuming()
        if self._group.machine.state is not GroupState.PREPARING_REBALANCE:
            self._keep.settle_done()
            self._late.precede_decision()

    def _settle_rejoins(self) -> None:
        """The coordinator no longer waits for those who rejoin: what they have done so far is done."""
        for rejoin in self._rejoins:
            rejoin.settle()

    def renewed(self, now: int, member_id: str) -> None:
        """A commit that was sent as a message has renewed this member's session."""
        if (one := self._quiet.get(member_id)) is not None:
            one.renew(now)

    def after_decision(self, replies: Sequence[Reply], leave_us: int) -> Sequence[Reply]:
        """It has decided: members begin to rejoin, or go on with its answers; the answers to those who cannot."""
        self._gather()
        if self._has_preceded:
            self._has_preceded = False
            self._sync.pass_late(self._late, self._late_resume)
        rest = self._leave(replies, leave_us) if replies and has_cohort(self._group) else replies
        for reply in rest:
            assert isinstance(reply.waiter, Exchange)
            self._release(reply.waiter.body.member_id)
        self._deferred.barrier.watch()
        return rest

    def _gather(self) -> None:
        """The group has left Stable: quiet members rejoin, or are woken."""
        if not (self._quiet or self._deferred.has_silent) or self._group.machine.state is GroupState.STABLE:
            return
        free = next((one for one in self._rejoins if not one.is_under_way), None)
        if free is not None:
            free.gather()
        else:
            self._rejoins[0].wake_all()

    def _leave(self, replies: Sequence[Reply], leave_us: int) -> list[Reply]:
        joins, syncs, rest = list[Reply](), list[Reply](), list[Reply]()
        for reply in replies:
            kind = type(reply.response)
            (joins if kind is JoinResponse else syncs if kind is SyncResponse else rest).append(reply)
        # An answer to a member that is late, or that nobody waits for, is that member's own affair.
        is_barrier = self._group.machine.state is GroupState.COMPLETING_REBALANCE and not self._sync.is_under_way
        rest += self._sync.gather(joins, leave_us) if is_barrier else joins
        if not self._resume.is_under_way:
            syncs = self._resume.gather(syncs, leave_us)
        rest += syncs if self._keep.is_under_way else self._keep.gather(syncs, leave_us)
        return rest

    def _release(self, member_id: str) -> None:
        """A member is answered by a message: it no longer waits with others."""
        one = self._incumbent(member_id)
        if one is not None:
            self._deferred.barrier.release(one.client)

    def _incumbent(self, member_id: str) -> Quiescence | None:
        """The client that has this member id, if it lives."""
        slot = self._group.books.handles.slot_of(member_id)
        client = self._deferred.consumers[slot].incumbent if slot >= 0 else None
        if client is None or client.machine.member_id != member_id:
            return None
        one: Quiescence = self._deferred.elided[slot]
        return one

    def _wake(self, member_id: str) -> None:
        one = self._incumbent(member_id)
        if one is not None:
            one.wake()

    def wake_all(self) -> None:
        """Somebody looks at every member."""
        for consumer in self._deferred.consumers:
            consumer.wake()

    def _settle_resuming(self) -> None:
        """Who is on the way from its SyncGroup to consumption has done what it has done by now."""
        self._late_resume.settle()
        self._resume.settle()

    def settle_readers(self) -> bool:
        """Somebody looks at the lag: whoever has begun to consume has begun. Whether others are about to."""
        self._settle_resuming()
        self._keep.settle_done()
        self._late.settle_done()
        phases = (self._late_resume, self._resume, self._keep, self._late)
        return any(phase.is_under_way for phase in phases)

    def settle_readers_of(self, positions: Positions) -> None:
        """Somebody writes what becomes of these: what those have done by now is done who read them, or are about to."""
        for phase in (*self._rejoins, self._late_resume, self._resume, self._keep, self._late):
            phase.settle_readers_of(positions)
        self._deferred.barrier.watch()

    def settle(self) -> None:
        """Somebody looks at the books: what everybody has done by now is in them."""
        self._settle_rejoins()
        self._sync.settle()
        self._settle_resuming()
        self._keep.settle()
        self._late.settle()
        self._deferred.barrier.watch()

    def finish(self) -> None:
        """The run ends: what everybody has done is in the books, but for what a member writes down itself."""
        self.settle()
        finish_silent(self._group, self._deferred, self._env.moment)
