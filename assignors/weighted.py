"""weighted: rates spread over capacities, starting from what is owned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from assignors.errors import InvalidSnapshot
from assignors.interface import Promise
from assignors.load_board import LoadBoard
from assignors.past_owners import RememberingAssignor
from assignors.snapshot import GroupSnapshot, Positions


class WeightedAssignor(RememberingAssignor):
    """Keeps the largest load over capacity small, and moves nothing that does not lower it.

    Members keep what they own. What nobody owns is given out longest first: the partition of the highest rate to the
    subscriber that then has the least load over capacity. After that the member with the most load over capacity gives
    up its heaviest partition that leaves somebody else with less than it had itself, again and again, until the largest
    load cannot be lowered by moving one partition. On a group that owns nothing this is the longest-first greedy; a
    newcomer gets nothing if that would not lower the largest load.

    Rates are those of the snapshot's topics, capacities those of its members: whole numbers, compared exactly. Without
    rates, or if all are 0, every partition counts 1; without capacities every member does. Ties go by number of
    partitions, then by name: members by id and partitions by topic and number.

    Kafka has no such assignor.
    """

    name: ClassVar[str] = "weighted"
    needs_loads: ClassVar[bool] = True
    promises: ClassVar[frozenset[Promise]] = frozenset({Promise.EXCLUSIVE, Promise.COMPLETE, Promise.STEADY})
    exceptions: ClassVar[Mapping[Promise, str]] = {
        Promise.BALANCED: "loads are evened out, not counts, and only the largest is lowered",
        Promise.BALANCED_PER_TOPIC: "loads are evened out over all topics together",
        Promise.STICKY: "other counts may need fewer moves: loads decide",
    }

    def owners(self, group: GroupSnapshot, before: Positions) -> Positions:
        """Give out what nobody owns and relieve whoever has most; see `RememberingAssignor.owners`.

        Raises
        ------
        InvalidSnapshot
            Some members have a capacity and some have none, or one is not positive.
        """
        table, topics = group.subscriptions, group.topics
        weights = topics.rates if topics.rates and any(topics.rates) else (1,) * topics.n_partitions
        board = LoadBoard(table, topics.topic_of, weights, _capacities(group), before.tolist())
        nobodys = np.flatnonzero(np.repeat(table.has.any(axis=0), topics.counts) & (before < 0))
        board.fill(sorted(nobodys.tolist(), key=weights.__getitem__, reverse=True))
        board.relieve()
        return np.array(board.owner, dtype=np.int32)


def _capacities(snapshot: GroupSnapshot) -> list[int]:
    given = [member.capacity for member in snapshot.members]
    if all(capacity is None for capacity in given):
        return [1] * len(given)
    for member_id, capacity in zip(snapshot.member_ids, given, strict=True):
        if capacity is None:
            raise InvalidSnapshot(f"{member_id!r} has no capacity, others have one")
        if capacity <= 0:
            raise InvalidSnapshot(f"the capacity of {member_id!r} is not positive: {capacity}")
    return [capacity for capacity in given if capacity is not None]
