"""The checks catch assignors that break them."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import numpy as np
import pytest

from groupsim.assignors import (
    Assignment,
    Assignor,
    BroadcastAssignor,
    GroupSnapshot,
    InvalidAssignment,
    InvalidSnapshot,
    MemberSubscription,
    Promise,
    Protocol,
    RangeAssignor,
    RoundRobinAssignor,
    StickyAssignor,
)
from groupsim.assignors.evaluation.conformance import check_assignor, example_groups


class Lopsided(Assignor):
    """Everything to the first member."""

    name: ClassVar[str] = "lopsided"
    promises: ClassVar[frozenset[Promise]] = frozenset({Promise.BALANCED, Promise.ANY_ORDER})

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        everything = np.arange(snapshot.topics.n_partitions)
        return Assignment.of_lists(snapshot.topics, [everything, *([] for _ in snapshot.members[1:])])


class ByArrival(Lopsided):
    """Balanced, but by who came first."""

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        everything = np.arange(snapshot.topics.n_partitions, dtype=np.int32)
        owners = everything % snapshot.n_members
        return Assignment.of_pairs(snapshot.topics, snapshot.n_members, owners, everything)


class Forgetful(RangeAssignor):
    """Leaves the last partition out."""

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        members, positions = super().assign(snapshot).pairs()
        return Assignment.of_pairs(snapshot.topics, snapshot.n_members, members[:-1], positions[:-1])


class Doubling(RangeAssignor):
    """Gives the first partition to two members."""

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        lists = [each.tolist() for each in super().assign(snapshot).lists()]
        return Assignment.of_lists(snapshot.topics, [*lists[:-1], sorted({0, *lists[-1]})])


class Boastful(RoundRobinAssignor):
    """Says it is sticky."""

    promises: ClassVar[frozenset[Promise]] = RoundRobinAssignor.promises | {Promise.STICKY}


class Moody(StickyAssignor):
    """Takes turns in two ways."""

    calls = 0

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        Moody.calls += 1
        return super().assign(snapshot) if Moody.calls % 2 else RangeAssignor().assign(snapshot)


class Restless(RangeAssignor):
    """Turns its answer round in every generation."""

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        odd = max((member.generation or 0 for member in snapshot.members), default=0) % 2
        lists = super().assign(snapshot).lists()
        return Assignment.of_lists(snapshot.topics, lists[::-1] if odd else lists)


class Hasty(StickyAssignor):
    """Lets members keep what they own, and gives it to others at once."""

    protocols: ClassVar[tuple[Protocol, ...]] = (Protocol.COOPERATIVE,)


class FirstCome(ByArrival):
    """Says that who came first decides."""

    promises: ClassVar[frozenset[Promise]] = frozenset({Promise.BALANCED})


class Broken(FirstCome):
    """Throws when one more has joined."""

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        if snapshot.n_members > 3:
            raise KeyError("consumer-4")
        return super().assign(snapshot)


class Speechless(Lopsided):
    """Answers nothing."""

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        return None  # type: ignore[return-value]


class Sharing(Lopsided):
    """Says it is sticky, and gives everybody everything."""

    promises: ClassVar[frozenset[Promise]] = frozenset({Promise.STICKY})

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        return BroadcastAssignor().assign(snapshot)


class Leaving(Lopsided):
    """Ends the program."""

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        raise SystemExit(3)


class Cancelled(Lopsided):
    """Throws what is no Exception."""

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        raise asyncio.CancelledError


class Unmade(Lopsided):
    """Cannot be made."""

    def __init__(self) -> None:
        raise OSError("no such file")


class Counting(FirstCome):
    """Remembers how small a group was."""

    fewest = 99

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        Counting.fewest = min(Counting.fewest, snapshot.n_members)
        return super().assign(snapshot)


@pytest.mark.parametrize(
    ("wrong", "check"),
    [
        (Lopsided, "shares_are_even"),
        (ByArrival, "order_of_joining_does_not_matter"),
        (Forgetful, "nothing_is_left_out"),
        (Doubling, "partitions_have_one_owner"),
        (Boastful, "survivors_take_over"),
        (Broken, "newcomers_get_a_share: KeyError: 'consumer-4' .*; group GroupSnapshot"),
        (Speechless, "answers_are_valid: the answer is a NoneType, no Assignment; group"),
        (Sharing, "lopsided: survivors_take_over: .* has two owners; group"),
        (Leaving, "answers_are_valid: SystemExit: 3; group"),
        (Cancelled, "answers_are_valid: CancelledError: ; group"),
        (Unmade, "Unmade: answers_are_valid: OSError: no such file; group"),
        (Moody, "equal_input_equal_answer"),
        (Restless, "a_rebalance_without_a_reason_moves_nothing"),
        (Hasty, "nothing_is_given_before_it_is_revoked: 'newcomer' got .* while 'consumer-.' owns it"),
    ],
)
def test_wrong_assignors_are_caught(wrong: type[Assignor], check: str) -> None:
    group = next(group for group in example_groups() if group.n_members == 3 and group.subscriptions.equal)
    with pytest.raises(InvalidAssignment, match=check):
        check_assignor(wrong, group)


def test_a_failure_shows_the_group() -> None:
    group = next(iter(example_groups()))
    two = GroupSnapshot(group.topics, (*group.members, MemberSubscription("second", group.topics.names)))
    with pytest.raises(InvalidAssignment, match=r"GroupSnapshot\(Topics\(names=\('orders',\).*'second'"):
        check_assignor(Lopsided, two)


def equal_groups() -> list[GroupSnapshot]:
    return [group for group in example_groups() if group.subscriptions.equal]


def test_who_came_first_may_decide_if_the_class_says_so() -> None:
    for group in equal_groups():
        check_assignor(FirstCome, group)


def test_nobody_is_asked_of_a_group_without_members() -> None:
    for group in equal_groups():
        check_assignor(Counting, group)
    assert Counting.fewest == 1
    with pytest.raises(InvalidSnapshot, match="without members"):
        check_assignor(Counting, GroupSnapshot(next(iter(example_groups())).topics, ()))
