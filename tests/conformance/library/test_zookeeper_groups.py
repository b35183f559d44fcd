"""Groups that ZooKeeper holds together: herd-effect, split-brain, rebalance-given-up, and the sweep deploy-generations.

Closed form of a join: tests/conformance/protocol/test_zookeeper_closed_forms.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import pytest

from groupsim.scenarios.sweep.loading import load_sweep
from groupsim.sim import Result, simulate
from tests.conformance.library.runs import runs, summaries, unread

SEEDS = range(1, 4)
MEMBERS = "groups.billing.members.count"
NEWCOMER = "timeline[newcomer].scale.to"
PARTITIONS = "topics.orders.partitions"
BROKERS, TOPICS = 3, 1
ONE_SERVER = {"cluster.zookeeper.nodes": 1}
NO_LAG = {"cluster.zookeeper.follower_lag": "0s"}


def zookeeper(results: Sequence[Result]) -> pd.DataFrame:
    """The rows of table ``zookeeper``, one for each seed."""
    return pd.concat([result.tables["zookeeper"] for result in results], ignore_index=True)


def detail_s(results: Sequence[Result], detail: str) -> float:
    """Partition-time that is unread because of a detail, of all runs."""
    tables = [unread(result) for result in results]
    return float(sum(table[table["detail"] == detail]["length_s"].sum() for table in tables))


@pytest.mark.parametrize("members", [5, 10, 20])
def test_a_newcomer_costs_a_notification_a_member_and_reads_by_the_square(members: int) -> None:
    size = {MEMBERS: members, NEWCOMER: members + 1, PARTITIONS: 2 * members, **ONE_SERVER}
    found = zookeeper(runs("herd-effect", size, SEEDS[:2]))
    everybody = members + 1
    tries = everybody * (everybody + 2 * BROKERS + 6 + TOPICS) + 2 * members
    assert (found["failed_tries"] == 0).all()
    assert (found["watch_notifications"] == members).all()
    assert (found["reads"] == tries + 2 * everybody + TOPICS).all()


def test_lists_of_members_are_read_stale_where_followers_lag_and_nowhere_else() -> None:
    lagging, level, one = (zookeeper(runs("split-brain", changes, SEEDS)) for changes in ({}, NO_LAG, ONE_SERVER))
    assert (lagging["stale_reads"] >= 5).all()
    assert (one["stale_reads"] == 0).all()
    assert level["stale_reads"].sum() <= 2, "a message between servers still takes half a millisecond"
    assert lagging["failed_tries"].sum() >= 2.5 * one["failed_tries"].sum()
    assert (lagging["conflicts"].to_numpy() > one["conflicts"].to_numpy()).all()


def test_views_that_differ_leave_partitions_unread_and_never_read_twice_at_a_time() -> None:
    lagging, one = runs("split-brain", seeds=SEEDS), runs("split-brain", ONE_SERVER, SEEDS)
    total = "unavailable_partition_s"
    assert (summaries(lagging)[total].to_numpy() > 2.5 * summaries(one)[total].to_numpy()).all()
    assert detail_s(lagging, "overlooked") > detail_s(one, "overlooked"), "who is to own them has settled on less"
    assert (zookeeper(lagging)["two_readers_us"] == 0).all(), "the owner node is a lock"
    assert summaries(lagging)["duplicates"].sum() > 0, "offsets are read before the owner node is made"
    assert summaries(one)["duplicates"].sum() == 0


def test_a_member_that_has_failed_all_its_tries_owns_nothing_to_the_end() -> None:
    given_up = runs("rebalance-given-up", seeds=SEEDS)
    found, rows = zookeeper(given_up), summaries(given_up)
    assert (found["failed_rebalances"] >= 1).all()
    assert (found["failed_tries"] >= 4 * found["failed_rebalances"]).all()
    assert (rows["end_state"] == "Rebalancing").all()
    assert (rows["unavailable_gap_s_max"] > 175).all(), "from 2:00 to the horizon, 5:00"
    assert (rows["evictions"] == 0).all(), "no session has expired"
    for result in given_up:
        unread_to_the_end = unread(result).query("detail == 'given_up' and to_us == 300_000_000")
        assert len(unread_to_the_end) >= 8, "a part of eight partitions at least"


def test_more_tries_outlast_the_pause() -> None:
    patient = summaries(runs("rebalance-given-up", {"groups.billing.config[rebalance.max.retries]": 10}, SEEDS))
    assert (patient["end_state"] == "Stable").all()
    assert patient["unavailable_gap_s_max"].between(13, 20).all()


@pytest.fixture(scope="module")
def generations() -> dict[str, pd.DataFrame]:
    sweep = load_sweep("deploy-generations")
    return {one.name: summaries([simulate(one.scenario, seed=1)]) for one in sweep.variants}


def test_each_generation_makes_less_of_the_same_deploy(generations: dict[str, Any]) -> None:
    unread_s = {name: rows["unavailable_partition_s"] for name, rows in generations.items()}
    assert list(generations) == ["0.8.2", "0.9", "classic", "consumer"]
    assert (unread_s["0.8.2"] > 3 * unread_s["0.9"]).all()
    assert (abs(unread_s["classic"] / unread_s["0.9"] - 1) < 0.1).all()
    assert (unread_s["consumer"] < unread_s["0.8.2"]).all()
    assert (generations["0.8.2"]["stop_the_world_s"] > 2.5 * generations["0.9"]["stop_the_world_s"]).all()
    assert (generations["consumer"]["stop_the_world_s"] == 0).all()
    assert (generations["0.8.2"]["requests"] > 4 * generations["classic"]["requests"]).all()
    assert (generations["0.8.2"]["unavailable_gap_s_max"] > 8).all(), "four tries, 2 s apart"
    assert (generations["consumer"]["partitions_moved"] * 3 < generations["classic"]["partitions_moved"]).all()
