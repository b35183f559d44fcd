"""What a consumer has positions of and does not read: fetches under way, and partitions that it cannot reach."""

from __future__ import annotations

import numpy as np

from groupsim.sim.books.offsets.production import Offsets
from groupsim.sim.client.fetching.awaited_fetches import AwaitedFetches
from groupsim.sim.client.fetching.left_behind import LeftBehind
from groupsim.sim.protocol.messages import Positions


def some(*positions: int) -> Positions:
    return np.array(positions, np.int32)


def at(*offsets: int) -> Offsets:
    return np.array(offsets, np.int64)


def test_a_dropped_partition_is_awaited_no_more_and_others_of_its_fetch_are() -> None:
    awaited = AwaitedFetches()
    first, second = awaited.add(some(0, 1), at(10, 11)), awaited.add(some(2), at(12))
    awaited.drop(some(1, 2))
    assert (first in awaited, second in awaited, len(awaited), awaited.at) == (True, False, 1, {0: 10})


def test_who_seeks_moves_the_positions_of_what_it_awaits_and_of_nothing_else() -> None:
    awaited = AwaitedFetches()
    number = awaited.add(some(0, 1), at(10, 11))
    awaited.seek({1: 5, 2: 7})
    positions, offsets = awaited.take(number)
    assert (positions.tolist(), offsets.tolist(), len(awaited)) == ([0, 1], [10, 5], 0)


def test_who_seeks_moves_the_positions_of_what_it_has_left_behind_and_of_nothing_else() -> None:
    left = LeftBehind(fails_when_truncated=False)
    left.add(some(0, 1), at(10, 11))
    left.seek({1: 5, 2: 7})
    assert left.at == {0: 10, 1: 5}


def test_what_is_read_again_or_given_up_is_left_behind_no_more() -> None:
    left = LeftBehind(fails_when_truncated=False)
    left.add(some(0, 1, 2), at(10, 11, 12))
    left.unknown.update((1, 2))
    left.drop(some(2))
    assert (left.known.tolist(), left.unknown) == ([0], {1})
    assert left.among(some(2, 1, 0)).tolist() == [False, True, True]
    assert (left.take(some(1)).tolist(), left.at) == ([11], {0: 10})
