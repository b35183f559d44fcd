"""Groups of the consumer protocol: cold-start, consumer-join, static-crash, slow-revoker, broker-pattern, rolls.

Closed form: nothing waits for all; what moves waits for its new owner's next heartbeat, 5 s at most. Recorded on a
4.4.0 broker: 10.26 to 10.37 s for a start of three at once, 5.23 to 5.26 s for a join, nine epochs for an upgrade roll
of five members, eight and one classic round for the way back, unread 2.8 to 4.9 s.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupsim.sim import Result
from tests.conformance.library.runs import STRATEGY, TWENTY, TWO, errors, fired_s, rebalances, runs, summaries, unread

HEARTBEAT_S = 5.0
PASSES_S = 0.8
"""A few passes through poll() at 100 ms, and round trips."""
BOOT = "groups.billing.members.boot"
COUNT = "groups.billing.members.count"
INTERVAL = "groups.billing.group_config[consumer.assignment.interval.ms]"
DOWN = "timeline[crash].kill.down"
SHORT: Mapping[str, Any] = {"horizon": "30s"}


def converged_s(result: Result) -> float:
    """From the first join to the end of the last rebalance."""
    table = rebalances(result)
    return float(table["end_s"].max() - table["start_s"].min())


# --- cold-start, assignment-interval, cold-start-protocols ------------------------------------------------------------


def test_a_cold_start_of_three_at_once_takes_two_heartbeats() -> None:
    results = runs("cold-start", SHORT)
    found = summaries(results)
    assert (found["generations"] == 3).all()
    assert all(2 * HEARTBEAT_S <= converged_s(result) < 2 * HEARTBEAT_S + PASSES_S for result in results)
    assert (found["partitions_moved"] == 8).all(), "two thirds of what the first one had"
    assert found["unavailable_gap_s_max"].between(HEARTBEAT_S, HEARTBEAT_S + PASSES_S).all(), "handed over"
    assert (found["first_service_s"] < 2).all()
    assert (found["duplicates"] == 0).all()


def test_pods_that_come_after_the_first_one_find_what_it_has_given_up() -> None:
    apart = {**SHORT, BOOT: {"uniform": ["600ms", "900ms"]}}
    ends = [converged_s(one) for one in runs("cold-start", apart, TWENTY)]
    assert all(end < HEARTBEAT_S + PASSES_S or end >= 2 * HEARTBEAT_S for end in ends)
    assert sum(end < HEARTBEAT_S + PASSES_S for end in ends) > len(ends) / 2


def test_without_an_assignment_interval_a_cold_start_takes_one_heartbeat_and_more_moves() -> None:
    shared, each = runs("cold-start", SHORT), runs("cold-start", {**SHORT, INTERVAL: 0})
    assert all(HEARTBEAT_S <= converged_s(result) < HEARTBEAT_S + PASSES_S for result in each)
    assert (summaries(each)["partitions_moved"] > summaries(shared)["partitions_moved"]).all()
    longer = summaries(runs("cold-start", {**SHORT, INTERVAL: 5_000}))
    assert (longer["rebalance_s_total"] - summaries(shared)["rebalance_s_total"]).abs().max() < 0.05


def test_a_classic_group_waits_longer_for_its_first_record_and_less_long_for_balance() -> None:
    protocol = {"groups.billing.protocol": "consumer", STRATEGY: None}
    for count in (3, 8):
        size = {COUNT: count, "horizon": "20s"}
        classic, consumer = runs("start-up-with-delay", size), runs("start-up-with-delay", {**size, **protocol})
        assert summaries(classic)["first_service_s"].between(6, 8).all()
        assert (summaries(consumer)["first_service_s"] < 2).all()
        assert all(6 <= converged_s(result) < 6.2 for result in classic)
        ends = [converged_s(result) for result in consumer]
        assert all(2 * HEARTBEAT_S <= end < 2 * HEARTBEAT_S + PASSES_S or end < HEARTBEAT_S + PASSES_S for end in ends)
        assert max(ends) > 2 * HEARTBEAT_S
        assert (summaries(consumer)["unavailable_gap_s_max"] < HEARTBEAT_S + PASSES_S).all()


# --- consumer-join ----------------------------------------------------------------------------------------------------


def test_a_newcomer_is_balanced_with_its_third_heartbeat() -> None:
    results = runs("consumer-join", {"horizon": "150s"})
    found = summaries(results)
    assert (found["generations"] == 1).all()
    assert (found["partitions_moved"] == 6).all()
    assert found["rebalance_s_max"].between(5.1, 5.5).all(), "recorded: 5.23 to 5.26 s"
    assert (found["unavailable_gap_s_max"] < HEARTBEAT_S + PASSES_S).all(), "let go just after the second heartbeat"
    assert (found[["stop_the_world_s", "duplicates"]] == 0).all(axis=None)
    for result in results:
        after = unread(result)
        assert after[after["from_s"] > fired_s(result, "newcomer")]["partition"].nunique() == 6


# --- static-crash, static-crash-downtime ------------------------------------------------------------------------------


def test_a_static_pod_that_crashed_is_refused_until_its_session_is_over() -> None:
    results = runs("static-crash", {"horizon": "200s"})
    found = summaries(results)
    assert (found["failed"] == 1).all()
    assert all("UNRELEASED_INSTANCE_ID" in errors(result) for result in results)
    assert found["unavailable_gap_s_max"].between(45 - HEARTBEAT_S, 45 + HEARTBEAT_S + PASSES_S).all()
    assert (found["evictions"] == 1).all()


def test_a_crash_is_fatal_by_how_old_the_last_heartbeat_was() -> None:
    fatal = {down: summaries(runs("static-crash", {"horizon": "200s", DOWN: f"{down}s"}))["failed"].mean()
             for down in (38, 42, 46)}  # fmt: skip
    assert fatal[38] == 1
    assert 0 < fatal[42] < 1
    assert fatal[46] == 0


def test_a_static_pod_that_closes_and_is_back_within_its_session_is_not_noticed() -> None:
    consumer = {
        "groups.billing.protocol": "consumer", STRATEGY: None, "groups.billing.config[session.timeout.ms]": None,
        "horizon": "180s",
    }  # fmt: skip
    found = summaries(runs("static-restart-inside-session", consumer))
    assert (found[["generations", "partitions_moved", "duplicates", "failed"]] == 0).all(axis=None)
    assert found["unavailable_gap_s_max"].between(20, 20 + 2.2).all(), "its restart"
    late = {**consumer, "horizon": "220s", "timeline[bounce].restart.down": "60s"}
    found = summaries(runs("static-restart-inside-session", late))
    assert (found["generations"] == 2).all(), "expired, and back"
    assert (found[["failed", "duplicates"]] == 0).all(axis=None)


# --- slow-revoker -----------------------------------------------------------------------------------------------------


def test_a_slow_revoker_holds_up_whoever_waits_for_its_partitions_and_what_it_keeps() -> None:
    for result in runs("slow-revoker", {"horizon": "300s"}):
        gaps = unread(result)
        gaps = gaps[gaps["from_s"] > 180].groupby("partition")["length_s"].max()
        slow = gaps[gaps > 50]
        assert len(gaps) == 10 + 10, "one of each, and what it keeps"
        assert (slow.round(6) == 60).sum() == 10, "what it keeps"
        assert len(slow) == 11
        assert slow.max() < 60 + 2 * HEARTBEAT_S + PASSES_S
        assert (gaps[gaps <= 50] < HEARTBEAT_S + PASSES_S).all()
        assert result.summary["evictions"].iloc[0] == 0


# --- broker-pattern ---------------------------------------------------------------------------------------------------


def test_a_topic_that_the_brokers_match_is_read_within_ten_seconds() -> None:
    early = {"horizon": "420s"}
    results = runs("broker-pattern", early, TWO)
    found = summaries(results)
    assert (found["generations"] == 1).all()
    assert (found["partitions"] == 24).all()
    for result in results:
        (end_s,) = rebalances(result, 120)["end_s"]
        assert end_s - fired_s(result, "new-region") < 2 * HEARTBEAT_S + 1


# --- protocol-upgrade, protocol-downgrade -----------------------------------------------------------------------------


def test_an_upgrade_roll_has_nine_epochs_and_one_classic_round() -> None:
    results = runs("protocol-upgrade", {"horizon": "200s"})
    found = summaries(results)
    assert (found["generations"] == 9 + 1).all(), "recorded: nine epochs"
    assert found["unavailable_gap_s_max"].between(2.5, 5.3).all(), "recorded: 2.8 to 4.9 s"
    assert (found[["duplicates", "failed", "evictions"]] == 0).all(axis=None)
    assert (found["end_state"] == "Stable").all()


def test_a_downgrade_roll_has_eight_epochs_and_one_classic_round() -> None:
    results = runs("protocol-downgrade", {"horizon": "200s"})
    found = summaries(results)
    assert (found["generations"] == 8 + 1).all(), "recorded: eight epochs, then one round"
    assert (found[["duplicates", "failed", "evictions"]] == 0).all(axis=None)
    assert (found["end_state"] == "Stable").all()
    for result in results:
        assert result.tables["states"]["state"].iloc[-1] == "Stable"


# --- autoscaled-pods, refused-commits ---------------------------------------------------------------------------------


def test_brokers_before_4_3_refuse_commits_that_later_ones_take() -> None:
    often = {
        "horizon": "200s", "measure.from": "10s", "timeline[out].every": "30s",
        "timeline[in].every": "30s", "timeline[in].from": "15s", "topics.orders.partitions": 15, COUNT: 3,
        "timeline[out].scale.to": 5, "timeline[in].scale.to": 3,
    }  # fmt: skip
    now = summaries(runs("autoscaled-pods", often))
    before = summaries(runs("autoscaled-pods", {**often, "cluster.version": "4.2"}))
    assert (now["stale_commits"] == 0).all()
    assert before["stale_commits"].sum() >= len(before)
    assert before["requests"].between(10 * 190 * 3, 25 * 190 * 5).all(), "one commit for each batch of 20 ms and more"


# --- coordinator-neighbours -------------------------------------------------------------------------------------------


def test_a_growing_group_is_not_noticed_by_its_neighbours() -> None:
    smaller = {
        "topics.orders.partitions": 300, "groups.large.members.count": 30, "horizon": "140s",
        "groups.large.overrides[0].members": "0-2", "timeline[growth].scale.to": 40,
        "timeline[growth].scale.every": "1s",
    }  # fmt: skip
    results = runs("coordinator-neighbours", smaller, TWO)
    small, large = summaries(results, "small"), summaries(results, "large")
    assert (small[["unavailable_partition_s", "rebalances"]] == 0).all(axis=None)
    assert (large["generations"] == 10).all()
    ten_passes_s = 10 * 0.101  # three of the donor's, seven of the new owner's, at most
    assert large["unavailable_gap_s_max"].between(HEARTBEAT_S - 1, 2 * HEARTBEAT_S + ten_passes_s).all()


# --- rolling-deploy, variant consumer ---------------------------------------------------------------------------------


def test_a_rolling_deploy_never_stops_the_world_and_reads_nothing_twice() -> None:
    changes = {
        "groups.billing.members.count": 10, "topics.orders.partitions": 50, "horizon": "10min",
        "groups.billing.protocol": "consumer", STRATEGY: None, "groups.billing.config[session.timeout.ms]": None,
    }  # fmt: skip
    found = summaries(runs("rolling-deploy", changes, TWO))
    assert (found["generations"] == 2 * 10).all()
    assert (found[["stop_the_world_s", "duplicates", "evictions"]] == 0).all(axis=None)
    gaps, batch_s = found["unavailable_gap_s_max"], 500 * 0.002
    assert gaps.between(HEARTBEAT_S - 1, HEARTBEAT_S + PASSES_S + batch_s).all(), "who catches up polls after a batch"
    assert gaps.median() < HEARTBEAT_S + PASSES_S
