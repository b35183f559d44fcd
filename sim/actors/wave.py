"""Waves: what many members do at about the same time, computed for all of them at once.

A rebalance takes every member through the same few steps, and between two decisions of the coordinator nothing that one
member does is seen by another: its heartbeat and its JoinGroup while the group prepares, its SyncGroup while the leader
assigns, its offsets and its first fetch once the group is stable. So each of these stretches is planned as one vector
computation when it begins, and carried out, in one go, when it is over or when somebody wants to know.

A member that is disturbed in the middle (a pause, a kill, another rebalance) leaves its wave: what it has done since
the wave began is then carried out as the events that it would have been (`Environment.replay`), by the code that moves
every other member. A wave therefore knows no rule of the protocol, only times.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from sim.kernel.environment import Environment, Moment, Occurrence

if TYPE_CHECKING:
    from sim.actors.client import Client
    from sim.actors.hosted_group import HostedGroup


@dataclass(slots=True, eq=False)
class Plan:
    """What one member will have done, and by when."""

    client: Client
    end: Moment


P = TypeVar("P", bound=Plan)


class Wave(ABC, Generic[P]):
    """Members of one group on their way through the same steps.

    Parameters
    ----------
    env : Environment
    group : HostedGroup

    Attributes
    ----------
    since : (microseconds, key)
        When it began.
    """

    def __init__(self, env: Environment, group: HostedGroup) -> None:
        self._env = env
        self._group = group
        self._plans: dict[Client, P] = {}
        """In order of their ends."""
        self._occurrence: Occurrence | None = None
        self.since: Moment = (0, 0)

    def begin(self, plans: Sequence[P]) -> None:
        """Let members go through the steps as planned, from this moment on."""
        self.since = self._env.moment
        self._plans = {plan.client: plan for plan in sorted(plans, key=lambda plan: plan.end)}
        for plan in plans:
            plan.client.hush.wave = self
        self._await_end()

    @property
    def is_under_way(self) -> bool:
        """Whether anybody is on the way."""
        return bool(self._plans)

    def _await_end(self) -> None:
        """Carry everything out when it is over; at once, if that has passed."""
        if self._occurrence is not None:
            self._occurrence.drop()
            self._occurrence = None
        if not self._plans:
            return
        moment = self._over(self._plans.values())
        if moment < self._env.moment:
            self._finish(None)
        else:
            self._occurrence = self._env.at(*moment, self._finish)

    def _over(self, plans: Iterable[P]) -> Moment:
        """When a wave of these plans is over: with its last member's end."""
        return max(plan.end for plan in plans)

    def _finish(self, _: object) -> None:
        self._occurrence = None
        self._carry_out(self._take(self._plans.values()))
        self._group.waves.parked.watch()

    def _take(self, plans: Iterable[P]) -> list[P]:
        """Plans that are the wave's no longer."""
        taken = list(plans)
        for plan in taken:
            del self._plans[plan.client]
            plan.client.hush.wave = None
        return taken

    def settle(self) -> None:
        """Somebody is about to look, or to decide: everything that has happened before this moment has happened."""
        if not self._plans:
            return
        moment = self._env.moment
        plans = self._take(self._plans.values())
        done = [plan for plan in plans if plan.end < moment]
        self._await_end()
        if done:
            self._carry_out(done)
        for plan in plans[len(done) :]:
            self._replay(plan)

    def release(self, client: Client) -> None:
        """One member is disturbed: it goes on by itself."""
        plan = self._take([self._plans[client]])[0]
        if plan.end < self._env.moment:
            self._carry_out([plan])
        else:
            self._replay(plan)
        self._await_end()
        self._group.waves.parked.watch()

    def _replay(self, plan: P) -> None:
        self._env.replay(self.since, lambda: self._start(plan))

    @abstractmethod
    def _carry_out(self, plans: Sequence[P]) -> None:
        """These members are through: put it into their state and into the books. In order of their ends."""

    @abstractmethod
    def _start(self, plan: P) -> None:
        """Take the first step of the wave as an event of the member's own."""
