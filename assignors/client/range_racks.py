"""The rack-aware half of range: members take partitions with a replica in their own rack first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from groupsim.assignors.core.racks import rack_aware
from groupsim.assignors.core.snapshot import Assignment, GroupSnapshot, Positions

Fits: TypeAlias = "Callable[[_TopicState, int, int], bool]"


@dataclass(slots=True)
class _TopicState:
    """What is left to hand out of one topic.

    Parameters
    ----------
    topic : int
        Its index.
    members : list of int
        Its subscribers, in order.
    member_racks : list of (str or None)
        Rack of each of them.
    partition_racks : list of frozenset of str
        Racks with a replica, per partition number.
    """

    topic: int
    members: list[int]
    member_racks: list[str | None]
    partition_racks: list[frozenset[str]]
    unassigned: list[int] = field(init=False)
    given: dict[int, int] = field(init=False)
    quota: int = field(init=False)
    extra: int = field(init=False)
    rack_of: dict[int, str | None] = field(init=False)

    def __post_init__(self) -> None:
        count = len(self.partition_racks)
        self.unassigned = list(range(count))
        self.given = dict.fromkeys(self.members, 0)
        self.quota, self.extra = divmod(count, len(self.members))
        self.rack_of = dict(zip(self.members, self.member_racks, strict=True))

    @property
    def needs_racks(self) -> bool:
        return rack_aware({rack for rack in self.member_racks if rack is not None}, self.partition_racks)

    def room(self, member: int) -> int:
        return max(0, self.quota + (1 if self.extra > 0 else 0) - self.given[member])

    def matches(self, member: int, number: int) -> bool:
        rack = self.rack_of[member]
        return rack is None or rack in self.partition_racks[number]

    def give(self, member: int, numbers: list[int]) -> None:
        self.given[member] += len(numbers)
        if self.given[member] > self.quota:
            self.extra -= 1
        taken = set(numbers)
        self.unassigned = [number for number in self.unassigned if number not in taken]


def _states(snapshot: GroupSnapshot, members: Positions) -> list[_TopicState]:
    topics, table = snapshot.topics, snapshot.subscriptions
    states = []
    for topic in table.subscribed_topics:
        subscribers = table.subscribers(topic, members).tolist()
        racks = [snapshot.members[member].rack or None for member in subscribers]
        states.append(_TopicState(topic, subscribers, racks, topics.rack_sets(topic)))
    return states


def racks_matter(snapshot: GroupSnapshot) -> bool:
    """Whether any topic of the group is to be assigned by racks, which then goes for all of its topics.

    Source: RangeAssignor.assignPartitions, TopicAssignmentState, Kafka 4.4.
    """
    if snapshot.topics.racks is None or not any(member.rack for member in snapshot.members):
        return False
    return any(state.needs_racks for state in _states(snapshot, np.arange(snapshot.n_members, dtype=np.int32)))


def assign_by_racks(snapshot: GroupSnapshot, members: Positions) -> Assignment:
    """Assign by racks first, then what is left by ranges.

    Parameters
    ----------
    snapshot : GroupSnapshot
    members : ndarray of int32
        Members in the order in which ranges are cut.

    Source: RangeAssignor, `assignWithRackMatching`, `assignCoPartitionedWithRackMatching`, `assignRanges`, Kafka 4.4.
    """
    states = _states(snapshot, members)
    taken: dict[int, list[int]] = {member: [] for member in range(snapshot.n_members)}

    def give(state: _TopicState, member: int, numbers: list[int]) -> None:
        state.give(member, numbers)
        first = int(snapshot.topics.first[state.topic])
        taken[member] += [first + number for number in numbers]

    for group in _co_partitioned(states):
        if len(group) > 1:
            _assign_together(group, give)
        elif group[0].needs_racks:
            _cut_ranges(group[0], _TopicState.matches, give)
    for state in states:
        _cut_ranges(state, _anything, give)
    return Assignment.of_lists(snapshot.topics, [sorted(positions) for positions in taken.values()])


Give: TypeAlias = "Callable[[_TopicState, int, list[int]], None]"


def _anything(_state: _TopicState, _member: int, _number: int) -> bool:
    return True


def _co_partitioned(states: Iterable[_TopicState]) -> list[list[_TopicState]]:
    """States grouped by equal subscribers, racks included, and equal partition counts."""
    groups: dict[tuple[frozenset[tuple[int, str | None]], int], list[_TopicState]] = {}
    for state in states:
        key = (frozenset(state.rack_of.items()), len(state.partition_racks))
        groups.setdefault(key, []).append(state)
    return list(groups.values())


def _cut_ranges(state: _TopicState, fits: Fits, give: Give) -> None:
    for member in state.members:
        if not state.unassigned:
            return
        numbers = [number for number in state.unassigned if fits(state, member, number)][: state.room(member)]
        if numbers:
            give(state, member, numbers)


def _assign_together(group: list[_TopicState], give: Give) -> None:
    """Give one number of all topics of the group to one member whose rack holds all of them."""
    remaining = list(group[0].members)
    for number in range(len(group[0].partition_racks)):
        for member in remaining:
            if all(state.matches(member, number) and state.room(member) > 0 for state in group):
                break
        else:
            continue
        for state in group:
            give(state, member, [number])
        if not any(state.room(member) for state in group):
            remaining.remove(member)
            if not remaining:
                return
