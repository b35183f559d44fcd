"""Passes of a member that catches up: each batch is what has come during the one before."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupsim.sim.client.polling.pace import Load, Pace, pace
from groupsim.sim.client.polling.poll_schedule import PollSchedule
from groupsim.sim.client.polling.settling import MOST_PASSES, Batch, Settling, SettlingColumns
from groupsim.sim.fastpath.phases.columns import RoundColumns
from groupsim.sim.fastpath.quiet.poll_schedules import PollSchedules
from groupsim.sim.model import Distribution, Processing
from groupsim.sim.units import MS, S

POLL_US = MS // 2
RATE = 40 / S


def paced(load: Load, cost_us: int = 20 * MS, **more: int) -> Pace:
    return pace(Processing(per_record=Distribution.constant(cost_us), **more), 500, POLL_US, load, 1.0)


def caught_up(backlog: float, rate: float = RATE, cost_us: int = 20 * MS) -> PollSchedule:
    load = Load(rate, backlog)
    return PollSchedule(0, paced(load, cost_us), load, 0)


def settling(schedule: PollSchedule) -> Settling:
    assert isinstance(schedule.settling, Settling)
    return schedule.settling


def test_at_80_per_cent_load_each_batch_takes_four_fifths_of_the_one_before() -> None:
    """As a real member did that found what had come in 6 s: 4.8 s, 3.8 s, 3.1 s, ..."""
    schedule = caught_up(240)
    assert schedule.full_passes == 0
    lengths = settling(schedule).lengths
    assert [round(length / S, 1) for length in lengths[:4]] == [4.8, 3.8, 3.1, 2.5]
    assert all(later == round(0.8 * length + POLL_US) for length, later in pairwise(lengths))
    assert RATE * lengths[-1] < RATE * schedule.steady_us + 2


@given(st.integers(60, 5_000), st.floats(0.1, 0.9))
def test_a_backlog_is_gone_when_it_would_be_in_full_batches(backlog: int, load: float) -> None:
    """What is processed quickest is the same; poll() itself, once for each batch, makes the difference."""
    schedule = caught_up(backlog, load / (20 * MS))
    settled_us = schedule.full_passes * schedule.full_us + settling(schedule).span_us
    drained_us = backlog / (1 / (20 * MS) - load / (20 * MS))
    assert settled_us == pytest.approx(drained_us, rel=0.02, abs=2 * 20 * MS / (1 - load))


def test_after_full_batches_comes_what_they_leave() -> None:
    schedule = caught_up(2_400)
    assert (schedule.full_passes, schedule.full_us) == (20, 500 * 20 * MS + POLL_US)
    assert settling(schedule).records[0] == pytest.approx(2_400 - 20 * (500 - RATE * schedule.full_us))


def test_who_is_paced_anew_in_the_middle_goes_on_with_the_same_batches() -> None:
    """The backlog at that moment has the rest of the batch in hand, which is processed by the next poll."""
    schedule = caught_up(240)
    first, second, third = settling(schedule).lengths[:3]
    now = first + second // 2
    fluid = paced(Load(RATE, 0)).capacity
    left = Load(RATE, 240 - now * (fluid - RATE)).after(schedule.next_poll(now) - now, fluid)
    again = PollSchedule(schedule.next_poll(now), paced(left), left)
    assert again.start == first + second
    assert settling(again).lengths[0] == pytest.approx(third, rel=0.002)


def test_who_works_nearly_all_the_time_is_settled_after_a_while() -> None:
    lengths = settling(caught_up(499, 0.9999 / (20 * MS))).lengths
    assert len(lengths) == MOST_PASSES
    assert not caught_up(499, 1.01 / (20 * MS)).settling, "it never catches up"


def test_where_fetches_are_slow_a_pass_waits_for_its_records() -> None:
    load = Load(RATE, 240.0)
    slow = pace(Processing(per_record=Distribution.constant(MS)), 500, POLL_US, load, 1.0, fetched=50 / S)
    found = settling(PollSchedule(0, slow, load))
    assert found.lengths[0] == 240 * S // 50
    assert found.waits[0] == POLL_US + found.lengths[0] - (240 * MS + POLL_US)


def test_what_full_passes_leave_takes_a_pass_if_it_is_a_record_more_than_settled_ones_take() -> None:
    """Of next to no production a full pass leaves what was beyond it."""
    left = {backlog: caught_up(backlog, 0.005 / S) for backlog in (500.5, 501.2)}
    assert [one.full_passes for one in left.values()] == [1, 1]
    assert not left[500.5].settling
    assert len(settling(left[501.2]).lengths) == 1


@pytest.mark.parametrize(("each", "waits"), [(True, 500), (False, 1)])
def test_who_waits_for_commits_waits_after_each_record_or_each_batch(each: bool, waits: int) -> None:
    working = Processing(per_record=Distribution.constant(20 * MS), commit_each_record=each, commit_wait_us=3 * MS)
    assert pace(working, 500, POLL_US, Load(RATE, 0.0), 1.0).full_us == POLL_US + 500 * 20 * MS + waits * 3 * MS


def test_a_pass_takes_a_microsecond_at_least() -> None:
    assert Batch().lasts(5) == (1, 0)


def test_after_the_last_pass_there_is_none() -> None:
    some = Settling([9, 4], [1, 2], [3.0, 2.0])
    assert some.from_pass(2) is None
    assert some.after(10) is None
    last = some.after(9)
    assert last is not None
    assert (last.lengths, last.waits, last.records) == ([4], [2], [2.0])


def test_columns_find_the_pass_under_way_as_each_member_does() -> None:
    several = [Settling([9, 4], [1, 2]), None, Settling([7, 5, 3], [3, 2, 1])]
    columns = SettlingColumns.of(several)
    assert columns is not None
    for elapsed in range(-1, 20):
        found = np.array(columns.pass_at(np.full(3, elapsed)))
        for index, one in enumerate(several):
            assert one is None or tuple(found[:, index].tolist()) == one.pass_at(elapsed), (index, elapsed)


def test_columns_of_some_and_then_of_others_hold_each_of_them() -> None:
    some = [Settling([9, 4], [1, 2]), None]
    others = [Settling([7, 5, 3], [3, 2, 1])]
    both = SettlingColumns.of_both(SettlingColumns.of(some), 2, SettlingColumns.of(others), 1)
    assert both is not None
    for index, one in enumerate([*some, *others]):
        told = both.of_one(index)
        assert (told and (told.lengths, told.waits)) == (one and (one.lengths, one.waits))
    assert SettlingColumns.of_both(None, 2, None, 1) is None
    alone = SettlingColumns.of_both(None, 2, SettlingColumns.of(others), 1)
    assert alone is not None
    assert alone.count.tolist() == [0, 0, 3]


def test_rounds_keep_the_passes_in_which_members_settle() -> None:
    now, was = RoundColumns(3), RoundColumns(3)
    for slot, backlog in ((0, 240.0), (2, 30.0)):
        now.follow(slot, caught_up(backlog))
    was.copy(now, np.array([0, 2]))
    now.follow(0, caught_up(0.0))
    told = was.settling(np.array([2, 1, 0]), POLL_US)
    assert told is not None
    assert told.count.tolist() == [len(settling(caught_up(one)).lengths) if one else 0 for one in (30.0, 0.0, 240.0)]
    assert now.settling(np.array([0, 1]), POLL_US) is None


def test_schedules_of_members_that_have_settled_and_of_others_stand_together() -> None:
    mine, theirs = PollSchedules.of([caught_up(0.0)]), PollSchedules.of([caught_up(240.0)])
    times = np.array([5 * S, 5 * S])
    both = mine.followed_by(theirs)
    assert both.next_poll(times).tolist() == [one.next_poll(5 * S) for one in (caught_up(0.0), caught_up(240.0))]
    assert both.count_before(times).tolist() == [200, 2]
