"""Availability, as the metrics are defined: from when, until when, for what cause, and what is not a gap."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupsim.sim.config import CoordinatorConfig
from groupsim.sim.model import (
    AddPartitions,
    Close,
    Cluster,
    Cut,
    GcPause,
    Kill,
    Network,
    Restart,
    Start,
    Stuck,
    Subscribe,
    Subscription,
    Target,
    Topic,
    Unsubscribe,
)
from groupsim.sim.tables import CAUSES
from groupsim.sim.units import MS, S
from tests.unit.sim.scenes import (
    CLIENT,
    COOPERATIVE,
    FIDELITIES,
    PROCESSING,
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

FIRST_JOIN = 5_300
"""FindCoordinator there, 0.3 ms of service, and back; connect in 1.5 ms; prepare for 0.5 ms; JoinGroup there."""
SERVED = 20_000
"""A lone member serves by then: a second JoinGroup, an append, SyncGroup, offsets, the reset, a fetch."""

both = pytest.mark.parametrize("fidelity", FIDELITIES)


# --- the clock --------------------------------------------------------------------------------------------------------


def test_a_group_that_serves_is_unavailable_from_its_first_join_group_on() -> None:
    result = simulate(scene(initial_delay_us=5 * S, horizon_us=10 * S))
    served = [one["from_us"] for one in rows(result, "ownership")]
    assert [one[1] for one in stretches(result) if one[3] == "barrier"] == [FIRST_JOIN] * 4
    assert summary(result)["unavailable_gap_s_max"] == (max(served) - FIRST_JOIN) / S
    assert summary(result)["stop_the_world_s"] == 0  # nothing was stopped after the first service


def test_nothing_is_unavailable_before_anybody_asks_to_join() -> None:
    late = group(start=Start(value_us=5 * S))
    result = simulate(scene(late, horizon_us=20 * S))
    found = stretches(result, partition=0)
    assert found[0][1] == 5 * S + FIRST_JOIN
    assert found[-1][2] == rows(result, "ownership", partition=0)[0]["from_us"]


@pytest.mark.parametrize(("begin", "expected"), [(0, FIRST_JOIN), (10_000, 10_000), (15_000, 15_000), (SERVED, None)])
def test_the_clock_starts_with_the_window_if_that_is_later(begin: int, expected: int | None) -> None:
    found = stretches(simulate(scene(measure_from_us=begin, horizon_us=20 * S)), partition=2)
    assert (found[0][1] if found else None) == expected


def test_the_window_ends_unavailability_too() -> None:
    result = simulate(scene(initial_delay_us=8 * S, horizon_us=20 * S, measure_to_us=4 * S))
    assert stretches(result, partition=0) == [(0, FIRST_JOIN, 4 * S, "barrier")]


def test_partitions_added_later_count_from_their_creation() -> None:
    reading = group(client=replace(CLIENT, metadata_max_age_us=15 * S))
    result = simulate(scene(reading, timeline=(entry(20 * S, AddPartitions(topic="t", to=6)),)))
    assert {one["partition"] for one in rows(result, "ownership")} == set(range(6))
    for partition in (4, 5):
        found = stretches(result, partition)
        assert found[0][1] == 20 * S
        assert found[0][3] == "detection"
        assert found[-1][2] == min(one["from_us"] for one in rows(result, "ownership", partition=partition))
        assert found[-1][2] > 30 * S  # the leader's next metadata refresh is that far away
    assert summary(result)["partitions"] == 6


# --- causes -----------------------------------------------------------------------------------------------------------


def test_a_death_goes_through_all_causes_in_order_and_without_a_gap() -> None:
    result = simulate(scene(group(count=2), timeline=(entry(20 * S, Kill(target=member(1))),)))
    dead = {one["partition"] for one in rows(result, "ownership", member="g/1")}
    assert len(dead) == 2
    preparing, completing, _ = [one for one in rows(result, "states") if one["from_us"] > 20 * S]
    for partition in dead:
        found = [one for one in stretches(result, partition) if one[1] >= 20 * S]
        assert [one[3] for one in found] == ["detection", "barrier", "assignment", "resume"]
        assert [one[1] for one in found[1:]] == [one[2] for one in found[:-1]]
        assert found[0][1] == 20 * S
        assert found[1][1] == preparing["from_us"]
        assert found[2][1] == preparing["to_us"] == completing["from_us"]
        assert found[3][1] == completing["to_us"] + 300 + MS  # the answer to the leader's SyncGroup is on its way
        assert found[3][2] == rows(result, "ownership", partition=partition, member="g/0")[0]["from_us"]


def test_others_are_down_only_from_their_own_revocation_on() -> None:
    result = simulate(scene(group(count=2), timeline=(entry(20 * S, Kill(target=member(1))),)))
    revoked = rows(result, "ownership", member="g/0", ended_by="revoked")
    assert len(revoked) == 2
    for one in revoked:
        found = [row for row in stretches(result, one["partition"]) if row[1] >= 20 * S]
        assert [row[3] for row in found] == ["barrier", "assignment", "resume"]
        assert found[0][1] == one["to_us"]


@pytest.mark.parametrize(
    "fault",
    [
        Kill(target=member(0), down=lasting(8 * S)),
        GcPause(target=member(0), duration=lasting(14 * S)),
        Stuck(target=member(1), duration=lasting(7 * S)),
        Close(target=member(1)),
        Restart(target=member(0), down=lasting(2 * S)),
        Cut(between=(member(0), Target("broker", "0")), duration=lasting(12 * S)),
    ],
    ids=lambda verb: type(verb).__name__,
)
def test_the_causes_add_up_to_the_total_exactly(fault: Kill) -> None:
    result = simulate(scene(group(count=3), partitions=7, timeline=(entry(20 * S, fault),), measure_from_us=9_000))
    row, table = summary(result), result.tables["unavailability"]
    length = table["to_us"] - table["from_us"]
    assert row["unavailable_partition_s"] == length.sum() / S
    per_cause = length.groupby(table["cause"]).sum()
    assert {cause: row[f"unavailable_{cause}_s"] for cause in CAUSES} == {
        cause: per_cause.get(cause, 0) / S for cause in CAUSES
    }
    per_partition = length.groupby(table["partition"]).sum()
    assert row["unavailable_s_max"] == per_partition.max() / S
    in_order = table.sort_values(["partition", "from_us"])
    same = in_order["partition"].eq(in_order["partition"].shift())
    assert (in_order["from_us"] >= in_order["to_us"].shift())[same].all()  # never two causes at once


def test_what_is_served_by_nobody_is_unavailable_and_nothing_else() -> None:
    result = simulate(scene(group(**with_start(20 * S)), timeline=(entry(30 * S, Kill(target=member(0))),)))
    for partition in range(4):
        edges = [(one["from_us"], one["to_us"]) for one in rows(result, "ownership", partition=partition)]
        edges.sort()
        begins, ends = [FIRST_JOIN, *(end for _, end in edges)], [*(begin for begin, _ in edges), 60 * S]
        gaps = [(begin, end) for begin, end in zip(begins, ends, strict=True) if begin < end]
        found = stretches(result, partition)
        assert sum(end - begin for begin, end in gaps) == sum(row[2] - row[1] for row in found)


def test_without_subscribers_a_partition_is_unowned_not_in_detection() -> None:
    away = Subscribe(target=member(0), subscription=Subscription(topics=("u",)))
    topics = tuple(Topic(name=name, partitions=2, rate=constant(1_000)) for name in "tu")
    both_topics = group(topics=("t", "u"))
    result = simulate(scene(both_topics, topics=topics, timeline=(entry(20 * S, away),)))
    last = [one for one in rows(result, "unavailability", topic="t") if one["to_us"] == 60 * S]
    assert [one["cause"] for one in last] == ["unowned", "unowned"]
    assert not [one for one in rows(result, "unavailability", topic="u") if one["to_us"] == 60 * S]


def test_a_group_that_everybody_has_left_is_unowned_until_somebody_joins() -> None:
    back = Restart(target=member(0), down=lasting(10 * S))
    result = simulate(scene(timeline=(entry(20 * S, back),)))
    empty = rows(result, "states", state="Empty")[0]
    unowned = [one for one in stretches(result, 0) if one[3] == "unowned"]
    assert len(unowned) == 1
    closed = rows(result, "members", incarnation=1)[0]["ended_us"]
    assert unowned[0][1] == empty["from_us"]
    assert unowned[0][2] > closed + 10 * S


def test_waiting_for_the_first_round_of_an_empty_group_is_a_barrier_again() -> None:
    back = Restart(target=member(0), down=lasting(10 * S))
    result = simulate(scene(timeline=(entry(20 * S, back),), initial_delay_us=3 * S))
    causes = [one[3] for one in stretches(result, 0) if one[1] > 25 * S]
    assert causes == ["barrier", "assignment", "resume"]


def test_a_dead_member_that_the_coordinator_still_knows_is_detection_even_if_it_was_the_last() -> None:
    result = simulate(scene(timeline=(entry(20 * S, Kill(target=member(0))),)))
    found = [one for one in stretches(result, 0) if one[1] >= 20 * S]
    assert [one[3] for one in found] == ["detection", "unowned"]
    expired = rows(result, "states", state="Empty")[0]["from_us"]
    assert 28 * S < expired < 30 * S + 2 * MS
    assert found == [(0, 20 * S, expired, "detection"), (0, expired, 60 * S, "unowned")]


@both
def test_a_static_member_that_is_closed_on_purpose_is_away_until_it_is_back(fidelity: str) -> None:
    back = Restart(target=member(0), down=lasting(5 * S))
    result = simulate(scene(group(static=True), timeline=(entry(20 * S, back),)), fidelity)
    found = [one for one in stretches(result, 0) if one[1] >= 20 * S]
    closed = rows(result, "members", incarnation=1)[0]["ended_us"]
    away = found[1]
    assert [one[3] for one in found] == ["resume", "away", "assignment", "resume"], "while it closes, without it, back"
    assert away[1] == closed
    assert away[2] > closed + 5 * S
    assert summary(result)["unavailable_detection_s"] == 0
    assert summary(result)["unavailable_away_s"] == pytest.approx(4 * (away[2] - away[1]) / S)


@both
def test_a_static_member_that_stays_away_is_so_until_its_session_ends(fidelity: str) -> None:
    result = simulate(scene(group(static=True), timeline=(entry(20 * S, Close(target=member(0))),)), fidelity)
    expired = rows(result, "states", state="Empty")[0]["from_us"]
    found = [one for one in stretches(result, 0) if one[1] >= 20 * S]
    assert [one[3] for one in found] == ["resume", "away", "unowned"]
    assert found[1][2] == found[2][1] == expired


def test_a_static_member_that_is_killed_is_detection() -> None:
    result = simulate(scene(group(static=True), timeline=(entry(20 * S, Kill(target=member(0))),)))
    assert [one[3] for one in stretches(result, 0) if one[1] >= 20 * S] == ["detection", "unowned"]


# --- pauses -----------------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("pause_us", [1, 300 * MS, S - 1])
def test_a_pause_under_a_second_is_paused_time_and_no_gap(fidelity: str, pause_us: int) -> None:
    result = simulate(scene(timeline=(entry(20 * S, GcPause(target=member(0), duration=lasting(pause_us))),)), fidelity)
    assert not [one for one in stretches(result) if one[1] >= S]
    assert summary(result)["paused_s"] == 4 * pause_us / S
    assert rows(result, "members")[0]["paused_us"] == pause_us


@both
@pytest.mark.parametrize("pause_us", [S, S + 1, 5 * S])
def test_a_pause_of_a_second_is_a_gap_and_no_paused_time(fidelity: str, pause_us: int) -> None:
    result = simulate(scene(timeline=(entry(20 * S, GcPause(target=member(0), duration=lasting(pause_us))),)), fidelity)
    found = [one for one in stretches(result) if one[1] >= S]
    assert found == [(partition, 20 * S, 20 * S + pause_us, "detection") for partition in range(4)]
    assert summary(result)["paused_s"] == 0
    assert summary(result)["unavailable_gap_s_max"] == pause_us / S


@both
@pytest.mark.parametrize(("begin", "end", "expected"), [(0, None, 600), (20_200, None, 400), (0, 20_200, 200)])
def test_paused_time_is_counted_within_the_window(fidelity: str, begin: int, end: int | None, expected: int) -> None:
    pause = entry(20 * S, GcPause(target=member(0), duration=lasting(600 * MS)))
    window = {"measure_from_us": begin * MS, "measure_to_us": None if end is None else end * MS}
    result = simulate(scene(timeline=(pause,), **window), fidelity)
    assert summary(result)["paused_s"] == 4 * expected / 1_000


@both
def test_a_pause_that_the_horizon_cuts_short_is_short(fidelity: str) -> None:
    pause = entry(19_500 * MS, GcPause(target=member(0), duration=lasting(5 * S)))
    result = simulate(scene(timeline=(pause,), horizon_us=20 * S), fidelity)
    assert summary(result)["paused_s"] == 4 * 0.5
    assert not [one for one in stretches(result) if one[1] >= S]


@both
def test_whoever_is_killed_in_a_pause_was_paused_until_then(fidelity: str) -> None:
    pause = entry(20 * S, GcPause(target=member(0), duration=lasting(10 * S)))
    result = simulate(scene(timeline=(pause, entry(23 * S, Kill(target=member(0))))), fidelity)
    assert [(one["ended_us"], one["paused_us"]) for one in rows(result, "members")] == [(23 * S, 3 * S)]


@both
def test_a_first_fetch_under_way_is_worth_nothing_once_its_partitions_are_given_up(fidelity: str) -> None:
    """It is on its way for a second; unsubscribe() comes in between."""
    config = CoordinatorConfig(initial_rebalance_delay_us=0)
    slow = Cluster(config=config, network=Network(latency=lasting(500 * MS)))
    begun = rows(simulate(scene(cluster=slow), fidelity), "ownership")[0]["from_us"]
    left = entry(begun - 500 * MS, Unsubscribe(target=member(0)))
    assert rows(simulate(scene(cluster=slow, timeline=(left,)), fidelity), "ownership") == []


def test_a_stuck_application_serves_nothing_from_its_first_moment_on_however_short() -> None:
    result = simulate(scene(timeline=(entry(20 * S, Stuck(target=member(0), duration=lasting(300 * MS))),)))
    found = [one for one in stretches(result) if one[1] >= S]
    assert found == [(partition, 20 * S, 20_300 * MS, "detection") for partition in range(4)]
    assert summary(result)["paused_s"] == 0


def test_a_member_that_thaws_after_its_eviction_is_a_zombie_until_it_learns_of_it() -> None:
    pause = entry(20 * S, GcPause(target=member(1), duration=lasting(15 * S)))
    result = simulate(scene(group(count=2), timeline=(pause,)))
    lost = rows(result, "ownership", member="g/1", ended_by="lost")
    assert len(lost) == 2
    assert all(one["to_us"] > 35 * S for one in lost)  # it stood still before: nobody processed anything
    assert summary(result)["zombie_s"] == pytest.approx(sum(one["to_us"] - 35 * S for one in lost) / S, abs=1e-9)
    served = [one for one in stretches(result, lost[0]["partition"]) if one[2] > 30_036 * MS and one[1] < 35 * S]
    assert not served  # the new owner serves meanwhile: a zombie's partition is not unavailable


# --- who keeps serving ------------------------------------------------------------------------------------------------


def test_what_a_cooperative_member_retains_is_served_throughout() -> None:
    result = simulate(scene(group(**with_start(20 * S), client=COOPERATIVE)))
    kept = [one for one in rows(result, "ownership", member="g/0") if one["to_us"] == 60 * S]
    moved = rows(result, "ownership", member="g/1")
    assert len(kept) == len(moved) == 2
    assert all(one["from_us"] < SERVED for one in kept)
    for one in kept:
        assert not [row for row in stretches(result, one["partition"]) if row[1] > S]
    for one in moved:
        causes = [row[3] for row in stretches(result, one["partition"]) if row[1] > S]
        assert causes == ["barrier", "assignment", "resume"]


def test_a_batch_in_hand_is_service() -> None:
    slow = group(processing=replace(PROCESSING, per_poll_us=5 * S), **with_start(21 * S))
    result = simulate(scene(slow))
    joined = rows(result, "rebalances")[1]
    revoked = rows(result, "ownership", member="g/0", ended_by="revoked")
    assert 21 * S < joined["start_us"] < 22 * S
    assert len(revoked) == 4
    for one in revoked:
        later = [row for row in stretches(result, one["partition"]) if row[1] > S]
        assert later[0][1] == one["to_us"] > joined["start_us"] + S


def test_a_cut_from_a_leader_stops_its_partitions_alone() -> None:
    reading = scene(group(client=replace(CLIENT, session_timeout_us=45 * S)), partitions=6)
    result = simulate(reading)
    halves = {one["partition"] for one in rows(result, "ownership")}
    assert halves == set(range(6))
    cut = entry(20 * S, Cut(between=(member(0), Target("broker", "1")), duration=lasting(3 * S)))
    result = simulate(replace(reading, timeline=(cut,)))
    found = [one for one in stretches(result) if one[1] >= S]
    assert len(found) == 2
    assert {(one[1], one[2], one[3]) for one in found} == {(20 * S, 23 * S, "detection")}
