"""A chunk: some runs of one variant, carried out one after the other and committed as one.

Its files follow from the sweep alone, names and content, so it does not matter who carries it out, and how often: an
executor that is lost, a task that Spark repeats or speculates on, a driver that dies cost time and never give a run
twice. Each file is written under another name and renamed; that of ``summary`` comes last: where it is, the chunk is
done.

    runs/0-range/                                     the tables of replication 0, where they are kept
    failures/variant=range/part-0000000.parquet       only if runs failed
    summary/variant=range/part-0000000.parquet
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import pyarrow as pa

from groupsim.scenarios.files.result_folder import parquet, put_file, put_folder, schema, signed
from groupsim.scenarios.sweep.outcome import Outcome, Run, Simulate, outcome

if TYPE_CHECKING:
    from groupsim.sim.model import Scenario

SUMMARY: Final = schema("summary").remove(schema("summary").get_field_index("variant"))
"""The columns of a chunk's file: the variant is in the name of its folder."""

FAILURES: Final = pa.schema(
    [("seed", pa.int64()), ("replication", pa.int64()), ("error", pa.string()), ("replay", pa.string())]
)
"""One row per run that failed: what went wrong, and the command that repeats it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Runs of a variant.

    Parameters
    ----------
    variant : str
    seed : int
    first, count : int
        Replications ``first`` to ``first + count - 1``.
    replay : str
        The command that repeats a run, without its replication.
    kept : str
        Where the tables of replication 0 are kept, relative to the sweep's folder; empty: they are not.
    """

    variant: str
    seed: int
    first: int
    count: int
    replay: str
    kept: str = ""

    @property
    def replications(self) -> range:
        """The runs."""
        return range(self.first, self.first + self.count)

    def file(self, table: str) -> Path:
        """Where its rows of ``summary`` or ``failures`` are, relative to the sweep's folder."""
        return part_of(table, self.variant, self.first)


@dataclass(frozen=True, slots=True)
class Work:
    """A chunk, the scenario of its variant, and the seconds that it is expected to take."""

    chunk: Chunk
    scenario: Scenario
    cost_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A committed chunk: how many runs, and when it was carried out, by the clock of the machine that did."""

    runs: int
    begin_s: float
    end_s: float


def part_of(table: str, variant: str, first: int) -> Path:
    """The file of a chunk's rows, relative to the sweep's folder."""
    return folder_of(table, variant) / f"part-{first:07d}.parquet"


def folder_of(table: str, variant: str) -> Path:
    """The folder of a variant's rows, as readers of partitioned datasets expect it."""
    return Path(table, f"variant={quote(variant, safe=' ,=')}")


def carry_out(chunk: Chunk, scenario: Scenario, simulate: Simulate, folder: Path) -> Done:
    """Carry out the runs of ``chunk`` and commit them to the sweep's ``folder``."""
    begin_s = time.monotonic()
    outcomes = [outcome(run, simulate) for run in _runs(chunk, scenario)]
    _commit(chunk, outcomes, folder)
    return Done(runs=chunk.count, begin_s=begin_s, end_s=time.monotonic())


def _runs(chunk: Chunk, scenario: Scenario) -> Iterator[Run]:
    for r in chunk.replications:
        keep = bool(chunk.kept) and r == 0
        yield Run(variant=chunk.variant, scenario=scenario, seed=chunk.seed, replication=r, keep=keep)


def _commit(chunk: Chunk, outcomes: Sequence[Outcome], folder: Path) -> None:
    for one in outcomes:
        if one.files:
            put_folder(folder / chunk.kept, one.files)
    failures = _failures(chunk, outcomes)
    if failures.num_rows:
        put_file(folder / chunk.file("failures"), parquet(signed(failures)))
    summaries = [one.summary.select(SUMMARY.names) for one in outcomes if one.summary is not None]
    summary = pa.concat_tables([SUMMARY.empty_table(), *summaries])
    put_file(folder / chunk.file("summary"), parquet(signed(summary)))


def _failures(chunk: Chunk, outcomes: Sequence[Outcome]) -> pa.Table:
    failed = [
        {"seed": chunk.seed, "replication": r, "error": one.error, "replay": f"{chunk.replay} --replication {r}"}
        for r, one in zip(chunk.replications, outcomes, strict=True)
        if one.error
    ]
    return pa.Table.from_pylist(failed, schema=FAILURES)
