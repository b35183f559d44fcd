"""The most balanced counts, kind by kind."""

from __future__ import annotations

import numpy as np

from groupsim.assignors.own.fair_counts import FairCounts, fair_counts


def fair(subscribed: list[str], partitions: list[int], members: list[int]) -> FairCounts:
    """Kinds of subscription written as strings of marks, `x` where they subscribe to an audience's topics."""
    rows = [[mark == "x" for mark in row] for row in subscribed]
    return fair_counts(np.array(rows), np.array(partitions), np.array(members))


def test_one_kind_shares_evenly() -> None:
    found = fair(["x"], [11], [4])
    assert (found.low.tolist(), found.block.tolist(), found.extras.tolist()) == ([2], [0], [3])


def test_kinds_that_can_be_evened_out_are_one_block() -> None:
    found = fair(["xx", "x."], [6, 3], [2, 1])
    assert (found.low.tolist(), found.extras.tolist()) == ([3, 3], [0])
    assert found.may_take.tolist() == [[True, True], [True, False]]


def test_who_has_too_much_that_others_may_not_have_is_a_block_alone() -> None:
    """The first kind alone subscribes to nine partitions, so the two others get all of what is shared."""
    found = fair(["xx", ".x"], [9, 4], [1, 2])
    assert found.low.tolist() == [9, 2]
    assert found.block[0] != found.block[1]
    assert found.may_take.tolist() == [[True, False], [False, True]]


def test_who_may_have_too_little_gets_all_of_it() -> None:
    found = fair(["xx", ".x", ".."], [20, 8], [1, 2, 3])
    assert found.low.tolist() == [20, 4, 0]
    assert not found.may_take[0, 1]


def test_who_misses_the_common_level_by_one_is_a_block_alone() -> None:
    """Nine over four would be two each and one more; the first has one, without anybody else having to have four."""
    found = fair(["x.", ".x"], [1, 8], [1, 3])
    assert (found.low.tolist(), found.extras[found.block].tolist()) == ([1, 2], [0, 2])


def test_who_exceeds_the_common_level_by_two_is_a_block_alone() -> None:
    """Eleven over four would be two each and three more; the first has four, and the others still reach two."""
    found = fair(["x.", ".x"], [4, 7], [1, 3])
    assert (found.low.tolist(), found.extras[found.block].tolist()) == ([4, 2], [0, 1])


def test_extras_are_counted_for_each_block() -> None:
    found = fair(["x.", ".x"], [7, 30], [2, 4])
    extras = found.extras[found.block].tolist()
    assert (found.low.tolist(), extras) == ([3, 7], [1, 2])


def test_topics_nobody_subscribes_to_are_nobodys() -> None:
    found = fair(["x."], [3, 99], [2])
    assert (found.low.tolist(), found.extras.tolist()) == ([1], [1])
