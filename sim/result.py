"""A run's result: tables as declared in `sim.tables`, a manifest, digests over canonical values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sim.tables import FLOAT, SORTED_BY, TABLES, TEXT


@dataclass(slots=True)
class Result:
    """What one run gives.

    Attributes
    ----------
    tables : dict of str to DataFrame
        Every table of `sim.tables.TABLES`.
    manifest : dict
        Resolved scenario, seed, versions, event count, wall-clock time, a digest of every table.
    warnings : list of str
        What the user should know: skipped targets, failed assignors.
    """

    tables: dict[str, pd.DataFrame]
    manifest: dict[str, Any]
    warnings: list[str] = field(default_factory=list)

    @property
    def summary(self) -> pd.DataFrame:
        """One row per group."""
        return self.tables["summary"]


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


def frame(name: str, columns: Mapping[str, Any]) -> pd.DataFrame:
    """A table with its declared columns, dtypes and order of rows."""
    declared = TABLES[name]
    keys = [_sortable(columns[column], declared[column]) for column in reversed(SORTED_BY[name])]
    order = np.lexsort(keys) if len(keys[0]) > 1 else None
    data = {column: _ordered(columns[column], dtype, order) for column, dtype in declared.items()}
    return pd.DataFrame(data, columns=list(declared))


def _sortable(values: Any, dtype: str) -> NDArray[np.int64]:
    if isinstance(values, Text):
        return values.ranks()
    if dtype == TEXT:
        return Text(values, np.arange(len(values))).ranks()
    return np.asarray(values, np.int64)


def _ordered(values: Any, dtype: str, order: NDArray[np.intp] | None) -> Any:
    if isinstance(values, Text):
        codes = values.codes if order is None else values.codes[order]
        return pd.array(list(values.values), dtype="string").take(codes)
    column = _column(values, dtype)
    return column if order is None else column[order]


def _column(values: Any, dtype: str) -> Any:
    if dtype == TEXT:
        return pd.array(list(values), dtype="string")
    nullable = isinstance(values, np.ndarray) and values.dtype.kind == "O"
    if dtype == FLOAT:
        return np.array([np.nan if v is None else v for v in values] if nullable else values, dtype=np.float64)
    if nullable and any(value is None for value in values):
        return pd.array(values, dtype="Int64")
    return np.asarray(values, dtype=np.int64)


def digest(table: pd.DataFrame) -> str:
    """SHA-256 over column names and canonical values: text as UTF-8, integers and doubles as little-endian bytes."""
    state = sha256()
    for column in table.columns:
        state.update(f"{column}\x1e".encode())
        values = table[column]
        if values.dtype == "string":
            state.update("\x1f".join(values.fillna("\x00").tolist()).encode())
        elif str(values.dtype) == "Int64":
            state.update("\x1f".join("" if value is pd.NA else str(value) for value in values).encode())
        else:
            numbers = values.to_numpy()
            state.update(numbers.astype(numbers.dtype.newbyteorder("<")).tobytes())
    return state.hexdigest()


def digests(tables: Mapping[str, pd.DataFrame]) -> dict[str, str]:
    """Digest of every table."""
    return {name: digest(tables[name]) for name in TABLES}


def manifest_text(manifest: Mapping[str, Any]) -> str:
    """The manifest as it is written: sorted, indented."""
    return json.dumps(manifest, indent=2, sort_keys=True, default=str) + "\n"
