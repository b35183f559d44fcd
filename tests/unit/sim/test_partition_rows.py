"""The tables of partitions and members: by hand, and against the summary."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from groupsim.sim import Result
from groupsim.sim import simulate as run
from groupsim.sim.model import Kill, Processing, Rate, Topic
from groupsim.sim.units import MS, S
from tests.support.random_scenarios import Family, random_scenario
from tests.unit.sim.scenes import (
    CLIENT,
    FIDELITIES,
    constant,
    entry,
    group,
    lasting,
    member,
    rows,
    scene,
    simulate,
    stretches,
    summary,
    with_start,
)

both = pytest.mark.parametrize("fidelity", FIDELITIES)


@both
def test_a_partition_s_row_tells_its_gaps_by_cause(fidelity: str) -> None:
    killed = entry(20 * S, Kill(target=member(0), down=lasting(15 * S)))
    result = simulate(scene(group(count=2), timeline=(killed,)), fidelity)
    for row in rows(result, "partitions"):
        mine = [one for one in stretches(result) if one[0] == row["partition"]]
        for cause in ("unowned", "detection", "barrier", "assignment", "resume"):
            assert row[f"{cause}_us"] == sum(end - begin for _, begin, end, why in mine if why == cause)
        assert row["unavailable_us"] == sum(end - begin for _, begin, end, _ in mine)
    # The killed member had partitions 2 and 3: they wait for its session; the others only for rebalances.
    long, short = (rows(result, "partitions", partition=number)[0] for number in (3, 0))
    assert long["gap_us_max"] > 9 * S > S > short["gap_us_max"]
    # Ten records a second: all of the gap, but for the spacing of records.
    assert long["gap_us_max"] // (100 * MS) <= long["lag_records_max"] <= long["gap_us_max"] // (100 * MS) + 2
    assert short["lag_records_max"] <= 1
    assert (long["moved"], short["moved"]) == (2, 0)  # there and back
    assert long["duplicates"] == summary(result)["duplicates"] // 2 > 0 == short["duplicates"]


FAMILIES: tuple[Family, ...] = ("jitter", "grid", "dense", "aged")


@pytest.mark.parametrize("family", FAMILIES)
def test_partitions_add_up_to_the_summary(family: Family) -> None:
    for seed in range(4):
        result = run(random_scenario(seed, family), seed=seed)
        for name, table in result.tables["partitions"].groupby("group"):
            one = summary(result, str(name))
            assert len(table) == one["partitions"]
            assert table["unavailable_us"].sum() / S == pytest.approx(one["unavailable_partition_s"])
            assert table["unavailable_us"].max() / S == one["unavailable_s_max"]
            assert table["gap_us_max"].max() / S == one["unavailable_gap_s_max"]
            assert table["duplicates"].sum() == one["duplicates"]
            assert table["lag_records_max"].max() <= one["lag_records_max"] <= table["lag_records_max"].sum()
            if not table["moved"].isna().any():
                assert table["moved"].sum() == one["partitions_moved"]


def test_only_what_counts_is_in_a_partition_s_row() -> None:
    killed = entry(20 * S, Kill(target=member(0), down=lasting(15 * S)))
    later = simulate(scene(group(count=2), timeline=(killed,), measure_from_us=50 * S))
    for row in rows(later, "partitions"):
        assert [value for name, value in row.items() if name not in ("group", "topic", "partition")] == [0] * 11


# --- members ----------------------------------------------------------------------------------------------------------


def one_member(result: Result, name: str, incarnation: int = 1) -> dict[str, float]:
    (row,) = rows(result, "members", member=name, incarnation=incarnation)
    return row


@both
def test_a_member_s_row_tells_what_it_has_done(fidelity: str) -> None:
    """Two members; the first has all four partitions until the second comes at 30 s, and is killed at 55 s."""
    working = Processing(per_record=lasting(10 * MS), per_poll_us=0)
    people = group(processing=working, **with_start(30 * S))
    killed = entry(55 * S, Kill(target=member(0)))
    result = simulate(scene(people, timeline=(killed,)), fidelity)
    first, second = one_member(result, "g/0"), one_member(result, "g/1")
    assert first["records"] == pytest.approx(40 * 30 + 20 * 25, abs=8)
    # 100 records a second are what it could do, but for the time of a poll.
    assert first["busy"] == pytest.approx((0.4 * 30 + 0.2 * 25) / 55, rel=0.01)
    assert first["partitions"] == pytest.approx((4 * 30 + 2 * 25) / 55, rel=0.01)
    # Its own two until 60 s: nobody knows by then that the first is dead.
    assert second["partitions"] == pytest.approx(2.0, rel=0.01)
    assert second["records"] == pytest.approx(20 * 30, abs=8)


def test_each_life_has_its_own_work() -> None:
    killed = entry(20 * S, Kill(target=member(0), down=lasting(20 * S)))
    people = group(client=replace(CLIENT, auto_offset_reset="earliest"))
    result = simulate(scene(people, timeline=(killed,), rate=constant(100_000)))
    first, second = (one_member(result, "g/0", incarnation) for incarnation in (1, 2))
    assert first["records"] == pytest.approx(400 * 20, abs=400)
    whole = summary(result)
    assert first["records"] + second["records"] == 400 * 60 + whole["duplicates"] - whole["lag_records_end"]


def test_work_is_the_whole_run_s_whatever_counts() -> None:
    whole, part = (simulate(scene(measure_from_us=at)) for at in (0, 30 * S))
    assert one_member(part, "g/0") == one_member(whole, "g/0")


def test_an_overloaded_member_is_busy_all_the_time() -> None:
    working = Processing(per_record=lasting(100 * MS))
    result = simulate(scene(group(processing=working), rate=constant(100_000)))
    assert one_member(result, "g/0")["busy"] == pytest.approx(1, abs=0.01)
    assert one_member(result, "g/0")["records"] == pytest.approx(600, rel=0.02)


def test_a_group_with_two_topics_has_rows_of_both() -> None:
    topics = (Topic(name="a", partitions=2, rate=constant(1_000)), Topic(name="b", partitions=3, rate=Rate()))
    result = simulate(scene(group(topics=("a", "b"), client=CLIENT), topics=topics))
    found = [(one["topic"], one["partition"]) for one in rows(result, "partitions")]
    assert found == [("a", 0), ("a", 1), ("b", 0), ("b", 1), ("b", 2)]
    assert np.array_equal(result.tables["partitions"]["moved"], [0] * 5)
