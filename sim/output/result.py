"""A run's result: tables as declared in `sim.tables`, a manifest, digests over canonical values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.tables import FLOAT, SORTED_BY, TABLES, TEXT, no_table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """A column of text in which few values repeat: row i is ``values[codes[i]]``.

    Parameters
    ----------
    values : sequence of str
    codes : int array, shape (n,)
    """

    values: Sequence[str]
    codes: NDArray[Any]

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: NDArray[np.intp] | slice) -> Text:
        return Text(self.values, self.codes[rows])

    @classmethod
    def joined(cls, parts: Sequence[Text]) -> Text:
        """The rows of several below one another."""
        begins = np.cumsum([0, *(len(part.values) for part in parts)])
        codes = [part.codes + begin for part, begin in zip(parts, begins, strict=False)]
        return cls([value for part in parts for value in part.values], np.concatenate(codes))

    def ranks(self) -> NDArray[np.int64]:
        """Numbers that sort as the text does. Shape (n,)."""
        ranks: NDArray[np.int64] = np.unique(np.array(self.values, object), return_inverse=True)[1][self.codes]
        return ranks


_BLOCK = 1 << 18
"""Rows that are digested at once."""

Column: TypeAlias = Text | NDArray[Any]
"""Of declared dtype; integers among which some are None are objects."""


class Tables(Mapping[str, "pd.DataFrame"]):
    """Tables by name, typed and sorted as declared, each a DataFrame from when it is first asked for.

    Who asks for rows or digests alone spares itself the import of pandas, which takes longer than a small run.

    Parameters
    ----------
    columns : mapping of str to mapping
        For each table its columns.
    """

    def __init__(self, columns: Mapping[str, Mapping[str, Any]]) -> None:
        self._columns = {name: _settled(name, each) for name, each in columns.items()}
        self._frames: dict[str, pd.DataFrame] = {}

    def __getitem__(self, name: str) -> pd.DataFrame:
        if name not in self._columns:
            raise KeyError(no_table(name, self))
        if name not in self._frames:
            import pandas as pd  # see the class

            data = {column: _series(values) for column, values in self._columns[name].items()}
            self._frames[name] = pd.DataFrame(data, columns=list(TABLES[name]))
        return self._frames[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def columns(self, name: str) -> dict[str, NDArray[Any]]:
        """A table's columns as arrays; text as objects. Shapes (n,)."""
        return {
            column: np.array(values.values, object)[values.codes] if isinstance(values, Text) else values
            for column, values in self._columns[name].items()
        }

    def rows(self, name: str) -> list[dict[str, Any]]:
        """A table's rows as plain data; missing values are None."""
        lists = [_plain(values) for values in self._columns[name].values()]
        return [dict(zip(self._columns[name], row, strict=True)) for row in zip(*lists, strict=True)]

    def digests(self) -> dict[str, str]:
        """Digest of every table."""
        return {name: digest_columns(columns) for name, columns in self._columns.items()}


@dataclass(slots=True)
class Result:
    """What one run gives.

    Attributes
    ----------
    tables : mapping of str to DataFrame
        Every table of `sim.tables.TABLES`.
    manifest : dict
        Resolved scenario, seed, versions, event count, wall-clock time, a digest of every table.
    warnings : list of str
        What the user should know: skipped targets, failed assignors.
    """

    tables: Tables
    manifest: dict[str, Any]
    warnings: list[str] = field(default_factory=list)

    @property
    def summary(self) -> pd.DataFrame:
        """One row per group."""
        return self.tables["summary"]


def frame(name: str, columns: Mapping[str, Any]) -> pd.DataFrame:
    """A table with its declared columns, dtypes and order of rows."""
    return Tables({name: columns})[name]


def _settled(name: str, columns: Mapping[str, Any]) -> dict[str, Column]:
    """Declared columns in their order, of declared dtypes, rows in order."""
    declared = TABLES[name]
    typed = {column: _typed(columns[column], dtype) for column, dtype in declared.items()}
    keys = [_sortable(typed[column]) for column in reversed(SORTED_BY[name]) if not _is_one_text(typed[column])]
    if not keys or _is_sorted(keys):
        return typed
    order = np.lexsort(keys)
    return {column: values[order] for column, values in typed.items()}


def _typed(values: Any, dtype: str) -> Column:
    if isinstance(values, Text):
        return values
    if dtype == TEXT:
        return Text(np.asarray(values, object).tolist(), np.arange(len(values)))
    nullable = isinstance(values, np.ndarray) and values.dtype.kind == "O"
    if dtype == FLOAT:
        return np.array([np.nan if v is None else v for v in values] if nullable else values, dtype=np.float64)
    if nullable and any(value is None for value in values):
        return np.asarray(values, dtype=object)
    return np.asarray(values, dtype=np.int64)


def _is_sorted(keys: Sequence[NDArray[Any]]) -> bool:
    """Whether rows are in the order of ``keys`` already, the last of them first."""
    equal = np.ones(max(len(keys[0]) - 1, 0), np.bool_)
    for key in reversed(keys):
        if (equal & (key[1:] < key[:-1])).any():
            return False
        equal &= key[1:] == key[:-1]
    return True


def _is_one_text(values: Column) -> TypeGuard[Text]:
    """Whether all rows say the same: such a column of millions need not be compared, or put together row by row."""
    return isinstance(values, Text) and len(values.values) == 1


def _sortable(values: Column) -> NDArray[Any]:
    return values.ranks() if isinstance(values, Text) else values


def _series(values: Column) -> Any:
    """The column as pandas has it."""
    import pandas as pd

    if isinstance(values, Text):
        return pd.array(list(values.values), dtype="string").take(values.codes)
    return pd.array(values, dtype="Int64") if values.dtype.kind == "O" else values


def _plain(values: Column) -> list[Any]:
    if isinstance(values, Text):
        texts: list[str] = np.array(values.values, object)[values.codes].tolist()
        return texts
    if values.dtype.kind == "f":
        return [None if value != value else value for value in values.tolist()]
    return [None if value is None else int(value) for value in values.tolist()]


def digest(table: pd.DataFrame) -> str:
    """SHA-256 over column names and canonical values: text as UTF-8, integers and doubles as little-endian bytes."""
    return digest_columns({str(column): _column(table[column]) for column in table.columns})


def _column(series: pd.Series[Any]) -> Column:
    """The reverse of what makes a column pandas'."""
    if series.dtype == "string":
        return Text(series.fillna("\x00").tolist(), np.arange(len(series)))
    if str(series.dtype) == "Int64":
        return series.astype(object).where(series.notna(), None).to_numpy()
    return series.to_numpy()


def digest_columns(columns: Mapping[str, Column]) -> str:
    """The digest of a table that is not a DataFrame."""
    state = sha256()
    for name, values in columns.items():
        state.update(f"{name}\x1e".encode())
        for begin in range(0, len(values), _BLOCK):
            state.update(_canonical(values[begin : begin + _BLOCK], is_first=begin == 0))
    return state.hexdigest()


def _canonical(values: Column, *, is_first: bool) -> bytes | memoryview:
    """A stretch of a column as it is digested: millions of rows are never in memory as text all at once."""
    if _is_one_text(values):
        text = f"\x1f{values.values[0]}".encode() * len(values)
        return text[1:] if is_first else text
    if isinstance(values, Text):
        texts = _plain(values)
    elif values.dtype.kind == "O":
        texts = ["" if value is None else str(value) for value in _plain(values)]
    else:
        return np.ascontiguousarray(values, values.dtype.newbyteorder("<")).data
    return "\x1f".join(texts if is_first else ["", *texts]).encode()


def manifest_text(manifest: Mapping[str, Any]) -> str:
    """The manifest as it is written: sorted, indented."""
    return json.dumps(manifest, indent=2, sort_keys=True, default=str) + "\n"
