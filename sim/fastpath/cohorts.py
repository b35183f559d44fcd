"""The waves of one group: who goes with which, and when they must be over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from groupsim.sim.fastpath.barrier_wait import BarrierWait
from groupsim.sim.fastpath.cohort import CohortPhase
from groupsim.sim.fastpath.eligibility import has_cohort
from groupsim.sim.fastpath.itineraries.classic_keep import KeepPhase
from groupsim.sim.fastpath.itineraries.classic_late import LatePhase
from groupsim.sim.fastpath.itineraries.classic_rejoin import RejoinPhase, wake_all
from groupsim.sim.fastpath.itineraries.classic_resume import ResumePhase
from groupsim.sim.fastpath.itineraries.classic_sync import SyncPhase
from groupsim.sim.kernel.environment import Environment
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.protocol.classic.rebalance import Reply
from groupsim.sim.protocol.messages import GroupState, JoinResponse, SyncResponse

if TYPE_CHECKING:
    from groupsim.sim.cluster.group_host import GroupHost

_REJOINS = (1, 6, 7)
"""Numbers of the rejoin phases."""


class Cohort:
    """One group's.

    Parameters
    ----------
    env : Environment
    group : HostedGroup
    slots : int

    Attributes
    ----------
    parked : Parked
        Members that have come out of a wave and wait for the next.
    """

    def __init__(self, env: Environment, group: GroupHost, slots: int) -> None:
        self._group = group
        # Those who are quiet when the group leaves Stable, and those who come from `KeepPhase` and `LatePhase` then.
        self._rejoins = [RejoinPhase(env, group, group.deferred, number) for number in _REJOINS]
        self._sync = SyncPhase(env, group, group.deferred)
        self._resume = ResumePhase(env, group, group.deferred)
        self._keep = KeepPhase(env, group, group.deferred)
        self._late = LatePhase(env, group, group.deferred)
        self._all: tuple[CohortPhase | None, ...] = (
            None, self._rejoins[0], self._sync, self._resume, self._keep, self._late, *self._rejoins[1:],
        )  # fmt: skip
        self._has_preceded = False
        self.barrier = BarrierWait(env, group.deferred, slots)

    def of(self, slot: int) -> CohortPhase | None:
        """The wave that a member is on."""
        return self._all[self._group.deferred.phase.item(slot)]

    @property
    def is_possible(self) -> bool:
        """Whether the group's members may go with a wave."""
        return has_cohort(self._group)

    def take(self, replies: Sequence[Reply], leave_us: int) -> Sequence[Reply]:
        """Let members go with a wave from these answers on; the answers to those who cannot."""
        if self._has_preceded:
            self._has_preceded = False
            self._sync.pass_late(self._late)
        rest = self._leave(replies, leave_us) if replies and self.is_possible else replies
        for reply in rest:
            assert isinstance(reply.waiter, Exchange)
            client = self._group.client_of(reply.waiter.body.member_id)
            if client is not None:
                self.barrier.release(client)
        return rest

    def _leave(self, replies: Sequence[Reply], leave_us: int) -> list[Reply]:
        joins = [reply for reply in replies if isinstance(reply.response, JoinResponse)]
        syncs = [reply for reply in replies if isinstance(reply.response, SyncResponse)]
        rest = [reply for reply in replies if not isinstance(reply.response, (JoinResponse, SyncResponse))]
        # An answer to a member that is late, or that nobody waits for, is that member's own affair.
        is_barrier = self._group.machine.state is GroupState.COMPLETING_REBALANCE and not self._sync.is_under_way
        rest += self._sync.gather(joins, leave_us) if is_barrier else joins
        if not self._resume.is_under_way:
            syncs = self._resume.gather(syncs, leave_us)
        rest += syncs if self._keep.is_under_way else self._keep.gather(syncs, leave_us)
        return rest

    def gather(self) -> None:
        """The group has left Stable: quiet members rejoin, or are woken."""
        if (
            self._group.quiet or self._group.deferred.has_silent
        ) and self._group.machine.state is not GroupState.STABLE:
            free = next((one for one in self._rejoins if not one.is_under_way), None)
            if free is not None:
                free.gather()
            else:
                wake_all(self._group)

    def settle_rejoins(self) -> None:
        """The coordinator no longer waits for those who rejoin: what they have done so far is done."""
        for rejoin in self._rejoins:
            rejoin.settle()

    def precede_decision(self) -> None:
        """The coordinator is about to decide something: what members of the present generation have done is done.

        `take` and `BarrierWait.watch` must follow when it has decided.
        """
        self._has_preceded = True
        if not self.is_possible:
            self.settle_rejoins()  # no room for everybody: it matters who joins first
        self._sync.precede_decision()
        self._resume.settle()
        if self._group.machine.state is not GroupState.PREPARING_REBALANCE:
            self._keep.settle_done()
            self._late.precede_decision()

    def settle(self) -> None:
        """Somebody is about to look at the books: what everybody has done is done."""
        self.settle_rejoins()
        self._sync.settle()
        self._resume.settle()
        self._keep.settle()
        self._late.settle()
        self.barrier.watch()

    def settle_readers(self) -> None:
        """Somebody is about to look at the lag: who has begun to consume has begun."""
        self._resume.settle()
        self._keep.settle_done()
        self._late.settle_done()
