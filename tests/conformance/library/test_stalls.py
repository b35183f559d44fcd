"""Stalls: barrier-hostage, slow-consumer, old-client.

Closed form: a round waits for its slowest member until that member polls again, or leaves by itself
``max.poll.interval.ms`` after its last poll. Recorded on a 4.4.0 broker: a member away for 3.5 s stops everybody for
3.5 s; with 5 s allowed and 11 s needed the leave comes after 4.9 s and the return when the batch ends.
"""

from __future__ import annotations

from tests.conformance.library.runs import (
    COOPERATIVE,
    HEARTBEAT_S,
    TRIPS_S,
    errors,
    near,
    rebalances,
    rows,
    runs,
    summaries,
)

HANG_S, HANG_UNTIL_S = 180.0, 300.0

BATCH_S = 1.0
"""500 records of 2 ms."""


def test_a_hung_consumer_holds_the_round_until_it_polls_again() -> None:
    for result in runs("barrier-hostage"):
        (found,) = rows(rebalances(result, HANG_S))
        assert (found.trigger, found.members_in, found.members_out) == ("join", 1, 0)
        assert near(found.end_s, HANG_UNTIL_S)


def test_everybody_is_hostage_of_an_eager_round() -> None:
    results = runs("barrier-hostage")
    found = summaries(results)
    for result, stopped in zip(results, found["stop_the_world_s"], strict=True):
        (one,) = rows(rebalances(result, HANG_S))
        assert one.length_s - HEARTBEAT_S - TRIPS_S <= stopped <= one.length_s + TRIPS_S
    assert found["unavailable_detection_s"].between(4 * 119.9, 4 * 120.1).all(), "the hung consumer's own four"
    assert (found["unavailable_barrier_s"] > 35 * 100.0).all(), "the other 36"
    assert (found["unavailable_gap_s_max"] <= 120.0 + TRIPS_S).all()


def test_cooperative_members_read_on_while_one_is_hung_and_pay_in_duplicates() -> None:
    eager, cooperative = summaries(runs("barrier-hostage")), summaries(runs("barrier-hostage", COOPERATIVE))
    assert (cooperative["stop_the_world_s"] == 0).all()
    kept = cooperative["unavailable_partition_s"] - cooperative["unavailable_detection_s"]
    lost_a_round = kept > 4 * (HEARTBEAT_S + TRIPS_S)
    assert (kept <= 5 * (HEARTBEAT_S + TRIPS_S)).all(), "three that move and one that comes back, for a round"
    assert lost_a_round.mean() <= 0.25, "one cooperative join of nine waits for a round more"
    # The member that was hung has a backlog: it hears of the round, and if it leads of its beginning, between batches.
    assert (kept <= 4 * (HEARTBEAT_S + 2 * BATCH_S + TRIPS_S)).all()
    assert (kept < eager["unavailable_barrier_s"] / 100).all()
    assert (cooperative["duplicates"] > 100 * 50).all(), "a member parked in a join does not commit what it reads on"
    assert (eager["duplicates"] == 0).all()


def test_a_batch_too_long_makes_the_consumer_leave_max_poll_interval_after_its_poll() -> None:
    for result in runs("slow-consumer"):
        turns = rebalances(result, 300.0)
        first = turns.iloc[0]
        assert first["trigger"] == "leave"
        assert "poll timeout" in first["reason"]
        assert 600.0 <= first["start_s"] <= 650.0, "300 s after the poll that returned the first long batch"
        assert turns["trigger"].tolist() == ["leave", "join"] * (len(turns) // 2) + ["leave"] * (len(turns) % 2)
        assert errors(result) <= {"NONE", "MEMBER_ID_REQUIRED", "REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID"}


def test_the_slow_consumer_returns_when_its_batch_ends() -> None:
    for result in runs("slow-consumer"):
        turns = rebalances(result, 300.0)
        left, back = turns[turns["trigger"] == "leave"], turns[turns["trigger"] == "join"]
        for gone, returned in zip(left["start_s"], back["start_s"], strict=False):
            assert near(returned - gone, 500 * 0.8 - 300.0), "a batch is 500 records of 800 ms"


def test_the_slow_consumer_goes_round_in_a_loop_and_its_work_is_done_twice() -> None:
    found = summaries(runs("slow-consumer"))
    assert (found["leaves"] >= 2).all()
    assert (found["rebalances"] >= 2 * found["leaves"] - 1).all()
    assert (found["zombie_s"] >= 4 * 90.0 * found["leaves"]).all(), "four partitions, until the batch ends"
    assert (found["duplicates"] > 0).all()
    assert (found["duplicates"] <= found["leaves"] * (500 + 5 * 400)).all(), "a batch and 5 s a turn"
    assert (found["evictions"] == 0).all(), "it leaves by itself"


def test_a_database_that_recovers_in_the_middle_of_a_batch_ends_it_at_once() -> None:
    for result in runs("slow-consumer"):
        recovered = result.tables["events"]["time_us"].iloc[0] / 1e6 + 1800.0
        assert (rebalances(result, 300.0)["start_s"] < recovered + 5.0).all(), "no max.poll.interval.ms runs out later"


def test_smaller_batches_end_the_loop_and_not_the_lag() -> None:
    found = summaries(runs("slow-consumer", {"groups.billing.config[max.poll.records]": 300}))
    assert (found["rebalances"] == 0).all(), "240 s a batch"
    assert (found["duplicates"] == 0).all()
    assert (found["lag_s_max"] > 1500).all()


def test_an_old_client_is_evicted_while_its_process_works() -> None:
    results = runs("old-client")
    found = summaries(results, "legacy")
    assert (found["evictions"] >= 1).all()
    assert (found["zombie_s"] > 2 * 60.0).all(), "both its partitions, until its batch ends"
    assert (found["duplicates"] > 1000).all()
    assert (found["losses"] == 0).all()
    for result in results:
        turns = rebalances(result, 180.0)
        assert turns["trigger"].tolist()[:2] == ["expiry", "join"]
        assert 180.0 + 20.0 <= turns["start_s"].iloc[0] <= 180.0 + 2 * 30.0, "a session after the last poll"
        assert "UNKNOWN_MEMBER_ID" in errors(result), "how it learns"


def test_a_44_client_stays_a_member_with_the_same_load() -> None:
    today = {"groups.legacy.client": "4.4", "cluster.version": "4.4"}
    found = summaries(runs("old-client", today), "legacy")
    for column in ("rebalances", "evictions", "duplicates", "zombie_s", "unavailable_partition_s"):
        assert (found[column] == 0).all()
