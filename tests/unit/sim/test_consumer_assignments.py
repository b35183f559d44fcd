"""The books of who is to own what in a group of the consumer protocol."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from groupsim.sim.books.causes import ASSIGNMENT_INTERVAL, HANDOVER
from groupsim.sim.books.consumer_assignments import ConsumerAssignments
from groupsim.sim.protocol.messages import NO_PARTITIONS


class Owners:
    """Who owns three partitions, and why nobody does."""

    def __init__(self) -> None:
        self.owner = np.full(3, -1, np.int32)
        self.waiting: list[tuple[list[int], list[int]]] = []

    def give(self, now: int, handle: int, positions: np.ndarray[Any, Any]) -> None:
        self.owner[positions] = handle

    def take(self, now: int, positions: np.ndarray[Any, Any], causes: np.ndarray[Any, Any]) -> None:
        self.owner[positions] = -1
        self.waiting.append((positions.tolist(), causes.tolist()))


@pytest.fixture
def owners() -> Owners:
    return Owners()


@pytest.fixture
def books(owners: Owners) -> ConsumerAssignments:
    """Member 1 has all three partitions by the coordinator's books."""
    books = ConsumerAssignments(owners)  # type: ignore[arg-type]
    books.cover(3)
    books.reconcile(0, 1, 1, np.arange(3, dtype=np.int32), NO_PARTITIONS)
    return books


def test_what_a_member_that_is_gone_still_owned_waits_and_what_another_one_owns_does_not(
    owners: Owners, books: ConsumerAssignments
) -> None:
    owners.owner[:] = [1, 2, -1]
    books.remove(9, 1)
    assert owners.waiting == [([0, 2], [ASSIGNMENT_INTERVAL] * 2)]
    assert owners.owner.tolist() == [-1, 2, -1]


def test_what_is_in_the_target_of_another_one_waits_for_that(owners: Owners, books: ConsumerAssignments) -> None:
    books.retarget(5, {2: np.array([0], np.int32)})
    owners.waiting.clear()
    books.remove(9, 1)
    assert owners.waiting == [([0, 1, 2], [HANDOVER, ASSIGNMENT_INTERVAL, ASSIGNMENT_INTERVAL])]


def test_a_static_member_that_is_back_has_everything_but_the_epoch(owners: Owners, books: ConsumerAssignments) -> None:
    books.bump(1)
    assert books.is_reported
    books.replace(1, 2)
    assert not books.is_reported
    books.reconcile(9, 2, 1, np.arange(3, dtype=np.int32), NO_PARTITIONS)
    assert books.is_reported
    assert owners.waiting == []
