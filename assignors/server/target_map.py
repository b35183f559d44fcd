"""One member's target as the group coordinator holds it: topics mapped to sets of partition numbers."""

from __future__ import annotations

from collections.abc import Sequence

from groupsim.assignors.core.topics import Positions, Topics, positions_of
from groupsim.assignors.java.hash_table import DEFAULT_CAPACITY, HashTable
from groupsim.assignors.java.ordering import fold
from groupsim.assignors.server.table_sizes import capacity_for
from groupsim.assignors.server.topic_ids import TopicIds


class TargetMap:
    """A `Map<Uuid, Set<Integer>>` that is read from a record, copied and changed as Kafka's builders do it.

    Parameters
    ----------
    topics : Topics
    codes : sequence of int
        Folded hash code of each topic's id.
    capacity : int
        As given to the map's constructor.

    Source: Assignment.fromRecord, AssignorHelpers.deepCopyAssignment, UniformHomogeneousAssignmentBuilder and
    UniformHeterogeneousAssignmentBuilder, Kafka 4.4.
    """

    def __init__(self, topics: Topics, codes: Sequence[int], capacity: int = DEFAULT_CAPACITY) -> None:
        self._topics = topics
        self._codes = codes
        self._map = HashTable(capacity)
        self._sets: dict[int, HashTable] = {}

    @classmethod
    def of_record(cls, topics: Topics, ids: TopicIds, record: Positions, gone: int) -> TargetMap:
        """The map that a record is read into.

        Parameters
        ----------
        topics : Topics
        ids : TopicIds
        record : ndarray of int32
            Positions in the order of the record.
        gone : int
            How many topics it names besides that no longer exist. They count for the size of the map.
        """
        target = cls(topics, ids.codes.tolist())
        numbers: dict[int, list[int]] = {}
        for topic, number in zip(topics.topic_of[record].tolist(), topics.number_of[record].tolist(), strict=True):
            numbers.setdefault(topic, []).append(number)
        for topic, those in numbers.items():
            target._put(topic, those)
        for ghost in range(gone):
            target._map.put(-1 - ghost, ghost)
        return target

    def copy(self) -> TargetMap:
        """The same in tables of its own, to be changed; without the topics that are gone."""
        other = TargetMap(self._topics, self._codes, len(self._map))
        for topic in self._map.walk():
            if topic < 0:
                other._map.put(topic, -topic)
            else:
                other._put(topic, self._sets[topic].walk())
        for topic in other._map.walk():
            if topic < 0:
                other._map.remove(topic)
        return other

    def _put(self, topic: int, numbers: list[int]) -> None:
        self._map.put(topic, self._codes[topic])
        self._sets[topic] = HashTable(max(DEFAULT_CAPACITY, capacity_for(len(numbers))))
        for number in numbers:
            self._sets[topic].put(number, fold(number))

    def add(self, position: int, capacity: Sequence[int]) -> None:
        """Add a partition; a topic that was not there gets a set of its capacity.

        Parameters
        ----------
        position : int
        capacity : sequence of int
            By topic.
        """
        topic, number = self._split(position)
        if self._map.compute_if_absent(topic, self._codes[topic]):
            self._sets[topic] = HashTable(capacity[topic])
        self._sets[topic].put(number, fold(number))

    def remove(self, position: int) -> None:
        """Take a partition out, and its topic with the last one."""
        topic, number = self._split(position)
        self._sets[topic].remove(number)
        if not len(self._sets[topic]):
            self._map.remove(topic)

    def positions(self) -> Positions:
        """Positions as iteration yields them."""
        first = self._topics.first.tolist()
        return positions_of(
            first[topic] + number for topic in self._map.walk() if topic >= 0 for number in self._sets[topic].walk()
        )

    def _split(self, position: int) -> tuple[int, int]:
        return int(self._topics.topic_of[position]), int(self._topics.number_of[position])
