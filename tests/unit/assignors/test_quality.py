"""Moves and balance; the numbers of the last tests were measured with Kafka's own classes."""

from __future__ import annotations

import numpy as np
import pytest

from assignors import Assignment, GroupSnapshot, MemberSubscription, Topics, create, positions_of
from assignors.living_group import LivingGroup
from assignors.quality import by_name, imbalance, minimal_moves, moved, moved_mask


def test_a_partition_moves_from_one_owner_to_another() -> None:
    before, after = positions_of([0, 1, -1, 2, 2]), positions_of([0, 2, 1, -1, 2])
    assert moved_mask(before, after).tolist() == [False, True, False, False, False]
    assert moved(before, after) == 1


def test_owners_are_compared_by_name() -> None:
    numbers = {"a": 0, "b": 1, "c": 2}
    assert by_name(positions_of([1, 0, -1]), ("c", "a"), numbers).tolist() == [0, 2, -1]


@pytest.mark.parametrize(
    ("before", "after", "least"),
    [
        ([0, 0, 1, 1], [0, 0, 1, 1], 0),
        ([0, 0, 1, 1], [1, 1, 0, 0], 0),
        ([0, 0, 1, 1], [0, 1, 2, 2], 2),
        ([0, 0, 0, -1], [0, 0, 1, 1], 1),
        ([-1, -1, 0, 0], [0, 0, -1, -1], 0),
        ([], [], 0),
    ],
)
def test_the_fewest_moves_for_the_same_counts(before: list[int], after: list[int], least: int) -> None:
    assert minimal_moves(positions_of(before), positions_of(after)) == least


def test_imbalance_is_the_largest_minus_the_smallest() -> None:
    assert imbalance(np.array([3, 1, 2])) == 2
    assert imbalance(np.array([], dtype=np.int64)) == 0


def rebalanced_without(name: str, members: int, topics: int, partitions: int, leaver: int) -> tuple[int, int]:
    """Moved partitions, and the fewest possible, when one member of a full group leaves."""
    known = Topics.of({f"topic-{number:03}": partitions for number in range(topics)})
    group = GroupSnapshot(known, tuple(MemberSubscription(f"c{at:05}", known.names) for at in range(members)))
    living = LivingGroup(lambda: create(name), group)
    before = living.rebalance()
    living.change(members=[member for at, member in enumerate(living.snapshot.members) if at != leaver])
    numbers = {member_id: at for at, member_id in enumerate(group.member_ids)}
    was = owners(before, group, numbers)
    after = living.rebalance()
    is_now = owners(after, living.snapshot, numbers)
    return moved(was, is_now), minimal_moves(was, is_now)


def owners(assignment: Assignment, group: GroupSnapshot, numbers: dict[str, int]) -> np.ndarray:
    assert assignment.owner is not None
    return by_name(assignment.owner, group.member_ids, numbers)


@pytest.mark.parametrize(
    ("name", "shape", "expected"),
    [
        ("range", (100, 1, 1000), [(55, 10), (455, 10), (945, 10)]),
        ("range", (40, 1, 200), [(15, 5), (90, 5), (185, 5)]),
        ("range", (12, 3, 12), [(3, 3), (18, 3), (33, 3)]),
        ("roundrobin", (100, 1, 1000), [(1000, 10), (950, 10), (901, 10)]),
        ("sticky", (100, 1, 1000), [(10, 10)] * 3),
        ("sticky", (40, 1, 200), [(5, 5)] * 3),
        ("cooperative-sticky", (100, 1, 1000), [(10, 10)] * 3),
    ],
)
def test_moves_depend_on_who_leaves(name: str, shape: tuple[int, int, int], expected: list[tuple[int, int]]) -> None:
    leavers = (0, shape[0] // 2, shape[0] - 1)
    assert [rebalanced_without(name, *shape, leaver) for leaver in leavers] == expected


@pytest.mark.parametrize(
    ("shape", "by_range", "by_roundrobin", "by_sticky"),
    [((100, 10, 100), 10, 1000, 10), ((500, 1, 2000), 10, 2000, 4), ((1000, 100, 100), 10_000, 10_000, 10)],
)
def test_moves_when_the_first_member_leaves(
    shape: tuple[int, int, int], by_range: int, by_roundrobin: int, by_sticky: int
) -> None:
    assert rebalanced_without("range", *shape, 0)[0] == by_range
    assert rebalanced_without("roundrobin", *shape, 0)[0] == by_roundrobin
    assert rebalanced_without("sticky", *shape, 0)[0] == by_sticky
    assert rebalanced_without("cooperative-sticky", *shape, 0)[0] == by_sticky
