"""Result folders: tables as Parquet, a manifest beside them, complete or absent.

A folder is written under another name beside its place (`scenarios.files.new_folder`) and renamed when it is whole, so
that a killed run leaves either a complete result or none.
"""

from __future__ import annotations

import errno
import io
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from groupsim.scenarios.files.new_folder import partial_name
from groupsim.sim.output.arrow_digest import digest_of
from groupsim.sim.output.result import manifest_text
from groupsim.sim.tables import FLOAT, INT, TABLES, TEXT

if TYPE_CHECKING:
    from groupsim.sim import Result
    from groupsim.sim.output.result import Tables

MANIFEST = "manifest.json"

_DIGEST = b"digest"
_ARROW = {INT: pa.int64(), FLOAT: pa.float64(), TEXT: pa.string()}


def schema(name: str) -> pa.Schema:
    """The Arrow schema of result table ``name``, as ``sim.tables`` declares it."""
    return pa.schema([(column, _ARROW[dtype]) for column, dtype in TABLES[name].items()])


def to_arrow(name: str, tables: Tables) -> pa.Table:
    """Table ``name``, missing values null; from its columns: by way of a DataFrame it takes four times as long."""
    declared, columns = schema(name), tables.columns(name)
    return pa.table([pa.array(columns[one.name], one.type, from_pandas=True) for one in declared], schema=declared)


def table_of(name: str, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Table ``name`` of rows as plain data, None for null."""
    return pa.Table.from_pylist(rows, schema=schema(name))


def parquet(table: pa.Table) -> bytes:
    """The table as the bytes of a Parquet file."""
    sink = io.BytesIO()
    # Statistics have no checksum, as pages have: a reader that trusts damaged ones leaves rows out.
    pq.write_table(table, sink, compression="zstd", write_page_checksum=True, write_statistics=False)
    return sink.getvalue()


def signed(table: pa.Table) -> pa.Table:
    """The table with its own digest among what its file says of its columns."""
    return table.replace_schema_metadata({_DIGEST: digest_of(table)})


def read_signed(file: Path, declared: pa.Schema) -> pa.Table:
    """The table of a file of a `signed` one, every byte of which has been held against a checksum.

    Raises
    ------
    ValueError
        The file is not what was written.
    OSError
        It cannot be read.
    """
    try:
        # One file and not a dataset: its schema is known, and a name such as variant=... is none of its columns.
        read = pq.ParquetFile(file, page_checksum_verification=True).read()
        digest, table = (read.schema.metadata or {}).get(_DIGEST, b""), read.replace_schema_metadata(None)
        intact = table.schema == declared and digest_of(table).encode() == digest
    except OSError:
        raise
    except Exception as error:  # whatever a reader makes of bytes that nobody wrote
        raise ValueError(f"{type(error).__name__}: {error}") from None
    if not intact:
        raise ValueError("its columns or values are not those that were written")
    return table


def run_files(result: Result) -> dict[str, bytes]:
    """The files of a run's result folder by name: one Parquet file a table, and the manifest."""
    files = {f"{name}.parquet": parquet(to_arrow(name, result.tables)) for name in result.tables}
    return {**files, MANIFEST: manifest_text(result.manifest).encode()}


def summary_files(summary: pa.Table, content: Mapping[str, Any]) -> dict[str, bytes]:
    """The files of several runs' summary by name: the table, and a manifest of ``content`` and the table's digest."""
    digests = {"summary": digest_of(summary)}
    return {
        "summary.parquet": parquet(summary),
        MANIFEST: manifest_text({**content, "digests": digests}).encode(),
    }


def damage_of_run(folder: Path) -> str:
    """What is wrong with the files of a run's result folder; empty if nothing is."""
    try:
        digests = json.loads((folder / MANIFEST).read_bytes())["digests"]
        if set(digests) != set(TABLES):
            return f"{MANIFEST} does not list its tables"
        wrong = [name for name in TABLES if _digest_in(folder / f"{name}.parquet") != digests[name]]
    except Exception as error:  # whatever a reader makes of bytes that nobody wrote
        return f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
    return f"{wrong[0]}.parquet is not what {MANIFEST} says" if wrong else ""


def _digest_in(file: Path) -> str:
    return digest_of(pq.ParquetFile(file, page_checksum_verification=True).read())


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write ``files`` into ``folder``, which is made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)


def put_file(path: Path, content: bytes) -> None:
    """Write a file that is there as a whole or not at all. One that is there already is replaced."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = partial_name(path)
    try:
        partial.write_bytes(content)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def put_folder(path: Path, files: Mapping[str, bytes]) -> None:
    """Write a folder that is there as a whole or not at all; one that is there already stays as it is."""
    partial = partial_name(path)
    try:
        write_files(partial, files)
        partial.rename(path)
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
            raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)
