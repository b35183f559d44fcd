"""Chains of rebalances of a classic group: each member comes with what the last one gave it, or what it believes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from groupsim.assignors import Assignor, KafkaAssignorEndless, KafkaAssignorFailure, create
from groupsim.assignors.java.ordering import java_sorted
from tests.conformance.assignors.kafka_calls import answer, snapshot
from tests.oracle.changing_group import ChangingGroup, Member, Runs

_HABITS = ("old-0", "old-1", "old-2", "no-generation", "unreadable")
_UNREADABLE = {
    "sticky": ("", "00", "ffffffff", "00000001000561", "7fffffff00000000"),
    "cooperative-sticky": ("", "00", "ffffff"),  # it reads four bytes, and does not mind more
}
_MISSES = 1 / 8


def _sorted_runs(runs: Runs) -> Runs:
    """As a sender sorts what it owns, each topic once."""
    numbers: dict[str, list[int]] = {}
    for topic, some in runs:
        numbers.setdefault(topic, []).extend(some)
    return [[topic, sorted(set(numbers[topic]))] for topic in java_sorted(numbers)]


class ClassicChain:
    """A group of the classic protocol with one assignor.

    Parameters
    ----------
    assignor : str
    lot : random.Random
    name : str
        Of the chain: its calls' ids begin with it.
    crowded : bool
        Whether many names share buckets of Java's hash tables.
    """

    def __init__(self, assignor: str, lot: random.Random, name: str, *, crowded: bool = False) -> None:
        self.assignor, self.lot, self.name = assignor, lot, name
        self.group = ChangingGroup(lot, racks=assignor != "roundrobin", led=True, crowded=crowded)
        self.leaders = 0
        self.keeps_leader = lot.random() < 0.5
        self.strange = lot.choice([0.0, 0.0, 0.0, 0.2])
        self.contested = lot.choice([0.0, 0.0, 0.1, 0.5])
        self.our_leader: Assignor = create(assignor)

    def steps(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Call after call with our own answer, which the next call starts from; Kafka's may not be waited for."""
        happened = "start"
        for step in range(self.lot.randint(2, 9)):
            self._confuse()
            call = self._call(step, happened)
            try:
                ours = self._ours(call)
            except KafkaAssignorEndless:
                return
            yield call, ours
            self._hand_out(step + 1, ours.get("assignment"))
            happened = self.group.change()

    def _confuse(self) -> None:
        """Some members are of an old kind, were forgotten by the coordinator, or claim what they never had."""
        lot, topics = self.lot, self.group.topics
        for member in self.group.members:
            if not member.habit:
                member.habit = lot.choice(_HABITS) if lot.random() < self.strange else "usual"
            if lot.random() < self.contested / 4:
                member.generation = None
            if lot.random() < self.contested / 8:
                member.remembers = lot.randint(0, 9)
            if lot.random() < self.contested and topics:
                name = lot.choice(sorted(topics))
                claimed = lot.sample(range(topics[name].partitions), lot.randint(1, topics[name].partitions))
                held = {(topic, number) for topic, numbers in member.runs for number in numbers}
                member.runs = [*member.runs, [name, [number for number in claimed if (name, number) not in held]]]
                member.generation = member.remembers = lot.randint(0, 9)

    def _call(self, step: int, happened: str) -> dict[str, Any]:
        if not self.keeps_leader or self.lot.random() < 0.2:
            self.leaders += 1
            self.our_leader = create(self.assignor)
        if self.lot.random() < 0.2:
            self.lot.shuffle(self.group.members)
        topics = [{"name": name, "partitions": each.partitions} for name, each in self.group.topics.items()]
        for described, topic in zip(topics, self.group.topics.values(), strict=True):
            if topic.racks is not None:
                described["racks"] = topic.racks
        return {
            "id": f"{self.name}/{step}", "side": "client", "assignor": self.assignor, "kind": happened,
            "shape": self.group.shape, "chain": self.name, "step": step, "reuse": f"{self.name} {self.leaders}",
            "topics": topics, "members": [self._member(member) for member in self.group.members],
        }  # fmt: skip

    def _member(self, member: Member) -> dict[str, Any]:
        """As its leader has decoded it. Version 0 of the protocol lacks owned partitions, 1 generations, 2 racks."""
        owned = [] if self.assignor == "sticky" or member.generation is None else _sorted_runs(member.runs)
        told: dict[str, Any] = {
            "id": member.id, "topics": java_sorted(member.topics),
            "owned": [] if member.habit == "old-0" else owned,
            "generation": None if member.habit in ("old-0", "old-1") else member.generation,
        }  # fmt: skip
        if member.instance is not None:
            told["instance"] = member.instance
        if member.rack is not None and not member.habit.startswith("old"):
            told["rack"] = member.rack
        data = self._user_data(member)
        if data is not None:
            told["user_data"] = data
        return told

    def _user_data(self, member: Member) -> dict[str, Any] | None:
        if member.habit == "unreadable" and self.assignor in _UNREADABLE:
            return {"hex": self.lot.choice(_UNREADABLE[self.assignor])}
        if self.assignor == "cooperative-sticky":
            return None if member.habit == "no-generation" else {"generation": _or(member.remembers, -1)}
        if self.assignor != "sticky" or member.remembers is None:
            return None
        if member.habit == "no-generation":
            return {"owned": _sorted_runs(member.runs)}
        return {"received": member.runs, "generation": member.remembers}

    def _ours(self, call: dict[str, Any]) -> dict[str, Any]:
        group = snapshot(call)
        try:
            return {"assignment": answer(group, self.our_leader.assign(group))}
        except KafkaAssignorFailure as failure:
            return {"error": failure.java_class, "error_message": failure.java_message}

    def _hand_out(self, generation: int, assignment: dict[str, Runs] | None) -> None:
        """Members learn what they have, except those that miss it; where the leader throws, nobody does."""
        for member in self.group.members if assignment is not None else []:
            if self.lot.random() > _MISSES:
                member.runs = assignment[member.id]
                member.generation = member.remembers = generation


def _or(number: int | None, otherwise: int) -> int:
    return otherwise if number is None else number
