"""A sweep from its file to its folder: on Spark or in this process, begun or resumed."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from groupsim.scenarios.spark.session import Where, open_session, reach, where_of
from groupsim.scenarios.sweep.account import Account, account, effort, finish
from groupsim.scenarios.sweep.chunk import Done
from groupsim.scenarios.sweep.folder import ChunkSizes, sweep_folder
from groupsim.scenarios.sweep.identity import identity_of
from groupsim.scenarios.sweep.loading import Sweep, load_sweep
from groupsim.scenarios.sweep.outcome import Simulate
from groupsim.scenarios.sweep.pilot import pilot
from groupsim.scenarios.sweep.runner import Executor, Progress, SweepRun, chunk_sizes, in_process

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

PILOT_LIMIT_S: Final = 0.25
"""Enough to tell runs of which a chunk has several from those that are chunks themselves."""
PILOT_SHARE: Final = 0.02
"""Of the time that the sweep is expected to take."""


class Listener:
    """Is told how a sweep proceeds; this one ignores everything."""

    def begun(self, runs: int, variants: int, place: str) -> None:
        """So many runs are to be there in the end; ``place`` is where they are carried out."""

    def estimated(self, seconds: float) -> None:
        """What is missing takes so long on one core, at the pace that this machine has now."""

    def damaged(self, what: str) -> None:
        """A chunk of an earlier process cannot be read and is carried out again."""

    def resumed(self, runs: int) -> None:
        """So many runs are there already."""

    def progress(self, runs: int) -> AbstractContextManager[Progress]:
        """What is told the counts of runs while they are carried out."""
        return nullcontext(lambda done, failed, wanted: None)

    def complete(self, variant: str, summary: pa.Table) -> None:
        """All runs of a variant are there; these are its rows of ``summary``."""

    def interrupted(self, runs: int, folder: Path) -> None:
        """The sweep ends early, by the error that is raised next; so many runs are kept."""


def carry_out_sweep(
    sweep: Sweep, out: Path, where: Where | None, simulate: Simulate, *, resume: bool, listener: Listener
) -> Account:
    """Carry out what is missing of a sweep in the folder ``out``, and write the manifest.

    Parameters
    ----------
    where : Where or None
        None: in this process.

    Raises
    ------
    OccupiedFolder, AnotherSweep, FolderInUse
        As `scenarios.sweep.folder.sweep_folder`.
    NoJava, Unreachable, SparkFailed
        As `scenarios.spark.session.open_session` and `scenarios.spark.runner.on_spark`.
    """
    if where is not None:
        reach(where)
    begin_s = time.monotonic()
    settling = _Settling(sweep, simulate)
    with sweep_folder(out, identity_of(sweep), settling, resume=resume) as folder:
        running = SweepRun(sweep, folder)
        done = _run(running, sweep, where, simulate, settling.slowness, listener)
        running.drop_surplus()
        found = account(sweep, folder, running.wanted, listener.complete)
        finish(sweep, folder, found, effort(done, where.url if where else "in process", time.monotonic() - begin_s))
    return found


class _Settling:
    """How runs are dealt out to chunks, after a pilot; asked once, and not where a sweep goes on.

    Attributes
    ----------
    slowness : float
        Of the machine during the pilot, as `scenarios.sweep.pilot.Pilot` has it; 1 without one.
    """

    def __init__(self, sweep: Sweep, simulate: Simulate) -> None:
        self._sweep, self._simulate, self.slowness = sweep, simulate, 1.0

    def __call__(self) -> ChunkSizes:
        found = pilot(self._sweep, self._simulate, limit_s=PILOT_LIMIT_S, share=PILOT_SHARE)
        self.slowness = found.slowness
        return chunk_sizes(self._sweep, {name: cost.seconds for name, cost in found.costs.items()})


def _run(
    running: SweepRun, sweep: Sweep, where: Where | None, simulate: Simulate, slowness: float, listener: Listener
) -> list[Done]:
    total = sweep.replications.at_least * len(sweep.variants)
    listener.begun(total, len(sweep.variants), f"on {where.url}" if where else "in this process")
    for damage in running.mend():
        listener.damaged(damage)
    if there := running.count()[0]:
        listener.resumed(there)
    listener.estimated(running.missing_s * slowness)
    try:
        with _executor(where, sweep.allow_code) as execute, listener.progress(total) as progress:
            return running.carry_out(simulate, execute, progress)
    except BaseException:
        listener.interrupted(running.count()[0], running.folder)
        raise


@contextmanager
def _executor(where: Where | None, allow_code: Sequence[str]) -> Iterator[Executor]:
    """What carries out the runs: Spark, or this process."""
    if where is None:
        yield in_process
        return
    from groupsim.scenarios.spark.runner import on_spark

    with open_session(where, [path.partition(":")[0] for path in allow_code]) as spark:
        yield partial(on_spark, spark)


def sweep(
    source: str | Path,
    out: str | Path,
    *,
    inline: bool = False,
    master: str = "local[*]",
    remote: str = "",
    conf: Mapping[str, str] | None = None,
    resume: bool = False,
    allow_code: Sequence[str] = (),
) -> pd.DataFrame:
    """The summary of every run of a sweep: ``groupsim sweep`` from Python.

    What `Sweep.warnings` has to say, and how many runs failed, is told by `warnings.warn`.

    Parameters
    ----------
    source : str or Path
        The name of a built-in sweep, or a sweep file.
    out : str or Path
        A new folder for the results; on a cluster, one that driver and workers share.
    inline : bool
        Carry out the runs in this process, without Spark and Java.
    master : str
        Where Spark runs.
    remote : str
        A Spark Connect server instead, ``sc://host:15002``.
    conf : mapping of str to str, optional
        Settings of Spark's, such as ``spark.archives``; not with ``remote``.
    resume : bool
        Go on in ``out`` where a sweep has ended early.
    allow_code : sequence of str
        Assignors that the scenarios may name, as ``module:Class``: this imports and runs their code.

    Returns
    -------
    pandas.DataFrame
        One row per run and group, variants in their order, with the columns of table ``summary``
        (`analysis.data.load.load_summary` reads it again). Runs that failed have none: they are in ``out/failures``.

    Raises
    ------
    ScenarioFileError
        With everything that is wrong in the file.
    ConfigError
        The folder is not empty, holds another sweep's results, or is in use; the address is wrong or nobody listens.
    NoJava, SparkFailed
        Spark cannot start, or lost the job.
    MissingTable
        All runs have failed.
    """
    from groupsim.analysis.data.load import load_summary
    from groupsim.sim import simulate

    where = None if inline else where_of(master, remote, conf or {})
    loaded = load_sweep(source, allow_code=allow_code)
    for sentence in loaded.warnings():
        warnings.warn(sentence, stacklevel=2)
    found = carry_out_sweep(loaded, Path(out), where, simulate, resume=resume, listener=Listener())
    if found.failed:
        warnings.warn(f"{found.failed:,} of {found.runs:,} runs failed: see {Path(out) / 'failures'}", stacklevel=2)
    return load_summary(out)
