"""Growth: scale-out, partitions-added, regex-topic.

Closed form: an eager round ends with the members' next heartbeat; a cooperative one needs a second round a heartbeat
later. New partitions are noticed at the leader's next metadata refresh, those of a topic that matches a pattern at
anybody's. Recorded on a 4.4.0 broker: a join stops all for 0.03 to 0.1 s (range), the moved ones for 3.02 to 3.20 s
(cooperative-sticky); a topic that matches a pattern is one rebalance.
"""

from __future__ import annotations

import numpy as np

from groupsim.sim import Result
from groupsim.sim.units import S
from tests.conformance.library.runs import (
    COOPERATIVE,
    HEARTBEAT_S,
    STICKY,
    TRIPS_S,
    TWENTY,
    fired_s,
    late_syncs,
    near,
    rebalances,
    rows,
    runs,
    summaries,
    unread,
)


def next_refresh_s(result: Result, members: list[str], at_s: float, age_s: float) -> float:
    """When the first of these members refreshes its metadata after ``at_s``: ``age_s`` apart from its start on."""
    table = result.tables["members"]
    starts = table[table["member"].isin(members)]["started_us"] / S
    return float((at_s + (starts - at_s) % age_s).min())


def test_doubling_is_a_few_rebalances_that_merge_the_newcomers() -> None:
    results = runs("scale-out")
    found = summaries(results)
    assert found["rebalances"].between(2, 4).all()
    for result in results:
        assert rebalances(result, 60.0)["members_in"].sum() == 10
        owners = result.tables["ownership"]
        assert set(owners[owners["ended_by"] == "horizon"].groupby("member").size()) == {3}
    assert (found["partitions_moved"] >= 30).all()
    assert (found["duplicates"] == 0).all()


def test_doubling_stops_all_for_milliseconds_since_all_hear_of_it_at_once() -> None:
    found = summaries(runs("scale-out", seeds=TWENTY))
    assert (found["unavailable_gap_s_max"] <= HEARTBEAT_S + TRIPS_S).all()
    assert (found["unavailable_gap_s_max"] < 0.1).mean() >= 0.9
    assert (found["stop_the_world_s"] > 0).all()


def test_sticky_moves_half_and_range_more() -> None:
    sticky, range_ = summaries(runs("scale-out", STICKY)), summaries(runs("scale-out"))
    assert (sticky["partitions_moved"] == sticky["partitions_moved_min"]).all(), "the least possible in each round"
    assert sticky["partitions_moved"].between(30, 40).all()
    assert (range_["partitions_moved"] > 1.2 * sticky["partitions_moved"]).all()
    assert range_["partitions_moved"].mean() > 2 * sticky["partitions_moved"].mean()


def test_cooperative_doubling_stops_only_what_moves_for_a_round() -> None:
    results = runs("scale-out", COOPERATIVE)
    found = summaries(results)
    assert (found["stop_the_world_s"] == 0).all()
    assert found["partitions_moved"].between(30, 33).all()
    gaps = found["unavailable_gap_s_max"]
    punctual = [near(gap, HEARTBEAT_S, 0.25) for gap in gaps]
    assert sum(punctual) >= len(gaps) / 4, "recorded: 3.02 to 3.20 s"
    for gap, result, one_round in zip(gaps, results, punctual, strict=True):
        lost = round(gap / HEARTBEAT_S) - 1
        assert one_round or (lost <= late_syncs(result) and near(gap, (lost + 1) * HEARTBEAT_S, 0.25))
    assert (found["generations"] > summaries(runs("scale-out"))["generations"] - 1).all()
    assert (found["duplicates"] > 0).all(), "read on while parked, not committed before the revocation"


def test_added_partitions_wait_for_the_leaders_refresh() -> None:
    waits = []
    for result in runs("partitions-added"):
        grown = fired_s(result, "grow")
        (found,) = rows(rebalances(result, grown))
        assert found.trigger == "leader rejoined"
        leader = found.reason.split()[1]
        refresh = next_refresh_s(result, [leader], grown, 300.0)
        assert near(found.start_s, refresh)
        new = unread(result)[unread(result)["partition"] >= 12]
        gap = new.groupby("partition")["length_s"].sum().max()
        assert refresh - grown <= gap <= refresh - grown + HEARTBEAT_S + TRIPS_S
        waits.append(gap)
    assert abs(np.mean(waits) - 150.0) < 3 * 300.0 / np.sqrt(12 * len(waits)), "half of metadata.max.age.ms"
    assert max(waits) <= 300.0 + HEARTBEAT_S + TRIPS_S


def test_latest_loses_what_was_written_to_new_partitions_and_earliest_nothing() -> None:
    latest = summaries(runs("partitions-added"))
    earliest = summaries(runs("partitions-added", {"groups.billing.config[auto.offset.reset]": "earliest"}))
    expected = 12 * 50 * latest["unavailable_gap_s_max"]
    assert (abs(latest["losses"] - expected) <= 12 * 50 * TRIPS_S).all()
    assert (earliest["losses"] == 0).all()
    assert (earliest["unavailable_gap_s_max"] > 1).all()


def test_a_new_topic_is_seen_a_whole_number_of_minutes_after_the_last_join() -> None:
    """Pattern subscribers ask for metadata while they join: from there all count, as recorded with a real broker."""
    waits = []
    for result in runs("regex-topic"):
        created = fired_s(result, "new-region")
        joined = rebalances(result)["end_s"]
        settled = joined[joined < created].max()
        refresh = settled + 60.0 * np.ceil((created - settled) / 60.0)
        found = rebalances(result, created).iloc[0]
        assert near(found["start_s"], refresh)
        assert found["trigger"] in ("leader rejoined", "member rejoined")
        waits.append(refresh - created)
    assert max(waits) < 60.0 + TRIPS_S
    assert abs(np.mean(waits) - 30.0) < 3 * 60.0 / np.sqrt(12 * len(waits)), "no sooner than a leader alone would"


def test_a_new_topic_is_one_rebalance_whoever_sees_it_first() -> None:
    results = runs("regex-topic", seeds=TWENTY)
    triggers = [rebalances(result, fired_s(result, "new-region")).iloc[0]["trigger"] for result in results]
    assert {"leader rejoined", "member rejoined"} <= set(triggers)
    found = summaries(results)
    assert (found["rebalances"] == 1).all()
    assert (found["losses"] == 0).all()
