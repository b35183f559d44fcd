"""Heartbeats of members whose transactions are worked out ahead, against the rule for one schedule of polls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupsim.sim.client.polling.heartbeat_thread import Cadence, first_wake, next_beat
from groupsim.sim.client.polling.pace import Load, Pace
from groupsim.sim.client.polling.poll_schedule import PollSchedule
from groupsim.sim.client.polling.settling import Batch
from groupsim.sim.fastpath.transactions.beats import Pass, beat_in_pass, beat_on_time
from groupsim.sim.fastpath.transactions.columns import Members, Standing

pytestmark = pytest.mark.property


def column(value: Any) -> Any:
    return np.array([value])


def members(cadence: Cadence) -> Members:
    """One, of which only the heartbeat thread matters."""
    nobody, keys = column(0), np.zeros(1, np.uint64)
    pace = Pace(*[column(0)] * 8, batch=Batch())
    return Members(
        slots=nobody, pace=pace, cost_us=nobody, costs=None, cadence=Cadence(*map(column, cadence)),
        beat_interval_us=column(cadence.interval_us), other_key=keys, beat_key=keys, producer_id=nobody,
        limit_us=nobody, patience_us=nobody, most=nobody,
    )  # fmt: skip


def standing(due: int, since: int) -> Standing:
    nothing = column(0)
    return Standing(
        back_us=nothing, waiting=np.zeros(1), free_us=nothing, batches=nothing, refers=np.zeros(1, np.bool_),
        other=nothing, beats=nothing, beat_due_us=column(due), waits_since_us=column(since), renewed_us=nothing,
        answered_us=nothing,
    )  # fmt: skip


@given(
    length=st.integers(2, 60), share=st.integers(0, 60), count=st.integers(1, 4), step_us=st.integers(1, 40),
    behind=st.integers(0, 60), due=st.integers(0, 200), late_us=st.integers(0, 3),
)  # fmt: skip
def test_a_heartbeat_is_sent_as_the_thread_of_one_member_sends_it(
    length: int, share: int, count: int, step_us: int, behind: int, due: int, late_us: int
) -> None:
    start, wait = 100, min(share, length)
    since, due = start - min(behind, step_us - 1), start + due
    pace = Pace(length, wait, 1.0, length, wait, 0.0, 1.0, 1.0)
    schedule = PollSchedule(start, pace, Load(0.0, 0.0), start)
    cadence = Cadence(1_000, late_us, step_us)
    until = start + count * length
    sent = next_beat(schedule, cadence, due, since)
    began = sent if sent < until else since
    after, beats = standing(due, since), []
    for number in range(count):
        begin = start + number * length
        goes_on = np.array([number + 1 < count])
        one = Pass(np.array([True]), goes_on, column(begin), column(begin + wait), column(begin + length))
        after, found = beat_in_pass(members(cadence), after, one)
        beats += [int(found.sent_us[0])] if found.is_sent[0] else []
    assert beats == ([sent] if sent <= until else [])
    expected = first_wake(schedule, began, step_us, until)[0] if sent != until else sent
    assert int(after.waits_since_us[0]) == expected
    assert int(after.beat_due_us[0]) == (sent + cadence.interval_us if beats else due)


@pytest.mark.parametrize(("due", "is_sent", "following"), [(30, True, 130), (99, True, 199), (100, False, 100)])
def test_a_thread_that_waits_for_nobody_sends_a_heartbeat_when_it_is_due(
    due: int, is_sent: bool, following: int
) -> None:
    """One that is due when the commit is answered goes with what follows."""
    after, beats = beat_on_time(members(Cadence(100, 0, 1)), standing(due, 0), column(100))
    assert (beats.is_sent[0], beats.sent_us[0]) == (is_sent, due)
    assert (after.beat_due_us[0], after.beats[0]) == (following, is_sent)
