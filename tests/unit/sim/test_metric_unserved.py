"""A group that never serves a partition: its clock, its stop-the-world, and the columns that say what is wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupsim.assignors import Assignment, Assignor, GroupSnapshot
from groupsim.sim.model import (
    ZERO,
    CreateTopic,
    Group,
    Kill,
    Members,
    Rate,
    Scenario,
    SetRate,
    Start,
    Subscription,
    Topic,
)
from groupsim.sim.units import S
from tests.unit.sim.scenes import (
    CLIENT,
    FIDELITIES,
    constant,
    entry,
    everybody,
    group,
    rows,
    scene,
    simulate,
    stretches,
    summary,
)

FIRST_RECORDS = [25_000, 50_000, 75_000, 100_000]
"""At ten records a second a partition has its first within 0.1 s; four take turns."""

both = pytest.mark.parametrize("fidelity", FIDELITIES)


class AlwaysThrows(Assignor):
    """An assignor with a bug."""

    name = "always-throws"

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        raise ZeroDivisionError("no members")


def without_members(**more: object) -> Group:
    return replace(group(), members=Members(count=0, boot=ZERO), **more)  # type: ignore[arg-type]


def broken() -> Scenario:
    """A leader whose assignor always throws."""
    throwing = replace(CLIENT, partition_assignment_strategy=("always-throws",))
    return scene(group(client=throwing), allow_assignors=(f"{__name__}:AlwaysThrows",), horizon_us=20 * S)


# --- the clock --------------------------------------------------------------------------------------------------------


@both
def test_without_members_everything_is_unowned_from_the_first_record_on(fidelity: str) -> None:
    result = simulate(scene(without_members(), horizon_us=10 * S), fidelity)
    assert stretches(result) == [(partition, first, 10 * S, "unowned") for partition, first in enumerate(FIRST_RECORDS)]
    row = summary(result)
    assert row["stop_the_world_s"] == row["unavailable_gap_s_max"] == (10 * S - FIRST_RECORDS[0]) / S
    assert row["unavailable_unowned_s"] == row["unavailable_partition_s"] == (4 * 10 * S - sum(FIRST_RECORDS)) / S
    assert (row["partitions"], row["members"], row["end_state"]) == (4, 0, "Dead")
    assert row["first_service_s"] != row["first_service_s"]  # null


@both
def test_a_barrier_without_end_counts_from_the_first_record_too(fidelity: str) -> None:
    result = simulate(scene(initial_delay_us=30 * S, horizon_us=10 * S), fidelity)
    assert stretches(result) == [(partition, first, 10 * S, "barrier") for partition, first in enumerate(FIRST_RECORDS)]
    assert summary(result)["stop_the_world_s"] == (10 * S - FIRST_RECORDS[0]) / S


def test_until_somebody_asks_to_join_it_is_unowned_and_then_a_barrier() -> None:
    late = group(start=Start(value_us=5 * S))
    found = stretches(simulate(scene(late, initial_delay_us=30 * S, horizon_us=10 * S)), partition=1)
    assert (found[0][1], found[0][3]) == (FIRST_RECORDS[1], "unowned")
    assert found[0][2] == found[1][1] > 5 * S
    assert found[1][2:] == (10 * S, "barrier")


@pytest.mark.parametrize(("begin", "end", "expected_s"), [(4, 10, 6), (0, 4, 3.975), (2, 5, 3)])
def test_the_window_bounds_the_clock(begin: int, end: int, expected_s: float) -> None:
    window = {"measure_from_us": begin * S, "measure_to_us": end * S}
    row = summary(simulate(scene(without_members(), horizon_us=10 * S, **window)))
    assert row["stop_the_world_s"] == row["unavailable_gap_s_max"] == expected_s


def test_partitions_without_a_record_keep_nobody_waiting() -> None:
    quiet = simulate(scene(without_members(), rate=constant(0), horizon_us=10 * S))
    assert not stretches(quiet)
    assert summary(quiet)["stop_the_world_s"] == 0


def test_a_topic_counts_from_its_creation_and_its_first_record() -> None:
    later = Topic(name="u", partitions=2, rate=constant(500))
    reading = without_members(subscription=Subscription(pattern="u.*"))
    timeline = (entry(3 * S, CreateTopic(topic=later)),)
    result = simulate(scene(reading, rate=constant(0), timeline=timeline, horizon_us=10 * S))
    assert [row[1] for row in stretches(result)] == [4 * S, 5 * S]  # a record every two seconds, in turns
    assert summary(result)["partitions"] == 2


def test_a_rate_that_begins_later_brings_the_first_record_later() -> None:
    begins = (entry(2 * S, SetRate(topic="t", rate=Rate(per_partition_mrps=((1_000,),)))),)
    result = simulate(scene(without_members(), rate=constant(0), timeline=begins, horizon_us=10 * S))
    assert [row[1] for row in stretches(result)] == [2_250_000, 2_500_000, 2_750_000, 3 * S]


# --- what is wrong ----------------------------------------------------------------------------------------------------


@both
def test_an_assignor_that_always_fails_is_counted(fidelity: str) -> None:
    row = summary(simulate(broken(), fidelity))
    assert row["failed_assignments"] > 10
    assert row["unstable_s"] == pytest.approx(20, abs=0.01)
    assert row["stop_the_world_s"] == (20 * S - FIRST_RECORDS[0]) / S
    assert row["end_state"] in ("PreparingRebalance", "CompletingRebalance")


def test_failures_count_within_the_window() -> None:
    everything = summary(simulate(broken()))["failed_assignments"]
    half = summary(simulate(replace(broken(), measure_from_us=10 * S)))
    assert 0 < half["failed_assignments"] < everything
    assert half["unstable_s"] == 10


def test_a_group_that_works_has_failed_nowhere() -> None:
    result = simulate(scene(timeline=(entry(20 * S, Kill(target=everybody())),)))
    row = summary(result)
    assert row["failed_assignments"] == 0
    assert row["end_state"] == "Empty"
    assert row["first_service_s"] == min(one["from_us"] for one in rows(result, "ownership")) / S
    unstable = [one for one in rows(result, "states") if one["state"] not in ("Stable", "Empty")]
    assert row["unstable_s"] == sum(one["to_us"] - one["from_us"] for one in unstable) / S


def test_the_end_is_that_of_the_window() -> None:
    dying = (entry(20 * S, Kill(target=everybody())),)
    assert summary(simulate(scene(timeline=dying, measure_to_us=25 * S)))["end_state"] == "Stable"
