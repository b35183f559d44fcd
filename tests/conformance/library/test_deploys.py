"""Deploys: rolling-deploy, rolling-deploy-surge, assignor-upgrade.

Closed form for N pods: eager 2 N rebalances, cooperative up to 3 N rounds, static none while every pod is back within
the session. Published for 40 pods and 200 partitions: about 3 s of rebalance a restart, two minutes in all, and seconds
with static membership. Recorded on a 4.4.0 broker for two rolls of an assignor upgrade: unread 2.1 to 3.3 s at most.

Ten pods and 50 partitions stand for 40 and 200 by default; the full size is run by the slow test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import pytest

from tests.conformance.library.runs import (
    COOPERATIVE,
    HEARTBEAT_S,
    SEEDS,
    STATIC,
    STEP_S,
    STICKY,
    TRIPS_S,
    TWO,
    errors,
    fired_s,
    late_syncs,
    rebalances,
    runs,
    summaries,
)

VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "range": {}, "sticky": STICKY, "cooperative-sticky": COOPERATIVE, "static": STATIC,
}  # fmt: skip
SMALL: Mapping[str, Any] = {
    "groups.billing.members.count": 10, "topics.orders.partitions": 50, "horizon": "10min",
}  # fmt: skip


def compared(size: Mapping[str, Any], seeds: Sequence[int]) -> dict[str, pd.DataFrame]:
    """Summaries of the four variants on the same seeds."""
    return {name: summaries(runs("rolling-deploy", {**size, **changes}, seeds)) for name, changes in VARIANTS.items()}


def check_deploy(found: Mapping[str, pd.DataFrame], pods: int) -> None:
    """What the scenario and its sweep say of a deploy of ``pods`` pods."""
    eager, sticky, cooperative, static = (found[name] for name in VARIANTS)
    for one in (eager, sticky):
        assert (one["rebalances"] == 2 * pods).all()
        assert (one["generations"] == 2 * pods).all()
        assert (one["stop_the_world_s"] < 2 * pods * 0.1).all(), "recorded: a join stops all for 0.03 to 0.1 s"
        assert (one["unavailable_gap_s_max"] <= HEARTBEAT_S + STEP_S + TRIPS_S).all()
    assert (cooperative["generations"] > 2 * pods).all()
    assert (cooperative["generations"] <= 4 * pods).all(), "3 N, and a third round where a race is lost"
    assert (cooperative["stop_the_world_s"] == 0).all()
    assert (cooperative["unavailable_gap_s_max"] <= 2 * (HEARTBEAT_S + TRIPS_S)).all()
    for column in ("rebalances", "generations", "partitions_moved", "stop_the_world_s", "evictions"):
        assert (static[column] == 0).all()
    check_costs(eager, sticky, cooperative, static)


def check_costs(eager: pd.DataFrame, sticky: pd.DataFrame, cooperative: pd.DataFrame, static: pd.DataFrame) -> None:
    """Which is dearer than which, seed by seed."""
    more = sticky["partitions_moved"] - sticky["partitions_moved_min"]
    assert (more >= 0).all()
    assert (more <= 0.02 * sticky["partitions_moved_min"]).all(), "who missed a generation claims what it had before"
    assert more.median() == 0
    assert (eager["partitions_moved"] > 2 * sticky["partitions_moved"]).all()
    assert (cooperative["partitions_moved"] <= 1.1 * sticky["partitions_moved"]).all()
    assert (static["unavailable_gap_s_max"] > 20).all()
    assert (static["unavailable_gap_s_max"] < 45).all()
    for one in (eager, sticky, cooperative):
        assert (static["unavailable_partition_s"] > 2 * one["unavailable_partition_s"]).all()
        assert (static["unavailable_gap_s_max"] > 3 * one["unavailable_gap_s_max"]).all()
    assert (cooperative["unavailable_partition_s"] > eager["unavailable_partition_s"]).all()
    assert (cooperative["duplicates"] > eager["duplicates"]).all()


def test_a_rolling_deploy_under_four_memberships() -> None:
    check_deploy(compared(SMALL, TWO), 10)


def test_the_first_rebalance_after_a_day_keeps_those_waiting_who_hear_early() -> None:
    varied = {"groups.billing.processing.per_record": {"lognormal": {"median": "1600us", "p99": "6400us"}}}
    first = {**varied, "horizon": "130s"}
    young = summaries(runs("rolling-deploy", first, range(1, 3)))
    aged = summaries(runs("rolling-deploy", {**first, "groups.billing.members.start": {"aged": "1d"}}, range(1, 3)))
    assert young["unavailable_partition_s"].between(10, 18).all()
    assert aged["unavailable_partition_s"].between(60, 85).all()


def test_an_eager_deploy_of_ten_pods() -> None:
    found = summaries(runs("rolling-deploy", SMALL))
    assert (found["rebalances"] == 20).all()
    is_longer = found["unavailable_gap_s_max"] > HEARTBEAT_S + STEP_S + TRIPS_S
    assert is_longer.sum() <= 1, "one JoinGroup in 30,000 is handed to the network after 0.3 s (join_prepare)"
    assert (found["unavailable_s_max"] < 20).all()
    in_rebalance = found["rebalance_s_total"] / 10
    assert in_rebalance.between(3.0, 2 * HEARTBEAT_S).all(), "a pod's two waits for a heartbeat; published: about 3 s"


@pytest.mark.slow
def test_the_whole_rolling_deploy_under_four_memberships() -> None:
    found = compared({}, SEEDS)
    check_deploy(found, 40)
    total = found["range"]["rebalance_s_total"]
    assert total.between(120, 240).all(), "published: about two minutes"


def test_a_surge_merges_the_joins_and_leaves_of_a_batch() -> None:
    surge = {**SMALL, "timeline[deploy].rolling_restart.batch": 5, "timeline[deploy].rolling_restart.surge": 5}
    found, single = summaries(runs("rolling-deploy-surge", surge)), summaries(runs("rolling-deploy", SMALL))
    assert (found["rebalances"] < single["rebalances"] / 2).all()
    assert (found["members"] == 15).all()
    assert (found["unavailable_gap_s_max"] < 5).all()
    assert found["unavailable_partition_s"].mean() < 0.8 * single["unavailable_partition_s"].mean()


def test_an_assignor_upgrade_in_two_rolls_refuses_nobody() -> None:
    results = runs("assignor-upgrade")
    found = summaries(results)
    rounds = found["rebalances"] - [late_syncs(result) for result in results]
    assert (found["rebalances"] >= 12 + 12).all()
    assert (rounds <= 12 + 18).all(), "a round more only for a SyncGroup that came too late"
    assert (found["unavailable_gap_s_max"] < 5).all()
    assert (found["unavailable_gap_s_max"] <= HEARTBEAT_S + TRIPS_S).mean() >= 0.9, "recorded: 2.1 to 3.3 s"
    for result in results:
        assert "INCONSISTENT_GROUP_PROTOCOL" not in errors(result)
        first = rebalances(result, fired_s(result, "first-roll"))
        assert (first["start_s"] < fired_s(result, "second-roll")).sum() == 12


def test_an_assignor_upgrade_in_one_roll_is_refused() -> None:
    at_once = {"timeline[both].set_config.config": {"partition.assignment.strategy": ["cooperative-sticky"]}}
    for result in runs("assignor-upgrade", at_once, TWO):
        assert "INCONSISTENT_GROUP_PROTOCOL" in errors(result)


def test_twelve_pods_rebalance_twice_each_and_stop_everybody_for_milliseconds() -> None:
    """What a pod had waits for a heartbeat of whoever hears of it last; all others stop only while they join."""
    found = runs("twelve-pod-deploy", seeds=range(1, 6))
    deploys = [rebalances(one, fired_s(one, "deploy")) for one in found]
    assert [len(one) for one in deploys] == [24] * len(found)
    assert all((one["length_s"] < HEARTBEAT_S + TRIPS_S).all() for one in deploys)
    totals = summaries(found)
    assert totals["unavailable_gap_s_max"].between(2, HEARTBEAT_S + STEP_S + TRIPS_S).all()
    assert totals["stop_the_world_s"].between(24 * 0.01, 24 * 0.06).all()
    assert (totals["duplicates"] == 0).all()
