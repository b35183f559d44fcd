"""Result folders, sweep folders and result objects as tables, checked against ``sim.tables``.

A result folder holds ``<table>.parquet`` for each table and ``manifest.json``. A sweep folder holds datasets
``summary/`` and ``failures/``, partitioned by variant (``summary/variant=<name>/*.parquet``), and a ``manifest.json``
that is written last: without it the sweep is unfinished.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import pandas as pd
from pandas.api.types import is_integer_dtype

from groupsim.analysis.data.columns import integers, rows
from groupsim.analysis.data.durations import seconds_of
from groupsim.analysis.data.files import MANIFEST, existing, load_manifest, read_own, read_parquet
from groupsim.analysis.data.schema import conform
from groupsim.analysis.errors import MissingTable, ResultError, SchemaMismatch
from groupsim.sim.tables import TABLES, no_table

RUN: Final = ("scenario", "variant", "group", "seed", "replication", "horizon_s")
"""Columns of ``summary`` that name a run."""
_RUNS_MAX: Final = 10_000_000
"""Of a variant: more than any sweep file may ask for."""


class RunResult(Protocol):
    """What one run produced, as the simulator hands it out."""

    @property
    def tables(self) -> Mapping[str, pd.DataFrame]:
        """Table name to table."""

    @property
    def manifest(self) -> Mapping[str, Any]:
        """The resolved scenario, seed, versions and digests."""


class StoredTables(dict[str, pd.DataFrame]):
    """The tables of a result folder by name."""

    def __missing__(self, name: str) -> pd.DataFrame:
        raise KeyError(no_table(name, self))


@dataclass(frozen=True, slots=True)
class StoredResult:
    """A result folder in memory."""

    folder: Path
    tables: Mapping[str, pd.DataFrame]
    manifest: Mapping[str, Any] = field(default_factory=dict)

    @property
    def summary(self) -> pd.DataFrame:
        """One row per group."""
        return self.tables["summary"]


Source = RunResult | Mapping[str, pd.DataFrame] | str | Path


def load_result(folder: str | Path) -> StoredResult:
    """Every table of a result folder, schema checked, and its manifest.

    Raises
    ------
    MissingTable
        The folder has no ``summary.parquet``.
    SchemaMismatch
        A table lacks a column, or a column has another dtype than ``sim.tables`` declares.
    ResultError
        The folder does not exist, a file in it cannot be read, or a table is not one of the manifest's run.
    """
    folder = existing(folder)
    files = {name: folder / f"{name}.parquet" for name in TABLES}
    if not files["summary"].is_file():
        raise MissingTable(f"{folder} is not a result folder: it has no summary.parquet")
    manifest = load_manifest(folder)
    tables = {name: _own(file, manifest) for name, file in files.items() if file.is_file()}
    return StoredResult(folder, StoredTables(tables), manifest)


def _own(file: Path, manifest: Mapping[str, Any], columns: Sequence[str] | None = None) -> pd.DataFrame:
    """A table of a result folder, schema checked, and held against the manifest."""
    return conform(read_own(file, manifest, columns), file.stem, str(file), columns)


def load_summary(folder: str | Path, metrics: Sequence[str] | None = None) -> pd.DataFrame:
    """The summary of a result folder or of a sweep folder: one row per run and group, variants in their order.

    Parameters
    ----------
    metrics : sequence of str, optional
        Only these, and what names a run: a third of the memory, where runs go into the millions. Everything by default.

    Raises
    ------
    MissingTable
        The folder has neither ``summary.parquet`` nor a ``summary`` dataset with at least one file, or no run is in it.
    ResultError
        The sweep is unfinished; or as ``load_result``.
    SchemaMismatch
        As ``load_result``.
    """
    folder = existing(folder)
    file, dataset = folder / "summary.parquet", folder / "summary"
    columns = None if metrics is None else [*RUN, *(name for name in metrics if name not in RUN)]
    if file.is_file():
        frame = _own(file, load_manifest(folder), columns)
        if frame.empty:
            raise MissingTable(f"{file} holds no run")
        return frame
    if not dataset.is_dir():
        raise MissingTable(f"{folder} has neither summary.parquet (a result) nor summary/ (a sweep)")
    if not (folder / MANIFEST).is_file():
        raise ResultError(
            f"{folder}: the sweep is unfinished (there is no {MANIFEST}); "
            f"groupsim sweep SWEEP --out {folder} --resume finishes it"
        )
    frame = read_parquet(dataset, columns)
    if not frame.empty:
        frame = conform(frame, "summary", str(dataset), columns)
    _refuse_lost(frame, folder)
    if frame.empty:
        raise MissingTable(f"{dataset} holds no run: all have failed")
    return _in_order(frame, _order_of(folder))


def _refuse_lost(frame: pd.DataFrame, folder: Path) -> None:
    """Check that every run of a sweep that its manifest counts is there, or among those that failed.

    Each group has a row of each run. Numbers of fewer runs look as good as those of all.
    """
    failed = load_failures(folder)
    counted = () if frame.empty else frame.groupby(["variant", "group"]).size().groupby(level="variant")
    found = {name: set(rows.tolist()) for name, rows in counted}
    for name, own in _variants(folder).items():
        runs = int(own["runs"]) - len(failed.get(name, ()))
        if found.get(name, {0}) != {runs}:
            raise ResultError(
                f"{folder}: runs of variant {name!r} that {MANIFEST} counts are not in summary/, or others are; "
                f"groupsim sweep SWEEP --out {folder} --resume carries out what is missing"
            )


def load_absent(folder: str | Path) -> dict[str, set[tuple[int, int]]]:
    """Seed and replication of the runs that a variant of a sweep lacks and others have; empty for any other result.

    They failed, or were not carried out because the variant's mean was known earlier than that of others.
    """
    absent = load_failures(folder)
    variants = _variants(Path(folder)) if (Path(folder) / "summary").is_dir() else {}
    most = max((int(own["runs"]) for own in variants.values()), default=0)
    for name, own in variants.items():
        if fewer := {(int(own["seed"]), r) for r in range(int(own["runs"]), most)}:
            absent[name] = absent.get(name, set()) | fewer
    return absent


def load_failures(folder: str | Path) -> dict[str, set[tuple[int, int]]]:
    """Seed and replication of the runs of a sweep that failed, by variant; empty for any other result."""
    folder = existing(folder)
    where = next((path for path in (folder / "failures", folder / "failures.parquet") if path.exists()), None)
    failed: dict[str, set[tuple[int, int]]] = {}
    if where is not None and len(frame := read_parquet(where)):
        _refuse_nameless(frame, where)
        for variant, seed, replication in rows(frame, "variant", "seed", "replication"):
            failed.setdefault(variant, set()).add((seed, replication))
    return failed


def _refuse_nameless(failures: pd.DataFrame, where: Path) -> None:
    """Check that failures say which runs they are."""
    missing = [name for name in ("variant", "seed", "replication") if name not in failures]
    if missing or not all(is_integer_dtype(failures[name]) for name in ("seed", "replication")):
        raise SchemaMismatch(f"{where} does not say by variant, seed and replication which runs have failed")


def load_kept(folder: str | Path) -> dict[str, Path]:
    """Folders with the tables of one run that a sweep has kept, by variant; empty for any other result."""
    folder = existing(folder)
    return {name: folder / own["kept"] for name, own in _variants(folder).items() if own.get("kept")}


def _order_of(folder: Path) -> list[str]:
    """The variants of a sweep in its own order: the manifest's keys are sorted."""
    variants = _variants(folder)
    return sorted(variants, key=lambda name: int(variants[name].get("number", 0)))


def _variants(folder: Path) -> dict[str, dict[str, Any]]:
    """What the manifest of a sweep says of each variant."""
    variants = load_manifest(folder).get("variants", {})
    if not isinstance(variants, dict) or not all(map(_is_variant, variants.values())):
        raise ResultError(f"{folder / MANIFEST} does not say what the variants are")
    return variants


def _is_variant(told: object) -> bool:
    """Whether a manifest says of a variant what it must: how many runs, from which seed, with which changes."""
    if not isinstance(told, dict) or not isinstance(told.get("set"), dict) or not isinstance(told.get("kept", ""), str):
        return False
    numbers = [told.get("runs"), told.get("seed"), told.get("number", 0)]
    whole = all(isinstance(one, int) and not isinstance(one, bool) and one >= 0 for one in numbers)
    return whole and told["runs"] <= _RUNS_MAX


def _in_order(summary: pd.DataFrame, listed: Sequence[str]) -> pd.DataFrame:
    """A sweep's summary with its variants in this order, those that are not in it last."""
    codes, found = pd.factorize(summary["variant"])
    rank = {name: at for at, name in enumerate([*listed, *sorted(set(found) - set(listed))])}
    by_variant = np.array([rank[name] for name in found], dtype=np.int64)[codes]
    by_group = pd.factorize(summary["group"], sort=True)[0]
    order = np.lexsort((integers(summary, "replication"), integers(summary, "seed"), by_group, by_variant))
    ordered = summary.take(order)
    ordered.index = pd.RangeIndex(len(ordered))  # reset_index would copy everything once more
    return ordered


def load_summaries(folders: Sequence[str | Path], metrics: Sequence[str] | None = None) -> pd.DataFrame:
    """The summaries of several folders in one table; ``variant`` tells them apart.

    A variant keeps its name as long as no other folder has it too; otherwise it becomes ``<folder>/<variant>``, or the
    folder's name when the variant has none. Folders of the same name are told apart by their paths.

    Raises
    ------
    ResultError
        A folder is named twice: its runs would count as two samples.
    """
    there: set[Path] = set()
    for folder in folders:
        if Path(folder).resolve() in there:
            raise ResultError(f"{folder} is named twice: name each folder once")
        there.add(Path(folder).resolve())
    summaries = [load_summary(folder, metrics) for folder in folders]
    called = [Path(folder).resolve().name for folder in folders]
    if len(set(called)) < len(called):
        called = [str(folder) for folder in folders]
    seen = pd.Series([variant for frame in summaries for variant in frame["variant"].unique()])
    clashing = set(seen[seen.duplicated()]) | {""}
    renamed = [_renamed(frame, name, clashing) for frame, name in zip(summaries, called, strict=True)]
    return renamed[0] if len(renamed) == 1 else pd.concat(renamed, ignore_index=True)


def table(source: Source, name: str) -> pd.DataFrame:
    """One table of a result, whatever form the result has, schema checked.

    Raises
    ------
    MissingTable
        The result has no such table.
    SchemaMismatch
        A column is missing or has another dtype than ``sim.tables`` declares.
    """
    if isinstance(source, (str, Path)):
        return _table_in(existing(source), name)
    tables = source if isinstance(source, Mapping) else source.tables
    if name not in tables:
        raise MissingTable(f"the result has no table {name!r}; it has: {', '.join(sorted(tables)) or 'none'}")
    return conform(tables[name], name)


def _table_in(folder: Path, name: str) -> pd.DataFrame:
    """One table of a result folder; the others are not read."""
    if (file := folder / f"{name}.parquet").is_file():
        return _own(file, load_manifest(folder))
    raise MissingTable(f"{folder} has no {file.name}")


def measure_of(source: Source) -> dict[str, float]:
    """From when and until when metrics count in a run, seconds: ``from`` and ``to``, as far as its scenario says.

    Raises
    ------
    ResultError
        The manifest holds something else in the place of the scenario.
    """
    if isinstance(source, (str, Path)):
        manifest = load_manifest(source)
    else:
        manifest = {} if isinstance(source, Mapping) else source.manifest
    document = manifest.get("document", {})
    measure = document.get("measure", {}) if isinstance(document, Mapping) else None
    if not isinstance(measure, Mapping):
        raise ResultError(f"{MANIFEST} does not say from when and until when metrics count")
    told = {key: seconds_of(text) for key, text in measure.items()}
    return {key: value for key, value in told.items() if value is not None}


def _renamed(summary: pd.DataFrame, folder: str, clashing: set[str]) -> pd.DataFrame:
    old = set(summary["variant"].unique())
    if not old & clashing:
        return summary
    new = {name: name if name not in clashing else f"{folder}/{name}" if name else folder for name in old}
    return summary.assign(variant=summary["variant"].map(new).astype("string"))
