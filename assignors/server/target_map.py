"""One member's target as the group coordinator holds it: topics mapped to sets of partition numbers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from groupsim.assignors.core.topics import Positions, Topics, positions_of
from groupsim.assignors.java.hash_table import DEFAULT_CAPACITY, HashTable
from groupsim.assignors.java.ordering import fold
from groupsim.assignors.server.group_spec import GroupSpec
from groupsim.assignors.server.table_sizes import capacity_for
from groupsim.assignors.server.topic_ids import TopicIds


@dataclass(frozen=True, slots=True, eq=False)
class TopicKeys:
    """Topics as keys of a map: those that are there by their index, those that are gone by negative numbers.

    Parameters
    ----------
    topics : Topics
        Those that are there.
    codes, places : sequence of int
        Folded hash code of each key's id, and its place among all of them by `Uuid.compareTo`; negative keys count from
        the end.
    of_record : sequence of int
        Key of each topic by which the records are given.
    """

    topics: Topics
    codes: Sequence[int]
    places: Sequence[int]
    of_record: Sequence[int]

    @classmethod
    def of(cls, spec: GroupSpec) -> TopicKeys:
        """The keys of a group."""
        topics, older, ids = spec.topics, spec.record.topics, spec.topic_ids
        if older is topics:
            return cls(topics, ids.codes.tolist(), ids.ranks.tolist(), range(len(topics.names)))
        ids = TopicIds(np.concatenate([ids.halves, spec.record_ids.halves[::-1]]))
        there = {name: at for at, name in enumerate(topics.names) if topics.counts[at] > 0}
        of_record = [there.get(name, -1 - at) for at, name in enumerate(older.names)]
        return cls(topics, ids.codes.tolist(), ids.ranks.tolist(), of_record)


class TargetMap:
    """A `Map<Uuid, Set<Integer>>` that is read from a record, copied and changed as Kafka's builders do it.

    Parameters
    ----------
    keys : TopicKeys
    capacity : int
        As given to the map's constructor.

    Source: Assignment.fromRecord, AssignorHelpers.deepCopyAssignment, UniformHomogeneousAssignmentBuilder and
    UniformHeterogeneousAssignmentBuilder, Kafka 4.4.
    """

    def __init__(self, keys: TopicKeys, capacity: int = DEFAULT_CAPACITY) -> None:
        self._keys = keys
        self._map = HashTable[int](capacity, keys.places.__getitem__)
        self._sets: dict[int, HashTable[int]] = {}

    @classmethod
    def of_record(cls, keys: TopicKeys, spec: GroupSpec, member: int) -> TargetMap:
        """The map that a member's record is read into."""
        target, older, record = cls(keys), spec.record.topics, spec.record.list_of(member)
        numbers: dict[int, list[int]] = {}
        for topic, number in zip(older.topic_of[record].tolist(), older.number_of[record].tolist(), strict=True):
            numbers.setdefault(keys.of_record[topic], []).append(number)
        for key, those in numbers.items():
            target._put(key, those)
        return target

    def copy(self, lost: Collection[int]) -> TargetMap:
        """The same in tables of its own, without topics that are gone and lost positions, taken out as they come.

        Parameters
        ----------
        lost : collection of int
        """
        other = TargetMap(self._keys, len(self._map))
        for key in self._map.walk():
            other._put(key, self._sets[key].walk())
        for key in self._map.walk():
            if key < 0:
                other._map.remove(key)
                continue
            for number in self._sets[key].walk():
                position = int(self._keys.topics.first[key]) + number
                if position in lost:
                    other.remove(position)
        return other

    def _put(self, key: int, numbers: list[int]) -> None:
        self._map.put(key, self._keys.codes[key])
        self._sets[key] = HashTable[int](max(DEFAULT_CAPACITY, capacity_for(len(numbers))))
        for number in numbers:
            self._sets[key].put(number, fold(number))

    def add(self, position: int, capacity: Sequence[int]) -> None:
        """Add a partition; a topic that was not there gets a set of its capacity.

        Parameters
        ----------
        position : int
        capacity : sequence of int
            By topic.
        """
        topic, number = self._split(position)
        if self._map.compute_if_absent(topic, self._keys.codes[topic]):
            self._sets[topic] = HashTable[int](capacity[topic])
        self._sets[topic].put(number, fold(number))

    def remove(self, position: int) -> None:
        """Take a partition out, and its topic with the last one."""
        topic, number = self._split(position)
        self._sets[topic].remove(number)
        if not len(self._sets[topic]):
            self._map.remove(topic)

    def positions(self) -> Positions:
        """Positions as iteration yields them."""
        first = self._keys.topics.first.tolist()
        return positions_of(
            first[key] + number for key in self._map.walk() if key >= 0 for number in self._sets[key].walk()
        )

    def _split(self, position: int) -> tuple[int, int]:
        topics = self._keys.topics
        return int(topics.topic_of[position]), int(topics.number_of[position])
