"""How a real group and a simulated one are held against each other.

Three ways, from strict to wide. *Replays*: each repetition against the run with its own instants, duration by duration,
within 100 ms or 2 %. *Medians*: figures that timers alone decide (real runs within 0.3 s of each other) against many
seeds, within 100 ms or 5 %. *Distributions*: everything else, by a two-sample test over repetitions and seeds; numbers
of rounds, which are decided by races of milliseconds, as frequencies. The tests' p-values are corrected over all of a
report by Holm's method.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from statistics import median
from typing import Any

import numpy as np
from scipy.stats import fisher_exact, ks_2samp

from groupsim.analysis.stats.statistics import holm
from tests.oracle.measures import commits, course, durations, failures, owners, summary
from tests.oracle.trace import Fact

TIMER_SPREAD_S = 0.3
CLOSE_S = 0.1
SIGNIFICANT = 0.05
_COUNTS = ("rounds",)


# --- a repetition against its replay ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """What a replay does not do as the recording: where, and both versions."""

    where: str
    real: object
    simulated: object

    def __str__(self) -> str:
        return f"{self.where}: real {self.real}, simulated {self.simulated}"


def differences(recording: Sequence[Fact], told: Sequence[Fact]) -> list[Difference]:
    """Everything in which a replay differs: course first, then owners, commits, errors, durations."""
    found = [
        Difference(f"step {number}", real, mine)
        for number, (real, mine) in enumerate(zip_longest(course(recording), course(told)), 1)
        if real != mine
    ]
    if found:
        return found[:1]  # What comes after the first other step cannot be compared.
    found += _others("readers of", owners(recording), owners(told))
    found += _others("commits of", commits(recording), commits(told))
    found += _others("error of", failures(recording), failures(told))
    return found + list(_other_durations(durations(recording), durations(told)))


def _others(what: str, real: Mapping[Any, object], mine: Mapping[Any, object]) -> Iterable[Difference]:
    """What is not the same for somebody, in order of their names."""
    for who in sorted({*real, *mine}):
        if real.get(who) != mine.get(who):
            name = "/".join(map(str, who)) if isinstance(who, tuple) else who
            yield Difference(f"{what} {name}", real.get(who), mine.get(who))


def _other_durations(real: dict[str, float], mine: dict[str, float]) -> Iterable[Difference]:
    """What is not there took no time: a partition may change hands for a moment in one world alone."""
    for name in dict.fromkeys([*real, *mine]):
        one, other = real.get(name, 0.0), mine.get(name, 0.0)
        if abs(one - other) > max(CLOSE_S, 0.02 * one):
            yield Difference(name, round(one, 3), round(other, 3))


# --- repetitions against seeds ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One figure of one scenario, over repetitions and over seeds; ``p`` where a test decides, else None."""

    scenario: str
    figure: str
    real: tuple[float, ...]
    simulated: tuple[float, ...]
    how: str
    p: float | None
    agrees: bool


def rows(scenario: str, recordings: Sequence[Sequence[Fact]], runs: Sequence[Sequence[Fact]]) -> list[Row]:
    """A scenario's figures; verdicts of tests are preliminary until `corrected`."""
    real, mine = [summary(facts) for facts in recordings], [summary(facts) for facts in runs]
    figures = dict.fromkeys(name for one in [*real, *mine] for name in one)
    return [_row(scenario, name, _column(real, name), _column(mine, name)) for name in figures]


def _column(found: Sequence[dict[str, float]], name: str) -> tuple[float, ...]:
    """What did not happen took no time."""
    return tuple(one.get(name, 0.0) for one in found)


def _row(scenario: str, name: str, real: tuple[float, ...], mine: tuple[float, ...]) -> Row:
    row = Row(scenario, name, real, mine, "", None, agrees=True)
    if name in _COUNTS:
        return replace(row, how="frequencies", p=_frequencies(real, mine))
    if name != "read twice" and max(real) - min(real) < TIMER_SPREAD_S:
        close = abs(median(real) - median(mine)) <= max(CLOSE_S, 0.05 * median(real))
        return replace(row, how="medians", agrees=close)
    return replace(row, how="distribution", p=float(ks_2samp(real, mine).pvalue))


def _frequencies(real: Sequence[float], mine: Sequence[float]) -> float:
    values = sorted({*real, *mine})
    if len(values) == 1:
        return 1.0
    return float(
        fisher_exact(np.array([[each.count(one) for one in values] for each in (list(real), list(mine))])).pvalue
    )


def corrected(found: Sequence[Row]) -> list[Row]:
    """Rows with Holm's correction over all tests among them."""
    adjusted = zip(found, holm([row.p for row in found]), strict=True)
    return [row if p is None else replace(row, p=p, agrees=p >= SIGNIFICANT) for row, p in adjusted]
