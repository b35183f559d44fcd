"""Offsets as closed forms: production, processing, and the age of what is not processed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupsim.sim.books.offsets.holding import Holding
from groupsim.sim.books.offsets.lag_samples import LagSamples
from groupsim.sim.books.offsets.ledger import Ledger
from groupsim.sim.books.offsets.levels import Levels
from groupsim.sim.books.record import Rows as LagRows
from groupsim.sim.catalog import Catalog, Partitions
from groupsim.sim.model import Rate, Topic
from groupsim.sim.units import FOREVER, MS, S

Rows = list[tuple[int, tuple[int, ...]]]
END = 1_000 * S


def ledger_of(rate: Rate, partitions: int = 3, slots: int = 3) -> tuple[Ledger, Partitions, Catalog]:
    """A group's books that have known one topic since its creation at 0."""
    catalog = Catalog((Topic(name="t", partitions=partitions, rate=rate),), (0,))
    places = Partitions(catalog)
    places.cover(("t",))
    ledger = Ledger(catalog, places, slots)
    ledger.cover(0)
    return ledger, places, catalog


def everything(ledger: Ledger) -> Any:
    return np.arange(len(ledger.committed), dtype=np.int32)


# --- production -------------------------------------------------------------------------------------------------------

rows = st.lists(st.integers(0, 3_000_000), min_size=1, max_size=4).map(tuple)
steps = st.lists(st.tuples(st.integers(1, 5 * S), rows), max_size=4)


def stepped(first: tuple[int, ...], gaps: Rows) -> Rate:
    times = np.cumsum([0, *(gap for gap, _ in gaps)]).tolist()
    return Rate(times_us=tuple(times), per_partition_mrps=(first, *(row for _, row in gaps)))


def changes(rate: Rate) -> list[tuple[int, int, tuple[int, ...]]]:
    """Begin, end and row of each stretch without a change."""
    kept = [
        (time, row)
        for index, (time, row) in enumerate(zip(rate.times_us, rate.per_partition_mrps, strict=True))
        if not index or row != rate.per_partition_mrps[index - 1]
    ]
    return [(time, (kept[index + 1 :] or [(END, ())])[0][0], row) for index, (time, row) in enumerate(kept)]


def written_out(rate: Rate, partition: int, created: int, until: int, alike: int) -> int:
    """Milli-records of one partition of ``alike``, step by step in Python's integers."""
    total = (alike - 1 - partition) * 1000 // alike
    for begin, end, row in changes(rate):
        each = row[partition] if partition < len(row) else sum(row) // len(row)
        total += each * max(min(end, until) - max(begin, created), 0) // S
    return total


def alike(created: list[int], partition: int) -> int:
    """How many partitions there were when this one was created."""
    return sum(time <= created[partition] for time in created)


@given(rows, steps, st.integers(0, 30 * S))
def test_production_is_the_sum_of_its_steps(first: tuple[int, ...], gaps: Rows, until: int) -> None:
    rate = stepped(first, gaps)
    ledger, _, _ = ledger_of(rate, partitions=6)
    for time in rate.times_us[1:]:
        if time <= until:
            ledger.set_rate(time, "t")
    found = ledger.produced(until, everything(ledger)).tolist()
    assert found == [written_out(rate, partition, 0, until, 6) // 1000 for partition in range(6)]


@given(rows, steps, st.integers(0, 20 * S), st.integers(0, 20 * S))
def test_who_comes_late_finds_the_same_production(first: tuple[int, ...], gaps: Rows, grown: int, late: int) -> None:
    """Partitions of two ages, covered only now."""
    rate, now = stepped(first, gaps), grown + late
    catalog = Catalog((Topic(name="t", partitions=2, rate=rate),), (0,))
    catalog.grow(grown, "t", 6)
    places = Partitions(catalog)
    places.cover(("t",))
    ledger = Ledger(catalog, places, 1)
    ledger.cover(now)
    created = [0, 0, grown, grown, grown, grown]
    found = ledger.produced(now, everything(ledger)).tolist()
    assert found == [written_out(rate, index, created[index], now, alike(created, index)) // 1000 for index in range(6)]


@settings(max_examples=50)
@given(rows, steps, st.integers(1, 30 * S))
def test_the_age_of_a_record_is_the_time_since_it_was_there(first: tuple[int, ...], gaps: Rows, until: int) -> None:
    rate = stepped(first, gaps)
    ledger, _, _ = ledger_of(rate, partitions=4)
    for time in rate.times_us[1:]:
        if time <= until:
            ledger.set_rate(time, "t")
    end = ledger.produced(until, everything(ledger))
    for share in (0.0, 0.3, 0.999):
        offset = (end * share).astype(np.int64)
        some = np.flatnonzero(end > offset)
        for position, age in zip(some.tolist(), ledger.age(until, some, offset[some]).tolist(), strict=True):
            born = until - age
            there = written_out(rate, position, 0, born, 4) // 1000
            before = written_out(rate, position, 0, born - 1, 4) // 1000
            assert before <= offset[position] < there


@given(rows, steps, st.integers(0, 20 * S), st.integers(0, 20 * S), st.integers(0, 20 * S))
def test_the_log_starts_where_production_was_when_the_oldest_record_came(
    first: tuple[int, ...], gaps: Rows, grown: int, late: int, ago: int
) -> None:
    """Partitions of two ages."""
    rate, now = stepped(first, gaps), grown + late
    catalog = Catalog((Topic(name="t", partitions=2, rate=rate),), (0,))
    catalog.grow(grown, "t", 6)
    places = Partitions(catalog)
    places.cover(("t",))
    ledger = Ledger(catalog, places, 1)
    ledger.cover(now)
    assert ledger.keeps_everything
    catalog.deleted_before_us["t"] = oldest = max(now - ago, 0)
    ledger.delete("t")
    assert not ledger.keeps_everything
    created = [0, 0, grown, grown, grown, grown]
    assert ledger.log_start.tolist() == [
        written_out(rate, index, created[index], oldest, alike(created, index)) // 1000 for index in range(6)
    ]


def test_a_rate_that_does_not_change_is_no_step() -> None:
    ledger, _, catalog = ledger_of(Rate(per_partition_mrps=((333,),)))
    assert ledger.set_rate(7, "t").size == 0
    catalog.rates["t"] = (9, Rate(per_partition_mrps=((333, 400, 333),)))
    assert ledger.set_rate(9, "t").tolist() == [1]
    assert ledger.rate_of(np.array([0, 1], np.int32)) == pytest.approx(733e-9)


# --- processing -------------------------------------------------------------------------------------------------------


@st.composite
def histories(draw: st.DrawFn) -> tuple[tuple[int, ...], list[tuple[int, str, int, int]]]:
    row = tuple(draw(st.lists(st.integers(0, 200_000), min_size=6, max_size=6)))
    actions = st.tuples(
        st.integers(1, 5 * S), st.sampled_from(["take", "halt", "go", "drop", "repace"]), st.integers(0, 2),
        st.integers(0, 5),
    )  # fmt: skip
    return row, draw(st.lists(actions, min_size=1, max_size=12))


class Readers:
    """Three consumers with disjoint partitions, and what they do."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.holdings = [Holding(slot) for slot in range(3)]
        self.capacity = [2e-5, 1e-4, 1.0]

    def act(self, now: int, action: str, slot: int, position: int) -> None:
        holding, ledger = self.holdings[slot], self.ledger
        held, at = holding.partitions, ledger.positions(holding, now)
        if action == "take" and not any(position in one.partitions for one in self.holdings):
            start = np.array([max(int(ledger.frontier[position]), 0)])
            ledger.frontier[position] = start[0]
            new = np.array([position], np.int32)
            order = np.argsort(np.concatenate([held, new]))
            ledger.take(holding, new)
            merged = np.concatenate([held, new])[order].astype(np.int32)
            ledger.anchor(holding, now, merged, np.concatenate([at, start])[order], self.capacity[slot])
        elif action == "halt":
            ledger.halt(holding, now)
        elif action in ("go", "repace") and held.size:
            ledger.anchor(holding, now, held, at, self.capacity[slot] / (2 if action == "repace" else 1))
        elif action == "drop" and position in held:
            gone = held == position
            ledger.release(holding, now, held[gone], gone, at[gone])


@given(histories())
def test_the_group_s_vector_is_what_its_members_have_done(
    history: tuple[tuple[int, ...], list[tuple[int, str, int, int]]],
) -> None:
    row, actions = history
    ledger, _, _ = ledger_of(Rate(per_partition_mrps=(row,)), partitions=6)
    readers, now = Readers(ledger), 0
    last = ledger.processed(0)
    for gap, *action in actions:
        for moment in (now + gap // 2, now + gap):
            vector = ledger.processed(moment)
            for holding in readers.holdings:
                held, each = holding.partitions, ledger.positions(holding, moment)
                assert np.maximum(each, ledger.frontier[held]).tolist() == vector[held].tolist()
            assert (vector >= last).all()
            assert (vector <= np.maximum(ledger.produced(moment, everything(ledger)), 0)).all()
            last = vector
        now += gap
        readers.act(now, *action)  # type: ignore[arg-type]
        assert (ledger.processed(now) >= last).all()


def test_each_partition_gets_the_same_up_to_what_it_has() -> None:
    """40 a second over 10, 200 and 200 a second: the first is caught up, the others share what is left."""
    ledger, _, _ = ledger_of(Rate(per_partition_mrps=((10_000, 200_000, 200_000),)), partitions=3)
    holding = Holding(0)
    ledger.anchor(holding, 0, everything(ledger), np.zeros(3, np.int64), 40 / S)
    assert ledger.positions(holding, 10 * S).tolist() == [100, 150, 150]
    # 100, 1,850 and 1,850 wait: the first of them is through when 40 a second have given each 100 and what came.
    ledger.anchor(holding, 10 * S, everything(ledger), np.array([0, 150, 150]), 90 / S)
    assert ledger.positions(holding, 15 * S).tolist() == [150, 300, 300]
    assert ledger.positions(holding, 20 * S).tolist() == [200, 500, 500]


@pytest.mark.parametrize("rate_mrps", [10_000, 30_000])
def test_a_capacity_that_changes_at_the_first_instant_makes_no_other_service(rate_mrps: int) -> None:
    """Unless the rate has changed at that instant: what waits and what comes are then others."""
    (ledger, _, catalog), (once, _, _) = (ledger_of(Rate(per_partition_mrps=((10_000,),))) for _ in range(2))
    holding, other, now = Holding(0), Holding(0), 5 * S
    start = np.zeros(3, np.int64)
    ledger.anchor(holding, now, everything(ledger), start, 0.0)
    if rate_mrps != 10_000:
        catalog.set_rate(now, "t", Rate(per_partition_mrps=((rate_mrps,),)))
        ledger.set_rate(now, "t")
    ledger.anchor(holding, now, holding.partitions, ledger.positions(holding, now), 60 / S)
    once.anchor(other, now, everything(once), start, 60 / S)
    assert len(ledger.log.services()[0]) == (1 if rate_mrps == 10_000 else 2)
    assert holding.total_rate == 3 * rate_mrps / 1e9
    if rate_mrps == 10_000:
        for one, all_at_once in zip(ledger.log.services(), once.log.services(), strict=True):
            assert one.tolist() == all_at_once.tolist()
        assert ledger.positions(holding, 7 * S).tolist() == once.positions(other, 7 * S).tolist()
        assert ledger.processed(7 * S).tolist() == once.processed(7 * S).tolist()


def test_samples_of_few_partitions_are_taken_together() -> None:
    ledger, _, _ = ledger_of(Rate(per_partition_mrps=((10_000,),)))
    sizes: list[int] = []
    for partitions, taken in ((3, [300]), (10_000, [64, 64, 64, 64, 44])):
        samples = LagSamples(lambda times: (sizes.append(len(times)), ledger.lags(times))[1], range(partitions))
        rows = LagRows(3)
        samples.begin([number * S for number in range(300)], rows)
        samples.settle()
        assert (sizes, rows.array()[:, 0].tolist()) == (taken, [number * S for number in range(300)])
        sizes.clear()


def test_what_all_have_together_is_what_the_capacity_gives() -> None:
    """Levels by their definition: as high as what all partitions take up to it is the work done."""
    rng = np.random.default_rng(7)
    for _ in range(200):
        offered = rng.choice([0.0, 1.0, 30.0, 500.0], 6)
        mrps = rng.choice([0, 1_000, 30_000, 400_000], 6)
        capacity, elapsed = float(rng.choice([5e-5, 5e-4])), np.array([float(rng.integers(1, 20 * S))])
        levels = Levels(np.array([capacity]), np.array([6]), np.arange(6, dtype=np.int32), offered, mrps)
        level = levels.at(np.zeros(1, np.intp), elapsed)[0][0]
        has = offered + mrps / 1e9 * elapsed
        assert np.minimum(has, level).sum() == pytest.approx(min(capacity * elapsed[0], has.sum()), rel=1e-9)
        is_caught_up = elapsed[0] >= levels.caught_up
        assert (is_caught_up == (has <= level + 1e-6)).all()


def test_who_stands_still_keeps_its_partitions_though_a_zombie_reads_on() -> None:
    ledger, _, _ = ledger_of(Rate(per_partition_mrps=((10_000,),)), partitions=1)
    owner, zombie, all_of_it = Holding(0), Holding(1), everything(ledger)
    ledger.anchor(zombie, 0, all_of_it, np.array([0]), 1.0)
    ledger.take(owner, all_of_it)
    ledger.anchor(owner, 5 * S, all_of_it, np.array([40]), 1.0)
    ledger.halt(owner, 6 * S)
    ledger.anchor(zombie, 7 * S, all_of_it, np.array([45]), 0.0)
    assert ledger.processed(8 * S).tolist() == [60]
    ledger.anchor(owner, 8 * S, all_of_it, np.array([60]), 1.0)
    ledger.release(zombie, 9 * S, all_of_it, np.array([True]), np.array([45]))
    assert ledger.processed(10 * S).tolist() == [100]


def test_a_backlog_is_gone_when_the_spare_capacity_has_worked_it_off() -> None:
    ledger, _, _ = ledger_of(Rate(per_partition_mrps=((10_000,),)), partitions=2)
    behind, level, slow = (Holding(slot) for slot in range(3))
    ledger.anchor(behind, 10 * S, np.array([0], np.int32), np.array([0]), 20e-6)  # 100 records, 10 a second to spare
    ledger.anchor(level, 10 * S, np.array([1], np.int32), np.array([100]), 20e-6)
    assert ledger.services.caught_up(np.array([0, 1])).tolist() == [20 * S, 0]
    ledger.anchor(slow, 10 * S, everything(ledger), np.array([0, 0]), 20e-6)
    assert ledger.services.caught_up(np.array([2])).tolist() == [FOREVER]
    ledger.halt(behind, 12 * S)
    assert ledger.services.caught_up(np.array([0])).tolist() == [FOREVER], "it stands still"


def test_lag_counts_what_was_ever_begun() -> None:
    ledger, _, _ = ledger_of(Rate(per_partition_mrps=((10_000,),)), partitions=2)
    assert lag_at(ledger, 10 * S) == (0, 0)  # nobody has a position: there is nothing to be behind of
    ledger.frontier[0] = 40
    assert lag_at(ledger, 10 * S) == (60, 10 * S - 4_050 * MS)  # the first of two is half a record ahead
    ledger.frontier[0] = 100
    assert lag_at(ledger, 10 * S) == (0, 0)


def lag_at(ledger: Ledger, now: int) -> tuple[int, int]:
    """Records, and the age of the oldest in microseconds."""
    records, ages = ledger.lags(np.array([now]))
    return int(records[0]), int(ages[0])


def test_samples_show_the_books_as_they_were_at_each_instant() -> None:
    """They are taken before the next change, however many instants have passed since the last one."""
    ledger, _, _ = ledger_of(Rate(per_partition_mrps=((10_000,),)), partitions=2)
    times: list[int] = []
    taken = LagRows(3)
    ledger.samples.begin(times, taken)
    one, expected = Holding(0), []
    ledger.anchor(one, 0, everything(ledger), np.array([0, 0]), 15e-6)
    for now in range(S, 200 * S, S):
        times.append(now)
        expected.append([now, *lag_at(ledger, now)])
        if now == 150 * S:
            ledger.halt(one, now + 1)
    ledger.samples.settle()
    rows = taken.array().tolist()
    assert rows == expected
    assert rows[-1][1] > rows[160][1] > rows[149][1] > rows[0][1] > 0
