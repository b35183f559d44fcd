"""Files of results, read whole or refused by name: folders, manifests, Parquet."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from groupsim.analysis.errors import ResultError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyarrow.dataset import ParquetFileFormat

MANIFEST: Final = "manifest.json"


def existing(folder: str | Path) -> Path:
    """The folder as a path.

    Raises
    ------
    ResultError
        It does not exist, or is none.
    """
    folder = Path(folder)
    try:
        is_there, is_folder = folder.exists(), folder.is_dir()
    except OSError:  # such as a name that is too long
        is_there = is_folder = False
    if not is_folder:
        raise ResultError(f"{folder} is not a folder" if is_there else f"{folder} does not exist")
    return folder


def load_manifest(folder: str | Path) -> Mapping[str, Any]:
    """The manifest of a result folder or of a sweep folder.

    Raises
    ------
    ResultError
        There is none, or it cannot be read.
    """
    file = existing(folder) / MANIFEST
    if not file.is_file():
        raise ResultError(f"{file.parent} has no {MANIFEST}: the result is incomplete")
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ResultError(f"{file} cannot be read as JSON: {error}") from error
    if not isinstance(manifest, dict):
        raise ResultError(f"{file} does not hold a JSON object")
    return manifest


def listed(folder: Path, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The digests of the tables of a result folder by name, as its manifest lists them; older ones list none.

    Raises
    ------
    ResultError
        It lists something else.
    """
    digests = manifest.get("digests", {})
    if not isinstance(digests, dict):
        raise ResultError(f"{folder / MANIFEST} does not list its tables")
    return digests


def read_own(file: Path, manifest: Mapping[str, Any], columns: Sequence[str] | None = None) -> pd.DataFrame:
    """A table of a result folder, ``columns`` of it as in `read_parquet`, held against the manifest beside it.

    Manifests without digests vouch for no table.

    Raises
    ------
    ResultError
        It cannot be read, or is not the table that was written with this manifest: another run's, for one.
    """
    table = _read(file, None)
    digests = listed(file.parent, manifest)
    if file.stem in digests and _digest(table) != digests[file.stem]:
        raise ResultError(
            f"{file} is not the table that {MANIFEST} beside it was written with: it is another run's, or was changed"
        )
    return _frame(table if columns is None else table.select([name for name in columns if name in table.column_names]))


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """A Parquet file, or a folder of them whose ``variant=`` parts are text whatever they look like.

    Columns that are asked for and not there are left out.

    Raises
    ------
    ResultError
        It cannot be read.
    """
    frame = _frame(_read(path, columns))
    if path.is_dir() and "variant" in frame and frame["variant"].hasnans:
        frame["variant"] = frame["variant"].cat.add_categories([""]).fillna("")
    return frame


def _read(path: Path, columns: Sequence[str] | None) -> pa.Table:
    import pyarrow as pa  # only files need it, tables in memory do not
    import pyarrow.dataset as ds

    by_variant = ds.partitioning(pa.schema([("variant", pa.string())]), flavor="hive") if path.is_dir() else None
    try:
        dataset = ds.dataset(path, format=_checked_parquet(), partitioning=by_variant)
        there = None if columns is None else [name for name in columns if name in dataset.schema.names]
        return dataset.to_table(columns=there)
    except (OSError, ValueError, pa.ArrowException) as error:  # ValueError: names of columns that are no UTF-8
        raise ResultError(f"{path} cannot be read as Parquet: {error}") from error


def _checked_parquet() -> ParquetFileFormat:
    """Parquet whose pages are held against their checksums, so that a damaged number is none."""
    import pyarrow.dataset as ds

    options = ds.ParquetFragmentScanOptions(page_checksum_verification=True)
    return ds.ParquetFileFormat(default_fragment_scan_options=options)


def _frame(table: pa.Table) -> pd.DataFrame:
    frame: pd.DataFrame = table.to_pandas(strings_to_categorical=True)
    return frame


def _digest(table: pa.Table) -> str:
    """The table's digest; empty where its columns are of no kind that tables of results have."""
    from groupsim.sim.output.arrow_digest import digest_of

    try:
        return digest_of(table)
    except (TypeError, ValueError):
        return ""
