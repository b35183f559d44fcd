"""Topics, positions, groups and assignments."""

from __future__ import annotations

import numpy as np
import pytest

from groupsim.assignors import (
    Assignment,
    AssignorError,
    GroupSnapshot,
    InvalidSnapshot,
    MemberSubscription,
    Topics,
    positions_of,
)
from groupsim.assignors.core.topics import Racks

ORDERS_USERS = Topics.of({"users": 2, "orders": 3})


def test_positions_count_topics_by_name_and_partitions_by_number() -> None:
    assert ORDERS_USERS.names == ("orders", "users")
    assert ORDERS_USERS.topic_of.tolist() == [0, 0, 0, 1, 1]
    assert ORDERS_USERS.number_of.tolist() == [0, 1, 2, 0, 1]
    assert ORDERS_USERS.position("users", 1) == 4
    assert ORDERS_USERS.label(4) == "users-1"
    assert [ORDERS_USERS.label(at) for at in ORDERS_USERS.by_number] == [
        "orders-0", "users-0", "orders-1", "users-1", "orders-2",
    ]  # fmt: skip


@pytest.mark.parametrize(("topic", "number"), [("users", 2), ("users", -1), ("unknown", 0)])
def test_a_position_of_nothing_is_refused(topic: str, number: int) -> None:
    with pytest.raises(InvalidSnapshot, match=f"no partition {topic}-{number}"):
        ORDERS_USERS.position(topic, number)


def test_positions_are_translated_between_topics_of_different_days() -> None:
    today = Topics.of({"orders": 1, "payments": 2, "users": 4})
    assert today.translation_from(ORDERS_USERS).tolist() == [0, -1, -1, 3, 4]
    assert ORDERS_USERS.translation_from(today).tolist() == [0, -1, -1, 3, 4, -1, -1]


@pytest.mark.parametrize(
    ("names", "counts", "racks", "reason"),
    [
        (("b", "a"), (1, 1), None, "unique and in order, 'a' is not"),
        (("a", "b", "b"), (1, 1, 1), None, "unique and in order, 'b' is not"),
        (("a",), (1, 2), None, "1 topic names but 2 partition counts"),
        (("a", "b"), (1, -1), None, "the partition count of 'b' is negative: -1"),
        (("a", "b"), (2**30, 2**30), None, "2147483648 partitions, a snapshot can have 2147483647"),
        (("a",), (2,), ((),), "racks of 1 partitions given, there are 2"),
    ],
)
def test_topics_that_cannot_be_are_refused(
    names: tuple[str, ...], counts: tuple[int, ...], racks: Racks | None, reason: str
) -> None:
    with pytest.raises(InvalidSnapshot, match=reason):
        Topics(names, counts, racks)


@pytest.mark.parametrize(
    ("rates", "reason"), [((1, 2), "rates of 2 partitions given"), ((0, 1, -5), "the rate of b-1 is negative: -5")]
)
def test_rates_that_cannot_be_are_refused(rates: tuple[int, ...], reason: str) -> None:
    with pytest.raises(InvalidSnapshot, match=reason):
        Topics(("a", "b"), (1, 2), rates=rates)


def test_positions_mean_the_same_under_other_rates() -> None:
    assert Topics(("a",), (2,), rates=(1, 2)) == Topics(("a",), (2,))


def test_two_members_of_one_id_are_refused() -> None:
    one, twin = MemberSubscription("one", ()), MemberSubscription("m", ())
    with pytest.raises(InvalidSnapshot, match="the same id: 'm'"):
        GroupSnapshot(ORDERS_USERS, (twin, one, twin))


def test_equal_subscriptions_are_told_once() -> None:
    both = ("orders", "users")
    subscriptions = [both, ("orders",), tuple(both), ("unknown",)]
    snapshot = GroupSnapshot(
        ORDERS_USERS, tuple(MemberSubscription(str(at), names) for at, names in enumerate(subscriptions))
    )
    assert snapshot.subscriptions.kind_of.tolist() == [0, 1, 0, 2]
    assert snapshot.subscriptions.has.tolist() == [[True, True], [True, False], [False, False]]
    assert snapshot.subscriptions.subscribers(1, positions_of(range(4))).tolist() == [0, 2]


def test_an_assignment_keeps_the_order_of_each_list() -> None:
    assignment = Assignment.of_pairs(ORDERS_USERS, 3, positions_of([2, 0, 2]), positions_of([4, 1, 0]))
    assert [each.tolist() for each in assignment.lists()] == [[1], [], [4, 0]]
    assert assignment.counts.tolist() == [1, 0, 2]
    assert assignment.owner is not None
    assert assignment.owner.tolist() == [2, 0, -1, -1, 2]


def test_an_assignment_with_two_owners_has_no_owner_vector() -> None:
    assignment = Assignment.of_lists(ORDERS_USERS, [[0, 1], [1]])
    assert assignment.shared
    assert assignment.owner is None
    assert [each.tolist() for each in assignment.pairs()] == [[0, 0, 1], [0, 1, 1]]


def test_an_assignment_can_be_read_by_other_topics() -> None:
    smaller = Topics.of({"users": 1})
    assignment = Assignment.of_lists(ORDERS_USERS, [[3, 0], [4]]).within(smaller)
    assert [each.tolist() for each in assignment.lists()] == [[0], []]
    assert assignment.topics is smaller


def test_vectors_cannot_be_changed() -> None:
    assignment = Assignment.of_lists(ORDERS_USERS, [[0]])
    with pytest.raises(ValueError, match="read-only"):
        assignment.flat[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        ORDERS_USERS.topic_of[0] = np.int32(1)


COUNTS = {"users": 2, "orders": 3}
LISTS = {
    "b": (["orders", "users"], [("users", 1), ("orders", 0)]),
    "a": (["users"], []),
    "c": (["nowhere"], [("orders", 2)]),
}


def test_a_group_of_plain_lists_is_that_of_its_members() -> None:
    group = GroupSnapshot.of_lists(COUNTS, LISTS, generation=7)
    assert group.topics == ORDERS_USERS
    for member, (name, (topics, owned)) in zip(group.members, LISTS.items(), strict=True):
        one = MemberSubscription(
            name, tuple(topics), positions_of([ORDERS_USERS.position(*each) for each in owned]), generation=7
        )
        assert repr(member) == repr(one)
    assert (GroupSnapshot.of_lists({}, {}).members, GroupSnapshot.of_lists(COUNTS, {}).n_members) == ((), 0)


def test_members_that_share_a_list_of_topics_share_a_tuple() -> None:
    names = ["orders"]
    group = GroupSnapshot.of_lists(COUNTS, {"a": (names, ()), "b": (names, ()), "c": (["orders"], ())})
    first, second, third = (member.topics for member in group.members)
    assert first is second is not third == first


def test_an_assignment_becomes_plain_lists_again() -> None:
    assignment = Assignment.of_lists(ORDERS_USERS, [[4, 0], [], [2, 1]])
    assert assignment.plain("bac") == {
        "b": [("users", 1), ("orders", 0)], "a": [], "c": [("orders", 2), ("orders", 1)],
    }  # fmt: skip
    turned = Assignment(ORDERS_USERS, positions_of([4, 0, 2]), np.array([2, 0]), np.array([3, 2]))
    assert turned.plain("ab") == {"a": [("orders", 2)], "b": [("users", 1), ("orders", 0)]}


@pytest.mark.parametrize(
    ("owned", "reason"),
    [
        ([("orders", 3)], "no partition orders-3"),
        ([("orders", 0), ("orders", -1)], "no partition orders--1"),
        ([("nowhere", 0)], "no partition nowhere-0"),
        ([("orders", 0.5)], "pairs of topic and number"),
        ([("orders", 2**40)], "pairs of topic and number"),
        (["o"], "pairs of topic and number"),
        ([3], "pairs of topic and number"),
        ([(["orders"], 0)], "pairs of topic and number"),
    ],
)
def test_plain_lists_of_what_there_is_not_are_refused(owned: list[object], reason: str) -> None:
    with pytest.raises(InvalidSnapshot, match=reason):
        GroupSnapshot.of_lists(COUNTS, {"a": (["orders"], owned)})  # type: ignore[dict-item]


@pytest.mark.parametrize("members", [{1: ([], [])}, {"a": ()}, {"a": 3}, {"a": ([], 3)}, {"a": (3, [])}, 3])
def test_members_that_are_no_plain_lists_are_refused(members: object) -> None:
    with pytest.raises(InvalidSnapshot):
        GroupSnapshot.of_lists(COUNTS, members)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "values", [[0, 1], (0, 1), iter([0, 1]), np.array([0, 1], dtype=np.int64), [np.int8(0), 1], [0, True]]
)
def test_positions_are_taken_from_whatever_yields_whole_numbers(values: object) -> None:
    found = positions_of(values)  # type: ignore[arg-type]
    assert (found.tolist(), found.dtype, found.flags.writeable) == ([0, 1], np.int32, False)


@pytest.mark.parametrize(
    "values",
    [
        [0, 0.5],
        [0.5],
        [True, False],
        np.array([True]),
        np.array([[0]]),
        [2**31],
        [0, 2**70],
        [0, "1"],
        [0, None],
        [[0], [1, 2]],
        3,
    ],
)
def test_what_is_no_position_is_refused(values: object) -> None:
    with pytest.raises(AssignorError, match="positions must be"):
        positions_of(values)  # type: ignore[arg-type]


def test_positions_of_a_vector_are_a_copy_of_it() -> None:
    vector = np.array([1, 2], dtype=np.int32)
    positions_of(vector)
    vector[0] = 3
    assert vector.tolist() == [3, 2]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("member_id", 3), ("topics", ["t"]), ("owned", [0]), ("owned", np.array([[0]], dtype=np.int32)),
        ("owned", np.array([0.5])), ("generation", True), ("generation", 2**31), ("generation", 1.5),
        ("instance_id", 3), ("rack", 3), ("layout", 3), ("capacity", 1.5), ("capacity", True),
    ],
)  # fmt: skip
def test_a_members_field_of_another_type_is_named(name: str, value: object) -> None:
    fields: dict[str, object] = {"member_id": "m", "topics": ("t",)} | {name: value}
    with pytest.raises(InvalidSnapshot, match=f"{name} of member"):
        MemberSubscription(**fields)  # type: ignore[arg-type]
