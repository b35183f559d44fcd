"""Waves that begin with answers of the coordinator: many parked requests, answered at one instant."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from sim.actors.wave import Plan, Wave
from sim.actors.wave_terms import is_parked
from sim.kernel.network import Exchange
from sim.protocol.rebalance import Reply

if TYPE_CHECKING:
    from sim.actors.client import Client


@dataclass(slots=True, eq=False)
class Answered(Plan):
    """What one member will have done, from an answer on.

    Parameters
    ----------
    exchange : Exchange
        The request that was parked.
    response : JoinResponse or SyncResponse
    left : int, microseconds
        The answer leaves the coordinator.
    told : int, microseconds
        It is read, and the next request is sent.
    """

    exchange: Exchange
    response: Any
    left: int
    told: int = 0


A = TypeVar("A", bound=Answered)


class AnswerWave(Wave[A]):
    """Members that are answered."""

    def gather(self, replies: Sequence[Reply], leave_us: int) -> list[Reply]:
        """Take on whom nothing stands in the way; the answers to the others."""
        plans: list[A] = []
        rest: list[Reply] = []
        for reply in replies:
            assert isinstance(reply.waiter, Exchange)
            plan = self._candidate(reply.waiter, reply.response, leave_us)
            if plan is None:
                rest.append(reply)
            else:
                plan.told = max(reply.waiter.connection.down_us + 1, leave_us + reply.waiter.down_us)
                plans.append(plan)
        if plans:
            clear = self._clear(plans)
            self._group.waves.parked.take([plan.client for plan in clear])
            self.begin(clear)
            rest += [Reply(plan.exchange, plan.response) for plan in plans if plan.client.hush.wave is not self]
        return rest

    @abstractmethod
    def _candidate(self, exchange: Exchange, response: Any, leave_us: int) -> A | None:
        """The plan of a member that may go with the wave, without its times; None if it may not."""

    @abstractmethod
    def _clear(self, plans: Sequence[A]) -> list[A]:
        """Work out the times; the plans with which nothing interferes."""

    def _waits(self, client: Client, exchange: Exchange) -> bool:
        """Whether the member waits for this answer, and for nothing else."""
        return client in self._group.waves.parked or is_parked(client, exchange, self._env.now)

    def _start(self, plan: A) -> None:
        plan.client.standstill.arm_pause()
        plan.exchange.connection.reply(plan.exchange, plan.response, plan.left)
