"""Many quiet members at once: every column holds what each member gives when it is asked alone."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from groupsim.sim.client.polling.drawn_schedule import DrawnPollSchedule
from groupsim.sim.client.polling.heartbeat_thread import Cadence
from groupsim.sim.client.polling.pace import Load, Pace, catching_up, pace
from groupsim.sim.client.polling.poll_schedule import NOT_INSIDE, PollSchedule
from groupsim.sim.client.polling.settling import Settling
from groupsim.sim.config import Timing
from groupsim.sim.fastpath.phases.commit_rows import CommitsOfIntervals
from groupsim.sim.fastpath.phases.flights import Requests, fly
from groupsim.sim.fastpath.quiet.heartbeats import Heartbeats
from groupsim.sim.fastpath.quiet.poll_schedules import PollSchedules
from groupsim.sim.fastpath.quiet.steady_columns import SteadyColumns
from groupsim.sim.fastpath.quiet.steady_state import Keys, SteadyState, commits_apart, reach
from groupsim.sim.fastpath.quiet.trains import RecentTrain, Train
from groupsim.sim.model import Distribution, Processing
from groupsim.sim.randomness import Draw, hash64
from groupsim.sim.units import FOREVER
from tests.support.schedules import in_closed_form

MEASURE = (300, 1_500)
GRID = st.integers(0, 9).map(lambda tens: 10 * tens)
"""Ties only happen on a coarse grid."""


@st.composite
def schedules(draw: st.DrawFn) -> PollSchedule:
    """In closed form or drawn, at the start or in the middle of a pass that was interrupted."""
    full, steady = draw(st.integers(1, 60)), draw(st.integers(1, 60))
    paced = Pace(full, draw(st.integers(0, full)), 2, steady, draw(st.integers(0, steady)), 1, 1.0, 1.0)
    start, held_until = draw(st.integers(0, 300)), draw(st.integers(-1, 400))
    full_passes = draw(st.sampled_from([0, 1, 7, 1_000_000_000]))
    if draw(st.booleans()):
        lengths = draw(st.lists(st.integers(1, 60), max_size=3))
        settling = Settling(lengths, [length // 3 for length in lengths]) if lengths else None
        return in_closed_form(start, full_passes, paced, held_until, settling)
    cost = Draw(draw(st.integers(0, 99)), Distribution("uniform", (1, 9)))
    schedule = DrawnPollSchedule(start, paced, Load(0, 0), None, held_until, cost=cost, first=3, fixed_us=5)
    schedule.full_passes = full_passes
    return schedule


@given(st.lists(schedules(), min_size=1, max_size=6), st.data())
def test_poll_schedules_answer_as_each_of_them_does(several: list[PollSchedule], data: st.DataObject) -> None:
    times = data.draw(st.lists(st.integers(0, 2_000), min_size=len(several), max_size=len(several)))
    columns, at = PollSchedules.of(several), np.array(times)
    polls = [one.next_poll(time) for one, time in zip(several, times, strict=True)]
    assert columns.next_poll(at).tolist() == polls
    assert columns.reaction(at).tolist() == [o.reaction(t) for o, t in zip(several, times, strict=True)]
    intervals, before = np.full(len(several), 70), np.array(polls) + at
    trains = columns.train(np.array(polls), intervals, before)
    assert list(zip(*(one.tolist() for one in trains), strict=True)) == [
        one.train(poll, 70, end) for one, poll, end in zip(several, polls, before.tolist(), strict=True)
    ]


@given(st.lists(schedules(), min_size=1, max_size=6), st.data())
def test_polls_have_numbers(several: list[PollSchedule], data: st.DataObject) -> None:
    several = [one for one in several if not isinstance(one, DrawnPollSchedule)]
    times = data.draw(st.lists(st.integers(0, 2_000), min_size=len(several), max_size=len(several)))
    if not several:
        return
    columns = PollSchedules.of(several)
    counts = columns.count_before(np.array(times))
    numbers = counts[:, None] + np.arange(3)
    for one, time, polls in zip(several, times, columns.polls(numbers, np.arange(len(several))), strict=True):
        following = [one.next_poll(time)]
        while len(following) < 3:
            following.append(one.next_poll(following[-1] + 1))
        assert polls.tolist() == following


flight = st.tuples(*(st.integers(0, 40) for _ in range(3)), st.sampled_from([0, 3, 13]), st.booleans())


@given(st.lists(flight, min_size=1, max_size=12), st.tuples(*(st.integers(0, 60) for _ in range(3))))
def test_what_connections_make_of_requests(requests: list[tuple[int, ...]], order: tuple[int, int, int]) -> None:
    sent = np.cumsum([gap for gap, *_ in requests])
    there, back, work, is_sent = (np.array(column) for column in list(zip(*requests, strict=True))[1:])
    rows = Requests(*(np.array([one]) for one in (sent, there + 1, back + 1, work, is_sent)))
    flights = fly(rows, tuple(np.array([one]) for one in order))  # type: ignore[arg-type]
    up, free, down = order
    for index, present in enumerate(is_sent.tolist()):
        if present:
            up = max(up + 1, int(sent[index] + there[index] + 1))
            free = max(up, free) + int(work[index])
            down = max(down + 1, free + int(back[index]) + 1)
            assert [int(one[0, index]) for one in flights] == [up, free, down]


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(1, 9), st.integers(1, 4)), max_size=6), GRID, GRID)
def test_a_train_knows_what_it_has_sent(stretches: list[tuple[int, int, int]], low: int, length: int) -> None:
    train, sent = RecentTrain(0, 5, 5, 1, MEASURE), list[int]()
    for gap, stride, count in stretches:
        first = (sent[-1] if sent else 0) + gap
        train.add(first, stride, count)
        sent += range(first, first + count * stride, stride)
    within = [(time, 5 + number) for number, time in enumerate(sent) if low <= time <= low + length]
    assert train.sent_within(low, low + length) == within
    assert train.last_before(low) == max((time for time in sent if time < low), default=-FOREVER)


rates = st.sampled_from([0.0, 1e-9, 1e-7, 2e-5, 5e-4, 1e-3, 0.3])


@given(
    st.lists(st.tuples(rates, st.integers(0, 5_000), st.integers(1, 700), st.sampled_from([1.0, 1.7])), min_size=1),
    st.sampled_from([0, 7, 2_000]), st.sampled_from([0, 199_000]), st.sampled_from([0, 1_000]),
)  # fmt: skip
def test_paces_are_what_each_member_has_alone(
    members: list[tuple[float, int, int, float]], cost: int, per_poll: int, poll_us: int
) -> None:
    processing = Processing(per_record=Distribution("constant", (cost,)), per_poll_us=per_poll)
    loads = [Load(rate, float(backlog)) for rate, backlog, _, _ in members]
    alone = [pace(processing, one[2], poll_us, load, one[3]) for one, load in zip(members, loads, strict=True)]
    load = Load(np.array([one.rate for one in loads]), np.array([one.backlog for one in loads]))
    most, slowdown = np.array([one[2] for one in members]), np.array([one[3] for one in members])
    many = pace(processing, most, poll_us, load, slowdown)
    for column, values in zip(many[:-1], zip(*(one[:-1] for one in alone), strict=True), strict=True):
        assert np.broadcast_to(column, len(members)).tolist() == list(values)
    passes, settling = zip(*(catching_up(one, load) for one, load in zip(alone, loads, strict=True)), strict=True)
    all_passes, all_settling = catching_up(many, load)
    assert np.broadcast_to(all_passes, len(members)).tolist() == list(passes)
    for index, one in enumerate(settling):
        same = all_settling.of_one(index) if all_settling is not None else None
        assert (one and (one.lengths, one.waits)) == (same and (same.lengths, same.waits))


def test_a_poll_schedule_of_columns_is_the_one_that_they_were_taken_from() -> None:
    paced = Pace(500, 100, 2, 300, 70, 1, 1.0, 8.0)
    one = PollSchedule(1_000, paced, Load(0.1, 10_000), 1_000)
    same = PollSchedule.of_columns(
        1_000, one.full_passes, 500, 100, 300, 70, 8.0, 1_000, NOT_INSIDE, settling=one.settling
    )
    assert all(getattr(one, name) == getattr(same, name) for name in PollSchedule.__slots__)


@st.composite
def quiets(draw: st.DrawFn) -> SteadyState:
    """A member that is not frozen, some time after the start of its passes."""
    pauses: list[tuple[int, int]] = []
    for gap, length in draw(st.lists(st.tuples(st.integers(1, 300), st.integers(1, 60)), max_size=4)):
        start = (pauses[-1][1] if pauses else 0) + gap
        pauses.append((start, start + length))
    due, cadence = draw(GRID), Cadence(100, draw(st.sampled_from([0, 10])), draw(st.sampled_from([30, FOREVER])))
    beats = Heartbeats(RecentTrain(due, 4, 4, 100, MEASURE), cadence, due - draw(GRID))
    commits = RecentTrain(draw(GRID | st.just(FOREVER)), 7, 7, draw(st.sampled_from([1, 130])), MEASURE)
    keys = Keys(heartbeat=5, poll=6, pause=1, thaw=2, request=0)
    return SteadyState(beats, commits, draw(schedules()), pauses, 0, 0, keys)


def _state(trains: list[RecentTrain]) -> list[tuple[int, int, int]]:
    return [(train.due, train.number, train.measured) for train in trains]


def _columns(trains: Train) -> list[tuple[int, int, int]]:
    return list(zip(trains.due.tolist(), trains.number.tolist(), trains.measured.tolist(), strict=True))


@given(st.lists(quiets(), min_size=1, max_size=5), GRID, st.sampled_from([0, 9]), st.data())
def test_a_crowd_is_where_each_of_its_members_is(
    several: list[SteadyState], time: int, key: int, data: st.DataObject
) -> None:
    moment = (100 + time, key)
    awake = [one for one in several if not one.is_frozen_at(moment)]
    alone = [deepcopy(one) for one in several]
    for one in alone:
        one.catch_up(moment)
    alone = [one for one in alone if one.frozen is None]
    assert len(awake) == len(alone)
    if not awake:
        return
    some = data.draw(st.integers(0, len(awake)))
    steady = SteadyColumns.of(awake[:some], [9] * some, MEASURE, moment)
    steady = steady.followed_by(SteadyColumns.of(awake[some:], [9] * (len(awake) - some), MEASURE, moment))
    assert list(zip(steady.beats.tolist(), steady.heartbeats.number.tolist(), strict=True)) == [
        (one.beating.next(one.schedule), one.heartbeats.number) for one in alone
    ]
    polls = steady.beats + data.draw(st.integers(1, 99))
    steady.send_until(polls)
    for one, poll in zip(alone, polls.tolist(), strict=True):
        one.pauses = ()
        one.next_pause = 0
        one.catch_up((poll, one.keys.poll))
    assert _columns(steady.heartbeats) == _state([one.heartbeats for one in alone])
    assert _columns(steady.commits) == _state([one.commits for one in alone])
    for index, one in enumerate(alone):
        sent = [time for time, _ in one.commits.sent_within(-FOREVER, FOREVER)][-2:]
        assert [t for t in (steady.commits.older[index], steady.commits.newer[index]) if t > -FOREVER] == sent


@given(st.lists(quiets(), min_size=1, max_size=5), GRID, GRID, GRID)
def test_commits_that_meet_other_requests_are_known(
    several: list[SteadyState], time: int, back: int, ahead: int
) -> None:
    moment, round_trip_us = (400 + time, 0), 60
    awake = [one for one in several if not one.is_frozen_at(moment) and one.commits.interval > 1]
    if not awake:
        return
    steady = SteadyColumns.of(awake, [round_trip_us] * len(awake), MEASURE, moment)
    for one in awake:
        one.catch_up(moment)
        one.pauses, one.next_pause = (), 0
    # As little as is kept of members that are behind: the last two.
    steady.commits = Train.of([one.commits for one in awake], MEASURE)
    polled = steady.beats + 5
    commits = CommitsOfIntervals(steady, polled, np.ones(len(awake), np.bool_), moment[0])
    since, until = steady.beats[commits.which] - 10 * back, steady.beats[commits.which] + ahead
    rows, known = commits.within(since, until), commits.are_known(since)
    for one, beat in zip(awake, steady.beats.tolist(), strict=True):
        one.catch_up((beat + 100, 0))
    for row, index in enumerate(commits.which.tolist()):
        sent = awake[index].commits.sent_within(int(since[row]), int(until[row]) - 1)
        told = [(int(rows.sent[row, k]), int(rows.numbers[row, k])) for k in np.flatnonzero(rows.is_sent[row])]
        assert told == sent or not known[row]
        assert set(told) <= set(sent)
        assert known[row] or len(told) < len(sent) or since[row] <= steady.commits.older[index]
    for index in set(range(len(awake))) - set(commits.which.tolist()):
        one, beat = awake[index].commits, int(steady.beats[index])
        assert not one.sent_within(moment[0] - round_trip_us, moment[0])
        assert not one.sent_within(beat - round_trip_us, int(polled[index]) - 1)


class _Wire:
    """Latencies from 1 to ``longest_us``."""

    def __init__(self, key: int, longest_us: int) -> None:
        self.key, self.longest_us = key, longest_us

    def latency(self, kind: str, number: int) -> int:
        return 1 + hash64(self.key + len(kind), number) % self.longest_us


@given(
    st.integers(0, 10_000), st.integers(1, 400), st.integers(4, 90), st.integers(200, 900),
    st.sampled_from([(0, 0), (3, 0), (3, 10), (11, 30)]), st.integers(0, 3_000),
)  # fmt: skip
def test_what_was_sent_long_ago_has_no_part_in_what_is_on_its_way(
    key: int, longest_us: int, stride: int, heartbeat_us: int, work: tuple[int, int], since: int
) -> None:
    timing, wire = Timing(service_us=work[0], append_us=work[1]), _Wire(key, longest_us)
    if not commits_apart(stride, heartbeat_us, timing):
        return
    keys = Keys(heartbeat=5, poll=6, pause=1, thaw=2, request=0)
    beats, commits = RecentTrain(key % heartbeat_us, 0, 0, heartbeat_us, MEASURE), RecentTrain(0, 0, 0, 1, MEASURE)
    beating = Heartbeats(beats, Cadence(heartbeat_us, 0, 30), 0)
    beats.add(key % heartbeat_us, heartbeat_us, 4_000 // heartbeat_us)
    commits.add(key % stride, stride, 4_000 // stride)
    reaches = (reach(longest_us, stride, heartbeat_us, timing), FOREVER)
    quiet, remembers_all = (SteadyState(beating, commits, None, (), 0, reach_us, keys) for reach_us in reaches)
    some, everything = (one.beats(wire, timing, (0, 0, 0), since) for one in (quiet, remembers_all))  # type: ignore[arg-type]
    known = {(one.kind, one.number): one for one in everything}
    exact = [one for one in some if one.sent >= since]
    for train, kind in ((beats, "heartbeat"), (commits, "commit")):
        exact += [one for one in some if one.kind == kind and one.sent == train.last_before(since)]
    assert len(exact) >= sum(one.sent >= since for one in everything)
    assert all(one == known[one.kind, one.number] for one in exact)
    assert all(one.answered - one.sent <= 2 * longest_us + 2 * work[0] + work[1] + 2 for one in everything)
    heartbeats = [one for one in everything if one.kind == "heartbeat"]
    alone = [quiet.worked_at(wire, timing, (0, 0, 0), one.sent) for one in heartbeats]  # type: ignore[arg-type]
    assert alone == [one.worked for one in heartbeats]
