"""Transactions of many members, one after the other, up to where somebody may look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.fastpath.transactions.columns import Column, Held, Members, Rows, Standing
from groupsim.sim.fastpath.transactions.cycle import Cycle, CycleLaw

_CELLS: Final = 1 << 21
"""So many transactions times partitions are worked out at once: what they leave has to be kept until it is told."""


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
    transactions : int
        How many.
    standing : Standing
        Where it goes on; one row.
    last : Told or None
        The last of them, in which the member is ``row``.
    took_us, took_us_max : int, microseconds
        From the end of each batch until its transaction was committed.
    begun : int64 array, shape (k,)
        Where the first of them began.
    """

    transactions: int
    standing: Standing
    last: Told | None
    row: int
    took_us: int
    took_us_max: int
    begun: Column


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
    """

    def __init__(self, law: CycleLaw, members: Members, held: Held, standing: Standing, begun: Column) -> None:
        self._law = law
        self._size = len(members.slots)
        self._rows: Rows = np.arange(self._size)
        self._members, self._held, self._standing, self._begun = members, held, standing, begun
        self._first = [begun[held.part(row)] for row in range(self._size)]
        self._told: list[Told] = []
        self._places: list[tuple[Standing, Told | None, int]] = [(standing, None, -1)] * self._size

    def run(self) -> list[Told]:
        """All transactions that can be told."""
        steps = max(_CELLS // len(self._begun), 1)
        while self._rows.size and len(self._told) < steps:
            cycle = self._law.cycle(self._members, self._held, self._standing, self._begun)
            goes_on = cycle.is_told & (len(self._told) < self._members.most)
            if np.count_nonzero(goes_on) < len(goes_on):
                self._part_with(goes_on)
            else:
                every = np.ones(len(self._rows), np.bool_)
                self._told.append(Told(self._rows, self._members, self._held, self._standing, cycle, every))
                self._standing, self._begun = cycle.after, cycle.batch.target
        self._part_with(np.zeros(len(self._rows), np.bool_))
        self._told = [one for one in self._told if np.count_nonzero(one.counts)]
        return self._told

    def _part_with(self, goes_on: NDArray[np.bool_]) -> None:
        """Those who do not go on here take their steps as events."""
        for index in np.flatnonzero(~goes_on).tolist():
            self._places[self._rows[index]] = self._place(index)
        kept = np.flatnonzero(goes_on)
        self._begun = self._begun[self._held.parts(kept)]
        self._held, self._members, self._standing = self._held.of(kept), self._members.of(kept), self._standing.of(kept)
        self._rows = self._rows[kept]

    def _place(self, index: int) -> tuple[Standing, Told | None, int]:
        """Where one goes on: with the last transaction at the end of which no heartbeat is on its way."""
        row, standing, index_of = self._rows[index], self._standing.of(np.array([index])), -1
        for told in reversed(self._told):
            if row not in told.rows:
                break
            index_of = int(np.searchsorted(told.rows, row))
            if standing.answered_us[0] < standing.back_us[0]:
                return standing, told, index_of
            told.counts[index_of] = False
            standing = told.standing.of(np.array([index_of]))
        return standing, None, -1

    def done(self) -> list[Done]:
        """What each has done, by row."""
        transactions, took, longest = np.zeros((3, self._size), np.int64)
        for one in self._told:
            rows, took_us = one.rows[one.counts], (one.cycle.after.back_us - one.cycle.batch.polls_us)[one.counts]
            transactions[rows] += 1
            took[rows] += took_us
            longest[rows] = np.maximum(longest[rows], took_us)
        columns = (transactions.tolist(), self._places, took.tolist(), longest.tolist(), self._first)
        return [
            Done(number, standing, last, row, took_us, took_us_max, begun)
            for number, (standing, last, row), took_us, took_us_max, begun in zip(*columns, strict=True)
        ]
