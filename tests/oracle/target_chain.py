"""Chains of assignments of a group of the consumer protocol: each starts from the targets of the one before."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from groupsim.assignors import create_server
from groupsim.assignors.server.target_records import written_targets
from tests.conformance.assignors.kafka_calls import runs
from tests.conformance.assignors.server_calls import spec
from tests.oracle.changing_group import ChangingGroup, Member, Topic


class TargetChain:
    """A group of the consumer protocol with one assignor.

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
        self.deleted: dict[str, Topic] = {}
        self.group = ChangingGroup(lot, racks=False, led=False, crowded=crowded)
        self.group.on_deletion = self._rename
        self.group.on_restart = _inherit
        if lot.random() < 0.4:
            self._deal()

    def steps(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Call after call with our own answer, which the next call starts from."""
        happened = "start"
        for step in range(self.lot.randint(2, 9)):
            call = self._call(step, happened)
            ours = self._ours(call)
            yield call, ours
            for member in self.group.members:
                member.runs, member.remembers = ours["assignment"][member.id], step
            happened = self.group.change()

    def _deal(self) -> None:
        """Targets that another assignor left behind: anybody's, and not balanced.

        Some are what is left of a round among as many members as a table has buckets: each member's numbers fall into
        one bucket.
        """
        members = self.group.members
        for name, topic in self.group.topics.items():
            takers = self.lot.choices([None, *members], k=topic.partitions)
            if self.lot.random() < 0.5:
                gone = [None] * (self.lot.choice([16, 64, 128]) - len(members))
                takers = self.lot.sample([*members, *gone], len(members) + len(gone)) * topic.partitions
            for member in members:
                mine = [number for number in range(topic.partitions) if takers[number] is member]
                member.runs += [[name, self.lot.sample(mine, len(mine))]] if mine else []
                member.remembers = 0

    def _rename(self, name: str) -> None:
        """A topic that is deleted goes on in old targets, under a name by which nobody subscribes."""
        label = f"{name}#{len(self.deleted)}"
        self.deleted[label] = self.group.topics[name]
        for member in self.group.members:
            member.runs = [[label if topic == name else topic, numbers] for topic, numbers in member.runs]

    def _call(self, step: int, happened: str) -> dict[str, Any]:
        topics: list[dict[str, Any]] = [
            {"name": name, "partitions": each.partitions, "id": each.id} for name, each in self.group.topics.items()
        ]
        held = {topic for member in self.group.members for topic, _ in member.runs}
        topics += [
            {"name": label, "partitions": each.partitions, "id": each.id, "deleted": True}
            for label, each in self.deleted.items() if label in held
        ]  # fmt: skip
        return {
            "id": f"{self.name}/{step}", "side": "server", "assignor": self.assignor, "kind": happened,
            "shape": self.group.shape, "chain": self.name, "step": step,
            "topics": topics, "members": [_member(member) for member in self.group.members],
        }  # fmt: skip

    def _ours(self, call: dict[str, Any]) -> dict[str, Any]:
        group = spec(call)
        targets = written_targets(group, create_server(self.assignor).assign_group(group))
        lists = zip(group.names.member_ids, targets.lists(), strict=True)
        return {"assignment": {member: runs(targets.topics, positions) for member, positions in lists}}


def _inherit(old: Member, new: Member) -> None:
    """A static member takes its target over."""
    if old.instance is not None:
        new.runs, new.remembers = old.runs, old.remembers


def _member(member: Member) -> dict[str, Any]:
    told: dict[str, Any] = {"id": member.id, "topics": member.topics}
    if member.instance is not None:
        told["instance"] = member.instance
    if member.remembers is not None:
        told["target"] = member.runs
    return told
