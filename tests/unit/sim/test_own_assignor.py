"""A user's own assignor in a run: what it throws, or answers wrongly, is a failed rebalance or a refused run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assignors import Assignment, Assignor, BroadcastAssignor, GroupSnapshot, Promise
from sim import simulate
from sim.errors import ScenarioError
from sim.model import Scenario
from sim.result import Result
from sim.units import S
from tests.support.scenarios import client, group, scenario


class OwnDealer(Assignor):
    """Deals partitions out one by one."""

    name = "own-dealer"

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        everything, members = range(snapshot.topics.n_partitions), snapshot.n_members
        return Assignment.of_lists(snapshot.topics, [everything[index::members] for index in range(members)])


class OwnThrower(OwnDealer):
    name = "own-thrower"

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        raise ZeroDivisionError("no members")


class OwnTwice(OwnDealer):
    name = "own-twice"

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        return Assignment.of_lists(snapshot.topics, [range(snapshot.topics.n_partitions)] * snapshot.n_members)


class OwnSharer(OwnTwice):
    name = "own-sharer"
    promises = frozenset({Promise.COMPLETE})


class OwnBroadcaster(OwnDealer):
    """Says nothing of sharing, and keeps one list for all."""

    name = "own-broadcaster"

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        return BroadcastAssignor().assign(snapshot)


class OwnForgetter(OwnDealer):
    name = "own-forgetter"

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        return Assignment.of_lists(snapshot.topics, [[0], [], [3]])


class OwnStranger(OwnDealer):
    name = "own-stranger"

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        return Assignment.of_lists(snapshot.topics, [[99], [], []])


class OwnNothing(OwnDealer):
    name = "own-nothing"

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        return None  # type: ignore[return-value]


def _with(assignor: type[Assignor]) -> Scenario:
    one = group(3, client=client(partition_assignment_strategy=(assignor.name,)))
    path = f"{assignor.__module__}:{assignor.__name__}"
    return replace(scenario(one, horizon_us=20 * S), allow_assignors=(path,))


def _run(assignor: type[Assignor]) -> Result:
    return simulate(_with(assignor))


@pytest.mark.parametrize("assignor", [OwnDealer, OwnSharer])
def test_an_answer_that_keeps_its_promises_is_taken(assignor: type[Assignor]) -> None:
    result = _run(assignor)
    assert result.warnings == []
    assert len(result.tables["ownership"]) >= 12


@pytest.mark.parametrize(
    ("assignor", "wrong"),
    [
        (OwnThrower, "own-thrower: ZeroDivisionError: no members"),
        (OwnTwice, "own-twice: t-0 has two owners"),
        (OwnBroadcaster, "own-broadcaster: t-0 has two owners"),
        (OwnForgetter, "own-forgetter: t-1 has subscribers and no owner"),
        (OwnStranger, "own-stranger: a position outside 0..11"),
        (OwnNothing, "own-nothing: the answer is a NoneType, no Assignment"),
    ],
)
def test_a_wrong_one_is_a_failed_rebalance_at_the_leader(assignor: type[Assignor], wrong: str) -> None:
    result = _run(assignor)
    assert any(warning.endswith(f"assignor failed: {wrong}") for warning in result.warnings), result.warnings
    assert not len(result.tables["ownership"])


def test_or_a_refused_run_if_the_scenario_says_so() -> None:
    run = _with(OwnTwice)
    run = replace(run, groups=(replace(run.groups[0], assignor_failure="refuse"),))
    with pytest.raises(ScenarioError, match="own-twice: t-0 has two owners"):
        simulate(run)
