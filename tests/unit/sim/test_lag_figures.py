"""Peaks of lag from the log of offsets, against the ledger's own lag at every single microsecond."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from groupsim.sim.books.offsets.holding import Holding
from groupsim.sim.books.offsets.ledger import Ledger
from groupsim.sim.catalog import Catalog, Partitions
from groupsim.sim.model import Rate, Topic
from groupsim.sim.output import lag_curve, lag_figures, lag_peaks, stretch_reader, stretches
from groupsim.sim.output.lag_figures import LagFigures, figures_of

PARTITIONS, CONSUMERS = 5, 3


def _figures(ledger: Ledger, horizon_us: int, measure: tuple[int, int]) -> LagFigures:
    """Of one group by itself."""
    return next(figures_of([ledger], horizon_us, measure))


class Action(NamedTuple):
    after_us: int
    verb: str
    slot: int
    position: int
    value: int


class Run:
    """Three consumers that share five partitions, and their ledger's lag at every microsecond that passes."""

    def __init__(self, rates: tuple[int, ...], capacities: tuple[float, ...]) -> None:
        catalog = Catalog((Topic(name="t", partitions=PARTITIONS, rate=Rate(per_partition_mrps=(rates,))),), (0,))
        places = Partitions(catalog)
        places.cover(("t",))
        self.catalog, self.ledger = catalog, Ledger(catalog, places, CONSUMERS)
        self.ledger.cover(0)
        self.holdings = [Holding(slot) for slot in range(CONSUMERS)]
        self.capacities = list(capacities)
        self.now = 0
        self.lag: list[Any] = []
        self.ages: list[int] = []
        self.worked = [0] * CONSUMERS
        self._begun = [0] * CONSUMERS
        self.told: list[Any] = [rates, capacities]

    def __repr__(self) -> str:
        return f"Run{self.told}"

    def pass_until(self, time: int) -> None:
        """Look at every microsecond before ``time``; what happens then comes later."""
        everything = np.arange(PARTITIONS, dtype=np.int32)
        for now in range(self.now, time):
            processed = self.ledger.processed(now)
            produced = self.ledger.produced(now, everything)
            self.lag.append(np.where(processed >= 0, np.maximum(produced - processed, 0), 0))
            self.ages.append(int(self.ledger.lags(np.array([now]))[1][0]))
        self.now = time

    def check_peaks(self, low: float, high: float) -> None:
        """Between two shares of the run, the second one of what is left, peaks are those of every microsecond."""
        last = self.now - 1
        window = (int(low * last), int(low * last) + int(high * (last - int(low * last))))
        figures = _figures(self.ledger, last, window)
        lag = np.array(self.lag)[window[0] : window[1] + 1]
        assert figures.records_max == lag.sum(axis=1).max()
        assert figures.records_end == lag[-1].sum()
        assert figures.record_peaks.tolist() == lag.max(axis=0).tolist()
        assert figures.age_us == max(self.ages[window[0] : window[1] + 1])

    def act(self, action: Action) -> None:
        self.pass_until(self.now + action.after_us)
        self.count_work()
        self.told.append(tuple(action))
        getattr(self, action.verb)(self.holdings[action.slot], action.position, action.value)
        self._begun = self._reached()

    def count_work(self) -> None:
        for slot, reached in enumerate(self._reached()):
            self.worked[slot] += reached - self._begun[slot]

    def _reached(self) -> list[int]:
        return [int(self.ledger.positions(one, self.now).sum()) for one in self.holdings]

    def take(self, holding: Holding, position: int, value: int) -> None:
        """Read on from where somebody has got to, or some records before."""
        ledger, new = self.ledger, np.array([position], np.int32)
        if any(position in one.partitions for one in self.holdings):
            return
        start = np.maximum(ledger.processed(self.now)[new] - value % 20, 0)
        held, at = holding.partitions, ledger.positions(holding, self.now)
        order = np.argsort(np.concatenate([held, new]))
        ledger.frontier[new] = np.maximum(ledger.frontier[new], start)
        merged = np.concatenate([held, new])[order].astype(np.int32)
        ledger.anchor(
            holding, self.now, merged, np.concatenate([at, start])[order], self.capacities[holding.slot]
        )  # fmt: skip

    def halt(self, holding: Holding, position: int, value: int) -> None:
        self.ledger.halt(holding, self.now)

    def go_on(self, holding: Holding, position: int, value: int) -> None:
        if holding.partitions.size:
            at = self.ledger.positions(holding, self.now)
            self.ledger.anchor(
                holding, self.now, holding.partitions, at, self.capacities[holding.slot] / (1 + value % 3)
            )

    def drop(self, holding: Holding, position: int, value: int) -> None:
        gone = holding.partitions == position
        if gone.any():
            at = self.ledger.positions(holding, self.now)
            self.ledger.release(holding, self.now, holding.partitions[gone], gone, at[gone])

    def set_rate(self, holding: Holding, position: int, value: int) -> None:
        rate = Rate(per_partition_mrps=((value * 20_000_000, 50_000_000),))
        self.catalog.set_rate(self.now, "t", rate)
        at = [self.ledger.positions(one, self.now) for one in self.holdings]
        self.ledger.set_rate(self.now, "t")
        for one, offset in zip(self.holdings, at, strict=True):
            if one.running:
                self.ledger.anchor(one, self.now, one.partitions, offset, one.capacity)

    def skip(self, holding: Holding, position: int, value: int) -> None:
        """Some records of one partition are deleted."""
        one = np.array([position], np.int32)
        if self.ledger.processed(self.now)[position] >= 0:
            self.ledger.raise_frontier(self.now, one, self.ledger.produced(self.now, one) - value)


VERBS = ("take", "take", "halt", "go_on", "drop", "set_rate", "skip")


@st.composite
def runs(draw: st.DrawFn) -> Run:
    """Rates of up to a record a microsecond, capacities that are too small, and such that are not."""
    rate = st.sampled_from([0, 10_000_000, 70_000_000, 300_000_000, 999_000_000])
    capacity = st.sampled_from([0.05, 0.2, 0.61, 1.5, 4.0])
    run = Run(draw(st.tuples(*[rate] * PARTITIONS)), draw(st.tuples(*[capacity] * CONSUMERS)))
    action = st.builds(
        Action, st.integers(0, 40), st.sampled_from(VERBS), st.integers(0, CONSUMERS - 1),
        st.integers(0, PARTITIONS - 1), st.integers(0, 40),
    )  # fmt: skip
    for one in draw(st.lists(action, min_size=3, max_size=14)):
        run.act(one)
    run.pass_until(run.now + draw(st.integers(2, 100)))
    return run


@pytest.fixture(params=["at once", "bit by bit"])
def portions(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is small enough to be worked on at once, or nothing is."""
    if request.param == "bit by bit":
        monkeypatch.setattr(stretch_reader, "_ROWS", 3)
        monkeypatch.setattr(lag_curve, "_STEPS", 3)
        monkeypatch.setattr(lag_curve, "_PARTS", 3)
        monkeypatch.setattr(lag_curve, "_PORTION", 5)
        monkeypatch.setattr(lag_curve, "_AT_ONCE", 2)
        monkeypatch.setattr(lag_peaks, "_DEPARTURES", 2)
        monkeypatch.setattr(lag_figures, "_PARTS", 7)
        monkeypatch.setattr(lag_figures, "_PARTS_JOINED", 5)
        monkeypatch.setattr(lag_figures, "_KEPT", 4)


@settings(max_examples=20)
@given(runs(), st.floats(0, 1), st.floats(0, 1))
@pytest.mark.usefixtures("portions")
def test_peaks_are_those_of_every_microsecond(run: Run, low: float, high: float) -> None:
    run.check_peaks(low, high)


def _some_run(chance: random.Random) -> Run:
    """Hypothesis would take too long to draw several of them."""
    rates = tuple(chance.choice([0, 10_000_000, 70_000_000, 300_000_000, 999_000_000]) for _ in range(PARTITIONS))
    run = Run(rates, tuple(chance.choice([0.05, 0.2, 0.61, 1.5, 4.0]) for _ in range(CONSUMERS)))
    for _ in range(10):
        which = (chance.randrange(CONSUMERS), chance.randrange(PARTITIONS), chance.randint(0, 40))
        run.act(Action(chance.randint(0, 12), chance.choice(VERBS), *which))
    run.pass_until(120)
    return run


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.usefixtures("portions")
def test_groups_that_are_worked_on_at_once_have_the_figures_of_each_alone(seed: int) -> None:
    chance = random.Random(seed)
    found = [_some_run(chance) for _ in range(3)]
    last, limit = min(run.now for run in found) - 1, chance.randint(1, 40)
    ledgers = [run.ledger for run in found]
    for run, one in zip(found, figures_of(ledgers, last, (last // 3, last), last // 4), strict=True):
        alone = next(figures_of([run.ledger], last, (last // 3, last), last // 4))
        lag = np.array(run.lag)[last // 3 : last + 1]
        assert one.records_max == alone.records_max == lag.sum(axis=1).max()
        assert one.records_end == alone.records_end == lag[-1].sum()
        assert one.record_peaks.tolist() == alone.record_peaks.tolist() == lag.max(axis=0).tolist()
        assert one.age_us == alone.age_us == max(run.ages[last // 3 : last + 1])
        assert one.recovery_s(last // 2, limit) == alone.recovery_s(last // 2, limit)
        for column in ("slots", "since", "records", "busy_us", "partition_us"):
            assert getattr(one, column).tolist() == getattr(alone, column).tolist(), column
        work = one.work()
        done = [np.bincount(rows.service, work.done(rows, rows.begin, rows.end), 40) for rows in work.served()]
        assert np.sum(done, axis=0)[: len(one.records)].tolist() == one.records.tolist()


@settings(max_examples=20)
@given(runs(), st.floats(0, 1), st.integers(1, 40))
@pytest.mark.usefixtures("portions")
def test_recovery_begins_after_the_last_microsecond_at_the_limit(run: Run, share: float, limit: int) -> None:
    last = run.now - 1
    fault = int(share * last)
    high = [time for time in range(fault, last + 1) if run.lag[time].sum() >= limit]
    expected = 0 if not high else None if high[-1] == last else high[-1] + 1 - fault
    found = _figures(run.ledger, last, (0, last)).recovery_s(fault, limit)
    assert found == (None if expected is None else expected / 1e6)


@pytest.mark.parametrize("seed", [7, 59, 140, 1476, 1480, 1485, 1496])
def test_a_backlog_that_is_worked_off_has_the_peaks_of_every_microsecond(seed: int) -> None:
    """At a record a microsecond, the arrival that finds the most is not always next to the fluid's peak."""
    chance = random.Random(seed)
    rates = tuple(
        chance.choice([0, 10_000_000, 70_000_000, 300_000_000, 999_000_000, chance.randint(1, 999_000_000)])
        for _ in range(PARTITIONS)
    )
    run = Run(rates, (1.0,) * CONSUMERS)
    start = chance.randint(10, 300)
    offsets = np.array([chance.randint(0, rate * start // 10**9) for rate in rates])
    capacity = sum(rates) / 1e9 * chance.choice([0.5, 0.9, 0.99, 1.01, 1.2, 2, 5])
    run.now = start
    run.ledger.anchor(run.holdings[0], start, np.arange(PARTITIONS, dtype=np.int32), offsets, capacity)
    run.pass_until(start + chance.randint(50, 2000))
    figures = _figures(run.ledger, run.now - 1, (start, run.now - 1))
    lag = np.array(run.lag)
    assert figures.record_peaks.tolist() == lag.max(axis=0).tolist()
    assert figures.records_max == lag.sum(axis=1).max()
    assert figures.age_us == max(run.ages)


@example((900_000, 400_000, 1_000), (100, 20_000, 3_000), 0.9, 100_000_000)
@example((900_000, 400_000, 1_000), (100, 20_000, 3_000), 1.1, 100_000_000)
@given(
    st.tuples(*[st.integers(0, 900_000)] * 3), st.tuples(*[st.integers(0, 20_000)] * 3), st.floats(0.1, 3),
    st.integers(1, 100_000_000),
)  # fmt: skip
def test_no_lag_exceeds_the_line_above_it(
    rates: tuple[int, ...], backlogs: tuple[int, ...], load: float, length_us: int
) -> None:
    """And the line is close: within three records at one instant at least, where it is a chord or touches."""
    rates = (*(rate + 1_000 for rate in rates), 0, 0)
    run = Run(rates, (1.0,) * CONSUMERS)
    start, held = 30_000_000, np.arange(3, dtype=np.int32)
    offsets = np.maximum(run.ledger.produced(start, held) - np.array(backlogs), 0)
    run.ledger.anchor(run.holdings[0], start, held, offsets, sum(rates) / 1e9 / load)
    motion = stretches.Motion(run.ledger.log)
    for rows in stretch_reader.Reader(run.ledger.log, motion, PARTITIONS, start + length_us):
        behind = motion.lagging(rows, (0, start + length_us))
        level, slope = lag_curve.line_above(motion, behind)
        distance = []
        for share in np.linspace(0, 1, 41):
            at = (behind.begin + (behind.end - 1 - behind.begin) * share).astype(np.int64)
            distance.append(level + slope * (at - behind.begin) - motion.lag(behind, at))
        assert np.min(distance, initial=0) >= 0
        assert (np.min(distance, axis=0, initial=np.inf) < 3).all() if len(behind) else True


def test_a_rate_that_is_set_again_changes_nothing() -> None:
    run = Run((0,) * PARTITIONS, (0.05,) * CONSUMERS)
    for action in (
        Action(0, "take", 0, 0, 0), Action(0, "set_rate", 0, 0, 9), Action(7, "take", 0, 1, 0),
        Action(0, "set_rate", 0, 0, 9),
    ):  # fmt: skip
        run.act(action)
    run.pass_until(run.now + 2)
    assert _figures(run.ledger, run.now - 1, (0, run.now - 1)).records_max == max(sum(one) for one in run.lag)


def test_what_somebody_else_skips_needs_nobody_though_the_owner_reads_on() -> None:
    """A member that is no longer the owner begins further on: the records before that are nobody's any more."""
    run, one = Run((100_000_000,) * PARTITIONS, (0.01,) * CONSUMERS), np.array([0], np.int32)
    run.take(run.holdings[0], 0, 0)
    run.pass_until(200)
    run.ledger.frontier[one] = 15
    run.ledger.anchor(run.holdings[1], run.now, one, np.array([15]), 0.0)
    run.pass_until(300)
    figures = _figures(run.ledger, run.now - 1, (200, run.now - 1))
    assert figures.records_end == run.lag[-1].sum() == 15
    assert figures.age_us == max(run.ages[200:])


def test_recovery_needs_a_fault_a_limit_and_a_fault_that_counts() -> None:
    run = Run((1_000_000,) * PARTITIONS, (1.0,) * CONSUMERS)
    figures = _figures(run.ledger, 100, (0, 100))
    assert figures.recovery_s(0, 10) == 0
    assert figures.recovery_s(None, 10) is None
    assert figures.recovery_s(0, None) is None
    assert figures.recovery_s(100, 10) == 0, "at the last instant that counts"
    assert figures.recovery_s(101, 10) is None


@settings(max_examples=15)
@given(runs())
def test_work_is_what_positions_have_gained(run: Run) -> None:
    """Every record that a consumer passes is work, whoever had passed it before; it takes what capacity says."""
    last = run.now
    run.count_work()
    figures = _figures(run.ledger, last, (0, last))
    assert np.bincount(figures.slots, figures.records, CONSUMERS).tolist() == run.worked
    capacity = np.array([one[4] for one in run.ledger.log._services])
    np.testing.assert_allclose(figures.busy_us * capacity, figures.records)


def test_a_consumer_goes_on_with_what_is_its_own_of_what_it_holds() -> None:
    """Of three partitions that it serves on the first is somebody else's, and there is not the same in each."""
    run, held = Run((10_000_000, 70_000_000, 300_000_000, 0, 0), (0.05,) * CONSUMERS), np.arange(3, dtype=np.int32)
    ledger, (one, other, _) = run.ledger, run.holdings
    ledger.anchor(one, 0, held, np.zeros(3, np.int64), 0.05)
    run.pass_until(60)
    at = ledger.positions(one, run.now)
    ledger.take(other, held[:1])
    ledger.anchor(other, run.now, held[:1], at[:1], 4.0)
    ledger.anchor(one, run.now, held, at, 0.6)
    run.pass_until(200)
    for low in (0.35, 0.4, 0.45, 0.5):
        run.check_peaks(low, 0.1)


@pytest.mark.parametrize(("stretches_each", "blocks"), [(1, 1), (2, 2), (5, 5), (100, 10)])
def test_in_a_block_as_many_stretches_begin_as_last_at_once(stretches_each: int, blocks: int) -> None:
    """Two partitions, a window of ten parts: whatever parts are open, no stretch is looked at in many of them."""
    bounds, ends = lag_curve.Bounds((0, 99), 10), np.linspace(0, 100, stretches_each + 1).astype(np.int64)
    names, number = stretches.Stretches.__dataclass_fields__, 2 * stretches_each
    nothing = np.zeros(number, np.int64)
    rows = stretches.Stretches(
        **{**dict.fromkeys(names, nothing), "begin": np.tile(ends[:-1], 2), "end": np.tile(ends[1:], 2)}
    )
    bounds.add(rows, np.ones(number), np.zeros(number), nothing)
    highest, (firsts, lasts) = bounds.blocks(np.arange(10.0)[None], at_once=2)
    assert len(firsts) == blocks
    assert (firsts[0], lasts[-1]) == (0, 99)
    assert (firsts[1:] == lasts[:-1] + 1).all()
    assert highest[0].tolist() == [last // 10 for last in lasts.tolist()]
