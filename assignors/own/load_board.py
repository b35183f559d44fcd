"""Partitions of unequal weight on members of unequal capacity."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence

import numpy as np

from groupsim.assignors.java.sorting import stable_order
from groupsim.assignors.own.load_ranking import LoadRanking
from groupsim.assignors.own.workload import Workload


class LoadBoard:
    """Who has which partitions, and how much each member has to carry.

    Where loads over capacity are equal, the member with fewer partitions for its capacity counts as the lighter one:
    one partition weighs a little more than its weight, too little to outweigh any real difference.

    Parameters
    ----------
    work : Workload
    owner : list of int
        Member that has each position, -1 for nobody. Changed in place.
    """

    def __init__(self, work: Workload, owner: list[int]) -> None:
        self.owner = owner
        self._weights, self._capacities = work.weights, work.capacities
        self._unit = len(owner) * max(work.capacities, default=1) + 1
        self._loads = [0] * len(work.capacities)
        for position, member in enumerate(owner):
            if member >= 0:
                self._loads[member] += work.weights[position] * self._unit + 1
        self._kinds = work.kind_of
        self._lightest = LoadRanking(self._loads, work.capacities, self._kinds, sign=1)
        self._takers = [self._lightest.heaps_of(column) for column in work.table.has.T]
        self._topic_of = work.topic_of

    def fill(self, positions: Sequence[int]) -> None:
        """Give positions that nobody has, one after the other, each to whom it burdens least."""
        weights, unit, owner = self._weights, self._unit, self.owner
        loads = [weights[position] * unit + 1 for position in positions]
        topics = list(map(self._topic_of.__getitem__, positions))
        if {self._takers[topic] for topic in set(topics)} == {tuple(self._lightest.heaps)}:
            takers = self._lightest.burden_alike(loads)
        else:
            takers = list(map(self._lightest.burden, map(self._takers.__getitem__, topics), loads))
        for position, taker in zip(positions, takers, strict=True):
            owner[position] = taker

    def relieve(self) -> None:
        """Take partitions from whoever carries most, the heaviest first, as long as that lowers the largest load.

        Several members can carry the most. What was taken from some of them goes back if one of them cannot be
        relieved.
        """
        heaviest = LoadRanking(self._loads, self._capacities, self._kinds, sign=-1)
        held = _Hands(self.owner, self._weights, len(self._loads))
        moves: list[tuple[int, int, int]] = []  # since the largest load was lowered
        largest = donor = heaviest.first(heaviest.heaps)
        load = self._loads[largest] // self._unit
        while (relief := self._relief(donor, held[donor])) is not None:
            position, taker = relief
            self._move(position, donor, taker, held)
            heaviest.refresh(donor)
            heaviest.refresh(taker)
            moves.append((position, donor, taker))
            donor = heaviest.first(heaviest.heaps)
            if self._below(donor, 0, largest, load):
                largest, load = donor, self._loads[donor] // self._unit
                moves.clear()
        for position, giver, taker in reversed(moves):
            self._move(position, taker, giver, held)

    def _relief(self, donor: int, held: list[tuple[int, int]]) -> tuple[int, int] | None:
        """The heaviest partition that leaves somebody else with less than the donor has, and who that is."""
        load, tried = self._loads[donor] // self._unit, set()
        for negated, position in held:
            takers = self._takers[self._topic_of[position]]
            if negated < 0 and (negated, takers) not in tried:
                tried.add((negated, takers))
                taker = self._lightest.first(takers, -negated * self._unit + 1)
                if self._below(taker, -negated, donor, load):
                    return position, taker
        return None

    def _below(self, member: int, extra: int, other: int, load: int) -> bool:
        """Whether a member with so much more has less than another with this load, for their capacities."""
        mine = self._loads[member] // self._unit + extra
        return mine * self._capacities[other] < load * self._capacities[member]

    def _move(self, position: int, giver: int, taker: int, held: _Hands) -> None:
        load = self._weights[position] * self._unit + 1
        self.owner[position] = taker
        self._loads[giver] -= load
        self._loads[taker] += load
        self._lightest.refresh(giver)
        self._lightest.refresh(taker)
        held[giver].remove((-self._weights[position], position))
        insort(held[taker], (-self._weights[position], position))


class _Hands(dict[int, list[tuple[int, int]]]):
    """Members' partitions as negated weight and position, the heaviest first; laid out for whom somebody asks.

    Parameters
    ----------
    owner, weights : sequence of int
        Member that has each position now, and what that weighs.
    n_members : int
    """

    def __init__(self, owner: Sequence[int], weights: Sequence[int], n_members: int) -> None:
        super().__init__()
        owners = np.array(owner, dtype=np.int32)
        self._weights, self._positions = weights, stable_order(owners + 1, n_members + 1)
        self._ends = np.cumsum(np.bincount(owners + 1, minlength=n_members + 1))

    def __missing__(self, member: int) -> list[tuple[int, int]]:
        mine = self._positions[self._ends[member] : self._ends[member + 1]].tolist()
        self[member] = sorted((-self._weights[position], position) for position in mine)
        return self[member]
