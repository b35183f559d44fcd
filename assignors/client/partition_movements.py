"""Who handed which partition to whom while a sticky assignor balances: no topic is to go both from A to B and back."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeAlias

from groupsim.assignors.core.snapshot import Topics
from groupsim.assignors.java.hash_table import HashTable
from groupsim.assignors.java.ordering import fold, partition_hash

_Route: TypeAlias = tuple[int, int, int]


class PartitionMovements:
    """Moves so far, by topic, giver and taker.

    Parameters
    ----------
    topics : Topics
    java_order : bool
        Whether, of several partitions that went one way, Kafka's first one is sent back, or the first by position.

    Source: AbstractStickyAssignor.PartitionMovements, Kafka 4.4.
    """

    def __init__(self, topics: Topics, java_order: bool) -> None:
        self._topics = topics
        self._java_order = java_order
        self._route_of: dict[int, _Route] = {}
        self._moved: dict[_Route, HashTable[int]] = {}

    def instead_of(self, position: int, giver: int, taker: int) -> int:
        """The partition to move for this one: one of its topic that came the other way, if there is any."""
        topic = int(self._topics.topic_of[position])
        if position in self._route_of:
            giver = self._route_of[position][1]
        back = self._moved.get((topic, taker, giver))
        return position if back is None else back.first()

    def record(self, position: int, giver: int, taker: int) -> None:
        """Remember a move; one that takes a partition back to where it was first is forgotten with the earlier one."""
        known = self._route_of.pop(position, None)
        if known is not None:
            giver = known[1]
            self._moved[known].remove(position)
            if not len(self._moved[known]):
                del self._moved[known]
        if known is None or giver != taker:
            route = (int(self._topics.topic_of[position]), giver, taker)
            self._route_of[position] = route
            self._moved.setdefault(route, HashTable[int]()).put(position, self._code(position))

    def state(self) -> Hashable:
        """All that decides on what is moved for what from now on."""
        return frozenset((route, moved.state()) for route, moved in self._moved.items())

    def _code(self, position: int) -> int:
        if not self._java_order:
            return 0
        topic, number = self._topics.topic_of[position], self._topics.number_of[position]
        return fold(partition_hash(self._topics.names[topic], int(number)))
