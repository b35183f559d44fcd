"""weighted: rates spread over capacities, starting from what is owned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from groupsim.assignors.core.errors import InvalidSnapshot
from groupsim.assignors.core.interface import Promise
from groupsim.assignors.core.snapshot import GroupSnapshot, Positions
from groupsim.assignors.own.load_board import LoadBoard
from groupsim.assignors.own.load_target import within
from groupsim.assignors.own.past_owners import RememberingAssignor
from groupsim.assignors.own.workload import Peak, Workload


class WeightedAssignor(RememberingAssignor):
    """Keeps the largest load over capacity small, and moves nothing that does not lower it.

    Members keep what they own. What nobody owns is given out longest first: the partition of the highest rate to the
    subscriber that then has the least load over capacity. After that the member with the most load over capacity gives
    up its heaviest partition that leaves somebody else with less than it had itself, again and again, until the largest
    load cannot be lowered by moving one partition. On a group that owns nothing this is the longest-first greedy.

    What was owned can stand in the way: where that greedy, starting from nothing, comes to a smaller largest load, more
    moves: members that carry more than that give away or swap partitions, the fewest that are found; where no swaps
    are found that suffice, members take the greedy's shares, those of equal members dealt so that much stays. What
    need not move for it goes back. So the largest load is never above the greedy's, and nothing moves unless that
    lowers it; a newcomer gets nothing if that would not. In a large group of many different rates the greedy is very
    even: who joins or leaves can set hundreds of partitions in motion, where no swaps suffice most of them.

    Rates are those of the snapshot's topics, capacities those of its members: whole numbers, compared exactly. Without
    rates, or if all are 0, every partition counts 1; without capacities every member does. Ties go by number of
    partitions, then by name: members by id and partitions by topic and number.

    Kafka has no such assignor.
    """

    name: ClassVar[str] = "weighted"
    needs_loads: ClassVar[bool] = True
    promises: ClassVar[frozenset[Promise]] = frozenset(
        {Promise.EXCLUSIVE, Promise.COMPLETE, Promise.STEADY, Promise.ANY_ORDER}
    )
    exceptions: ClassVar[Mapping[Promise, str]] = {
        Promise.BALANCED: "loads are evened out, not counts, and only the largest is lowered",
        Promise.BALANCED_PER_TOPIC: "loads are evened out over all topics together",
        Promise.STICKY: "other counts may need fewer moves: loads decide",
    }

    def owners(self, group: GroupSnapshot, before: Positions) -> Positions:
        """Give out what nobody owns and relieve whoever has most; see `RememberingAssignor.owners`.

        Raises
        ------
        InvalidSnapshot
            Some members have a capacity and some have none, or one is not positive.
        """
        return np.array(weighed(group, before.tolist()).owner, dtype=np.int32)


@dataclass(frozen=True, slots=True)
class Weighed:
    """What the rules came to, one after the other; lists are owners of each position, -1 for nobody.

    Parameters
    ----------
    work : Workload
    before : list of int
    filled : list of int
        After what nobody had was given out.
    relieved : list of int
        After moves one by one.
    target : Peak or None
        Largest load of the greedy that starts from nothing, where that is smaller.
    owner : list of int
        In the end.
    """

    work: Workload
    before: list[int]
    filled: list[int]
    relieved: list[int]
    target: Peak | None
    owner: list[int]


def weighed(group: GroupSnapshot, before: list[int]) -> Weighed:
    """Carry out the rules; parameters and errors as for `WeightedAssignor.owners`."""
    topics = group.topics
    weights = topics.rates if topics.rates and any(topics.rates) else (1,) * topics.n_partitions
    work = Workload(group.subscriptions, topics.topic_of, weights, _capacities(group))
    board = _filled(work, before)
    filled = list(board.owner)
    board.relieve()
    relieved = board.owner
    # from nothing this is the greedy itself; and where nothing can be lower, the greedy is not either
    if before.count(-1) == len(before) or work.is_least(peak := work.peak(relieved)):
        return Weighed(work, before, filled, relieved, None, relieved)
    fresh = _filled(work, [-1] * len(before)).owner
    target = work.peak(fresh)
    if not work.is_above(peak, target):
        return Weighed(work, before, filled, relieved, None, relieved)
    board = LoadBoard(work, within(work, before, relieved, fresh))
    board.relieve()
    return Weighed(work, before, filled, relieved, target, board.owner)


def _filled(work: Workload, owner: Sequence[int]) -> LoadBoard:
    """What nobody has given out longest first."""
    board = LoadBoard(work, list(owner))
    board.fill(work.longest_first([position for position in work.wanted if owner[position] < 0]))
    return board


def _capacities(snapshot: GroupSnapshot) -> list[int]:
    given = [member.capacity for member in snapshot.members]
    if all(capacity is None for capacity in given):
        return [1] * len(given)
    for member_id, capacity in zip(snapshot.member_ids, given, strict=True):
        if capacity is None:
            raise InvalidSnapshot(f"{member_id!r} has no capacity, others have one")
        if capacity <= 0:
            raise InvalidSnapshot(f"the capacity of {member_id!r} is not positive: {capacity}")
    return [capacity for capacity in given if capacity is not None]
