"""kafka-python's assignors, written independently, as an oracle.

Its sticky assignors visit members in another order than Kafka does, so who keeps one more can differ. How many each
member gets, and how many partitions move, cannot. It knows no racks.
"""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from groupsim.assignors import GroupSnapshot, MemberSubscription, StickyUserData, Topics, create
from groupsim.assignors.evaluation.group_history import GroupHistory
from groupsim.assignors.evaluation.quality import by_name, moved
from tests.conformance.assignors.groups import groups

with warnings.catch_warnings():
    # kafka-python reads its schemas with a function that Python is about to drop
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.coordinator.assignors.range import RangePartitionAssignor
    from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
    from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
    from kafka.structs import TopicPartition

Listed = dict[str, list[tuple[str, int]]]


def theirs(assignor: Any, group: GroupSnapshot) -> Listed:
    counts = {name: n for name, n in zip(group.topics.names, group.topics.counts, strict=True) if n}
    cluster = SimpleNamespace(
        topics=lambda: set(counts),
        partitions_for_topic=lambda topic: set(range(counts[topic])) if topic in counts else None,
    )
    members = [
        SimpleNamespace(
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            metadata=subscription(assignor, member),
        )
        for member in group.members
    ]
    answer = assignor.assign(cluster, members)
    return {
        member_id: sorted((topic, number) for topic, numbers in protocol.assigned_partitions for number in numbers)
        for member_id, protocol in answer.items()
    }


def subscription(assignor: Any, member: MemberSubscription) -> Any:
    if not isinstance(member.user_data, StickyUserData):
        return assignor.metadata(member.topics)
    memory = member.user_data
    held = [
        TopicPartition(memory.layout.names[memory.layout.topic_of[at]], int(memory.layout.number_of[at]))
        for at in memory.owned.tolist()
    ]
    return assignor._metadata(member.topics, held, memory.generation)


def ours(name: str, group: GroupSnapshot) -> Listed:
    return listed(group, create(name).assign(group).lists())


def listed(group: GroupSnapshot, lists: list[Any]) -> Listed:
    topics = group.topics
    return {
        member_id: sorted((topics.names[topics.topic_of[at]], int(topics.number_of[at])) for at in positions.tolist())
        for member_id, positions in zip(group.member_ids, lists, strict=True)
    }


def of_one_sort(group: GroupSnapshot) -> bool:
    """Whether members are all static or all dynamic; kafka-python loses the order where they alternate."""
    return len({member.instance_id is None for member in group.members}) == 1


@given(group=groups(equal=False).filter(of_one_sort))
def test_range_agrees(group: GroupSnapshot) -> None:
    assert ours("range", group) == theirs(RangePartitionAssignor, group)


@given(group=groups(equal=True).filter(of_one_sort))
def test_roundrobin_agrees_with_equal_subscriptions(group: GroupSnapshot) -> None:
    # with unequal ones kafka-python's fails with a KeyError
    assert ours("roundrobin", group) == theirs(RoundRobinPartitionAssignor, group)


def counts_and_moves(group: GroupSnapshot, before: GroupSnapshot, had: Listed, has: Listed) -> tuple[list[int], int]:
    numbers = {name: at for at, name in enumerate({*before.member_ids, *group.member_ids})}
    old, new = owners(before, had), owners(group, has)
    return (
        sorted(map(len, has.values())),
        moved(by_name(old, before.member_ids, numbers), by_name(new, group.member_ids, numbers)),
    )


def owners(group: GroupSnapshot, held: Listed) -> Any:
    owner = np.full(group.topics.n_partitions, -1, np.int32)
    for at, member_id in enumerate(group.member_ids):
        for topic, number in held[member_id]:
            owner[group.topics.position(topic, number)] = at
    return owner


@given(group=groups(equal=True).filter(lambda group: group.n_members > 1))
@settings(max_examples=60)
def test_sticky_gives_as_many_and_moves_as_many(group: GroupSnapshot) -> None:
    living = GroupHistory(lambda: create("sticky"), group)
    before = living.rebalance()
    had = listed(group, before.lists())
    living.change(members=[*living.snapshot.members[1:], MemberSubscription("joiner", group.members[0].topics)])
    after = living.snapshot
    ours_now = listed(after, create("sticky").assign(after).lists())
    assert counts_and_moves(after, group, had, ours_now) == counts_and_moves(
        after, group, had, theirs(StickyPartitionAssignor(), after)
    )


@pytest.mark.parametrize(("members", "topics", "partitions"), [(30, 1, 200), (50, 5, 40)])
def test_sticky_moves_as_many_in_a_larger_group(members: int, topics: int, partitions: int) -> None:
    known = Topics.of({f"topic-{number}": partitions for number in range(topics)})
    group = GroupSnapshot(known, tuple(MemberSubscription(f"c{at:03}", known.names) for at in range(members)))
    living = GroupHistory(lambda: create("sticky"), group)
    had = listed(group, living.rebalance().lists())
    living.change(members=living.snapshot.members[1:])
    after = living.snapshot
    ours_now = listed(after, create("sticky").assign(after).lists())
    their_now = theirs(StickyPartitionAssignor(), after)
    assert counts_and_moves(after, group, had, ours_now) == counts_and_moves(after, group, had, their_now)
