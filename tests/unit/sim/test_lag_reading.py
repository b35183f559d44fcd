"""Logs of offsets that are read as time passes, and forgotten, come to what they come to if all is read at the end."""

from __future__ import annotations

import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from groupsim.sim.books.record import Life
from groupsim.sim.model import Scenario
from groupsim.sim.output import lag_reading
from groupsim.sim.output.lag_figures import LagFigures, figures_of
from groupsim.sim.output.lag_reading import LagReading
from groupsim.sim.output.member_work import lives_of, work_of
from tests.unit.sim.test_lag_figures import CONSUMERS, PARTITIONS, VERBS, Action, Run

NAMES = [f"c{slot}" for slot in range(CONSUMERS)]
ORIGIN_US = 20


def _run(seed: int, lives: list[Life], between: Callable[[Run, random.Random], None]) -> Run:
    """Of consumers that die once; ``between`` is called after each action."""
    chance, reads = random.Random(seed), random.Random(seed)
    rates = tuple(chance.choice([0, 10_000_000, 70_000_000, 300_000_000]) for _ in range(PARTITIONS))
    run = Run(rates, tuple(chance.choice([0.05, 0.2, 0.61, 1.5, 4.0]) for _ in range(CONSUMERS)))
    lives += [Life(name, 1, 0) for name in NAMES]
    for number in range(60):
        which = (chance.randrange(CONSUMERS), chance.randrange(PARTITIONS), chance.randint(0, 40))
        run.act(Action(chance.randint(0, 12), chance.choice(VERBS), *which))
        if number == 30:
            lives += [Life(name, 2, run.now + 1) for name in NAMES]
        between(run, reads)
    run.pass_until(run.now + 20)
    for life in lives:
        life.ended_us = run.now
    return run


def _books(run: Run, lives: list[Life], measure: tuple[int, int]) -> Any:
    return SimpleNamespace(
        ledger=run.ledger, record=SimpleNamespace(lives=lives), handles=SimpleNamespace(names=NAMES), measure=measure,
        partitions=SimpleNamespace(record_bytes=np.zeros(PARTITIONS)),
    )  # fmt: skip


def _read_in_parts(seed: int, lives: list[Life], measure: tuple[int, int], limit: int) -> tuple[LagFigures, int]:
    """What it comes to, and how many rows are kept at most."""
    reading: list[LagReading] = []
    rows = [0]

    def read(run: Run, chance: random.Random) -> None:
        if not reading:
            scenario = cast(Scenario, SimpleNamespace(origin_us=ORIGIN_US, recovery_lag_records=limit))
            reading.append(LagReading(_books(run, lives, measure), scenario))
        if chance.random() < 0.7:
            reading[0].read_before(run.now - chance.choice([0, 0, 0, 5, 30]))
        rows.append(run.ledger.log.rows)

    run = _run(seed, lives, read)
    earlier = reading[0].earlier
    assert earlier is not None
    return next(figures_of([run.ledger], run.now - 1, measure, ORIGIN_US, [earlier])), max(rows)


@pytest.mark.parametrize("measure", [(0, 1000), (150, 1000), (40, 200), (10_000, 10_001)])
@pytest.mark.parametrize("seed", range(6))
def test_figures_are_those_of_the_whole_log(
    seed: int, measure: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lag_reading, "_ROWS", 0)
    lives, same_lives = list[Life](), list[Life]()
    run = _run(seed, lives, lambda *_: None)
    last = run.now - 1
    measure = min(measure[0], last), measure[1]
    whole = next(figures_of([run.ledger], last, measure, ORIGIN_US))
    limit = whole.records_max if seed % 2 else 1 + seed * 9
    found, rows = _read_in_parts(seed, same_lives, measure, limit)
    assert rows < run.ledger.log.rows
    for name in ("age_us", "records_end", "records_max"):
        assert getattr(found, name) == getattr(whole, name), name
    assert found.record_peaks.tolist() == whole.record_peaks.tolist()
    for fault in range(0, last, 7):
        assert found.recovery_s(fault, limit) == whole.recovery_s(fault, limit)
    slots = {name: slot for slot, name in enumerate(NAMES)}
    done = [work_of(lives, lives_of(lives, slots, one), one) for one in (found, whole)]
    for name in done[0]:
        assert done[0][name].tolist() == done[1][name].tolist(), name
