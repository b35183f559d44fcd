"""The waves of one group: who goes with which, and when they must be over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from groupsim.sim.actors.parked import Parked
from groupsim.sim.actors.rejoin_wave import RejoinWave
from groupsim.sim.actors.resume_wave import ResumeWave
from groupsim.sim.actors.sync_wave import SyncWave
from groupsim.sim.actors.wave import Wave
from groupsim.sim.actors.wave_terms import has_waves
from groupsim.sim.kernel.environment import Environment
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.protocol.messages import GroupState, JoinResponse, SyncResponse
from groupsim.sim.protocol.rebalance import Reply

if TYPE_CHECKING:
    from groupsim.sim.actors.hosted_group import HostedGroup


class Waves:
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

    def __init__(self, env: Environment, group: HostedGroup, slots: int) -> None:
        self._group = group
        self.rejoin = RejoinWave(env, group, group.laps)
        self._sync = SyncWave(env, group, group.laps)
        self._resume = ResumeWave(env, group, group.laps)
        self._all: tuple[Wave | None, ...] = (None, self.rejoin, self._sync, self._resume)
        self.parked = Parked(env, group.laps, slots)

    def of(self, slot: int) -> Wave | None:
        """The wave that a member is on."""
        return self._all[self._group.laps.wave.item(slot)]

    @property
    def is_possible(self) -> bool:
        """Whether the group's members may go with a wave."""
        return has_waves(self._group)

    def take(self, replies: Sequence[Reply], leave_us: int) -> Sequence[Reply]:
        """Let members go with a wave from these answers on; the answers to those who cannot."""
        rest = self._leave(replies, leave_us) if replies and self.is_possible else replies
        for reply in rest:
            assert isinstance(reply.waiter, Exchange)
            client = self._group.client_of(reply.waiter.body.member_id)
            if client is not None:
                self.parked.release(client)
        return rest

    def _leave(self, replies: Sequence[Reply], leave_us: int) -> list[Reply]:
        joins = [reply for reply in replies if isinstance(reply.response, JoinResponse)]
        syncs = [reply for reply in replies if isinstance(reply.response, SyncResponse)]
        rest = [reply for reply in replies if not isinstance(reply.response, (JoinResponse, SyncResponse))]
        # An answer to a member that is late, or that nobody waits for, is that member's own affair.
        is_barrier = self._group.machine.state is GroupState.COMPLETING_REBALANCE and not self._sync.is_under_way
        rest += self._sync.gather(joins, leave_us) if is_barrier else joins
        rest += syncs if self._resume.is_under_way else self._resume.gather(syncs, leave_us)
        return rest

    def precede_decision(self) -> None:
        """The coordinator is about to decide something: what members of the present generation have done is done.

        `Parked.watch` must follow when it has decided.
        """
        self._sync.settle()
        self._resume.settle()

    def settle(self) -> None:
        """Somebody is about to look at the books: what everybody has done is done."""
        self.rejoin.settle()
        self._sync.settle()
        self._resume.settle()
        self.parked.watch()

    def settle_readers(self) -> None:
        """Somebody is about to look at the lag: who has begun to consume has begun."""
        self._resume.settle()
