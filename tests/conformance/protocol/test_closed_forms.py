"""Timelines in closed form, at constant latency and without auto-commit: equal to the microsecond.

Expected values come from the model's constants (`oracle`), never from a run. Failover (D.9) waits for brokers that
fail.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupsim.sim import Result, simulate
from groupsim.sim.config import ClientConfig
from groupsim.sim.model import AddPartitions, Distribution, Entry, Restart, Start
from groupsim.sim.units import MS, S
from tests.conformance.protocol.oracle import (
    APPEND,
    PREPARE,
    SERVICE,
    TRIP,
    WAY,
    D,
    H,
    assignor,
    beats_from,
    consuming,
    first_full_join,
    next_beat,
    parked,
    refreshed,
    rejoined,
    stable,
    sticky,
)
from tests.support.scenarios import (
    BOOT_US,
    at,
    client,
    close,
    cooperative,
    group,
    hang,
    join,
    kill,
    member,
    pause,
    rounds,
    scenario,
    served,
)

FIRST = first_full_join(BOOT_US)
JOINED = FIRST + 2 * D
BEGUN = consuming(stable(JOINED, assignor(3)))
"""Three members read."""
NEWCOMER = first_full_join(20 * S + BOOT_US)
"""First full JoinGroup of a process that starts at 20 s."""
BEAT = next_beat(JOINED, NEWCOMER)
"""The heartbeat by which the members of the first generation learn of it."""


def gap(result: Result, partition: int, after: int) -> tuple[int, int]:
    """(begin, end) of the unavailability of a partition that begins after ``after``; causes joined."""
    table = result.tables["unavailability"]
    rows = table[(table["partition"] == partition) & (table["from_us"] > after)]
    return int(rows["from_us"].min()), int(rows["to_us"].max())


def moved(result: Result, name: str) -> int:
    """A partition that a newcomer has got."""
    return served(result, name)[0][0]


# --- D.1 cold start -----------------------------------------------------------------------------------------------


def window_end(arrivals: list[int], delay: int, rebalance_timeout: int) -> int:
    """When the initial join phase ends: windows of ``delay``, another while the last saw an arrival, all in ``R``."""
    first, *others = sorted(arrivals)
    begin, end, left = first, first + delay, max(rebalance_timeout - delay, 0)
    while left > 0 and any(begin < one <= end for one in others):
        length = min(delay, left)
        begin, end, left = end, end + length, max(left - delay, 0)
    return end


@settings(max_examples=25)
@given(
    starts=st.lists(st.integers(0, 15_000), min_size=1, max_size=6, unique=True),
    delay_ms=st.sampled_from([500, 1_000, 3_000, 5_000]),
    timeout_ms=st.sampled_from([2_000, 7_500, 300_000]),
)
def test_d1_cold_start_of_n(starts: list[int], delay_ms: int, timeout_ms: int) -> None:
    starts = sorted(starts)
    config = client(max_poll_interval_us=timeout_ms * MS)
    arrivals = [first_full_join(start * MS + BOOT_US) for start in starts]
    entries = [join(start * MS, number) for number, start in enumerate(starts[1:], start=2)]
    one = group(1, client=config, start=Start(value_us=starts[0] * MS))
    expected = window_end(arrivals, delay_ms * MS, timeout_ms * MS)
    inside = sum(arrival <= expected for arrival in arrivals)
    result = simulate(scenario(one, *entries, horizon_us=60 * S, delay_us=delay_ms * MS))
    first = rounds(result)[0]
    assert (first.start_us, first.joined_us) == (arrivals[0], expected)
    if not any(expected < arrival <= stable(expected, assignor(inside)) for arrival in arrivals):
        assert first.end_us == stable(expected, assignor(inside))
        assert result.tables["rebalances"]["members_after"][0] == inside


@pytest.mark.parametrize(
    ("arrivals_ms", "delay_ms", "timeout_ms", "end_ms"),
    [
        ([0], 3000, 300_000, 3000), ([0, 1000], 3000, 300_000, 6000),
        ([0, 1000, 3500, 7000, 13000], 3000, 300_000, 12000),
        ([0, 1000, 2000, 3000, 4000, 5000, 6000, 7000], 3000, 7500, 7500), ([0, 500], 3000, 2000, 3000),
    ],
)  # fmt: skip
def test_d1_the_window_function_itself(arrivals_ms: list[int], delay_ms: int, timeout_ms: int, end_ms: int) -> None:
    """Worked examples of the initial delay; the function above is what the machines are compared with."""
    assert window_end(arrivals_ms, delay_ms, timeout_ms) == end_ms


def test_d1_consumption_begins_after_positions_and_a_fetch() -> None:
    result = simulate(scenario(group(3, client=client()), horizon_us=20 * S))
    begins = {begin for name in ("g/0", "g/1", "g/2") for _, begin, _, _ in served(result, name)}
    assert begins == {consuming(stable(JOINED, assignor(3)))}


# --- D.2, D.3 scale-out -------------------------------------------------------------------------------------------


def test_d2_scale_out_eager() -> None:
    result = simulate(scenario(group(3, client=client()), join(20 * S, 4), horizon_us=40 * S))
    round_ = rounds(result)[1]
    assert (round_.start_us, round_.joined_us) == (NEWCOMER, rejoined(BEAT))
    assert round_.end_us == stable(rejoined(BEAT), assignor(4))
    stopped = BEAT + SERVICE + WAY
    assigned = stable(rejoined(BEAT), assignor(4))
    news = {partition for partition, _, _, _ in served(result, "g/3")}
    for partition in range(12):
        waits = 0 if partition in news else parked(BEGUN, stopped)
        assert gap(result, partition, 20 * S) == (stopped, consuming(assigned, waits))


def test_d3_scale_out_cooperative() -> None:
    result = simulate(scenario(group(3, client=cooperative()), join(20 * S, 4), horizon_us=40 * S))
    assert len(rounds(result)) == 3
    first, second = rounds(result)[1:]
    assert (first.start_us, first.joined_us) == (NEWCOMER, rejoined(BEAT))
    assert first.end_us == stable(first.joined_us, sticky(4))
    revoked = first.end_us + SERVICE + WAY
    assert second.start_us == revoked + PREPARE + WAY
    assert second.joined_us == rejoined(beats_from(first.joined_us)), "the others learn at their heartbeat, in phase"
    assert second.end_us == stable(second.joined_us, sticky(4))
    partition = moved(result, "g/3")
    assert gap(result, partition, 20 * S) == (revoked, consuming(second.end_us))
    unread = result.tables["unavailability"]
    assert len(unread.loc[unread["from_us"] > 20 * S, "partition"].unique()) == 3, "nobody else stops"


# --- D.4, D.5 leave and crash -------------------------------------------------------------------------------------


def test_d4_graceful_leave() -> None:
    result = simulate(scenario(group(3, client=client()), close(20 * S, 2), horizon_us=40 * S))
    round_ = rounds(result)[1]
    beat = next_beat(JOINED, 20 * S + WAY)
    assert (round_.start_us, round_.joined_us) == (20 * S + WAY, rejoined(beat))
    assert round_.end_us == stable(rejoined(beat), assignor(2))
    left = served(result, "g/2")[0][0]
    waits = parked(BEGUN, beat + SERVICE + WAY)
    assert gap(result, left, 19 * S) == (20 * S, consuming(round_.end_us, waits))


def test_d5_crash() -> None:
    result = simulate(scenario(group(3, client=client()), kill(20 * S, 2), horizon_us=60 * S))
    round_ = rounds(result)[1]
    expiry = next_beat(JOINED, 20 * S) - H + 10 * S
    beat = next_beat(JOINED, expiry)
    assert (round_.start_us, round_.trigger, round_.joined_us) == (expiry, "expiry", rejoined(beat))
    assert round_.end_us == stable(rejoined(beat), assignor(2))
    orphan = served(result, "g/2")[0][0]
    waits = parked(BEGUN, beat + SERVICE + WAY)
    assert gap(result, orphan, 19 * S) == (20 * S, consuming(round_.end_us, waits))


# --- D.6 pauses, D.7 poll interval, D.11 slow rejoiner ------------------------------------------------------------


def test_d6_a_pause_within_the_session_rebalances_nothing() -> None:
    result = simulate(scenario(group(2, client=client()), pause(20 * S, 6 * S, 1), horizon_us=60 * S))
    assert len(rounds(result)) == 1
    frozen = served(result, "g/1")[0][0]
    assert gap(result, frozen, 19 * S) == (20 * S, 26 * S)


def test_d6_a_pause_beyond_the_session_rebalances_twice() -> None:
    result = simulate(scenario(group(2, client=client()), pause(20 * S, 18 * S, 1), horizon_us=70 * S))
    _, expiry, back = rounds(result)
    last = next_beat(JOINED, 20 * S) - H
    assert expiry.start_us == last + 10 * S
    assert expiry.joined_us == rejoined(next_beat(JOINED, expiry.start_us))
    told = 38 * S + TRIP + 1_500 + TRIP
    """Session expired, coordinator looked up and connected, heartbeat answered UNKNOWN_MEMBER_ID."""
    rejoining = told + PREPARE + WAY + SERVICE + WAY + PREPARE + WAY
    assert rejoining - 100 * MS <= back.start_us <= rejoining + 100 * MS


def test_d7_poll_interval_exceeded() -> None:
    """It hangs at the very end of a pass through poll(): the interval counts from the beginning of that pass."""
    config = client(max_poll_interval_us=5 * S)
    joined = FIRST + 5 * S
    """The initial delay is capped by the rebalance timeout, which is max.poll.interval.ms."""
    begun = consuming(stable(joined, assignor(2)))
    hung = begun + 133 * 100 * MS
    result = simulate(scenario(group(2, client=config), hang(hung, 9 * S, 1), horizon_us=60 * S))
    _, leave, back = rounds(result)
    assert leave.start_us == hung - 100 * MS + 5 * S + WAY
    assert leave.joined_us == rejoined(next_beat(joined, leave.start_us))
    assert back.start_us == hung + 9 * S + PREPARE + WAY + SERVICE + WAY + PREPARE + WAY


def test_d11_slow_rejoiner() -> None:
    """The hang begins and ends with a pass; the barrier waits for it alone."""
    begun = consuming(stable(JOINED, assignor(2)))
    hung = begun + 140 * 100 * MS
    result = simulate(scenario(group(2, client=client()), join(20 * S, 3), hang(hung, 6 * S, 1), horizon_us=60 * S))
    assert hung < BEAT < hung + 6 * S
    assert rounds(result)[1].joined_us == hung + 6 * S + PREPARE + WAY


# --- D.8 rolling bounce, D.10 expansion ---------------------------------------------------------------------------


def _bounce(*, static: bool, config: ClientConfig, down_us: int) -> Result:
    """Each of three members is restarted, 30 s apart."""
    entries: list[Entry] = [
        at(30 * S * (index + 1), Restart(target=member(index), down=Distribution.constant(down_us)))
        for index in range(3)
    ]
    return simulate(scenario(group(3, client=config, static=static), *entries, horizon_us=140 * S))


def test_d8_rolling_bounce_counts_rebalances() -> None:
    assert len(rounds(_bounce(static=False, config=client(), down_us=8 * S))) == 1 + 2 * 3
    assert len(rounds(_bounce(static=False, config=cooperative(), down_us=8 * S))) == 1 + 3 * 3


def test_d8_static_bounce_in_time_rebalances_nothing() -> None:
    result = _bounce(static=True, config=client(), down_us=2 * S)
    assert len(rounds(result)) == 1
    for index in range(3):
        stop = 30 * S * (index + 1)
        mine = sorted(served(result, f"g/{index}"), key=lambda one: one[1])
        back = first_full_join(stop + 2 * S + BOOT_US, static=True) + APPEND
        resumed = back + SERVICE + WAY + 4 * TRIP
        assert {one[1] for one in mine if one[1] > stop} == {resumed}
        assert {one[2] for one in mine if one[1] < stop} == {stop}


def test_d8_static_bounce_too_late_rebalances_twice() -> None:
    config = client(session_timeout_us=6 * S)
    run = scenario(group(3, client=config, static=True), kill(30 * S, 1, down_us=12 * S), horizon_us=80 * S)
    triggers = [one.trigger for one in rounds(simulate(run))]
    assert triggers == ["join", "expiry", "join"]


def test_d10_expansion() -> None:
    config = client(metadata_max_age_us=10 * S)
    result = simulate(scenario(group(2, client=config), at(15 * S, AddPartitions(topic="t", to=13)), horizon_us=40 * S))
    growth = rounds(result)[1]
    begun = consuming(stable(JOINED, assignor(2)))
    second = refreshed(begun, refreshed(begun, BOOT_US + 10 * S) + 10 * S)  # Each counts from the answer before.
    assert growth.start_us == second + PREPARE + WAY
    beat = next_beat(JOINED, growth.start_us)
    assert growth.joined_us == rejoined(beat)
    assigned = stable(growth.joined_us, assignor(2, 13))
    is_leaders = any(part == 12 for part, _, _, _ in served(result, growth.reason.split()[1]))
    stopped = second if is_leaders else beat + SERVICE + WAY
    assert gap(result, 12, 15 * S - 1) == (15 * S, consuming(assigned, parked(begun, stopped)))


# --- D.12 the table -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("members", "windows"), [(1, 1), (2, 2), (8, 2)])
def test_d12_cold_start(members: int, windows: int) -> None:
    """T_S - a_1 = D + q for one consumer, 2 D + q for more, q = r + a + w."""
    round_ = rounds(simulate(scenario(group(members, client=client()), horizon_us=20 * S)))[0]
    assert round_.end_us - round_.start_us == windows * D + TRIP + assignor(members) + APPEND


@pytest.mark.parametrize("seconds", range(20, 26))
def test_d12_scale_out_eager_for_any_phase(seconds: int) -> None:
    """T_S - t0 = max h + r + q, and the application's half millisecond before it joins."""
    start = seconds * S + 137 * MS
    result = simulate(scenario(group(3, client=client()), join(start, 4), horizon_us=40 * S))
    t0 = first_full_join(start + BOOT_US)
    h = next_beat(JOINED, t0) - t0
    q = TRIP + assignor(4) + APPEND
    assert rounds(result)[1].end_us - t0 == h + TRIP + PREPARE + q


@pytest.mark.parametrize("tenths", range(0, 30, 3))
def test_d12_crash_for_any_phase(tenths: int) -> None:
    died = 20 * S + tenths * 100 * MS
    result = simulate(scenario(group(3, client=client()), kill(died, 1), horizon_us=60 * S))
    x = died - (next_beat(JOINED, died) - H)
    h = next_beat(JOINED, died - x + 10 * S) - (died - x + 10 * S)
    q = TRIP + assignor(2) + APPEND
    assert rounds(result)[1].end_us - died == 10 * S - x + h + TRIP + PREPARE + q
