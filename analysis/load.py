"""Result folders, sweep folders and result objects as tables, checked against ``sim.tables``.

A result folder holds ``<table>.parquet`` for each table and ``manifest.json``. A sweep folder holds a dataset
``summary/``, partitioned by variant (``summary/variant=<name>/*.parquet``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

import pandas as pd
from pandas.api import types as dtypes

from analysis.errors import MissingTable, ResultError, SchemaMismatch
from sim.tables import FLOAT, INT, TABLES, TEXT

NULLABLE: Final = frozenset({"rscore", "recovery_s", "partitions_moved", "partitions_moved_min"})
"""Columns that may be null; an integer one is ``Int64`` then, with ``<NA>`` for null."""


class RunResult(Protocol):
    """What one run produced, as the simulator hands it out."""

    @property
    def tables(self) -> Mapping[str, pd.DataFrame]:
        """Table name to table."""

    @property
    def manifest(self) -> Mapping[str, Any]:
        """The resolved scenario, seed, versions and digests."""


@dataclass(frozen=True, slots=True)
class StoredResult:
    """A result folder in memory."""

    folder: Path
    tables: Mapping[str, pd.DataFrame]
    manifest: Mapping[str, Any] = field(default_factory=dict)


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
        The folder does not exist, or a file in it cannot be read.
    """
    folder = _existing(folder)
    files = {name: folder / f"{name}.parquet" for name in TABLES}
    if not files["summary"].is_file():
        raise MissingTable(f"{folder} is not a result folder: it has no summary.parquet")
    tables = {name: conform(_read(file), name, str(file)) for name, file in files.items() if file.is_file()}
    return StoredResult(folder, tables, load_manifest(folder))


def load_summary(folder: str | Path) -> pd.DataFrame:
    """The summary of a result folder or of a sweep folder: one row per run and group.

    Raises
    ------
    MissingTable
        The folder has neither ``summary.parquet`` nor a ``summary`` dataset with at least one file.
    SchemaMismatch, ResultError
        As ``load_result``.
    """
    folder = _existing(folder)
    file, dataset = folder / "summary.parquet", folder / "summary"
    if file.is_file():
        return conform(_read(file), "summary", str(file))
    if not dataset.is_dir():
        raise MissingTable(f"{folder} has neither summary.parquet (a result) nor summary/ (a sweep)")
    frame = _read(dataset)
    if frame.empty and len(frame.columns) <= 1:
        raise MissingTable(f"{dataset} holds no finished run yet")
    order = ["variant", "group", "seed", "replication"]
    return conform(frame, "summary", str(dataset)).sort_values(order, kind="stable", ignore_index=True)


def load_manifest(folder: str | Path) -> Mapping[str, Any]:
    """The manifest of a result folder or of a sweep folder.

    Raises
    ------
    ResultError
        There is none, or it cannot be read.
    """
    file = _existing(folder) / "manifest.json"
    if not file.is_file():
        raise ResultError(f"{file.parent} has no manifest.json: the result is incomplete")
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ResultError(f"{file} cannot be read as JSON: {error}") from error
    if not isinstance(manifest, dict):
        raise ResultError(f"{file} does not hold a JSON object")
    return manifest


def load_summaries(folders: Sequence[str | Path]) -> pd.DataFrame:
    """The summaries of several folders in one table; ``variant`` tells them apart.

    A variant keeps its name as long as no other folder has it too; otherwise it becomes ``<folder>/<variant>``, or the
    folder's name when the variant has none. Folders of the same name are told apart by their paths.
    """
    summaries = [load_summary(folder) for folder in folders]
    names = [Path(folder).resolve().name for folder in folders]
    if len(set(names)) < len(names):
        names = [str(folder) for folder in folders]
    seen = pd.Series([variant for frame in summaries for variant in frame["variant"].unique()])
    clashing = set(seen[seen.duplicated()]) | {""}
    renamed = [_renamed(frame, name, clashing) for frame, name in zip(summaries, names, strict=True)]
    return pd.concat(renamed, ignore_index=True)


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
        source = load_result(source)
    tables = source if isinstance(source, Mapping) else source.tables
    if name not in tables:
        raise MissingTable(f"the result has no table {name!r}; it has: {', '.join(sorted(tables)) or 'none'}")
    return conform(tables[name], name)


def conform(frame: pd.DataFrame, name: str, where: str = "") -> pd.DataFrame:
    """The table with the declared columns first, in their order and with their dtypes; further columns stay.

    Raises
    ------
    SchemaMismatch
        A column is missing, or its values are not of the declared kind.
    """
    schema = TABLES[name]
    where = where or f"table {name!r}"
    missing = [column for column in schema if column not in frame.columns]
    if missing:
        found = ", ".join(map(str, frame.columns)) or "no columns"
        raise SchemaMismatch(f"{where}: missing column(s) {', '.join(missing)}; found {found}")
    columns = {column: _cast(frame[column], kind, where) for column, kind in schema.items()}
    further = {column: frame[column] for column in frame.columns if column not in schema}
    return pd.DataFrame(columns | further, index=frame.index, copy=False)


def _cast(column: pd.Series[Any], kind: str, where: str) -> pd.Series[Any]:
    accepts, convert = _KINDS[kind]
    nullable = column.name in NULLABLE
    if column.empty or (kind == FLOAT and nullable and column.isna().all()):
        return convert(column)
    if not accepts(column) and not (nullable and kind == INT and _whole(column)):
        raise SchemaMismatch(f"{where}: column {column.name} is {column.dtype}, declared as {kind}")
    if kind != FLOAT and column.isna().any():
        if not nullable:
            raise SchemaMismatch(f"{where}: column {column.name} ({kind}) has {int(column.isna().sum())} null value(s)")
        return column.astype("Int64")
    return convert(column)


def _is_text(column: pd.Series[Any]) -> bool:
    categories = column.cat.categories if isinstance(column.dtype, pd.CategoricalDtype) else column
    return dtypes.is_string_dtype(categories)


def _is_integer(column: pd.Series[Any]) -> bool:
    return dtypes.is_integer_dtype(column.dtype)


def _is_number(column: pd.Series[Any]) -> bool:
    return dtypes.is_numeric_dtype(column.dtype) and not dtypes.is_bool_dtype(column.dtype)


def _whole(column: pd.Series[Any]) -> bool:
    known = column.dropna()
    return known.empty or (_is_number(column) and bool((known % 1 == 0).all()))


_KINDS: Final[Mapping[str, tuple[Callable[[pd.Series[Any]], bool], Callable[[pd.Series[Any]], pd.Series[Any]]]]] = {
    TEXT: (_is_text, lambda column: column.astype("string")),
    INT: (_is_integer, lambda column: column.astype("int64")),
    FLOAT: (_is_number, lambda column: column.astype("float64")),
}
"""What a column of each kind accepts, and how it becomes the declared dtype."""


def _existing(folder: str | Path) -> Path:
    folder = Path(folder)
    if not folder.is_dir():
        raise ResultError(f"{folder} is not a folder" if folder.exists() else f"{folder} does not exist")
    return folder


def _read(path: Path) -> pd.DataFrame:
    """A Parquet file, or a folder of them whose ``variant=`` parts are text whatever they look like."""
    import pyarrow as pa  # only files need it, tables in memory do not
    import pyarrow.dataset as ds

    by_variant = ds.partitioning(pa.schema([("variant", pa.string())]), flavor="hive") if path.is_dir() else None
    try:
        frame: pd.DataFrame = ds.dataset(path, format="parquet", partitioning=by_variant).to_table().to_pandas()
    except (OSError, pa.ArrowException) as error:
        raise ResultError(f"{path} cannot be read as Parquet: {error}") from error
    if path.is_dir() and "variant" in frame:
        frame["variant"] = frame["variant"].fillna("")
    return frame


def _renamed(summary: pd.DataFrame, folder: str, clashing: set[str]) -> pd.DataFrame:
    names = {old: old if old not in clashing else f"{folder}/{old}" if old else folder for old in summary["variant"]}
    return summary.assign(variant=summary["variant"].map(names).astype("string"))
