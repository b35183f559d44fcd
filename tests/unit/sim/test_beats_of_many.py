"""Heartbeats of many members at once: every column holds what each member sends alone."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from groupsim.sim.client.polling.heartbeat_thread import Cadence, first_wake, first_wakes
from groupsim.sim.client.polling.pace import Pace
from groupsim.sim.client.polling.poll_schedule import PollSchedule
from groupsim.sim.client.polling.settling import Settling
from groupsim.sim.fastpath.quiet.beats_of_many import send_before
from groupsim.sim.fastpath.quiet.heartbeats import Heartbeats
from groupsim.sim.fastpath.quiet.poll_schedules import PollSchedules
from groupsim.sim.fastpath.quiet.trains import RecentTrain, Train
from groupsim.sim.units import FOREVER
from tests.support.schedules import in_closed_form

MEASURE = (2_000, 9_000)


@st.composite
def members(draw: st.DrawFn) -> tuple[PollSchedule, Cadence, int, int]:
    """How one polls, how often its heartbeat thread acts, since when that waits, and when a heartbeat is due."""
    full, steady = draw(st.integers(1, 90)), draw(st.integers(1, 90))
    paced = Pace(full, draw(st.integers(0, full)), 2, steady, draw(st.integers(0, steady)), 1, 1.0, 1.0)
    start, held_until = draw(st.integers(0, 300)), draw(st.integers(-1, 300))
    full_passes = draw(st.sampled_from([0, 3, 40, 1_000_000_000]))
    lengths = draw(st.lists(st.integers(1, 90), max_size=4))
    settling = Settling(lengths, [length // 3 for length in lengths]) if lengths else None
    schedule = in_closed_form(start, full_passes, paced, min(held_until, start), settling)
    interval, step = draw(st.integers(100, 400)), draw(st.integers(7, 90) | st.just(FOREVER))
    since, late = draw(st.integers(0, 400)), draw(st.integers(0, 90))
    return schedule, Cadence(interval, draw(st.integers(0, 6)), step), since, since + interval - late


@given(st.lists(members(), min_size=1, max_size=5), st.integers(0, 12_000))
def test_many_send_what_each_sends(several: list[tuple[PollSchedule, Cadence, int, int]], end: int) -> None:
    upcoming = _sent_alike(several, end + 7 * np.arange(len(several)))
    # What is sent at the very end is not sent before it.
    assert _sent_alike(several, upcoming).tolist() == upcoming.tolist()
    _sent_alike(several, upcoming + 1)


def _sent_alike(several: list[tuple[PollSchedule, Cadence, int, int]], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """When each sends the next, if columns and members alone send the same before ``ends``."""
    schedules, cadences, since, due = zip(*several, strict=True)
    train = Train.begun(np.array(due), np.full(len(due), 5), np.array([one.interval_us for one in cadences]), MEASURE)
    whose = np.arange(len(cadences))
    upcoming = send_before(PollSchedules.of(schedules), cadences, whose, train, np.array(since), ends)
    for index, (schedule, cadence, began, first) in enumerate(several):
        alone = RecentTrain(first, 5, 5, cadence.interval_us, MEASURE)
        one = Heartbeats(alone, cadence, began)
        one.send(schedule, int(ends[index]))
        sent = (train.number, train.due, train.measured, train.newer, train.older)
        assert [column[index] for column in sent] == [
            alone.number, alone.due, alone.measured, alone.newer, alone.older,
        ]  # fmt: skip
        assert upcoming[index] == one.next(schedule)
    return upcoming


@given(st.lists(members(), min_size=1, max_size=5), st.integers(0, 900))
def test_threads_wake_as_each_of_them_does(several: list[tuple[PollSchedule, Cadence, int, int]], ahead: int) -> None:
    several = [one for one in several if one[1].step_us < FOREVER]
    if several:
        schedules, cadences, since, _ = zip(*several, strict=True)
        steps, times = np.array([one.step_us for one in cadences]), np.array(since) + ahead
        found = first_wakes(PollSchedules.of(schedules), np.array(since), steps, times)
        assert list(zip(*(column.tolist() for column in found), strict=True)) == [
            first_wake(one, began, cadence.step_us, time)
            for (one, cadence, began, _), time in zip(several, times.tolist(), strict=True)
        ]
