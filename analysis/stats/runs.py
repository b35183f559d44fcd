"""Runs as plain rows: one mapping per run and group, None for null. Nothing here needs pandas (0.3 s to import)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from groupsim.analysis.stats.statistics import Estimate, estimate

Row: TypeAlias = Mapping[str, Any]
"""A row of ``summary``: value by column."""


def by_entry(runs: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    """The rows of each variant and group, in order of appearance."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in runs:
        found.setdefault((row["variant"], row["group"]), []).append(row)
    return found


def estimates_of(runs: Sequence[Row], columns: Iterable[str]) -> list[Estimate]:
    """Mean and 95 % interval of each column over the rows; null values are left out and counted."""
    return [estimate(_sample(runs, column)) for column in columns]


def _sample(runs: Sequence[Row], column: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([np.nan if row[column] is None else row[column] for row in runs], dtype=np.float64)
