"""Result folders: tables as Parquet, a manifest beside them, complete or absent.

A folder is written under another name beside its place and renamed when it is whole, so that a killed run leaves
either a complete result or none (at worst a hidden ``.NAME.*.partial`` folder, which nothing reads).
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sim.errors import ConfigError
from sim.tables import FLOAT, INT, SORTED_BY, TABLES, TEXT

if TYPE_CHECKING:
    import pandas as pd

    from sim import Result

MANIFEST = "manifest.json"

_ARROW = {INT: pa.int64(), FLOAT: pa.float64(), TEXT: pa.string()}


class OccupiedFolder(ConfigError):
    """The output folder holds something already, or cannot be a folder; nothing is ever overwritten."""


def refuse_occupied(path: Path) -> None:
    """Check that a result may be written to ``path``: absent, or an empty folder.

    Raises
    ------
    OccupiedFolder
        If it holds anything, or is not a folder, or none can be made there.
    """
    if path.is_dir():
        if any(path.iterdir()):
            raise OccupiedFolder(f"{path} is not empty; results are never overwritten: name a new folder")
    elif path.exists():
        raise OccupiedFolder(f"{path} is a file; name a new folder")
    nearest = next(parent for parent in path.absolute().parents if parent.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        raise OccupiedFolder(f"{path} cannot be made: {nearest} is not a folder that may be written to")


@contextmanager
def complete_or_absent(path: Path) -> Iterator[Path]:
    """A fresh folder to fill, which becomes ``path`` when the block ends well and vanishes when it does not.

    Raises
    ------
    OccupiedFolder
        If ``path`` holds anything, at the begin or at the end.
    """
    refuse_occupied(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    partial.mkdir()
    try:
        yield partial
        refuse_occupied(path)
        partial.rename(path)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def schema(name: str) -> pa.Schema:
    """The Arrow schema of result table ``name``, as ``sim.tables`` declares it."""
    return pa.schema([(column, _ARROW[dtype]) for column, dtype in TABLES[name].items()])


def to_arrow(name: str, frame: pd.DataFrame) -> pa.Table:
    """Table ``name`` with its declared columns and dtypes, its rows in the declared order, missing values null.

    Raises
    ------
    ValueError
        If the columns are not those of ``sim.tables``.
    """
    if list(frame.columns) != list(TABLES[name]):
        raise ValueError(f"table {name} has columns {list(frame.columns)}, declared are {list(TABLES[name])}")
    ordered = frame.sort_values(list(SORTED_BY[name]), kind="stable")
    return pa.Table.from_pandas(ordered, schema=schema(name), preserve_index=False).replace_schema_metadata(None)


def digest(table: pa.Table) -> str:
    """SHA-256 over column names, dtypes and values: equal tables have equal digests, whatever file holds them."""
    sha = hashlib.sha256()
    for name, column in zip(table.column_names, table.columns, strict=True):
        sha.update(f"{name}:{column.type}:{len(column)}\n".encode())
        sha.update(np.packbits(column.is_null().to_numpy()).tobytes())
        for part in _canonical(column):
            sha.update(part)
    return sha.hexdigest()


def _canonical(column: pa.ChunkedArray) -> Iterator[bytes]:
    """The bytes of a column's values, nulls as zero or empty: little-endian numbers; lengths, then UTF-8."""
    if pa.types.is_string(column.type):
        filled = pc.fill_null(column, "")
        yield pc.binary_length(filled).to_numpy().astype("<i4").tobytes()
        for chunk in filled.cast(pa.large_string()).chunks:
            _, offsets, text = chunk.buffers()
            ends = np.frombuffer(offsets, "<i8")[chunk.offset : chunk.offset + len(chunk) + 1]
            if text is not None:
                yield memoryview(text)[int(ends[0]) : int(ends[-1])].tobytes()
    else:
        wide = "<f8" if pa.types.is_floating(column.type) else "<i8"
        yield (pc.fill_null(column, 0).to_numpy().astype(wide) + 0).tobytes()  # + 0: minus zero is zero


def parquet(table: pa.Table) -> bytes:
    """The table as the bytes of a Parquet file."""
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def run_files(result: Result) -> dict[str, bytes]:
    """The files of a run's result folder by name: one Parquet file a table, and the manifest."""
    tables = {name: to_arrow(name, frame) for name, frame in result.tables.items()}
    files = {f"{name}.parquet": parquet(table) for name, table in tables.items()}
    return {**files, MANIFEST: manifest(result.manifest, tables)}


def manifest(content: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> bytes:
    """``content`` with the rows and digest of every table, as JSON."""
    described = {name: {"rows": table.num_rows, "digest": digest(table)} for name, table in sorted(tables.items())}
    return (json.dumps({**content, "tables": described}, indent=2, ensure_ascii=False) + "\n").encode()


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write ``files`` into ``folder``, which is made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)


def versions() -> dict[str, str]:
    """The versions that a result may depend on: groupsim's, Python's, and those of the packages that compute."""
    from importlib.metadata import version
    from platform import python_version

    return {"python": python_version(), **{name: version(name) for name in ("groupsim", "simpy", "numpy", "pandas")}}
