"""Records that come in jumps: what is there when, how far its reader has got, and peaks of every microsecond."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupsim.sim.arrivals import Arrivals
from groupsim.sim.books.invariants.invariants import ReadsWhatIsThere
from groupsim.sim.books.offsets.holding import Holding
from groupsim.sim.client.polling.pace import Load, pace
from groupsim.sim.client.polling.poll_schedule import NOT_INSIDE, PollSchedule
from groupsim.sim.model import Processing
from groupsim.sim.units import FOREVER, MS
from tests.unit.sim.scenes import lasting
from tests.unit.sim.test_lag_figures import CONSUMERS, PARTITIONS, Action, Run

ONE = np.zeros(1, np.int32)
VERBS = ("take", "arrive", "arrive", "arrive", "poll", "poll", "halt", "go_on", "drop", "skip")


class Jumps(Run):
    """All five partitions are written to by another group."""

    def __init__(self, capacities: tuple[float, ...] = (1.0,) * CONSUMERS) -> None:
        super().__init__((0,) * PARTITIONS, capacities)
        self.arrivals = Arrivals()
        self.catalog.arrivals["t"] = {"read_uncommitted": self.arrivals, "read_committed": Arrivals()}

    def arrive(self, holding: Holding, position: int, value: int) -> None:
        """Some records, produced up to so many microseconds ago, in any order; nobody sees them before it polls."""
        times = [self.now - value * (1 + number * 3 % 7) // 7 for number in range(1 + value % 7)]
        self.arrivals.show(self.now, position, [max(time, 0) for time in times])
        assert self.ledger.arrive("t").tolist() == [position]

    def poll(self, holding: Holding, position: int, value: int) -> None:
        """Who consumes sees what has come, and goes on with whole records."""
        if holding.running:
            at = self.ledger.whole_positions(holding, self.now)
            self.ledger.anchor(holding, self.now, holding.partitions, at, holding.capacity)


@st.composite
def runs(draw: st.DrawFn) -> Jumps:
    run = Jumps(draw(st.tuples(*[st.sampled_from([0.05, 0.2, 0.61, 1.5])] * CONSUMERS)))
    action = st.builds(
        Action, st.integers(0, 40), st.sampled_from(VERBS),
        st.integers(0, CONSUMERS - 1), st.integers(0, PARTITIONS - 1), st.integers(0, 40),
    )  # fmt: skip
    for one in draw(st.lists(action, min_size=3, max_size=20)):
        run.act(one)
    run.pass_until(run.now + draw(st.integers(2, 100)))
    return run


@settings(max_examples=60, deadline=None)
@given(runs(), st.floats(0, 1), st.floats(0, 1))
def test_peaks_are_those_of_every_microsecond(run: Jumps, low: float, high: float) -> None:
    """Corners of the lag are where records come, too."""
    run.check_peaks(low, high)


def test_a_reader_works_off_what_comes_at_its_pace() -> None:
    """Four records of 100 us at a record each 10 us; three more at 125 us are lag, but not seen before it polls."""
    run = Jumps((0.1,) * CONSUMERS)
    ledger, reader = run.ledger, run.holdings[0]
    for action in (Action(0, "take", 0, 0, 0), Action(100, "arrive", 0, 0, 3), Action(0, "poll", 0, 0, 0)):
        run.act(action)
    assert ledger.positions(reader, 100).tolist() == [0]
    assert [int(ledger.processed(at)[0]) for at in (100, 109, 110, 124)] == [0, 0, 1, 2]
    run.act(Action(25, "arrive", 0, 0, 2))
    assert [int(ledger.processed(at)[0]) for at in (125, 130, 140, 150)] == [2, 3, 4, 4]
    assert [int(ledger.lags(np.array([at]))[0][0]) for at in (125, 150)] == [5, 3]
    run.act(Action(30, "poll", 0, 0, 0))
    assert [int(ledger.processed(at)[0]) for at in (155, 164, 165, 185)] == [4, 4, 5, 7]


def shown(run: Jumps, now: int, produced_us: tuple[int, ...]) -> None:
    """These come to partition 0."""
    run.pass_until(now)
    run.arrivals.show(now, 0, produced_us)
    run.ledger.arrive("t")


def test_records_have_the_age_of_their_timestamps_and_wake_by_when_they_are_shown() -> None:
    run = Jumps()
    shown(run, 50, (40,) * 4)
    shown(run, 70, (63,))
    ledger, where = run.ledger, np.zeros(5, np.intp)
    assert ledger.age(80, where, np.arange(5)).tolist() == [40, 40, 40, 40, 17]
    assert [ledger.produced_by(at, ONE).tolist() for at in (39, 40, 62, 63)] == [[0], [4], [4], [5]]
    last, following = ledger.around(np.array([75]), ONE)
    assert (last.tolist(), following.tolist()) == ([70], [FOREVER])
    assert ledger.first_record_us(80).tolist() == [40, *[FOREVER] * 4]


def test_a_group_that_comes_later_finds_what_has_come_before_of_its_level() -> None:
    run = Jumps()
    run.arrivals.show(30, 2, (25,) * 6)
    run.catalog.arrivals["t"]["read_committed"].show(40, 2, (25,) * 5)
    for level, offset, since in (("read_uncommitted", 6, 30), ("read_committed", 5, 40)):
        late = type(run.ledger)(run.catalog, run.ledger._partitions, CONSUMERS)
        late.isolation = level
        late.cover(90)
        assert late.produced(90, np.array([2], np.int32)).tolist() == [offset]
        assert late.around(np.array([90]), np.array([2], np.int32))[0].tolist() == [since]
        assert late.arrive("t").tolist() == []


def test_what_has_not_come_is_nowhere() -> None:
    arrivals = Arrivals()
    arrivals.show(9, 1, (5, 5))
    assert arrivals.produced_us([1, 1, 1, 0], np.array([0, 1, 2, 0])).tolist() == [5, 5, FOREVER, FOREVER]
    assert arrivals.ends([0, 1]).tolist() == [0, 2]
    assert arrivals.shown_us([0, 1]).tolist() == [0, 9]


def test_nobody_processes_what_readers_do_not_see() -> None:
    run = Jumps()
    run.act(Action(0, "take", 0, 0, 0))
    run.act(Action(5, "arrive", 0, 0, 3))
    run.act(Action(0, "poll", 0, 0, 0))
    group: Any = SimpleNamespace(books=SimpleNamespace(ledger=run.ledger, name="g"))
    watch = ReadsWhatIsThere()
    assert watch.violated(1_000, group) is None
    run.arrivals._partitions[0].ends[-1] = 3
    assert "partition 0 is processed beyond" in str(watch.violated(1_000, group))


def test_what_has_just_come_nobody_has_processed() -> None:
    """Not even if it makes up for what was read too early: it is held against what was there until then."""
    run = Jumps()
    run.act(Action(0, "take", 0, 0, 0))
    run.act(Action(5, "arrive", 0, 0, 3))
    group: Any = SimpleNamespace(books=SimpleNamespace(ledger=run.ledger, name="g"))
    watch = ReadsWhatIsThere()
    assert watch.violated(5, group) is None
    run.ledger.raise_frontier(10, np.array([0], np.int32), np.array([run.ledger.shown()[1][0] + 1]))
    run.act(Action(20, "arrive", 0, 0, 3))
    assert "partition 0 is processed beyond" in str(watch.violated(20, group))


def test_a_log_need_not_be_in_order() -> None:
    """First 30 and 50, then 20, which has been sent again, and 60; what was produced after 49 begins with the 50."""
    run = Jumps()
    shown(run, 70, (30, 50))
    shown(run, 80, (20, 60))
    ledger, numbers, where = run.ledger, [0] * 5, np.zeros(4, np.intp)
    offsets, now = np.arange(4), np.full(4, 90)
    assert ledger.age(90, where, offsets).tolist() == [60, 40, 70, 30]
    assert ledger.age_at_most(now, where, offsets).tolist() == [70, 70, 70, 30]
    assert ledger.seen_us(where, offsets).tolist() == [70, 70, 80, 80]
    assert [ledger.produced_by(at, ONE).tolist() for at in (29, 30, 49, 50, 59, 60)] == [[0], [1], [1], [3], [3], [4]]
    assert ledger.history(np.array([0, 69, 70, 79, 80, 99]), 0).tolist() == [0, 0, 2, 2, 4, 4]
    assert run.arrivals.oldest_us(numbers, np.arange(5)).tolist() == [20, 20, 20, 60, FOREVER]


def test_the_oldest_of_a_batch_may_be_in_its_middle() -> None:
    """Three records of 10 us each from 70 us on; the second, produced at 10 us, is done at 90."""
    run = Jumps((0.1,) * CONSUMERS)
    run.act(Action(0, "take", 0, 0, 0))
    shown(run, 70, (60, 10, 55))
    run.act(Action(0, "poll", 0, 0, 0))
    run.pass_until(120)
    run.check_peaks(0.0, 1.0)


# --- polls ------------------------------------------------------------------------------------------------------------


def idle(records: float, start: int = 0) -> PollSchedule:
    """A member without production: 100 ms inside poll(), 2 ms a record and 10 ms a batch; the poll itself 1 ms."""
    processing = Processing(per_record=lasting(2 * MS), per_poll_us=10 * MS, poll_timeout_us=100 * MS)
    load = Load(0.0, records)
    return PollSchedule(start, pace(processing, 500, MS, load, 1.0), load)


@pytest.mark.parametrize(("records", "busy_ms"), [(1, 13), (5, 21), (500, 1_011)])
def test_where_nothing_else_comes_what_waits_takes_a_full_pass(records: int, busy_ms: int) -> None:
    schedule = idle(records)
    assert schedule.next_poll(1) == busy_ms * MS


def test_a_poll_that_waits_returns_with_what_comes() -> None:
    schedule = idle(0)
    schedule.answer(230 * MS)
    assert schedule.next_poll(201 * MS) == 230 * MS
    assert schedule.inside_until(230 * MS) == 230 * MS
    assert schedule.last_pass(229 * MS) == 200 * MS


def test_a_batch_in_hand_is_finished_first() -> None:
    """It is done at 21 ms, whatever comes at 12 ms."""
    schedule = idle(5)
    schedule.answer(12 * MS)
    assert schedule.inside_until(12 * MS) == NOT_INSIDE
    assert schedule.next_poll(12 * MS) == 21 * MS
