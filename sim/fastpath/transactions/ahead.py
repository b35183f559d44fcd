"""Transactions of many members, one after the other, up to where somebody may look."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.fastpath.transactions.columns import Column, Held, Members, Rows, Standing
from groupsim.sim.fastpath.transactions.cycle import Cycle, CycleLaw
from groupsim.sim.units import FOREVER

_CELLS: Final = 1 << 18
"""So many transactions times partitions of a group are told at once, whatever part of its members they are of: until
then all of what they leave has to be kept."""


@dataclass(frozen=True, eq=False)
class Told:
    """A transaction of each of some members.

    Parameters
    ----------
    rows : intp array, shape (n,)
        Which members.
    members, held : of these
    standing : Standing
        Before it.
    cycle : Cycle
    counts : bool array, shape (n,)
        Whose is told after all.
    """

    rows: Rows
    members: Members
    held: Held
    standing: Standing
    cycle: Cycle
    counts: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Done:
    """What one member has done.

    Parameters
    ----------
    row : int
        Which member.
    transactions : int
        How many.
    standing : Standing
        Where it goes on; one row.
    last : Told or None
        The last of them.
    index : int
        Of the member in it.
    took_us, took_us_max : int, microseconds
        From the end of each batch until its transaction was committed.
    begun : int64 array, shape (k,)
        Where the first of them began.
    """

    row: int
    transactions: int
    standing: Standing
    last: Told | None
    index: int
    took_us: int
    took_us_max: int
    begun: Column


@dataclass(frozen=True, eq=False)
class _Place:
    """Where a member goes on by itself: after which of all transactions that can be told, and the last of its own."""

    number: int
    standing: Standing
    last: Told | None
    index: int


class Ahead:
    """What some members do.

    Parameters
    ----------
    law : CycleLaw
    members : Members
    held : Held
    standing : Standing
    begun : int64 array, shape (k,)
        Where they go on with their partitions.
    partitions : int
        Of their group.
    """

    def __init__(
        self, law: CycleLaw, members: Members, held: Held, standing: Standing, begun: Column, partitions: int
    ) -> None:
        self._law, self._partitions = law, partitions
        self._size = len(members.slots)
        self._rows: Rows = np.arange(self._size)
        self._members, self._held, self._standing, self._begun = members, held, standing, begun
        self._first = [begun[held.part(row)] for row in range(self._size)]
        self._told: list[Told] = []
        self._told_before = 0
        self._sure = np.zeros(self._size, np.intp)
        """After how many transactions each was for the last time without a heartbeat on its way."""
        self._places: dict[int, _Place] = {}
        """Of those who go on by themselves, and have not been named by `parted`."""
        self._transactions, self._took, self._longest = np.zeros((3, self._size), np.int64)

    @property
    def untold_us(self) -> int:
        """Nothing that happens before that is told later, microseconds."""
        if not (self._told or self._rows.size):
            return FOREVER
        standing = self._told[0].standing if self._told else self._standing
        return int(standing.back_us.min())

    def run(self) -> Iterator[Sequence[Told]]:
        """All transactions that can be told, some at a time."""
        while self._rows.size:
            cycle = self._law.cycle(self._members, self._held, self._standing, self._begun)
            goes_on = cycle.is_told & (self._told_before + len(self._told) < self._members.most)
            if np.count_nonzero(goes_on) < len(goes_on):
                self._part_with(goes_on)
                continue
            self._go_on(cycle)
            if len(self._told) * self._partitions >= _CELLS:
                # Who parts may take back what it did since it was sure; the one before that shows where it stands.
                yield self._tell(int(self._sure[self._rows].min()) - self._told_before - 1)
        yield self._tell(len(self._told))

    def _go_on(self, cycle: Cycle) -> None:
        every = np.ones(len(self._rows), np.bool_)
        self._told.append(Told(self._rows, self._members, self._held, self._standing, cycle, every))
        self._standing, self._begun = cycle.after, cycle.batch.target
        is_sure = self._standing.answered_us < self._standing.back_us
        self._sure[self._rows[is_sure]] = self._told_before + len(self._told)

    def _tell(self, transactions: int) -> Sequence[Told]:
        """The first so many of those that have not been told."""
        number = max(transactions, 0)
        told, self._told = self._told[:number], self._told[number:]
        self._told_before += number
        for one in told:
            rows, took_us = one.rows[one.counts], (one.cycle.after.back_us - one.cycle.batch.polls_us)[one.counts]
            self._transactions[rows] += 1
            self._took[rows] += took_us
            self._longest[rows] = np.maximum(self._longest[rows], took_us)
        return [one for one in told if np.count_nonzero(one.counts)]

    def _part_with(self, goes_on: NDArray[np.bool_]) -> None:
        """Those who do not go on here take their steps as events."""
        for index in np.flatnonzero(~goes_on).tolist():
            self._places[int(self._rows[index])] = self._place(index)
        kept = np.flatnonzero(goes_on)
        self._begun = self._begun[self._held.parts(kept)]
        self._held, self._members, self._standing = self._held.of(kept), self._members.of(kept), self._standing.of(kept)
        self._rows = self._rows[kept]

    def _place(self, index: int) -> _Place:
        """Where one goes on: with the last transaction at the end of which no heartbeat is on its way."""
        row, standing = self._rows[index], self._standing.of(np.array([index]))
        for number, told in zip(range(len(self._told), 0, -1), reversed(self._told), strict=True):
            index_of = int(np.searchsorted(told.rows, row))
            if standing.answered_us[0] < standing.back_us[0]:
                return _Place(self._told_before + number, standing, told, index_of)
            told.counts[index_of] = False
            standing = told.standing.of(np.array([index_of]))
        return _Place(self._told_before, standing, None, -1)

    def parted(self) -> list[Done]:
        """What those have done who go on by themselves, once all of that is told: each of them once."""
        ready = sorted(row for row, place in self._places.items() if place.number <= self._told_before)
        return [self._done(row, self._places.pop(row)) for row in ready]

    def _done(self, row: int, place: _Place) -> Done:
        transactions, took_us, longest_us = (int(one[row]) for one in (self._transactions, self._took, self._longest))
        where = place.standing, place.last, place.index
        return Done(row, transactions, *where, took_us, longest_us, self._first[row])
