"""Runs, and what becomes of them."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from groupsim.scenarios.files.result_folder import run_files, to_arrow
from groupsim.sim.model import Scenario

if TYPE_CHECKING:
    from groupsim.sim import Result


class Simulate(Protocol):
    """What carries out a run: ``sim.simulate``."""

    def __call__(
        self,
        scenario: Scenario,
        *,
        seed: int,
        replication: int,
        variant: str,
        after_each: Callable[[int], None] | None = None,
    ) -> Result:
        """The result of one run."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One simulation of a sweep.

    Parameters
    ----------
    variant : str
        Name of the variant whose scenario this is.
    seed, replication : int
        Together they name every random number of the run.
    keep : bool
        Whether the run's tables are kept beside its summary, so that its timeline can be drawn.
    """

    variant: str
    scenario: Scenario
    seed: int
    replication: int
    keep: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a run: its rows of ``summary``, or the error that ended it.

    Parameters
    ----------
    summary : pyarrow.Table or None
        None if the run failed.
    files : mapping of str to bytes
        The run's result folder, by file name; empty unless its tables are kept.
    error : str
        What went wrong; empty if nothing did.
    """

    summary: pa.Table | None
    files: Mapping[str, bytes] = field(default_factory=dict)
    error: str = ""


def outcome(run: Run, simulate: Simulate) -> Outcome:
    """Carry out ``run``. An error of the run is an outcome too: it must not end the sweep around it."""
    try:
        result = simulate(run.scenario, seed=run.seed, replication=run.replication, variant=run.variant)
        summary = to_arrow("summary", result.tables)
        return Outcome(summary=summary, files=run_files(result) if run.keep else {})
    except Exception as error:  # the run is the unit that may fail, whatever the reason
        return Outcome(summary=None, error=describe(error))


def describe(error: BaseException) -> str:
    """An error in one line: its kind, what it says, and where it was raised first."""
    first = error
    while first.__cause__ is not None:  # an error inside a process of the simulation is raised again by its kernel
        first = first.__cause__
    frames = traceback.extract_tb(first.__traceback__)
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())}{place}"
