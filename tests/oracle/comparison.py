"""In what a replay differs from its recording, and a real group's figures beside those of many seeds.

*Replays*: each repetition against the run with its own instants, step by step and duration by duration, within 100 ms
or 2 %. What agreement is shown on average over repetitions is for `tests.oracle.equivalence`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from tests.oracle.measures import commits, failures, owners
from tests.oracle.runs import course, durations, summary
from tests.oracle.trace import Fact

CLOSE_S = 0.1


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


# --- repetitions beside seeds -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One figure of one scenario, over repetitions and over seeds; no verdict, for they had other instants."""

    scenario: str
    figure: str
    real: tuple[float, ...]
    simulated: tuple[float, ...]


def rows(scenario: str, recordings: Sequence[Sequence[Fact]], runs: Sequence[Sequence[Fact]]) -> list[Row]:
    """A scenario's figures."""
    real, mine = [summary(facts) for facts in recordings], [summary(facts) for facts in runs]
    figures = dict.fromkeys(name for one in [*real, *mine] for name in one)
    return [Row(scenario, name, _column(real, name), _column(mine, name)) for name in figures]


def _column(found: Sequence[dict[str, float]], name: str) -> tuple[float, ...]:
    """What did not happen took no time."""
    return tuple(one.get(name, 0.0) for one in found)
