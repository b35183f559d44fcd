"""A run's result: tables as declared in `sim.tables`, a manifest, digests over canonical values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import numpy as np
import pandas as pd

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


def frame(name: str, columns: Mapping[str, Any]) -> pd.DataFrame:
    """A table with its declared columns, dtypes and order of rows."""
    declared = TABLES[name]
    data = {column: _column(columns[column], dtype) for column, dtype in declared.items()}
    table = pd.DataFrame(data, columns=list(declared))
    if len(table) > 1:
        table = table.sort_values(list(SORTED_BY[name]), kind="stable", ignore_index=True)
    return table


def _column(values: Any, dtype: str) -> Any:
    if dtype == TEXT:
        return pd.array(values, dtype="string")
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
