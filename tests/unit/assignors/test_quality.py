"""Moves and balance; the numbers of the last tests were measured with Kafka's own classes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from groupsim.assignors import Assignment, GroupSnapshot, MemberSubscription, Topics, create, positions_of
from groupsim.assignors.evaluation.group_history import GroupHistory
from groupsim.assignors.evaluation.quality import (
    by_name,
    cross_rack_rate,
    cross_rack_share,
    imbalance,
    minimal_moves,
    moved,
    moved_mask,
    ownable,
)


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


def test_unequal_subscriptions_can_need_more_moves_than_counts_tell() -> None:
    """c joins and may have t alone: of a's partitions of t none can stay, nor does b's take their place."""
    topics = Topics.of({"t": 2, "u": 2})
    members = [MemberSubscription(name, names) for name, names in (("a", ("t", "u")), ("b", ("u",)), ("c", ("t",)))]
    may_own = ownable(GroupSnapshot(topics, tuple(members)), {"a": 0, "b": 1, "c": 2, "gone": 3})
    assert may_own.astype(int).tolist() == [[1, 1, 1, 1], [0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0]]
    before, after = positions_of([0, 0, 1, 1]), positions_of([2, 2, 0, 1])
    assert minimal_moves(before, after, may_own) == 3
    assert minimal_moves(before, after) == 2


def test_a_departed_owners_partitions_must_move() -> None:
    may_own = np.array([[True, True, True], [True, False, True], [False, False, False]])
    assert minimal_moves(positions_of([2, 2, 0]), positions_of([1, 0, 0]), may_own) == 2
    may_own[1, 0] = False
    assert minimal_moves(positions_of([2, 2, 0]), positions_of([0, 0, 1]), may_own) == 3


def test_who_already_has_what_it_may_not_have_is_no_contradiction() -> None:
    may_own = np.array([[False, True], [True, True]])
    assert minimal_moves(positions_of([1, 1]), positions_of([0, 0]), may_own) == 2


def led_and_read(leaders: str, readers: str) -> GroupSnapshot:
    """One topic with leaders in these racks, followers elsewhere, and a member in each reading rack; `-`: unknown."""
    racks = tuple((None if rack == "-" else rack, "elsewhere") for rack in leaders)
    members = [MemberSubscription(f"m{at}", ("t",), rack=rack.strip("-")) for at, rack in enumerate(readers)]
    return GroupSnapshot(Topics(("t",), (len(leaders),), racks), tuple(members))


@pytest.mark.parametrize(
    ("leaders", "readers", "share"), [("aab", "ab", 1 / 3), ("bbb", "aa", 1.0), ("aaa", "ab", 2 / 3), ("a-b", "a-", 0)]
)
def test_the_cross_rack_share_counts_leaders_in_other_racks(leaders: str, readers: str, share: float) -> None:
    """The first member reads the first partition, the second member the others; unknown racks are left out."""
    snapshot = led_and_read(leaders, readers)
    assert cross_rack_share(snapshot, Assignment.of_lists(snapshot.topics, [[0], [1, 2]])) == pytest.approx(share)


def test_the_cross_rack_share_is_one_of_rates_where_they_are_known() -> None:
    plain = led_and_read("aab", "ab")
    snapshot = GroupSnapshot(replace(plain.topics, rates=(1, 6, 3)), plain.members)
    assert cross_rack_share(snapshot, Assignment.of_lists(snapshot.topics, [[0], [1, 2]])) == pytest.approx(0.6)


@pytest.mark.parametrize(("leaders", "readers"), [("--", "ab"), ("ab", "--")])
def test_without_known_racks_there_is_no_cross_rack_share(leaders: str, readers: str) -> None:
    snapshot = led_and_read(leaders, readers)
    assert np.isnan(cross_rack_share(snapshot, Assignment.of_lists(snapshot.topics, [[0], [1]])))


def test_the_rate_across_racks_is_told_where_rates_are_known() -> None:
    plain = led_and_read("aab", "ab")
    snapshot = GroupSnapshot(replace(plain.topics, rates=(1, 6, 3)), plain.members)
    assert cross_rack_rate(snapshot, Assignment.of_lists(snapshot.topics, [[0], [1, 2]])) == 6
    assert np.isnan(cross_rack_rate(plain, Assignment.of_lists(plain.topics, [[0], [1, 2]])))


def test_everybodys_reading_counts_for_the_cross_rack_share() -> None:
    snapshot = led_and_read("aab", "ab")
    assert cross_rack_share(snapshot, create("broadcast").assign(snapshot)) == 0.5


def test_imbalance_is_the_largest_minus_the_smallest() -> None:
    assert imbalance(np.array([3, 1, 2])) == 2
    assert imbalance(np.array([], dtype=np.int64)) == 0


def rebalanced_without(name: str, members: int, topics: int, partitions: int, leaver: int) -> tuple[int, int]:
    """Moved partitions, and the fewest possible, when one member of a full group leaves."""
    known = Topics.of({f"topic-{number:03}": partitions for number in range(topics)})
    group = GroupSnapshot(known, tuple(MemberSubscription(f"c{at:05}", known.names) for at in range(members)))
    living = GroupHistory(lambda: create(name), group)
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
