"""All recordings against the present model: replays, seeds, verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from groupsim.scenarios import load
from groupsim.sim.model import Scenario
from tests.oracle import trace
from tests.oracle.comparison import Difference, Row, differences, rows
from tests.oracle.equivalence import Verdict, of_counts, of_durations
from tests.oracle.health import is_too_busy
from tests.oracle.lateness import dated
from tests.oracle.profile import as_measured, without_chance
from tests.oracle.replay import replay
from tests.oracle.simulated import simulated
from tests.oracle.trace import Fact, Trace

RECORDINGS: Final = Path(__file__).parents[1] / "golden" / "kafka"
SEEDS: Final = 15
"""Runs beside which distributions are reported; verdicts are on replays."""


@dataclass(frozen=True)
class Replayed:
    """A repetition, the run with its instants, and in what they differ."""

    repetition: int
    recording: tuple[Fact, ...]
    told: list[Fact]
    differences: list[Difference]


@dataclass(frozen=True)
class Studied:
    """One scenario: its repetitions one by one, and what is shown of its figures.

    ``headers``: of all its recordings, those too that are unfit and not compared.
    """

    name: str
    scenario: Scenario
    headers: list[Fact]
    replays: list[Replayed]
    verdicts: list[Verdict]

    @cached_property
    def rows(self) -> list[Row]:
        """Its figures over repetitions, and over seeds: runs that are played when somebody asks."""
        real = [one.recording for one in self.replays]
        runs = [simulated(self.scenario, seed) for seed in range(1, SEEDS + 1)] if real else []
        return rows(self.name, real, runs)


def recorded() -> list[str]:
    """The scenarios that have been recorded."""
    return sorted(path.parent.name for path in RECORDINGS.glob("*/scenario.yaml"))


def names() -> list[str]:
    """Those of which a recording is fit to be compared with the model."""
    return [name for name in recorded() if any(is_fit(one) for one in recordings(name))]


def is_fit(recording: Trace) -> bool:
    """Whether a recording may be compared; some were made when the bounds were wider."""
    return recording.header["unfit"] is None and not is_too_busy(recording.header["machine"])


def recordings(name: str, folder: Path = RECORDINGS) -> list[Trace]:
    """A scenario's repetitions, in order."""
    paths, scenario = folder.glob(f"{name}/*.jsonl.gz"), load(folder / name / "scenario.yaml")
    ordered = sorted(paths, key=lambda path: int(path.name.partition(".")[0]))
    return [dated(trace.read(path), scenario) for path in ordered]


def played(name: str, folder: Path = RECORDINGS) -> Scenario:
    """The scenario of some recordings, with the timing constants of the machine that played it."""
    return as_measured(load(folder / name / "scenario.yaml"))


def replays(scenario: Scenario, fit: Iterable[Trace]) -> Iterator[Replayed]:
    """Each repetition against its replay."""
    constant = without_chance(scenario)
    for one in fit:
        number = one.header["repetition"]
        told = replay(constant, one.facts, number)
        yield Replayed(number, one.facts, told, differences(one.facts, told))


def study(name: str) -> Studied:
    """A scenario's repetitions, and what is shown of its figures."""
    scenario, found = played(name), recordings(name)
    fit = [one for one in found if is_fit(one)]
    again, real = list(replays(scenario, fit)), [one.facts for one in fit]
    verdicts = of_durations(name, [(one.recording, one.told) for one in again]) if fit else []
    verdicts += of_counts(name, real, [one.told for one in again]) if fit else []
    return Studied(name, scenario, [one.header for one in found], again, verdicts)
