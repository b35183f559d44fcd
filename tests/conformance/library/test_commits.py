"""What is committed, when, and for how long: long-weekend, framework-defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from groupsim.scenarios import load
from groupsim.scenarios.sweep.loading import load_sweep
from groupsim.sim import Result
from groupsim.sim.units import S
from tests.conformance.library.runs import runs, summaries

SEEDS = range(1, 5)
RESET = "groups.billing.config[auto.offset.reset]"
RATE, AWAY_S = 24, 95 * 3600
"""Records a second of all partitions, and for how long nobody reads them."""


def delivered(result: Result) -> dict[tuple[str, str], int]:
    table = result.tables["delivery"]
    return {(kind, cause): records for _, kind, cause, records in table.itertuples(index=False)}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {("loss", "expired offset"): AWAY_S * RATE}),
        ({RESET: "earliest"}, {("duplicate", "expired offset"): 3600 * RATE}),
        ({RESET: "by_duration:P2D"}, {("loss", "expired offset"): (AWAY_S - 48 * 3600) * RATE}),
        ({"cluster.config[offsets.retention.minutes]": 10_080}, {}),
    ],
    ids=["latest", "earliest", "by_duration", "a week"],
)
def test_after_a_long_weekend_the_reset_policy_decides(
    changes: Mapping[str, Any], expected: Mapping[tuple[str, str], int]
) -> None:
    (result,) = runs("long-weekend", changes, [1])
    assert delivered(result) == pytest.approx(expected, rel=0.001)


def repeated(framework: str) -> tuple[float, Sequence[Result]]:
    """Records read twice for each pod that was killed, and the runs."""
    results = runs("framework-defaults", {"groups.billing.framework": framework}, SEEDS)
    return summaries(results)["duplicates"].sum() / kills(results), results


def kills(results: Sequence[Result]) -> int:
    """How many pods were killed."""
    return sum(int((one.tables["members"]["ended_by"] == "killed").sum()) for one in results)


POD_RATE = 100
"""Records a second of four partitions."""


@pytest.mark.parametrize(("framework", "commit_s"), [("confluent-kafka", 5), ("kafka-python", 5), ("sarama", 1)])
def test_what_was_read_since_the_last_commit_is_read_twice(framework: str, commit_s: int) -> None:
    """A kill falls anywhere between two commits: the mean of so many uniform draws, within four standard errors."""
    each, results = repeated(framework)
    between = commit_s * POD_RATE
    assert abs(each - between / 2) < 4 * between / np.sqrt(12 * kills(results))


def test_spring_repeats_less_than_half_a_second() -> None:
    spring, _ = repeated("spring-batch")
    assert spring < 0.5 * POD_RATE


def test_acks_of_single_records_repeat_nothing_of_a_backlog() -> None:
    assert repeated("spring-batch")[0] > 5
    assert repeated("spring-record")[0] < 1


def test_the_sweep_frameworks_is_this_scenario_with_the_defaults_of_each() -> None:
    """So what is found here is found there, of one framework after the other."""
    sweep = load_sweep("frameworks")
    assert [one.name for one in sweep.variants] == [
        "spring-batch", "spring-record", "confluent-kafka", "kafka-python", "sarama", "franz-go",
    ]  # fmt: skip
    for one in sweep.variants:
        own = load("framework-defaults", set_={"groups.billing.framework": one.name})
        assert (one.scenario.groups, one.scenario.timeline) == (own.groups, own.timeline)
    sessions = {one.name: one.scenario.groups[0].client.session_timeout_us // S for one in sweep.variants}
    assert sessions == {name: 10 if name == "sarama" else 45 for name in sessions}


def test_cooperative_members_that_wait_in_a_rebalance_commit_nothing_and_repeat_most() -> None:
    assert repeated("franz-go")[0] > 2 * repeated("kafka-python")[0]


def test_unread_time_goes_by_the_session_and_not_by_commits() -> None:
    found = {
        name: summaries(repeated(name)[1])["unavailable_partition_s"].sum()
        for name in ("spring-batch", "kafka-python", "sarama", "franz-go")
    }
    assert found["sarama"] < found["spring-batch"] / 8
    assert found["kafka-python"] == pytest.approx(found["spring-batch"], rel=0.15)
    assert found["franz-go"] < found["spring-batch"] / 4
    assert all((summaries(repeated(name)[1])["losses"] == 0).all() for name in found)
