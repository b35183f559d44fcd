"""Brokers that go: broker-roll, coordinator-closed, coordinator-killed.

Kafka's own system tests expect no unexpected rebalance of a rolling bounce of the brokers, and none of a broker's
failure. What three real nodes did is in `tests.conformance.protocol.test_broker_failures`.
"""

from __future__ import annotations

import pandas as pd
import pytest

from groupsim.sim import Result
from tests.conformance.library.runs import fired_s, rebalances, runs, summaries, unread

SEEDS = range(1, 11)


def after(result: Result, entry: str) -> int:
    """Rebalances of any group that begin after an entry of the timeline has fired."""
    return len(rebalances(result, fired_s(result, entry)))


def unread_after(result: Result, entry: str) -> pd.DataFrame:
    """What is unread from an entry of the timeline on."""
    rows = unread(result)
    return rows[rows.from_s >= fired_s(result, entry)]


@pytest.mark.parametrize("name", ["broker-roll", "coordinator-closed", "coordinator-killed"])
def test_nobody_rebalances(name: str) -> None:
    entry = {"broker-roll": "roll", "coordinator-closed": "shutdown", "coordinator-killed": "crash"}[name]
    assert [after(result, entry) for result in runs(name, seeds=SEEDS)] == [0] * len(SEEDS)


@pytest.mark.parametrize("group", ["billing", "cooperative", "consumer"])
def test_in_a_roll_no_partition_is_unread_for_long(group: str) -> None:
    rows = summaries(runs("broker-roll", seeds=SEEDS), group)
    assert (rows.unavailable_gap_s_max > 0.1).all()
    assert (rows.unavailable_gap_s_max < 3.0).all()
    assert (rows.duplicates == 0).all()


def test_a_roll_restarts_every_broker() -> None:
    for result in runs("broker-roll", seeds=SEEDS):
        events = result.tables["events"]
        assert sorted(set(events.target)) == ["broker:0", "broker:1", "broker:2"]


def test_a_closed_broker_hands_everything_over_within_a_second_or_so() -> None:
    rows = summaries(runs("coordinator-closed", seeds=SEEDS))
    assert (rows.unavailable_gap_s_max < 1.6).all()
    assert (rows.lag_s_max < 2.0).all()


def test_a_killed_broker_holds_up_every_partition_for_its_session() -> None:
    for result in runs("coordinator-killed", seeds=SEEDS):
        rows = unread_after(result, "crash")
        gap = result.summary.unavailable_gap_s_max.iloc[0]
        assert 7.0 <= gap <= 10.2 + 1.5 or 10.5 <= gap <= 13.2 + 1.5
        assert rows.partition.nunique() == 12
        assert (result.summary.unavailable_detection_s >= 12 * 7.0).all()


def test_twice_the_session_holds_everything_up_for_twice_as_long() -> None:
    changes = {"cluster.config[broker.session.timeout.ms]": 18000}
    rows = summaries(runs("coordinator-killed", changes, seeds=SEEDS[:4]))
    assert (rows.unavailable_gap_s_max >= 16.0).all()


def test_without_copies_elsewhere_only_the_dead_brokers_partitions_wait_but_for_good() -> None:
    changes = {"topics.orders.replication_factor": 1}
    for result in runs("coordinator-killed", changes, seeds=SEEDS[:4]):
        waits = unread_after(result, "crash")
        longest = waits.groupby("partition")["length_s"].max()
        assert 1 <= len(longest) < 12
        assert (longest > 100).all()
