"""Evening out one topic between its subscribers."""

from __future__ import annotations

import numpy as np

from groupsim.assignors.core.topics import Positions
from groupsim.assignors.server.table_sizes import Sizes

NOBODY = -1


def ranked_by_load(subscribers: Positions, size: Sizes) -> tuple[Positions, Sizes]:
    """Subscribers by what they have and by number, and what they have.

    Parameters
    ----------
    subscribers : ndarray of int32
        Numbers of members, ascending; at least one.
    size : ndarray of int64, shape (n_members,)
        Partitions of each member.

    Source: UniformHeterogeneousAssignmentBuilder, `memberComparator`, Kafka 4.4.
    """
    loads, members = np.divmod(np.sort(size[subscribers] * len(size) + subscribers), len(size))
    return members.astype(np.int32), loads


def least_loaded(subscribers: Positions, size: Sizes, count: int) -> Positions:
    """Who gets each of `count` partitions if the least loaded subscriber always gets the next one.

    Subscribers are ranked once. In every round those get one, in that order, that have no more by then than the first.
    Parameters as for `ranked_by_load`.

    Source: UniformHeterogeneousAssignmentBuilder.MemberAssignmentBalancer.nextLeastLoadedMember, Kafka 4.4.
    """
    ranked, loads = ranked_by_load(subscribers, size)
    n_rounds = min(count, int(loads[-1] - loads[0]) + -(-count // len(ranked)))
    width = np.searchsorted(loads, loads[0] + np.arange(n_rounds), side="right")
    width = width[: int(np.searchsorted(np.cumsum(width), count)) + 1]
    turn = np.arange(int(width.sum())) - np.repeat(np.cumsum(width) - width, width)
    takers: Positions = ranked[turn[:count]]
    return takers


class MemberBalancer:
    """Takes from those with most and gives to those with least, from both ends of a ranking towards its middle.

    The ranking stays as it was while loads change. Subscribers are numbered by it.

    Parameters
    ----------
    loads : list of int
        Partitions of each subscriber, ascending.
    stacks : list of list of int
        Numbers of the topic's partitions that each has, ascending.

    Attributes
    ----------
    loads : list of int
        What they have by now.

    Source: UniformHeterogeneousAssignmentBuilder.MemberAssignmentBalancer, Kafka 4.4.
    """

    def __init__(self, loads: list[int], stacks: list[list[int]]) -> None:
        self.loads = loads
        self._stacks = stacks
        self._ranking = list(range(len(loads)))
        self._least_end, self._least_load, self._next_least = 0, loads[0] - 1, 0
        self._most_start = self._most_end = len(loads)
        self._most_load, self._next_most = loads[-1] + 1, len(loads) - 1

    def moves(self) -> list[tuple[int, int, int]]:
        """Move partitions until this topic cannot even out anything any more: number, giver and taker of each.

        Source: UniformHeterogeneousAssignmentBuilder.balanceTopic, Kafka 4.4. Whether that is so is asked again after
        both ends have advanced, and then the partition at hand stays.
        """
        moved: list[tuple[int, int, int]] = []
        while not self._balanced():
            giver = self._most()
            while giver != NOBODY and not self._stacks[giver]:
                self._exclude()
                giver = self._most()
            if giver == NOBODY:
                break
            number, taker = self._stacks[giver].pop(), self._least()
            if self._balanced():
                break
            self.loads[giver] -= 1
            self.loads[taker] += 1
            moved.append((number, giver, taker))
        return moved

    def _balanced(self) -> bool:
        return self._most_load - self._least_load <= 1

    def _least(self) -> int:
        """The next of those that have the least."""
        if self._next_least >= self._least_end:
            self._least_load += 1
            while self._least_end < len(self.loads) and self._load_at(self._least_end) == self._least_load:
                self._least_end += 1
            self._next_least = 0
        self._next_least += 1
        return self._ranking[self._next_least - 1]

    def _most(self) -> int:
        """The next of those that have the most, `NOBODY` if none are left."""
        if self._next_most < self._most_start:
            if self._most_start > 0 and self._most_end <= self._most_start:
                self._most_load = self._load_at(self._most_start - 1)
            else:
                self._most_load -= 1
            while self._most_start > 0 and self._load_at(self._most_start - 1) == self._most_load:
                self._most_start -= 1
            self._next_most = self._most_end - 1
        if self._next_most < 0:
            return NOBODY
        self._next_most -= 1
        return self._ranking[self._next_most + 1]

    def _exclude(self) -> None:
        """Leave the one out that came last as having the most."""
        at, end = self._next_most + 1, self._most_end - 1
        self._ranking[at], self._ranking[end] = self._ranking[end], self._ranking[at]
        self._most_end = end

    def _load_at(self, place: int) -> int:
        return self.loads[self._ranking[place]]
