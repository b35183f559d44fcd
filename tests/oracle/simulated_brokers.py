"""Brokers of a simulated run: told as a recording tells them, and given the instants of a recording."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest

from groupsim.sim import Result
from groupsim.sim.catalog import Catalog, spread
from groupsim.sim.cluster.controller import Controller
from groupsim.sim.cluster.groups.coordinator import Coordinator
from groupsim.sim.protocol.controller.sessions import BrokerSessions
from tests.oracle.broker_instants import BrokerInstants
from tests.oracle.measures import SHORTEST_GAP_US
from tests.oracle.trace import Fact


def hear_coordinators(patch: pytest.MonkeyPatch, facts: list[Fact]) -> None:
    """Let coordinators tell where they are."""
    elect, load = Coordinator.elect, Coordinator.load

    def tell(coordinator: Coordinator, change: str) -> None:
        for group in sorted(coordinator.groups):
            told = {"node": coordinator.node, "change": change, "group": group}
            facts.append({"what": "coordinator", "at_us": coordinator.env.now, **told})

    def elected(self: Coordinator, node: int) -> None:
        elect(self, node)
        tell(self, "loading")

    def loaded(self: Coordinator, *parts: Any) -> None:
        load(self, *parts)
        tell(self, "loaded")

    patch.setattr(Coordinator, "elect", elected)
    patch.setattr(Coordinator, "load", loaded)


def give_instants(patch: pytest.MonkeyPatch, told: BrokerInstants) -> None:
    """Let everything come to brokers when it did in a recording."""
    _give_places(patch, told)
    _give_times(patch, told)


def _give_places(patch: pytest.MonkeyPatch, told: BrokerInstants) -> None:
    """Who leads, and who is the active controller."""
    draw_active, replicas = Controller._draw_active, Catalog.replicas

    def dealt_out(self: Catalog, topic: str, numbers: Sequence[int]) -> list[int]:
        return [told.leaders[topic][number] for number in numbers]

    def placed(self: Catalog, topic: str, number: int) -> list[int]:
        if (topic, number) in self.placed:
            return replicas(self, topic, number)
        first = self._brokers.index(told.leaders[topic][number])
        return spread(self._brokers, first, number, self._replicas[topic])

    def active(self: Controller, candidates: Sequence[int]) -> int:
        known = told.controllers[min(self._elections, len(told.controllers) - 1)]
        return known if known in candidates else draw_active(self, candidates)

    patch.setattr(Catalog, "_dealt_out", dealt_out)
    patch.setattr(Catalog, "replicas", placed)
    patch.setattr(Controller, "_draw_active", active)


def _give_times(patch: pytest.MonkeyPatch, told: BrokerInstants) -> None:
    """When sessions end, and how long the controller's and the brokers' doings take."""
    took = {key: iter(some) for key, some in told.took.items()}
    draw, unannounced, due = Controller._draw, Controller._unannounced_us, BrokerSessions.due
    last_beat = Controller._last_beat_us

    def drawn(self: Controller, what: str, node: int) -> int:
        if what == "catch_up" and node in self._closing:  # It never does.
            return draw(self, what, node)
        known = next(took.get((what, node), iter(())), None)
        return draw(self, what, node) if known is None else known

    def elected(self: Controller, node: int) -> int:
        known = next(took.get(("election", node), iter(())), None)
        return unannounced(self, node) if known is None else known

    def heard(self: Controller, node: int) -> int:
        return told.last_beats.get(node) or last_beat(self, node)

    def over(self: BrokerSessions, broker: int) -> int:
        return told.fenced.get(broker) or due(self, broker)

    patch.setattr(Controller, "_draw", drawn)
    patch.setattr(Controller, "_unannounced_us", elected)
    patch.setattr(Controller, "_last_beat_us", heard)
    patch.setattr(BrokerSessions, "due", over)


def gaps(result: Result) -> Iterator[Fact]:
    """When nobody could be handed a record of a partition that somebody owned."""
    began: dict[str, list[list[int]]] = {}
    for row in result.tables.rows("unavailability"):
        spans = began.setdefault(f"{row['topic']}-{row['partition']}", [])
        if spans and row["from_us"] <= spans[-1][1]:
            spans[-1][1] = max(spans[-1][1], row["to_us"])
        else:
            spans.append([row["from_us"], row["to_us"]])
    for partition, spans in began.items():
        for from_us, to_us in spans:
            if to_us - from_us >= SHORTEST_GAP_US:
                yield {"what": "gap", "at_us": from_us, "partition": partition, "to_us": to_us}


def joined(stretches: Iterable[Fact]) -> list[Fact]:
    """Stretches of reading, those of one life that follow one another as one: of what is between `gaps` tell."""
    found: dict[str, list[Fact]] = {}
    for one in sorted(stretches, key=lambda fact: fact["from_us"]):
        before = found.setdefault(one["partition"], [])
        if before and all(before[-1][key] == one[key] for key in ("member", "incarnation")):
            before[-1] = {**before[-1], "to_us": one["to_us"]}
        else:
            before.append(one)
    return [one for each in found.values() for one in each]
