"""Topics of one conversation: their ids, and positions that stand for partitions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from groupsim.sim.protocol.messages import NO_PARTITIONS, Positions

Json = Any

NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
"""The id that stands for none."""


class Topics:
    """Partitions by position: handed out at first sight, and never moved.

    Parameters
    ----------
    listed : list
        The conversation's ``topics``; others may be spoken of that no metadata name.
    """

    def __init__(self, listed: Json) -> None:
        self._names: dict[str, str] = {}
        self._ids: dict[str, str] = {}
        self._racks: dict[str, list[list[str]]] = {}
        self.counts: dict[str, int] = {}
        self._positions: dict[tuple[str, int], int] = {}
        self._partitions: list[tuple[str, int]] = []
        self.learn(listed)

    def learn(self, listed: Json) -> None:
        """There are these topics from now on."""
        self._ids = {one["name"]: one["id"] for one in listed}
        self._racks = {one["name"]: one["racks"] for one in listed if "racks" in one}
        self.counts = {one["name"]: one["partitions"] for one in listed}
        for one in sorted(listed, key=lambda topic: topic["name"]):
            self._names[one["id"]] = one["name"]
            for number in range(one["partitions"]):
                self.position(one["id"], number)

    # --- as the machine asks for them -----------------------------------------------------------------------------

    def of(self, topic: str) -> Positions:
        """Positions of a topic's partitions, by partition number."""
        numbers = range(self.counts.get(topic, 0))
        return np.array([self.position(self.id_of(topic), number) for number in numbers], np.int32)

    def racks_of(self, topic: str, partitions: int) -> list[tuple[str | None, ...]] | None:
        """Racks of the replicas of a topic's first partitions; None if no broker has a rack."""
        racks = self._racks.get(topic)
        return None if racks is None else [tuple(one) for one in racks[:partitions]]

    @property
    def n_partitions(self) -> int:
        """How many positions stand for partitions."""
        return len(self._partitions)

    # --- as the conversation speaks of them -----------------------------------------------------------------------

    def id_of(self, name: str) -> str:
        """The id that a topic has now, or one that stands for it if there is no such topic."""
        return self._ids.get(name, f"$id:{name}")

    def name_of(self, topic_id: str) -> str:
        """The name of a topic; one that stands for it if no metadata name the id."""
        return self._names.get(topic_id, topic_id.removeprefix("$id:"))

    @property
    def spoken_of(self) -> set[str]:
        """Names of topics some partition of which has a position."""
        return {self.name_of(topic) for topic, _ in self._partitions}

    def named(self, name: str, number: int | None = None) -> Positions:
        """Positions of all partitions of topics of a name, whatever their ids; or only of those of a number."""
        each = [
            at for at, (topic, one) in enumerate(self._partitions)
            if self.name_of(topic) == name and number in (None, one)
        ]  # fmt: skip
        return np.array(each, np.int32)

    def of_id(self, topic_id: str, name: str) -> Positions:
        """Positions of the partitions of the topic of an id, and of those of its name of which no id is known."""
        ids = {topic_id, self.id_of(name)} if self.id_of(name) == f"$id:{name}" else {topic_id}
        return np.array([at for at, (topic, _) in enumerate(self._partitions) if topic in ids], np.int32)

    def meet(self, topic_id: str, name: str) -> str:
        """An id is spoken of together with a name; the id, or the one that the name stands for if it is none."""
        if topic_id == NO_ID:
            return self.id_of(name)
        self._names.setdefault(topic_id, name)
        return topic_id

    def position(self, topic_id: str, number: int) -> int:
        """The position that stands for a partition."""
        key = (topic_id, number)
        if key not in self._positions:
            self._positions[key] = len(self._partitions)
            self._partitions.append(key)
        return self._positions[key]

    def positions(self, assigned: Mapping[str, Iterable[int | str]]) -> Positions:
        """Partitions, by id of their topic."""
        each = [self.position(topic, int(number)) for topic, numbers in assigned.items() for number in numbers]
        return np.array(sorted(each), np.int32) if each else NO_PARTITIONS

    def told(self, partitions: Json) -> Positions:
        """``TopicPartitions`` of a target, in their order."""
        each = [self.position(one["topicId"], number) for one in partitions for number in one["partitions"]]
        return np.array(each, np.int32) if each else NO_PARTITIONS

    def partition(self, position: int) -> tuple[str, int]:
        """Topic id and number of the partition that a position stands for."""
        return self._partitions[position]

    def grouped(self, positions: Positions) -> dict[str, list[int]]:
        """Topic id -> numbers, both sorted."""
        found: dict[str, list[int]] = defaultdict(list)
        for position in positions.tolist():
            topic, number = self._partitions[position]
            found[topic].append(number)
        return {topic: sorted(numbers) for topic, numbers in sorted(found.items())}


def listed(partitions: Json) -> dict[str, list[int]]:
    """``TopicPartitions`` of a message or record: topic id -> numbers."""
    return {one["topicId"]: sorted(one["partitions"]) for one in sorted(partitions, key=lambda each: each["topicId"])}
