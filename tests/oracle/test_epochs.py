"""Rebalances of the consumer protocol, on traces of a few facts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.oracle.epochs import phases, rebalances, summary
from tests.oracle.measures import beats_apart, beats_late_ms
from tests.oracle.runs import course
from tests.oracle.trace import Fact

S = 1_000_000


def change(at_us: int, member: str, change: str) -> Fact:
    """Somebody comes or goes."""
    return {"what": "membership", "at_us": at_us, "group": "g", "member": member, "member_id": member, "change": change}


def let(at_us: int, member: str, epoch: int, state: str, *partitions: int) -> Fact:
    """What the coordinator lets a member have."""
    told = {"epoch": epoch, "state": state, "assigned": {"orders": [*partitions]} if partitions else {}, "pending": {}}
    return {"what": "reconciled", "at_us": at_us, "group": "g", "member": member, "member_id": member, **told}


def read(member: str, partition: int, from_us: int, to_us: int) -> Fact:
    """A stretch of reading."""
    times = {"from_us": from_us, "first_fetch_us": from_us, "to_us": to_us}
    return {"what": "read", "member": member, "incarnation": 0, "partition": f"orders-{partition}", **times}


def step(at_us: int, what: str, epoch: int) -> Fact:
    """An epoch, or a target."""
    return {"what": what, "at_us": at_us, "group": "g", "epoch": epoch, "assignor": "uniform"}


JOIN: Sequence[Fact] = (
    change(0, "g/0", "added"),
    step(0, "epoch", 2),
    step(0, "target", 2),
    let(0, "g/0", 2, "STABLE", 0, 1),
    read("g/0", 0, S // 10, 60 * S),
    read("g/0", 1, S // 10, 13 * S),
    change(10 * S, "g/1", "added"),
    step(10 * S, "epoch", 3),
    step(12 * S, "target", 3),
    let(12 * S, "g/1", 3, "UNRELEASED_PARTITIONS"),
    let(13 * S, "g/0", 3, "STABLE", 0),
    let(15 * S, "g/1", 3, "STABLE", 1),
    read("g/1", 1, 15 * S + S // 10, 60 * S),
)


def test_a_rebalance_ends_when_everybody_owns_its_target() -> None:
    first, second = rebalances(JOIN)
    assert (first.begun_us, first.target_us, first.balanced_us) == (0, 0, S // 10)
    assert (second.begun_us, second.target_us, second.balanced_us) == (10 * S, 12 * S, 15 * S + S // 10)


def test_epochs_that_are_bumped_meanwhile_belong_to_it() -> None:
    more = [*JOIN[:-1], change(14 * S, "g/2", "added"), step(14 * S, "epoch", 4)]
    (_, second) = rebalances(more)
    assert (second.epochs, second.balanced_us) == (2, -1)


def test_a_member_that_fails_is_not_waited_for() -> None:
    facts = [*JOIN[:-2], change(14 * S, "g/1", "failed"), let(14 * S, "g/0", 3, "STABLE", 0)]
    assert rebalances(facts)[-1].balanced_us == 14 * S


def test_a_static_member_that_is_replaced_is_waited_for_under_its_new_id() -> None:
    facts = [
        *JOIN,
        change(20 * S, "g/1", "replaced"),
        step(21 * S, "epoch", 4),
        let(21 * S, "g/0", 4, "STABLE", 0),
        {**let(22 * S, "g/1", 4, "STABLE", 1), "member_id": "another"},
    ]
    assert rebalances(facts)[-1].balanced_us == 22 * S


def test_phases_and_summary_in_seconds() -> None:
    fault = {"what": "action", "at_us": 9 * S, "entry": "fault", "verb": "kill", "target": "g/9"}
    found = phases([*JOIN, fault])
    assert found["rebalance 2: fault to epoch"] == pytest.approx(1.0)
    assert found["rebalance 2: epoch to target"] == pytest.approx(2.0)
    assert found["rebalance 2: target to balanced"] == pytest.approx(3.1)
    told = summary([*JOIN, fault])
    assert (told["rebalances"], told["epochs"], told["targets"]) == (1, 1, 1)
    assert told["balanced again"] == pytest.approx(6.1)
    assert told["unread, worst"] == pytest.approx(2.1)


def test_the_course_has_epochs_with_who_came_and_targets() -> None:
    assert course(JOIN) == [
        ("epoch", 2, ((("added", "g/0"), 1),)), ("target", 2, "uniform"),
        ("epoch", 3, ((("added", "g/1"), 1),)), ("target", 3, "uniform"),
    ]  # fmt: skip


def beat(member: str, at_us: int) -> Fact:
    """A heartbeat of the classic protocol."""
    return {"what": "request", "at_us": at_us, "member": member, "incarnation": 0, "api": "Heartbeat", "error": None}


def test_beats_are_apart_on_a_circle() -> None:
    offsets = {"g/0": 0, "g/1": S // 10, "g/2": 29 * S // 10}
    beats = [beat(name, 30 * S + turn * 3 * S + offset) for turn in (0, 1) for name, offset in offsets.items()]
    assert beats_apart(beats, 37 * S) == (3, S // 5)


def test_who_is_silent_is_not_counted() -> None:
    beats = [beat("g/0", 0), beat("g/0", 3 * S), beat("g/1", 27 * S), beat("g/1", 30 * S)]
    assert beats_apart(beats, 31 * S) == (1, 0)


def test_heartbeats_are_late_by_what_lies_beyond_the_usual_period() -> None:
    times = [0]
    for late in [0] * 17 + [S // 20] * 3:
        times.append(times[-1] + 3 * S + late)
    assert beats_late_ms([beat("g/0", at_us) for at_us in times]) == 50.0
    assert beats_late_ms([]) == 0.0
