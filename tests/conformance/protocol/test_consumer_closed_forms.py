"""Timelines of the consumer protocol in closed form (KIP-848, Kafka 4.4), to the microsecond.

Symbols: H heartbeat interval, S session, R max.poll.interval.ms, tau a round trip with an append, h_k the wait for
member k's next heartbeat, q_Y the wait for that of the new owner, g_X and g_Y what donor and new owner do in between.
Phases are put in: each member's heartbeats and passes follow from when it started. Expected values come from the
model's constants (`consumer_oracle`), never from a run. What waits for brokers that fail is not here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from groupsim.sim import Result, simulate
from groupsim.sim.config import ClientBehaviour, CoordinatorConfig, Timing
from groupsim.sim.model import AddPartitions, Distribution, Entry, Override, Restart, Start
from groupsim.sim.units import MS, S
from tests.conformance.protocol.consumer_oracle import (
    BROKER,
    FIND,
    POLL,
    PROCESSING,
    TAU,
    Phase,
    consumer,
    first,
    give_up,
    join,
    joins,
    newcomer,
    opened,
    receive,
    removed_after,
    returned,
    started,
)
from tests.conformance.protocol.oracle import APPEND, SERVICE, TRIP, WAY
from tests.support import scenarios
from tests.support.scenarios import BOOT_US, TIMING, at, group, rounds, scenario, served

PHASES = st.integers(0, 5 * S - 1)
"""Where in the heartbeat interval of others something happens."""


def play(count: int, *timeline: Entry, horizon_us: int, partitions: int = 12, **changes: Any) -> Result:
    """A consumer group whose first ``count`` members start at once."""
    one = group(count, client=consumer(**changes), processing=PROCESSING)
    return simulate(scenario(one, *timeline, horizon_us=horizon_us, partitions=partitions, config=BROKER))


def every_gap(result: Result, after: int) -> list[tuple[int, int, int]]:
    """(partition, begin, end) of each unavailability that begins after ``after``; causes joined."""
    table, found = result.tables["unavailability"], list[tuple[int, int, int]]()
    for row in table[table["from_us"] > after].sort_values(["partition", "from_us"]).itertuples():
        partition, begin, end = int(row.partition), int(row.from_us), int(row.to_us)
        if found and found[-1][0] == partition and found[-1][2] == begin:
            found[-1] = (partition, found[-1][1], end)
        else:
            found.append((partition, begin, end))
    return found


def gaps(result: Result, after: int) -> dict[int, tuple[int, int]]:
    """Partition -> (begin, end) of its first unavailability that begins after ``after``."""
    return {partition: (begin, end) for partition, begin, end in reversed(every_gap(result, after))}


# --- 13.1 one partition moves from X to Y -------------------------------------------------------------------------


@settings(max_examples=12)
@given(PHASES)
def test_13_1_a_partition_that_moves(phase: int) -> None:
    """U = g_X + tau + q_Y + g_Y, from the donor's stop to the new owner's first fetch."""
    start = 20 * S + phase
    result = play(1, scenarios.join(start, 2), horizon_us=45 * S)
    expected = join(started(0), start)
    (donor,), (receiver,) = expected.donors, expected.receivers
    found = gaps(result, 10 * S)
    assert len(found) == 6
    assert set(found.values()) == {(donor.stopped, receiver.reads)}
    g_x, q_y = donor.freed - WAY - donor.stopped, receiver.given - donor.freed
    g_y = receiver.reads - (receiver.given + TAU - WAY)
    assert receiver.reads - donor.stopped == g_x + TAU + q_y + g_y
    assert 0 <= q_y < 5 * S
    moved = rounds(result)[1]
    assert (moved.start_us, moved.end_us) == (joins(start), receiver.given)


@settings(max_examples=6)
@given(PHASES)
def test_13_1_a_client_before_4_2_asks_for_positions_in_the_pass_that_takes_over(phase: int) -> None:
    """g_Y is a pass shorter, but for the acknowledgement, which is worked on first."""
    start, behaviour = 20 * S + phase, ClientBehaviour(positions_before_listeners=False)
    result = play(1, scenarios.join(start, 2), horizon_us=45 * S, behaviour=behaviour)
    acknowledged = first(0).phase.beat
    moves = join([Phase(acknowledged, acknowledged + SERVICE + 3 * TRIP)], start)
    (donor,), (receiver,) = moves.donors, moves.receivers
    reads = receiver.reads - newcomer(start).every + SERVICE
    assert set(gaps(result, 15 * S).values()) == {(donor.stopped, reads)}
    assert rounds(result)[1].end_us == receiver.given


@settings(max_examples=10)
@given(PHASES, PHASES)
def test_13_1_a_newcomer_is_given_what_its_donors_have_let_go(one: int, other: int) -> None:
    """T is the newcomer's first heartbeat after all have let go; each donor's partition is unread from its own stop."""
    second, third = 20 * S + one, 40 * S + other
    expected = join(started(0, second), third)
    told, freed = expected.receivers[0].given, [donor.freed for donor in expected.donors]
    assume(not any(told < one <= told + 100 * MS for one in freed))
    result = play(1, scenarios.join(second, 2), scenarios.join(third, 3), horizon_us=65 * S)
    moves = zip(expected.donors, expected.receivers, strict=True)
    assert set(gaps(result, 35 * S).values()) == {(donor.stopped, receiver.reads) for donor, receiver in moves}
    assert rounds(result)[-1].end_us == expected.last.given


# --- 13.2 starts and joins ----------------------------------------------------------------------------------------

STARTS = (0, 20 * S, 40 * S)
SETTLED = started(*STARTS)
"""Three members, each of which came when the others were done."""


def three(*timeline: Entry, horizon_us: int, static: bool = False, timing: Timing = TIMING, **changes: Any) -> Result:
    """Three members that start one after the other; then something happens."""
    one = group(
        3, client=consumer(**changes), processing=PROCESSING, static=static, start=Start(kind="every", value_us=20 * S)
    )
    return simulate(scenario(one, *timeline, horizon_us=horizon_us, config=BROKER, timing=timing))


@pytest.mark.parametrize("members", [2, 3, 8])
def test_13_2_cold_start_of_n_at_once(members: int) -> None:
    """N epochs; balanced within t_find + 3 tau + g and one heartbeat interval; read from 2 tau on, by the first."""
    result = play(members, horizon_us=20 * S, partitions=24)
    starts = rounds(result)
    assert sum(one.generations for one in starts) == members
    found, passes = opened(0) + FIND, 6 * POLL
    assert starts[0].start_us == found + WAY
    assert found + 5 * S < starts[-1].end_us < found + 3 * TAU + passes + 5 * S
    moved = [end - begin for begin, end in gaps(result, 2 * S).values()]
    assert len(moved) == 24 - 24 // members
    assert max(moved) <= 2 * passes + TAU + 5 * S
    assert result.tables["unavailability"]["from_us"].min() == starts[0].start_us
    assert first(0).reads == min(begin for _, begin, _, _ in served(result, _first_owner(result)))


def _first_owner(result: Result) -> str:
    table = result.tables["ownership"]
    return str(table.loc[table["from_us"].idxmin(), "member"])


def test_13_2_cold_start_one_after_the_other_moves_each_share_once() -> None:
    """Total moves = P (H_N - 1): 12 (1/2 + 1/3 + 1/4)."""
    starts = [0, *(20 * S * number + number * 777_777 for number in (1, 2, 3))]
    timeline = [scenarios.join(start, number) for number, start in enumerate(starts[1:], start=2)]
    result = play(1, *timeline, horizon_us=90 * S)
    assert result.tables["rebalances"]["partitions_moved"].tolist() == [0, 6, 4, 3]
    phases = started(0)
    for start, found in zip(starts[1:], rounds(result)[1:], strict=True):
        one = join(phases, start)
        assert (found.start_us, found.end_us, found.generations) == (joins(start), one.last.given, 1)
        phases = one.phases


@pytest.mark.parametrize("newcomers", [2, 5])
def test_13_2_scale_out_by_k_at_once(newcomers: int) -> None:
    """k epochs; who revokes finishes the older revocation first: three heartbeats at most."""
    result = three(scenarios.join(61 * S, 3 + newcomers), horizon_us=90 * S)
    last = rounds(result)[-1]
    assert last.generations == newcomers
    assert last.end_us - last.start_us < 3 * 5 * S + 6 * POLL


# --- 13.2 leaves and crashes --------------------------------------------------------------------------------------


def taken_over(result: Result, index: int, after: int) -> dict[int, str]:
    """Partition -> who reads it after member ``index``."""
    lost = {part for part, begin, end, _ in served(result, f"g/{index}") if begin < after <= end}
    others = [f"g/{other}" for other in range(3) if other != index]
    return {
        part: name for name in others for part, begin, _, _ in served(result, name) if part in lost and begin > after
    }


def check_takeover(result: Result, index: int, stopped: int, removed: int) -> None:
    """Each survivor takes over with its own next heartbeat: U_k, and T = max over k."""
    heirs, found = taken_over(result, index, stopped), gaps(result, stopped - 1)
    survivors = {f"g/{one}": receive(SETTLED[one], removed) for one in range(3) if one != index}
    assert len(heirs) == 4
    for partition, name in heirs.items():
        assert found[partition] == (stopped, survivors[name].reads)
    round_ = next(one for one in rounds(result) if one.start_us == removed)
    assert (round_.generations, round_.end_us) == (1, max(one.given for one in survivors.values()))


@pytest.mark.parametrize("index", [0, 1, 2])
@pytest.mark.parametrize("phase", [0, 1_234_567, 4_800_000])
def test_13_2_graceful_leave(index: int, phase: int) -> None:
    """One epoch; freed at once, no survivor revokes: tau + h_k + g_k."""
    stopped = 61 * S + phase
    check_takeover(three(scenarios.close(stopped, index), horizon_us=80 * S), index, stopped, stopped + WAY)


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("phase", [0, 1_234_567, 4_800_000])
def test_13_2_crash(phase: int, static: bool) -> None:
    """One epoch at expiry: (S - a) + h_k + tau + g_k."""
    died = 61 * S + phase
    result = three(scenarios.kill(died, 1), horizon_us=130 * S, static=static)
    check_takeover(result, 1, died, removed_after(SETTLED[1], died))
    assert rounds(result)[-1].trigger == "expiry"


def test_13_2_a_static_process_that_is_back_before_its_session_ends_is_refused_and_dies() -> None:
    died = 61 * S
    result = three(scenarios.kill(died, 1, down_us=20 * S), horizon_us=130 * S, static=True)
    table = result.tables["members"]
    assert table[table["member"] == "g/1"]["ended_by"].tolist() == ["killed", "failed: UNRELEASED_INSTANCE_ID"]
    check_takeover(result, 1, died, removed_after(SETTLED[1], died))


@pytest.mark.parametrize("down_us", [2 * S, 20 * S + 345_678])
def test_13_2_static_close_and_back_in_time(down_us: int) -> None:
    """No epoch, nobody else notices: tau of close(), then D + t_find + tau + g_Y."""
    stopped = 61 * S + 222_222
    back = at(stopped, Restart(target=scenarios.member(1), down=Distribution.constant(down_us)))
    result = three(back, horizon_us=100 * S, static=True)
    assert [one.generations for one in rounds(result)] == [1, 1, 1]
    found = gaps(result, stopped - 1)
    assert len(found) == 4
    assert set(found.values()) == {(stopped, returned(stopped + TAU + down_us + BOOT_US).reads)}


def test_13_2_static_gone_longer_than_its_session() -> None:
    """One epoch at expiry, and one for the return: S - a + h_k + tau + g_k. S counts from the last heartbeat."""
    stopped = 61 * S + 222_222
    back = at(stopped, Restart(target=scenarios.member(1), down=Distribution.constant(60 * S)))
    result = three(back, horizon_us=140 * S, static=True)
    check_takeover(result, 1, stopped, removed_after(SETTLED[1], stopped))
    assert [one.trigger for one in rounds(result)][-2:] == ["expiry", "join"]


# --- 13.2 pauses and stalls ---------------------------------------------------------------------------------------


def test_13_2_a_pause_within_the_session_bumps_nothing() -> None:
    result = three(scenarios.pause(61 * S, 40 * S - 1, 1), horizon_us=120 * S)
    assert len(rounds(result)) == 3
    assert set(gaps(result, 61 * S - 1).values()) == {(61 * S, 101 * S - 1)}


def test_13_2_a_pause_beyond_the_session_bumps_twice() -> None:
    """On resume one heartbeat: UNKNOWN_MEMBER_ID, everything is lost, and it joins again under its id."""
    frozen, length = 61 * S, 60 * S
    result = three(scenarios.pause(frozen, length, 1), horizon_us=140 * S)
    check_takeover(result, 1, frozen, removed_after(SETTLED[1], frozen))
    told = frozen + length + TRIP
    lost = Phase(0, SETTLED[1].passed + length).passes(told)
    back = rounds(result)[-1]
    assert (back.trigger, back.start_us, back.generations) == ("join", lost + WAY, 1)
    assert back.end_us <= back.start_us + 2 * 5 * S + 10 * POLL
    assert all(end < back.end_us + 10 * POLL for _, end in gaps(result, frozen - 1).values()), "read again"
    assert result.summary["zombie_s"].iloc[0] == pytest.approx(4 * (lost - frozen - length) / S)


STALLED, STALL = 61 * S, 20 * S
R = 10 * S


def test_13_2_an_application_stalls_longer_than_r() -> None:
    """Noticed with the first heartbeat that is due after R: it leaves; one epoch then, one on return."""
    result = three(scenarios.hang(STALLED, STALL, 1), horizon_us=110 * S, max_poll_interval_us=R)
    last_pass = SETTLED[1].passes(STALLED - POLL + 1)
    left = SETTLED[1].beats(last_pass + R + WAY)
    check_takeover(result, 1, STALLED, left)
    back = rounds(result)[-1]
    assert (back.trigger, back.generations) == ("join", 1)
    assert STALLED + STALL <= back.start_us <= STALLED + STALL + 2 * POLL
    assert all(end < back.end_us + 10 * POLL for _, end in gaps(result, STALLED - 1).values()), "read again"


def test_13_2_a_static_member_stalls_longer_than_r() -> None:
    """It leaves with -2: no epoch. Its partitions idle until it is back, loses them, and is given them again."""
    result = three(scenarios.hang(STALLED, STALL, 1), horizon_us=110 * S, max_poll_interval_us=R, static=True)
    assert len(rounds(result)) == 3
    ((begin, end),) = {(begin, end) for _, begin, end in every_gap(result, STALLED - 1)}
    assert begin == STALLED, "nobody else reads them, and its next poll() loses them"
    assert STALLED + STALL + TAU < end < STALLED + STALL + TAU + 3 * TRIP + 6 * POLL
    assert result.summary[["zombie_s", "fenced"]].iloc[0].tolist() == [0, 0]


# --- 13.2 slow revokers -------------------------------------------------------------------------------------------


def slow_revoker(listens_us: int, **changes: Any) -> Result:
    """A first member whose onPartitionsRevoked takes a while, and a second one that joins at 20 s."""
    slow = Override(members=frozenset({0}), processing=replace(PROCESSING, on_revoked_us=listens_us))
    one = group(1, client=consumer(**changes), processing=PROCESSING, overrides=(slow,))
    return simulate(scenario(one, scenarios.join(20 * S, 2), horizon_us=90 * S, config=BROKER))


def test_13_2_a_slow_revoker_holds_up_what_it_gives_up_and_reads_nothing_meanwhile() -> None:
    """g_X + tau + q_Y + g_Y with the listener in g_X; what it keeps stands still as long as the listener runs."""
    result = slow_revoker(20 * S)
    (donor,) = join(started(0), 20 * S).donors
    called = donor.stopped + POLL
    freed = called + 20 * S + WAY
    expected = receive(newcomer(20 * S), freed)
    found = gaps(result, 10 * S)
    assert {found[part] for part, *_ in served(result, "g/1")} == {(donor.stopped, expected.reads)}
    assert {found[part] for part in range(12)} == {(donor.stopped, expected.reads), (called, called + 20 * S)}
    assert (rounds(result)[-1].generations, rounds(result)[-1].end_us) == (1, expected.given)


def test_13_2_a_revoker_slower_than_r_loses_everything() -> None:
    """At R, counted from the moment it was asked: one epoch more, and all partitions are the other's."""
    result = slow_revoker(40 * S, max_poll_interval_us=26 * S)
    (donor,) = join(started(0), 20 * S).donors
    fenced = donor.told - WAY - APPEND - SERVICE + 26 * S
    expected = receive(newcomer(20 * S), fenced)
    found = gaps(result, 10 * S)
    assert {end for _, end in found.values()} == {expected.reads}
    assert {begin for begin, _ in found.values()} == {donor.stopped, donor.stopped + POLL}
    assert [one.generations for one in rounds(result)] == [1, 2, 1], "it joins again when its listener returns"
    assert result.summary["zombie_s"].iloc[0] == 0


# --- 13.2 rolls, topics -------------------------------------------------------------------------------------------


def test_13_2_a_static_roll_bumps_nothing() -> None:
    """tau of close(), then D + t_find + tau + g_Y for each partition, once."""
    stops = [61 * S + 10 * S * index for index in range(3)]
    down = Distribution.constant(2 * S)
    roll = [at(stop, Restart(target=scenarios.member(index), down=down)) for index, stop in enumerate(stops)]
    result = three(*roll, horizon_us=110 * S, static=True)
    assert len(rounds(result)) == 3
    expected = {(stop, returned(stop + TAU + 2 * S + BOOT_US).reads) for stop in stops}
    assert set(gaps(result, 61 * S - 1).values()) == expected


def test_13_2_a_dynamic_roll_bumps_twice_a_pod_and_moves_each_share_twice() -> None:
    """2 N epochs, about 2 P moves, nobody is unread for longer than tau + H + g."""
    down = Distribution.constant(15 * S)
    roll = [at(61 * S + 40 * S * index, Restart(target=scenarios.member(index), down=down)) for index in range(3)]
    result = three(*roll, horizon_us=190 * S)
    bounce = result.tables["rebalances"].iloc[3:]
    assert bounce["generations"].tolist() == [1] * 6
    assert bounce["partitions_moved"].sum() == 2 * 12
    unread = [end - begin for _, begin, end in every_gap(result, 60 * S)]
    assert max(unread) <= 5 * S + TAU + 3 * TRIP + 6 * POLL


@pytest.mark.parametrize(("heard_us", "each_us"), [(0, 0), (700 * MS, 0), (700 * MS, 1_300 * MS), (4 * S, 3 * S)])
def test_13_2_a_topic_grows(heard_us: int, each_us: int) -> None:
    """One epoch, noticed by the next heartbeat of anybody, once the broker has heard of the partition and made it.

    Then its owner's: kappa + h_k + tau + g_k. Nothing else moves.
    """
    grown = 61 * S + 234_567
    kappa = {"metadata": Distribution.constant(heard_us), "leader_change": Distribution.constant(each_us)}
    timing = replace(TIMING, **kappa)
    result = three(at(grown, AddPartitions(topic="t", to=13)), horizon_us=80 * S, timing=timing)
    noticed = min(phase.beats(grown + heard_us + each_us) for phase in SETTLED)
    owner = next(index for index in range(3) if any(part == 12 for part, *_ in served(result, f"g/{index}")))
    assert gaps(result, grown - 1) == {12: (grown, receive(SETTLED[owner], noticed).reads)}
    assert rounds(result)[-1].start_us == noticed
    assert rounds(result)[-1].end_us == max(phase.beats(noticed) for phase in SETTLED)


# --- 13.3 the assignment interval ---------------------------------------------------------------------------------


def with_interval(count: int, interval_us: int, *timeline: Entry, start_us: int = 0) -> Result:
    """Members that start ``start_us`` apart, under an assignment interval."""
    start = Start(kind="every", value_us=start_us)
    one = group(count, client=consumer(), processing=PROCESSING, start=start)
    broker = CoordinatorConfig(consumer_assignment_interval_us=interval_us)
    return simulate(scenario(one, *timeline, horizon_us=90 * S, config=broker))


@pytest.mark.parametrize("members", [3, 8])
def test_13_3_a_burst_of_joins_inside_the_interval(members: int) -> None:
    """t_2 = t_1 + H: the first member's interval beat; the others learn at theirs, and get it with the one after."""
    result = with_interval(members, S, start_us=10 * MS)
    alone, burst = rounds(result)
    computed = first(0).phase.beat + 5 * S + WAY
    table = result.tables["states"]
    assert table.loc[table["state"] == "Reconciling", "from_us"].iloc[-1] == computed
    freed = give_up(first(0).phase, computed).freed
    last = max(receive(newcomer(10 * MS * number), freed).given for number in range(1, members))
    assert burst.end_us == last
    assert (alone.generations, burst.generations) == (1, members - 1)


@pytest.mark.parametrize("interval_us", [0, S, 5 * S])
def test_13_3_an_event_longer_than_the_interval_after_the_last_computation_does_not_notice_it(interval_us: int) -> None:
    result = with_interval(3, interval_us, scenarios.join(61 * S, 4), start_us=20 * S)
    found = rounds(result)[-1]
    expected = join(SETTLED, 61 * S)
    assert (found.start_us, found.end_us) == (joins(61 * S), expected.last.given)


def test_13_3_the_second_of_two_events_inside_the_interval_waits_for_the_first_beat_after_it() -> None:
    """A leave right after a join: its target is computed by the first heartbeat at or after the computation + I."""
    left = 61 * S + BOOT_US + 100 * MS
    result = with_interval(3, 5 * S, scenarios.join(61 * S, 4), scenarios.close(left, 2), start_us=20 * S)
    due = joins(61 * S) + 5 * S
    newcomers = newcomer(61 * S)
    beats = [min(phase.beats(due), give_up(phase, joins(61 * S)).phase.beats(due)) for phase in SETTLED[:2]]
    table = result.tables["states"]
    computed = table[(table["state"] == "Assigning") & (table["from_us"] > 60 * S)]["to_us"].max()
    assert computed == min(*beats, newcomers.beats(due))
