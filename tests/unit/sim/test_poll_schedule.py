"""The poll loop in closed form against a list of polls that is written out."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from itertools import accumulate, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupsim.sim.client.polling.drawn_schedule import DrawnPollSchedule
from groupsim.sim.client.polling.pace import Load, Pace, pace
from groupsim.sim.client.polling.poll_schedule import NOT_INSIDE, PollSchedule
from groupsim.sim.client.polling.settling import Settling
from groupsim.sim.model import ZERO, Distribution, Processing
from groupsim.sim.randomness import Draw
from groupsim.sim.units import MS, S
from tests.support.schedules import in_closed_form

POLL_US = MS
FETCH = 13
"""So often a wait inside poll() is interrupted."""
END = 40_000


class Written:
    """Polls one by one: (begin, wait) of each pass, and what was before.

    ``held`` is the end of a wait inside poll() that began before the first of them.
    """

    def __init__(self, passes: list[tuple[int, int]], before: int | None) -> None:
        self.passes = passes
        self.before = before
        self.held = -1

    @property
    def polls(self) -> list[int]:
        return [begin for begin, _ in self.passes]

    def shift(self, at: int, by_us: int) -> None:
        gone = bisect_left(self.polls, at)
        inside_until = sum(self.passes[gone - 1]) if gone else self.held
        self.before = self.last_pass(at - 1)
        self.held = inside_until + by_us if inside_until >= at else -1
        self.passes = [(begin + by_us, wait) for begin, wait in self.passes[gone:]]

    def last_pass(self, time: int) -> int | None:
        index = bisect_right(self.polls, time)
        begin = self.polls[index - 1] if index else self.before
        inside = sum(self.passes[index - 1]) if index else self.held
        if begin is None:
            return None
        return max(
            at for at in range(begin, max(begin, inside, time) + 1, FETCH) if at == begin or at <= min(time, inside)
        )

    def next_poll(self, time: int) -> int:
        return self.polls[bisect_left(self.polls, time)]

    def reaction(self, time: int) -> int:
        index = bisect_right(self.polls, time) - 1
        if index >= 0 and time <= self.polls[index] + self.passes[index][1]:
            return time
        if index < 0 and time <= self.held:
            return time
        return self.next_poll(time)


lengths = st.integers(1, 50).flatmap(lambda length: st.tuples(st.just(length), st.integers(0, length)))


@st.composite
def loops(draw: st.DrawFn) -> tuple[PollSchedule, Written]:
    """A schedule, and the same written out."""
    (full, full_wait), (steady, steady_wait) = draw(lengths), draw(lengths)
    start, passes = draw(st.integers(0, 100)), draw(st.integers(0, 20))
    before = draw(st.none() | st.integers(0, start))
    written = [(start + index * full, full_wait) for index in range(passes)]
    settled, settling = start + passes * full, draw(st.lists(lengths, max_size=5))
    for length, wait in settling:
        written.append((settled, wait))
        settled += length
    paced = Pace(full, full_wait, 1, steady, steady_wait, 1, 1.0, 1.0)
    between = Settling(*zip(*settling, strict=True)) if settling else None
    schedule = in_closed_form(start, passes, paced, settling=between, before=before, fetch_us=FETCH)
    written += [(settled + index * steady, steady_wait) for index in range(END // steady + 1)]
    return schedule, Written(written, before)


shifts = st.lists(st.tuples(st.integers(0, 500), st.integers(1, 300)), max_size=4)


@given(loops(), shifts, st.lists(st.integers(0, 2_000), min_size=1))
def test_a_poll_schedule_answers_as_the_list_of_its_polls_does(
    loop: tuple[PollSchedule, Written], pauses: list[tuple[int, int]], times: list[int]
) -> None:
    schedule, written = loop
    time = 0
    for gap, length in pauses:
        time += gap
        schedule.shift(time, length)
        written.shift(time, length)
        time += length
        assert schedule.before == written.before
    for one in times:
        at = time + one
        assert schedule.next_poll(at) == written.next_poll(at)
        assert schedule.last_pass(at) == written.last_pass(at)
        assert schedule.reaction(at) == written.reaction(at)


@given(loops(), st.integers(0, 1_000), st.integers(1, 300))
def test_who_stays_away_from_a_wait_polls_when_it_is_back_and_a_batch_takes_that_much_longer(
    loop: tuple[PollSchedule, Written], at: int, length: int
) -> None:
    schedule, written = loop
    waits, upcoming, last = schedule.inside_until(at) != NOT_INSIDE, written.next_poll(at), written.last_pass(at - 1)
    schedule.stay_away(at, length)
    assert schedule.start == (at if waits else upcoming) + length
    assert schedule.reaction(at + length) == schedule.start or not waits
    if waits:
        assert schedule.before == last


@settings(max_examples=40)
@given(loops(), st.integers(1, 500), st.integers(0, 30), st.integers(0, 3_000))
def test_a_train_is_all_polls_that_are_due(
    loop: tuple[PollSchedule, Written], interval: int, first: int, span: int
) -> None:
    schedule, written = loop
    poll = written.polls[first]
    before = poll + 1 + span
    count, stride = schedule.train(poll, interval, before)
    at = poll
    for _ in range(count):
        at = written.next_poll(at + interval)
    assert at == poll + count * stride
    assert at < before
    following = written.next_poll(at + interval)
    switch = schedule.start + schedule.full_passes * schedule.full_us
    passes = schedule.settling.lengths if schedule.settling is not None else ()
    ends = list(accumulate(passes, initial=switch))
    assert following >= before or following >= next(
        (end for end in ends if end > poll), END
    )  # or the kind of pass ends


@given(
    st.integers(0, 100), st.integers(0, 20), st.integers(0, 10), st.integers(1, 30), shifts,
    st.lists(st.integers(0, 2_000), min_size=1),
)  # fmt: skip
def test_drawn_passes_answer_as_their_list_does(
    start: int, passes: int, wait: int, fixed: int, pauses: list[tuple[int, int]], times: list[int]
) -> None:
    cost = Draw(7, Distribution("uniform", (1, 9)))
    paced = Pace(1, wait, 4, 1, 2 * wait, 2, 1.0, 1.0)
    schedule = DrawnPollSchedule(start, paced, Load(0, 0), None, fetch_us=FETCH, cost=cost, first=3, fixed_us=fixed)
    schedule.full_passes = passes
    listed, at = [], start
    for number in range(5_000):
        records, inside = (4, wait) if number < passes else (2, 2 * wait)
        listed.append((at, inside))
        at += inside + max(1, cost(3 + number) * records + fixed)
    written, time, number = Written(listed, None), 0, 0
    for gap, length in pauses:
        time += gap
        number += bisect_left(written.polls, time)
        schedule.shift(time, length)
        written.shift(time, length)
        time += length
    for one in times:
        at = time + one
        assert schedule.next_poll(at) == written.next_poll(at)
        assert schedule.last_pass(at) == written.last_pass(at)
        assert schedule.reaction(at) == written.reaction(at)
        assert schedule.number_at(at) == 3 + number + bisect_left(written.polls, at)
        assert schedule.polls(at, at + 500).tolist() == [poll for poll in written.polls if at <= poll < at + 500]
        to_come = written.polls[bisect_left(written.polls, at) :]
        assert schedule.shortest_from(at) <= min(after - begin for begin, after in pairwise(to_come))
    steps = [after - begin for begin, after in zip(written.polls, written.polls[1:], strict=False)]
    assert schedule.shortest_us <= min(steps)
    assert max(steps) <= schedule.longest_us


def test_full_passes_that_are_over_no_longer_bound_those_that_are_drawn() -> None:
    cost, paced = Draw(7, Distribution("uniform", (3, 9))), Pace(1, 10, 2, 1, 90, 4, 1.0, 1.0)
    schedule = DrawnPollSchedule(0, paced, Load(0, 0), cost=cost, first=0, fixed_us=5)
    schedule.full_passes = 3
    assert schedule.shortest_us == schedule.shortest_from(0) == 10 + 5 + 2 * 3
    switch = sum(10 + 5 + 2 * cost(number) for number in range(3))
    assert schedule.next_poll(switch) == switch
    assert schedule.shortest_from(switch - 1) == schedule.shortest_us
    assert schedule.shortest_from(switch) == 90 + 5 + 4 * 3


# --- pace -------------------------------------------------------------------------------------------------------------


def paced(rate_per_s: float, backlog: float = 0, *, per_record_us: int = 0, per_poll_us: int = 100 * MS) -> Pace:
    processing = Processing(per_record=Distribution.constant(per_record_us), per_poll_us=per_poll_us)
    return pace(processing, 500, POLL_US, Load(rate_per_s / S, backlog), 1.0)


@pytest.mark.parametrize("backlog", [0, 3, 10_000])
def test_capacity_is_what_full_batches_achieve_however_small_the_backlog(backlog: int) -> None:
    assert paced(40, backlog).capacity == 500 / (101 * MS)
    assert paced(40, backlog, per_record_us=2 * MS).capacity == 500 / (1_101 * MS)


def test_a_pass_over_a_small_backlog_is_short() -> None:
    assert lengths_ms(10, 3, per_record_us=2 * MS) == [107]
    assert lengths_ms(40, 499, per_record_us=2 * MS)[0] == 1_099


@pytest.mark.parametrize("rate", [20, 100, 400])
def test_a_steady_pass_processes_what_was_produced_during_it(rate: int) -> None:
    one = paced(rate, per_record_us=2 * MS)
    assert one.steady_records == pytest.approx(rate / S * one.steady_us)
    assert one.steady_us == pytest.approx(101 * MS + one.steady_records * 2 * MS, rel=1e-3)
    assert 0 <= one.steady_wait_us <= one.steady_us


def test_without_records_poll_waits_for_its_timeout() -> None:
    one = paced(1)
    assert (one.steady_us, one.steady_wait_us) == (100 * MS, 100 * MS)


def lengths_ms(rate: float, backlog: float, **more: int) -> list[float]:
    settling = PollSchedule(0, paced(rate, backlog, **more), Load(rate / S, backlog)).settling
    return [length / MS for length in settling.lengths] if settling is not None else []


def full_passes(rate: float, backlog: float, **more: int) -> int:
    return PollSchedule(0, paced(rate, backlog, **more), Load(rate / S, backlog)).full_passes


def test_full_passes_last_until_the_backlog_is_gone() -> None:
    assert full_passes(40, 0) == 0
    # 1.101 s each take away 500 and leave 110.1 more; the last leaves less than 500.
    assert full_passes(100, 10_000, per_record_us=2 * MS) == 25
    assert full_passes(40, 499) == 0
    assert full_passes(40, 500) == 1
    assert full_passes(10_000, 0, per_record_us=2 * MS) == 1_000_000_000
    assert full_passes(10_000, 1_000, per_record_us=2 * MS) == 1_000_000_000


@pytest.mark.parametrize("factor", [1.0, 3.0])
def test_a_slow_host_stretches_everything_but_poll(factor: float) -> None:
    processing = Processing(per_record=Distribution.constant(2 * MS), per_poll_us=100 * MS)
    one = pace(processing, 500, POLL_US, Load(0.0, 10_000), factor)
    assert one.full_us == POLL_US + factor * 1_100 * MS


def test_the_rest_of_a_batch_costs_what_records_cost_from_then_on() -> None:
    schedule = PollSchedule(1_000, Pace(500, 100, 1, 500, 100, 1, 1.0, 8.0), Load(0, 0), 900, held_until=950)
    assert schedule.next_poll_with(8.0, 1_300) == 1_500
    assert schedule.next_poll_with(4.0, 1_300) == 1_400
    assert schedule.next_poll_with(16.0, 1_300) == 1_700
    assert schedule.next_poll_with(4.0, 1_050) == 1_300, "the wait inside poll() is no work"
    assert schedule.next_poll_with(4.0, 1_500) == 1_500
    assert schedule.next_poll_with(4.0, 940) == 975, "in the pass before: inside poll() until 950"
    assert schedule.next_poll_with(4.0, 980) == 990


def test_passes_that_were_to_begin_after_a_clock_has_stopped_have_not_begun() -> None:
    """Its thread goes on at 1,300, frozen since; the pass of 1,500 is still to come at 1,550."""
    schedule = PollSchedule(1_000, Pace(500, 100, 1, 500, 100, 1, 1.0, 8.0), Load(0, 0), 900, held_until=950)
    assert schedule.hand_over(1_550, 8.0, 1_300) == (1_500, 1_000, NOT_INSIDE)
    assert schedule.hand_over(1_550, 4.0, 1_050) == (1_300, 1_000, 1_100)
    assert schedule.hand_over(1_550, 8.0, 1_800) == (2_000, 1_500, 1_600), "it hangs until then"


def test_a_processing_that_costs_nothing_still_takes_a_poll() -> None:
    one: Callable[[Load], Pace] = lambda load: pace(Processing(per_record=ZERO), 500, POLL_US, load, 1.0)  # noqa: E731
    assert one(Load(1.0, 10_000)).full_us == POLL_US
    assert one(Load(0.0, 0)).full_wait_us == POLL_US


def test_whoever_has_caught_up_passes_with_the_records() -> None:
    """33 ms apart, however short a pass is; a wait is cut every 101 ms."""
    idle = Processing(per_record=ZERO, poll_timeout_us=100 * MS)
    load = Load(rate=3e-5, backlog=0.0)
    polls = PollSchedule(0, pace(idle, 500, POLL_US, load, 1.0), load, fetch_us=101 * MS)
    assert [polls.next_pass(time, 33 * MS) for time in (1, 33 * MS, 34 * MS)] == [33 * MS, 33 * MS, 66 * MS]
    assert polls.next_pass(1, 500 * MS) == 101 * MS


@pytest.mark.parametrize(
    ("at_ms", "takes_ms", "next_ms"),
    [(30, 20, 100), (30, 70, 100), (30, 90, 120), (0, 250, 250)],
)
def test_what_takes_its_time_inside_poll_uses_up_the_wait(at_ms: int, takes_ms: int, next_ms: int) -> None:
    """A rebalance listener: poll() returns when both are over, so the next one begins no later than it has to."""
    idle = paced(0, per_poll_us=0)
    schedule = PollSchedule(0, idle, Load(0, 0), fetch_us=1_000 * MS)
    assert idle.steady_us == 100 * MS
    schedule.use_up(at_ms * MS, takes_ms * MS)
    after = (at_ms + takes_ms) * MS
    assert schedule.next_poll(after) == next_ms * MS
    assert schedule.next_poll(next_ms * MS + 1) == (next_ms + 100) * MS
