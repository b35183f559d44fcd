"""Result folders: tables as Parquet, a manifest beside them, complete or absent.

A folder is written under another name beside its place and renamed when it is whole, so that a killed run leaves
either a complete result or none (at worst a hidden ``.NAME.*.partial`` folder, which nothing reads).
"""

from __future__ import annotations

import errno
import io
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from groupsim.sim.errors import ConfigError
from groupsim.sim.output.result import Column, Text, digest_columns, manifest_text
from groupsim.sim.tables import FLOAT, INT, TABLES, TEXT

if TYPE_CHECKING:
    import pandas as pd

    from groupsim.sim import Result

MANIFEST = "manifest.json"

_ARROW = {INT: pa.int64(), FLOAT: pa.float64(), TEXT: pa.string()}


class OccupiedFolder(ConfigError):
    """The output folder holds something already, or cannot be a folder; nothing is ever overwritten."""


def refuse_occupied(path: Path) -> None:
    """Check that a result may be written to ``path``: absent, or an empty folder.

    Raises
    ------
    OccupiedFolder
        If it holds anything, or is not a folder.
    """
    if path.is_dir():
        if any(path.iterdir()):
            raise OccupiedFolder(f"{path} is not empty; results are never overwritten: name a new folder")
    elif path.exists():
        raise OccupiedFolder(f"{path} is a file; name a new folder")


@contextmanager
def complete_or_absent(path: Path) -> Iterator[Path]:
    """A fresh folder to fill, which becomes ``path`` when the block ends well and vanishes when it does not.

    Raises
    ------
    OccupiedFolder
        If ``path`` holds anything, at the begin or at the end, or no folder can be made there.
    """
    refuse_occupied(path)
    partial = _partial(path)
    try:
        partial.mkdir(parents=True)
    except OSError as error:
        raise OccupiedFolder(f"{path} cannot be made: {error.strerror}") from error
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
    """Table ``name`` with its declared columns and dtypes, missing values null.

    Raises
    ------
    ValueError
        If the columns are not those of ``sim.tables``.
    """
    if list(frame.columns) != list(TABLES[name]):
        raise ValueError(f"table {name} has columns {list(frame.columns)}, declared are {list(TABLES[name])}")
    return pa.Table.from_pandas(frame, schema=schema(name), preserve_index=False).replace_schema_metadata(None)


def table_of(name: str, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Table ``name`` of rows as plain data, None for null."""
    return pa.Table.from_pylist(rows, schema=schema(name))


def parquet(table: pa.Table) -> bytes:
    """The table as the bytes of a Parquet file."""
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd", write_page_checksum=True)
    return sink.getvalue()


def run_files(result: Result) -> dict[str, bytes]:
    """The files of a run's result folder by name: one Parquet file a table, and the manifest."""
    files = {f"{name}.parquet": parquet(to_arrow(name, frame)) for name, frame in result.tables.items()}
    return {**files, MANIFEST: manifest_text(result.manifest).encode()}


def summary_files(summary: pa.Table, content: Mapping[str, Any]) -> dict[str, bytes]:
    """The files of several runs' summary by name: the table, and a manifest of ``content`` and the table's digest."""
    digests = {"summary": digest_of(summary)}
    return {
        "summary.parquet": parquet(summary),
        MANIFEST: manifest_text({**content, "digests": digests}).encode(),
    }


def digest_of(table: pa.Table) -> str:
    """The digest of a table: that which ``sim.output.result.digest`` has for the same table as a DataFrame."""
    return digest_columns({name: _column(table[name]) for name in table.column_names})


def _column(values: pa.ChunkedArray) -> Column:
    if values.type == pa.string():
        return Text(values.fill_null("\x00").to_pylist(), np.arange(len(values)))
    if values.type == pa.int64() and values.null_count:
        return np.array(values.to_pylist(), dtype=object)
    numbers: Column = values.to_numpy()
    return numbers


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write ``files`` into ``folder``, which is made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)


def put_file(path: Path, content: bytes) -> None:
    """Write a file that is there as a whole or not at all. One that is there already is replaced."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = _partial(path)
    try:
        partial.write_bytes(content)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def put_folder(path: Path, files: Mapping[str, bytes]) -> None:
    """Write a folder that is there as a whole or not at all; one that is there already stays as it is."""
    partial = _partial(path)
    try:
        write_files(partial, files)
        partial.rename(path)
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
            raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _partial(path: Path) -> Path:
    """A name beside ``path`` that no other writer has and no reader of datasets looks at."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
