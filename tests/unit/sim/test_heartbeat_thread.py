"""The heartbeat thread in closed form against its rule, followed step by step."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupsim.sim.client.polling.drawn_schedule import DrawnPollSchedule
from groupsim.sim.client.polling.heartbeat_thread import Cadence, first_wake, first_within, gait, next_beat
from groupsim.sim.client.polling.pace import Load, Pace
from groupsim.sim.client.polling.poll_schedule import PollSchedule
from groupsim.sim.fastpath.quiet.heartbeats import Heartbeats
from groupsim.sim.fastpath.quiet.trains import RecentTrain
from groupsim.sim.model import Distribution
from groupsim.sim.randomness import Draw
from groupsim.sim.units import FOREVER, MS, S
from tests.support.fidelity import differences
from tests.support.scenarios import TIMING, client, group, join, scenario
from tests.support.schedules import in_closed_form

MEASURE = (2_000, 9_000)


@st.composite
def schedules(draw: st.DrawFn) -> PollSchedule:
    """Full passes and then steady ones, in closed form or drawn, perhaps at the end of a wait inside poll()."""
    full, steady = draw(st.integers(1, 90)), draw(st.integers(1, 90))
    paced = Pace(full, draw(st.integers(0, full)), 2, steady, draw(st.integers(0, steady)), 1, 1.0, 1.0)
    start, held_until = draw(st.integers(0, 300)), draw(st.integers(-1, 300))
    cost = None if draw(st.booleans()) else Draw(draw(st.integers(0, 99)), Distribution("uniform", (1, 9)))
    held_until, full_passes = min(held_until, start), draw(st.sampled_from([0, 3, 40, 1_000_000_000]))
    if cost is None:
        return in_closed_form(start, full_passes, paced, held_until)
    schedule = DrawnPollSchedule(start, paced, Load(0, 0), None, held_until, cost=cost, first=3, fixed_us=5)
    schedule.full_passes = full_passes
    return schedule


@st.composite
def cadences(draw: st.DrawFn) -> Cadence:
    interval, step = draw(st.integers(100, 400)), draw(st.integers(7, 90))
    return Cadence(interval, draw(st.integers(0, 6)), step)


def written_beats(schedule: PollSchedule, cadence: Cadence, due: int, since: int, end: int) -> list[int]:
    """Microsecond by microsecond: where the application is, when the thread's wait is over, when it sends."""
    sent: list[int] = []
    step_over, noticed = since + cadence.step_us, False
    for now in range(since + 1, end):
        is_inside = schedule.reaction(now) == now
        is_last_inside = is_inside and schedule.end_of_wait(now) == now
        wakes = now >= step_over and (not is_inside or is_last_inside)
        noticed |= now >= due - cadence.late_us and (is_inside or wakes)
        if wakes:
            step_over = now + cadence.step_us
        if noticed and now >= due:
            sent.append(now)
            due, step_over, noticed = now + cadence.interval_us, now + cadence.step_us, False
    return sent


def iterated(schedule: PollSchedule, cadence: Cadence, due: int, since: int, end: int) -> list[int]:
    """Beat by beat."""
    sent: list[int] = []
    while (beat := next_beat(schedule, cadence, due, since)) < end:
        sent.append(beat)
        due, since = beat + cadence.interval_us, beat
    return sent


@given(schedules(), cadences(), st.integers(0, 200))
def test_heartbeats_go_out_when_the_rule_says(schedule: PollSchedule, cadence: Cadence, since: int) -> None:
    due = since + cadence.interval_us
    assert iterated(schedule, cadence, due, since, 4_000) == written_beats(schedule, cadence, due, since, 4_000)


@given(schedules(), cadences(), st.integers(0, 200), st.integers(0, 90), st.sampled_from([900, 3_000]))
def test_those_of_a_quiet_member_are_the_same_in_bulk(
    schedule: PollSchedule, cadence: Cadence, since: int, late: int, keep_us: int
) -> None:
    due = since + cadence.interval_us - late
    sent = iterated(schedule, cadence, due, since, 40_000)
    for end in (1_500, 2_000, 9_001, 39_000):
        one = Heartbeats(RecentTrain(due, 5, 5, cadence.interval_us, MEASURE, keep_us=keep_us), cadence, since)
        one.send(schedule, end)
        before = [beat for beat in sent if beat < end]
        assert one.train.number == 5 + len(before)
        assert one.train.measured == sum(MEASURE[0] <= beat <= MEASURE[1] for beat in before)
        assert one.next(schedule) == sent[len(before)]
        recent = [(beat, 5 + index) for index, beat in enumerate(before) if beat >= before[-1] - keep_us]
        assert one.train.sent_within(recent[0][0] if recent else end, FOREVER) == recent


@st.composite
def places(draw: st.DrawFn) -> tuple[int, int, Cadence, int]:
    """Length of a pass, the wait in it, a cadence, and when in a pass a heartbeat was sent."""
    length = draw(st.integers(1, 90))
    return length, draw(st.integers(0, length)), draw(cadences()), draw(st.integers(0, length - 1))


@given(places())
def test_one_follows_another_by_its_place_in_a_pass(where: tuple[int, int, Cadence, int]) -> None:
    length, wait, cadence, place = where
    schedule = PollSchedule(0, Pace(length, wait, 1, length, wait, 1, 1.0, 1.0), Load(0, 0))
    gap, more = gait(length, wait, cadence)[place]
    since = place
    for _ in range(min(more, 200) + 1):
        beat = next_beat(schedule, cadence, since + cadence.interval_us, since)
        assert beat == since + gap
        since = beat


@given(places(), st.integers(0, 90), st.integers(1, 400))
def test_the_first_wake_is_that_of_a_thread_that_goes_step_by_step(
    where: tuple[int, int, Cadence, int], start: int, ahead: int
) -> None:
    length, wait, cadence, since = where
    schedule = PollSchedule(start, Pace(length, wait, 1, length, wait, 1, 1.0, 1.0), Load(0, 0))
    time, begun = since + ahead, since
    if cadence.step_us >= FOREVER:
        assert first_wake(schedule, since, cadence.step_us, time) == (since, FOREVER)
        return
    while (wake := schedule.end_of_wait(begun + cadence.step_us)) < time:
        begun = wake
    assert first_wake(schedule, since, cadence.step_us, time) == (begun, wake)


@given(places())
def test_a_run_of_equal_gaps_is_as_long_as_it_can_be(where: tuple[int, int, Cadence, int]) -> None:
    length, wait, cadence, place = where
    gap, more = gait(length, wait, cadence)[place]
    alike = 0
    while alike <= 200 and follows_alike(length, wait, cadence, (place + alike * gap) % length, gap):
        alike += 1
    assert more >= 200 if alike > 200 else more == max(alike - 1, 0)


def follows_alike(length: int, wait: int, cadence: Cadence, place: int, gap: int) -> bool:
    """Whether the next heartbeat is on time, inside poll(); or goes out at a step, and no step met poll() till then."""
    interval, late_us, step_us = cadence
    if (place + interval - late_us) % length <= wait:
        return gap == interval
    steps = range(place + step_us, place + gap + 1, step_us)
    ready = range(place + interval - late_us, max(place + gap, place + interval - late_us + 1))
    are_free = all(step % length >= wait for step in steps) and all(time % length > wait for time in ready)
    return gap >= interval and not gap % step_us and gap - step_us < interval - late_us and are_free


@given(st.integers(1, 60), st.data())
def test_the_first_multiple_within_a_range(modulus: int, data: st.DataObject) -> None:
    stride, high = data.draw(st.integers(0, modulus - 1)), data.draw(st.integers(0, modulus - 1))
    low = data.draw(st.integers(0, high))
    found = [n for n in range(modulus) if low <= n * stride % modulus <= high]
    assert first_within(stride, modulus, low, high) == (found[0] if found else FOREVER)


def loaded(load: float, length_us: int = 33_333) -> PollSchedule:
    busy = round(load * length_us)
    return PollSchedule(0, Pace(length_us, length_us - busy, 1, length_us, length_us - busy, 1, 1.0, 1.0), Load(0, 0))


CADENCE = Cadence(3 * S + 600, 600, 100_100)


def test_an_application_that_waits_inside_poll_lets_every_heartbeat_go_out_on_time() -> None:
    beats = iterated(loaded(0.0), CADENCE, 3 * S, 0, 3_600 * S)
    assert {later - earlier for earlier, later in pairwise(beats)} == {3 * S + 600}
    assert next_beat(None, CADENCE, 77, 0) == 77


@pytest.mark.parametrize("load", [0.3, 0.6, 0.9])
def test_one_that_processes_makes_heartbeats_late_by_a_step_or_the_rest_of_the_batch_at_most(load: float) -> None:
    beats = iterated(loaded(load), CADENCE, 3 * S, 0, 3_600 * S)
    late = [later - earlier - CADENCE.interval_us for earlier, later in pairwise(beats)]
    assert 0 < max(late) <= round(load * 33_333)
    slow = iterated(loaded(load, 5 * S), CADENCE, 3 * S, 0, 3_600 * S)
    late = [later - earlier - CADENCE.interval_us for earlier, later in pairwise(slow)]
    assert 0 < max(late) <= CADENCE.step_us


def test_a_thread_that_nobody_wakes_is_as_late_as_its_thirty_steps() -> None:
    assert next_beat(loaded(0.9, 5 * S), CADENCE, 4 * S + 600, S) == S + 30 * CADENCE.step_us


def test_a_step_that_ends_while_the_application_waits_inside_poll_ends_with_that_wait() -> None:
    # Passes of 1 s, the first 130 ms inside poll(): the step that began at 0 ends at 130 ms, and so do those of 1 s
    # later. What is due 550 ms after the wait began is noticed at the end of a step, 530 ms after it.
    schedule = PollSchedule(0, Pace(S, 130 * MS, 1, S, 130 * MS, 1, 1.0, 1.0), Load(0, 0))
    cadence = Cadence(3_550 * MS, 0, 100 * MS)
    assert next_beat(schedule, cadence, 3_550 * MS, 0) == 3_630 * MS
    assert next_beat(schedule, cadence, 3_530 * MS, 0) == 3_530 * MS


def test_a_step_ends_with_the_assignment_that_poll_waits_for() -> None:
    """An append of 150 ms parks SyncGroup for longer than a step; the first records, 4 ms later, end none."""
    members, timing = group(2, client=client()), replace(TIMING, append_us=150 * MS)
    made = scenario(members, join(20 * S, 3), join(41 * S, 4), horizon_us=60 * S, rate_mrps=20_000, timing=timing)
    assert not differences(made, 1)
