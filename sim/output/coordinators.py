"""Shards in figures, one by one and by broker: the rows of tables ``coordinators`` and ``placement``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from groupsim.sim.books.shard_books import ShardBooks
from groupsim.sim.output.columns import of_mappings
from groupsim.sim.tables import COORDINATORS, PLACEMENT


def coordinator_rows(shards: Sequence[ShardBooks]) -> dict[str, list[Any]]:
    """Columns of a row a shard."""
    columns: dict[str, list[Any]] = {"partition": [one.partition for one in shards]}
    for column in COORDINATORS:
        if column not in columns:
            columns[column] = [getattr(one.figures, column) for one in shards]
    return columns


def placement_rows(shards: Sequence[ShardBooks], nodes: Sequence[int]) -> dict[str, list[Any]]:
    """Columns of a row a broker, and one for shards without any."""
    homeless = {one.figures.node for one in shards} - {*nodes}
    rows = [_placed(node, shards) for node in sorted({*nodes, *homeless})]
    return of_mappings(PLACEMENT, rows)


def _placed(node: int, shards: Sequence[ShardBooks]) -> dict[str, Any]:
    first = [len(one.groups) for one in shards if one.places[0].node == node]
    last = [one.figures for one in shards if one.figures.node == node]
    groups = [one.groups for one in last]
    return {
        "node": node, "shards": len(last), "shards_first": len(first),
        "groups": sum(groups), "groups_first": sum(first), "groups_shard_max": max(groups, default=0),
        "members": sum(one.members for one in last), "utilisation": sum(one.utilisation for one in last),
    }  # fmt: skip
