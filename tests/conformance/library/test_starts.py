"""Starts: start-up-with-delay, start-up-without-delay, staggered-start, blue-green.

Closed form: a group that leaves Empty waits in windows of ``group.initial.rebalance.delay.ms``, one more for each
window that saw a newcomer. Recorded on a 4.4.0 broker: 6.01 to 6.13 s for 8 at once, 12.02 to 12.06 s for 8 a second
apart, 3.05 to 3.17 s for 8 without delay, 9.08 to 9.26 s for 8 a second apart without delay.
"""

from __future__ import annotations

import pytest

from groupsim.sim import Result
from groupsim.sim.config import Timing
from groupsim.sim.randomness import longest
from groupsim.sim.units import S
from tests.conformance.library.runs import (
    COOPERATIVE,
    HEARTBEAT_S,
    TRIPS_S,
    TWENTY,
    first_round_s,
    near,
    rebalances,
    runs,
    summaries,
    unread,
)

DELAY = "cluster.config[group.initial.rebalance.delay.ms]"
DELAY_S = 3.0
FEW = range(1, 3)
"""The assignor of `slow-assignor` takes its time in earnest: 2.7 s a run."""


def converged_s(result: Result) -> float:
    """From the first JoinGroup to the end of the last rebalance."""
    table = rebalances(result)
    return float(table["end_s"].max() - table["start_s"].min())


def test_start_up_with_delay_takes_two_windows() -> None:
    results = runs("start-up-with-delay")
    found = summaries(results)
    assert (found["rebalances"] == 1).all()
    assert (found["generations"] == 1).all()
    assert all(near(converged_s(result), 2 * DELAY_S) for result in results)
    assert all(near(gap, 2 * DELAY_S) for gap in found["unavailable_gap_s_max"])
    assert (found["unavailable_barrier_s"] > 0.99 * found["unavailable_partition_s"]).all()
    assert (found["duplicates"] == 0).all()


def test_a_group_of_one_waits_for_one_window() -> None:
    found = summaries(runs("start-up-with-delay", {"groups.billing.members.count": 1}))
    assert all(near(gap, DELAY_S) for gap in found["unavailable_gap_s_max"])


def test_start_up_without_delay_ends_at_the_first_members_heartbeat() -> None:
    results = runs("start-up-without-delay")
    found = summaries(results)
    assert found["rebalances"].isin([2, 3]).all()
    assert (found["unavailable_gap_s_max"] < 0.1).all(), "read from the first moment on"
    assert all(near(converged_s(result), HEARTBEAT_S) for result in results), "recorded: 3.05 to 3.17 s"
    for result in results:
        assert rebalances(result)["members_after"].tolist()[0] < 8
    assert found["partitions_moved"].median() == 21, "taken from who came first"
    assert (found["partitions_moved"] >= 12).all(), "four came while the first one's SyncGroup was under way"
    assert (found["duplicates"] == 0).all(), "an eager member commits before it gives anything up"


def test_without_delay_a_start_within_milliseconds_has_two_outcomes() -> None:
    results = runs("start-up-without-delay", {"groups.billing.members.boot": "700ms"}, TWENTY)
    ends = [converged_s(result) for result in results]
    merged = [end for end in ends if end < TRIPS_S + longest(Timing().join_prepare) / S]
    late = [end for end in ends if HEARTBEAT_S - 0.05 <= end < HEARTBEAT_S + 0.1]
    assert len(merged) + len(late) == len(ends)
    assert merged
    assert late


def test_without_delay_is_sooner_than_with_it() -> None:
    with_delay, without = runs("start-up-with-delay"), runs("start-up-without-delay")
    assert max(converged_s(result) for result in without) < min(converged_s(result) for result in with_delay)
    assert summaries(without)["unavailable_partition_s"].max() < summaries(with_delay)["unavailable_partition_s"].min()


def test_staggered_start_waits_for_the_last_pod_and_an_empty_window() -> None:
    results = runs("staggered-start")
    found = summaries(results)
    assert (found["rebalances"] == 1).all()
    assert all(near(converged_s(result), 4 * DELAY_S) for result in results)
    assert all(near(gap, 4 * DELAY_S) for gap in found["unavailable_gap_s_max"])


def test_staggered_start_without_delay_is_done_at_the_heartbeat_after_the_last_pod() -> None:
    results = runs("staggered-start", {DELAY: 0})
    found = summaries(results)
    assert found["rebalances"].isin([4, 5]).all()
    ends = [converged_s(result) for result in results]
    assert all(near(end, 9.0, 3 * TRIPS_S) for end in ends), "heartbeats at 3, 6, 9; recorded: 9.08 to 9.26"
    assert (found["unavailable_gap_s_max"] < 0.6).all()


def test_cooperative_sticky_without_delay_needs_a_second_round() -> None:
    eager = summaries(runs("start-up-without-delay"))
    cooperative = summaries(runs("start-up-without-delay", COOPERATIVE))
    assert (cooperative["rebalances"] > eager["rebalances"]).all()
    assert (cooperative["stop_the_world_s"] == 0).all()


def test_blue_green_has_one_rebalance_a_group() -> None:
    results = runs("blue-green")
    blue, green = summaries(results, "blue"), summaries(results, "green")
    assert (blue["rebalances"] == 0).all()
    assert (blue["unavailable_partition_s"] == 0).all()
    assert (green["rebalances"] == 1).all()
    assert all(near(gap, 2 * DELAY_S) for gap in green["unavailable_gap_s_max"])
    for found in (blue, green):
        assert (found[["duplicates", "losses"]] == 0).all(axis=None), "counted per group: nobody sees the double work"


def test_blue_green_reads_everything_twice_while_both_run() -> None:
    for result in runs("blue-green"):
        owners = result.tables["ownership"]
        green = owners[owners["group"] == "green"]
        assert green["from_us"].max() < 130_000_000, "green has all partitions before blue closes"
        blue = owners[(owners["group"] == "blue") & (owners["to_us"] >= 239_000_000)]
        assert len(green) == len(blue) == 40


def test_the_clock_of_a_start_begins_with_the_first_join() -> None:
    for result in runs("start-up-with-delay"):
        assert unread(result)["from_s"].min() == pytest.approx(first_round_s(result)[0], abs=0.02)


# --- slow-assignor ----------------------------------------------------------------------------------------------------


def test_a_leader_that_assigns_for_longer_than_its_session_is_replaced_for_ever() -> None:
    for result in runs("slow-assignor", seeds=FEW):
        assert "Stable" not in set(result.tables["states"]["state"])
        assert result.summary["evictions"].iloc[0] >= 15
        assert result.tables["ownership"].empty


def test_with_a_longer_session_or_a_faster_assignor_it_is_stable_at_once() -> None:
    patient = {"groups.billing.config[session.timeout.ms]": 45_000}
    for changes in (patient, {"groups.billing.client_family": "java"}):
        found = summaries(runs("slow-assignor", changes, FEW))
        assert (found["generations"] == 1).all()
        assert (found["evictions"] == 0).all()
