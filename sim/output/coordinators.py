"""Shards in figures: the rows of table ``coordinators``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from groupsim.sim.books.shard_books import ShardBooks
from groupsim.sim.tables import COORDINATORS


def coordinator_rows(shards: Sequence[ShardBooks]) -> dict[str, list[Any]]:
    """Columns of a row a shard."""
    columns: dict[str, list[Any]] = {"partition": [one.partition for one in shards]}
    for column in COORDINATORS:
        if column not in columns:
            columns[column] = [getattr(one.figures, column) for one in shards]
    return columns
