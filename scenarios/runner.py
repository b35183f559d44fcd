"""Runs, their outcomes, and the folder that holds them; runs in this process. ``spark_runner`` has them elsewhere."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from scenarios.results import run_files, schema, to_arrow, write_files
from sim.model import Scenario

if TYPE_CHECKING:
    from sim import Result


class Simulate(Protocol):
    """What carries out a run: ``sim.simulate``."""

    def __call__(self, scenario: Scenario, *, seed: int, replication: int, variant: str) -> Result:
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


Executor = Callable[[Sequence[Run], Simulate, Callable[[int], None]], Iterator[tuple[int, Outcome]]]
"""Carries out runs and tells how many are done: pairs of a run's position and its outcome, in any order."""


FAILURES = pa.schema(
    [
        ("variant", pa.string()), ("seed", pa.int64()), ("replication", pa.int64()),
        ("error", pa.string()), ("replay", pa.string()),
    ]
)  # fmt: skip
"""One row per run that failed: what went wrong, and the command that repeats it."""


def outcome(run: Run, simulate: Simulate) -> Outcome:
    """Carry out ``run``. An error of the run is an outcome too: it must not end the sweep around it."""
    try:
        result = simulate(run.scenario, seed=run.seed, replication=run.replication, variant=run.variant)
        summary = to_arrow("summary", result.summary)
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


def in_process(
    runs: Sequence[Run], simulate: Simulate, progress: Callable[[int], None]
) -> Iterator[tuple[int, Outcome]]:
    """Carry out ``runs`` one after the other in this process."""
    for position, run in enumerate(runs):
        yield position, outcome(run, simulate)
        progress(position + 1)


def carry_out(
    runs: Sequence[Run],
    simulate: Simulate,
    execute: Executor,
    folder: Path,
    replay: Callable[[Run], str],
    progress: Callable[[int], None],
) -> tuple[pa.Table, pa.Table]:
    """Carry out ``runs``; write the result folders of kept runs into ``folder`` (``kept_folder``).

    Returns
    -------
    (pyarrow.Table, pyarrow.Table)
        The summary, and the failures (``FAILURES``); their rows are in the order of ``runs``, whichever order the runs
        end in.
    """
    summaries: dict[int, pa.Table] = {}
    failures: dict[int, dict[str, object]] = {}
    for position, done in execute(runs, simulate, progress):
        run = runs[position]
        if done.summary is None:
            own = {"variant": run.variant, "seed": run.seed, "replication": run.replication}
            failures[position] = {**own, "error": done.error, "replay": replay(run)}
        else:
            summaries[position] = done.summary
        if done.files:
            write_files(folder / kept_folder(runs, run.variant), done.files)
    summary = pa.concat_tables([schema("summary").empty_table(), *(summaries[at] for at in sorted(summaries))])
    return summary, pa.Table.from_pylist([failures[at] for at in sorted(failures)], schema=FAILURES)


def kept_folder(runs: Sequence[Run], variant: str) -> str:
    """Where the tables of a variant's kept run are, relative to the sweep's folder: ``runs/03-static``."""
    variants = list(dict.fromkeys(run.variant for run in runs))
    number = str(variants.index(variant)).zfill(len(str(len(variants) - 1)))
    return f"runs/{number}-{re.sub(r'[^A-Za-z0-9.=-]+', '_', variant)[:60]}"
