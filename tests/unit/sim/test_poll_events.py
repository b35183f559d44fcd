"""Which polls the background thread hears of, against poll() written out pass by pass."""

from __future__ import annotations

from bisect import bisect_left

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupsim.sim.client.polling.drawn_schedule import DrawnPollSchedule
from groupsim.sim.client.polling.pace import Load, Pace, pace
from groupsim.sim.client.polling.poll_events import PollEvents
from groupsim.sim.client.polling.poll_schedule import PollSchedule
from groupsim.sim.client.polling.settling import Settling
from groupsim.sim.model import Distribution, Processing
from groupsim.sim.randomness import Draw
from groupsim.sim.units import MS, S
from tests.support.schedules import in_closed_form

POLL_US = 2
END = 4_000
lengths = st.integers(4, 40).flatmap(lambda length: st.tuples(st.just(length), st.sampled_from([1, POLL_US, length])))


def submitted(passes: list[tuple[int, bool]], *, refers: bool) -> list[int]:
    """Polls that submit an event, of polls (time, whether records wait for it): ``checkInflightPoll``."""
    found = []
    for time, finds_records in passes:
        if refers and finds_records:
            refers = False
        else:
            found.append(time)
            refers = True
    return found


@st.composite
def loops(draw: st.DrawFn) -> tuple[PollSchedule, list[int]]:
    """A schedule with events, and when they are submitted."""
    (full, full_wait), (steady, steady_wait) = draw(lengths), draw(lengths)
    start, count, spacing = draw(st.integers(0, 100)), draw(st.integers(0, 9)), draw(st.integers(1, 60))
    passes = [(start + index * full, full_wait <= POLL_US) for index in range(count)]
    settled, settling = start + count * full, draw(st.lists(lengths, max_size=5))
    for length, wait in settling:
        passes.append((settled, wait <= POLL_US))
        settled += length
    is_fed = steady_wait <= POLL_US and steady >= spacing
    passes += [(settled + index * steady, is_fed) for index in range((END - settled) // steady + 2)]
    paced = Pace(full, full_wait, 1, steady, steady_wait, 1, 1.0, 1.0)
    between = Settling(*zip(*settling, strict=True)) if settling else None
    schedule = in_closed_form(start, count, paced, settling=between, before=start - 1)
    refers = draw(st.booleans())
    schedule.events = PollEvents(schedule, POLL_US - 1, spacing, refers=refers, carry_commits=True)
    return schedule, submitted(passes, refers=refers)


@given(loops(), st.lists(st.integers(0, END // 2), max_size=9))
def test_polls_that_are_heard_are_those_of_poll_written_out(
    loop: tuple[PollSchedule, list[int]], times: list[int]
) -> None:
    schedule, heard = loop
    for time in times:
        assert schedule.heard.next_poll(time) == heard[bisect_left(heard, time)]


@given(loops(), st.integers(0, END // 4), st.integers(1, 90))
def test_a_pause_leaves_the_turn_of_each_poll_as_it_is(
    loop: tuple[PollSchedule, list[int]], at: int, length: int
) -> None:
    schedule, heard = loop
    schedule.shift(at, length)
    for time in range(at, at + 500, 37):
        upcoming = heard[bisect_left(heard, time)]
        assert schedule.heard.next_poll(time + length) == upcoming + length


@given(loops(), st.integers(0, 40), st.integers(1, 300))
def test_a_train_is_all_polls_that_are_heard_and_due(
    loop: tuple[PollSchedule, list[int]], first: int, interval: int
) -> None:
    schedule, heard = loop
    poll = heard[first]
    count, stride = schedule.heard.train(poll, interval, END // 2)
    at = poll
    for _ in range(count):
        at = heard[bisect_left(heard, at + interval)]
    assert at == poll + count * stride
    assert count == 0 or at < END // 2


@given(loops(), st.integers(0, END // 2))
def test_the_last_that_was_heard_is_the_poll_before(loop: tuple[PollSchedule, list[int]], time: int) -> None:
    schedule, heard = loop
    index = bisect_left(heard, time + 1)
    if index:
        assert schedule.heard.last_pass(time) == heard[index - 1]


def test_drawn_passes_of_a_backlog_are_heard_of_every_second_time() -> None:
    law = Distribution("exponential", (20 * MS,))
    load = Load(60 / S, 10_000.0)
    paced = pace(Processing(per_record=law), 10, MS, load, 1.0)
    drawn = DrawnPollSchedule(0, paced, load, cost=Draw(1, law), first=0, fixed_us=MS)
    drawn.events = PollEvents(drawn, MS, S / 60, refers=False, carry_commits=True)
    polls = list(drawn.polls(0, 10 * S))
    heard = [poll for poll in polls if drawn.events.is_submitted_at(poll)]
    assert heard == polls[::2]
    assert drawn.commits.train(polls[0], 5 * S, 10 * S)[0] == 0


@pytest.mark.parametrize("carry_commits", [True, False])
def test_an_application_that_commits_itself_does_so_at_each_poll(*, carry_commits: bool) -> None:
    schedule = in_closed_form(0, 10, Pace(100, 1, 1, 100, 1, 1, 1.0, 1.0))
    schedule.events = PollEvents(schedule, 1, 10, refers=False, carry_commits=carry_commits)
    assert schedule.commits.next_poll(50) == (200 if carry_commits else 100)
