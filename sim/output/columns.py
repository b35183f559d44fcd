"""Rows that are worked out one by one, as the columns that tables are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Columns = dict[str, list[Any]]


def of_tuples(names: Iterable[str], rows: Iterable[Sequence[Any]]) -> Columns:
    """Columns of rows that have their values in the order of ``names``."""
    found = list(rows)
    return {name: [row[at] for row in found] for at, name in enumerate(names)}


def of_mappings(names: Iterable[str], rows: Sequence[Mapping[str, Any]]) -> Columns:
    """Columns of rows that have their values by name."""
    return {name: [row[name] for row in rows] for name in names}
