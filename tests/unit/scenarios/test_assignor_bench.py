"""The speed table: the grid of Kafka's benchmarks, what is asked at each point, and whose times stand beside ours."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from groupsim.assignors import Assignment, GroupSnapshot, StickyAssignor, StickyUserData, UniformAssignor, create
from groupsim.assignors.evaluation.events import Event
from groupsim.assignors.evaluation.trials import asked_after, settle
from groupsim.scenarios.assignors import bench as assignor_bench
from groupsim.scenarios.assignors import kafka_python
from groupsim.scenarios.assignors.bench import Shape, bench, group_of_shape, shapes
from groupsim.scenarios.assignors.trials import Contender, answering
from tests.support.command_line import CommandLine

SMALL = Shape(10, 5, 5)


@pytest.fixture(autouse=True)
def _in_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assignor_bench, "_ENOUGH_S", 0.0)
    monkeypatch.setattr(assignor_bench, "_FEWEST", 1)


def test_the_grid_is_that_of_kafkas_benchmarks() -> None:
    grid = shapes()
    assert [sum(one.members == members for one in grid) for members in (100, 1_000, 10_000)] == [8, 9, 9]
    assert grid[0] == Shape(100, 5, 10)
    assert grid[-1].partitions == 500_000
    assert Shape(100, 5, 1_000) not in grid, "its topics would have no partitions"


def test_unequal_members_are_in_five_blocks_with_topics_of_their_own() -> None:
    group = group_of_shape(Shape(100, 5, 10), equal=False)
    assert {len(one.topics) for one in group.members} == {2}
    assert len({one.topics for one in group.members}) == 5
    assert group.members[19].topics == group.members[0].topics != group.members[20].topics
    assert group_of_shape(Shape(100, 5, 10), equal=True).subscriptions.equal


def test_asked_are_a_first_assignment_then_one_joining_and_one_leaving() -> None:
    asked: list[GroupSnapshot] = []

    class Watched(StickyAssignor):
        def assign(self, snapshot: GroupSnapshot) -> Assignment:
            asked.append(snapshot)
            return super().assign(snapshot)

    (record,) = bench(Contender("mine", Watched), equal=True, grid=[SMALL])
    full, join, leave = asked[2:]  # those before settled the group that one joins, and the one that one leaves
    assert [sum(one.user_data is not None for one in each.members) for each in (full, join, leave)] == [0, 9, 9]
    assert [each.n_members for each in (full, join, leave)] == [10, 10, 9]
    assert "member5" not in leave.member_ids
    assert set(record["ms"]) == {"full", "join", "leave"}
    assert (record["java_ms"], record["kafka_python_ms"]) == ({}, {})


def test_each_run_has_a_group_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was computed for one run, and is kept in its objects, is not there for the next."""
    monkeypatch.setattr(assignor_bench, "_FEWEST", 3)
    asked: list[GroupSnapshot] = []

    class Watched(StickyAssignor):
        def assign(self, snapshot: GroupSnapshot) -> Assignment:
            fresh.append(snapshot._table is snapshot.topics._topic_of is None)
            asked.append(snapshot)
            return super().assign(snapshot)

    fresh: list[bool] = []
    list(bench(Contender("mine", Watched), equal=True, grid=[SMALL]))
    joins = asked[-6:-3]
    assert fresh[-9:] == [True] * 9
    assert len({id(one.topics) for one in joins}) == len({id(one.members[0]) for one in joins}) == 3
    data = [one.members[0].user_data for one in joins]
    assert all(isinstance(one, StickyUserData) for one in data)
    assert len({id(one.owned) for one in data}) == len({id(one.layout) for one in data}) == 3
    first, second = (create("sticky").assign(one).lists() for one in joins[:2])
    assert [each.tolist() for each in first] == [each.tolist() for each in second]


def test_the_time_is_the_median_of_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assignor_bench, "_FEWEST", 3)
    monkeypatch.setattr(assignor_bench, "_seconds", lambda prepare: [0.004, 0.001, 0.002])
    (record,) = bench(Contender("range", partial(create, "range")), equal=True, grid=[SMALL])
    assert record["ms"] == {"full": 2.0, "join": 2.0, "leave": 2.0}


@pytest.mark.parametrize(
    ("times", "enough"),
    [([], False), ([0.06, 0.06], False), ([0.06, 0.06, 0.06], True), ([0.01] * 9, False), ([0.4, 0.7], True)],
)
def test_runs_are_many_or_long_enough(monkeypatch: pytest.MonkeyPatch, times: list[float], enough: bool) -> None:
    monkeypatch.setattr(assignor_bench, "_ENOUGH_S", 0.1)
    monkeypatch.setattr(assignor_bench, "_FEWEST", 3)
    assert assignor_bench._is_enough(times) is enough


def test_the_way_from_plain_lists_and_back_is_timed_step_by_step() -> None:
    (record,) = assignor_bench.from_lists([SMALL])
    assert set(record["ms"]) == {"in", "assign", "out"}
    assert min(record["ms"].values()) > 0
    assert (record["members"], record["partitions"]) == (10, 50)


def test_the_coordinators_assignors_find_the_group_as_they_keep_it() -> None:
    class Kept(UniformAssignor):
        def assign(self, snapshot: GroupSnapshot) -> Assignment:
            raise AssertionError("turns names into numbers anew")

    group = group_of_shape(SMALL, equal=True)
    answer = answering(Kept, group)()
    assert isinstance(answer, Assignment)
    assert answer.n_members == group.n_members


def test_kafkas_times_stand_beside_ours_where_they_were_recorded() -> None:
    (record,) = bench(Contender("range", partial(create, "range")), equal=True, grid=[Shape(100, 5, 10)])
    assert set(record["java_ms"]) == {"full"}
    assert 0 < record["java_ms"]["full"] < 1


def test_after_a_long_run_larger_groups_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assignor_bench, "_TOO_LONG_S", 0.0)
    found = list(bench(Contender("range", partial(create, "range")), equal=True, grid=[SMALL, Shape(20, 5, 5)]))
    assert [one["members"] for one in found] == [10]


def counts(theirs: Any) -> list[int]:
    return sorted(sum(len(numbers) for _, numbers in one.assigned_partitions) for one in theirs.values())


@pytest.mark.parametrize("name", ["range", "roundrobin", "sticky", "cooperative-sticky"])
def test_kafka_python_assigns_the_same_group(name: str) -> None:
    group = group_of_shape(SMALL, equal=True)
    theirs = kafka_python.assignment(name, group)()
    assert counts(theirs) == np.sort(create(name).assign(group).counts).tolist()


@pytest.mark.parametrize("name", ["sticky", "cooperative-sticky"])
def test_kafka_pythons_members_own_what_ours_own(name: str) -> None:
    """Nothing else moves when the one in the middle leaves; nobody gets what has not been given up when one joins."""
    group = group_of_shape(SMALL, equal=True)
    settled = settle(partial(create, name), group)
    left = asked_after(settled, Event("leave", leave=frozenset({"member5"})))
    theirs = kafka_python.assignment(name, left)()
    for member, owned in zip(settled.group.members, settled.assignment.lists(), strict=True):
        if member.member_id != "member5":
            mine = {group.topics.label(position) for position in owned.tolist()}
            assert mine <= {
                f"{topic}-{number}"
                for topic, numbers in theirs[member.member_id].assigned_partitions
                for number in numbers
            }


def test_kafka_python_is_timed_in_all_modes_until_it_takes_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    contender, grid = Contender("sticky", partial(create, "sticky")), [SMALL, Shape(20, 5, 5)]
    timed = list(bench(contender, equal=True, grid=grid))
    assert [set(one["kafka_python_ms"]) for one in timed] == [{"full", "join", "leave"}] * 2
    assert set(next(bench(contender, equal=False, grid=grid))["kafka_python_ms"]) == {"full", "join", "leave"}

    def slow(name: str, group: GroupSnapshot) -> Callable[[], None]:
        tried.append(group.n_members)
        return lambda: endless() if any(one.user_data for one in group.members) else None

    def endless() -> None:
        while True:
            pass

    tried: list[int] = []
    monkeypatch.setattr(kafka_python, "assignment", slow)
    monkeypatch.setattr(assignor_bench, "_MINUTE_S", 0.05)
    timed = list(bench(contender, equal=True, grid=grid))
    assert [set(one["kafka_python_ms"]) for one in timed] == [{"full"}] * 2
    assert tried == [10, 10, 9, 20], "what took too long is not tried again"


def test_kafka_python_need_not_be_installed(monkeypatch: pytest.MonkeyPatch, groupsim: CommandLine) -> None:
    monkeypatch.setattr(kafka_python, "find_spec", lambda name: None)
    monkeypatch.setattr(assignor_bench, "shapes", lambda *_: [SMALL])
    told = groupsim("assignors", "bench", "--json")
    assert "comes with groupsim's extra bench" in told.err
    assert all(one["kafka_python_ms"] == {} for one in told.json)


class TestCommand:
    @pytest.fixture(autouse=True)
    def _small(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(assignor_bench, "shapes", lambda *_: [SMALL, Shape(100, 5, 10)])

    def test_prints_a_table_per_assignor(self, groupsim: CommandLine) -> None:
        told = groupsim("assignors", "bench")
        assert told.code == 0
        assert "cooperative-sticky, equal subscriptions" in told.out
        assert "server:uniform, unequal subscriptions" in told.out
        assert told.out.count("kafka-python, ms of CPU") == 6
        assert "recorded once on another" in told.out
        assert "Not in it:" in told.out
        assert "range, equal subscriptions, ms of CPU (in brackets: recorded):" in told.out
        assert told.out.count("sticky from plain lists, and back to them, ms of CPU") == 1
        assert max(map(len, told.out.splitlines())) <= 80

    def test_in_json_has_a_record_per_assignor_and_point(self, groupsim: CommandLine) -> None:
        told = groupsim("assignors", "bench", "--json").json
        sticky = [one for one in told if (one["assignor"], one["subscriptions"]) == ("sticky", "equal")]
        assert [(one["members"], one["partitions"]) for one in sticky] == [(10, 50), (100, 500)]
        assert all(min(one["kafka_python_ms"].values()) > 0 for one in sticky)
        assert "broadcast" not in {one["assignor"] for one in told}, "ten thousand times half a million"
