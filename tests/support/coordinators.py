"""Runs in which it is written down when groups are loaded, and which commits are accepted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from groupsim.sim import Result, simulate
from groupsim.sim.cluster.controller import Controller
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.model import Scenario
from groupsim.sim.protocol.interface import Batch, Reply
from groupsim.sim.protocol.messages import OffsetCommit


@dataclass(slots=True)
class Moved:
    """A run, and what happened to its coordinators; times in seconds."""

    result: Result | None = None
    loaded_s: list[float] = field(default_factory=list)
    committed_s: list[float] = field(default_factory=list)
    was_active: bool = False
    """Whether a broker that was killed was the active controller."""

    def first_commit_s(self, since_s: float) -> float:
        """The first accepted commit after ``since_s``."""
        return next(time for time in self.committed_s if time > since_s)

    def rebalances(self, since_s: float) -> int:
        """Rebalances that begin after ``since_s``."""
        assert self.result is not None
        rows = self.result.tables["rebalances"]
        return int((rows.start_us > round(since_s * 1e6)).sum())

    def unread_s(self, since_s: float) -> float:
        """The longest time that a partition is unread, of those that begin after ``since_s``."""
        assert self.result is not None
        rows = self.result.tables["unavailability"]
        rows = rows[rows.from_us >= round(since_s * 1e6)]
        return float((rows.to_us - rows.from_us).max()) / 1e6 if len(rows) else 0.0


def moved(scenario: Scenario, seed: int) -> Moved:
    """Run a scenario with every commit as an event."""
    seen = Moved()
    load, acknowledge, kill = GroupHost.load, GroupHost._acknowledge, Controller.kill

    def loaded(self: GroupHost, node: int, image: Mapping[str, int]) -> None:
        seen.loaded_s.append(self._env.now / 1e6)
        load(self, node, image)

    def acknowledged(self: GroupHost, now: int, reply: Reply, batch: Batch) -> None:
        exchange: Any = reply.waiter
        assert isinstance(exchange, Exchange)
        if isinstance(exchange.body, OffsetCommit):
            seen.committed_s.append(now / 1e6)
        acknowledge(self, now, reply, batch)

    def killed(self: Controller, node: int) -> None:
        seen.was_active = node == self.active
        kill(self, node)

    with (
        patch.object(GroupHost, "load", loaded),
        patch.object(GroupHost, "_acknowledge", acknowledged),
        patch.object(Controller, "kill", killed),
    ):
        seen.result = simulate(scenario, seed=seed, fidelity="message")
    return seen
