"""Transactions of many members, one after the other, up to where somebody may look.

Members join when they are parked, and leave when they go on by themselves; nobody waits for anybody. Each transaction
has a number, of all that are worked out: those of several members that have the same number are a column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.fastpath.transactions.columns import Cohort, Column, Columns, Held, Members, Rows, Standing
from groupsim.sim.fastpath.transactions.cycle import Cycle, CycleLaw
from groupsim.sim.units import FOREVER

_CELLS: Final = 1 << 18
"""So many transactions times partitions are told at once: until then all of what they leave has to be kept."""


@dataclass(frozen=True, eq=False)
class Told(Cohort):
    """A transaction of each of some members, who stood there before it.

    Parameters
    ----------
    cycle : Cycle
    counts : bool array, shape (n,)
        Whose is told after all.
    """

    cycle: Cycle
    counts: NDArray[np.bool_]

    def index(self, row: int) -> int:
        """Of a member among these; -1: it is none of them."""
        index = int(np.searchsorted(self.rows, row))
        return index if index < len(self.rows) and self.rows[index] == row else -1


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
    """Where a member goes on by itself: its last transaction, by number, 0 if there is none; and where it stands."""

    number: int
    standing: Standing
    last: Told | None
    index: int


@dataclass(frozen=True, eq=False)
class _Progress(Columns):
    """How far members have come. Shape (n,).

    Parameters
    ----------
    steps : int64 array
        How many transactions each has gone through.
    sure : int64 array
        Number of the last one at whose end no heartbeat was on its way; 0: there is none.
    unsure : int64 array
        And of the first one since; `FOREVER`: there is none.
    transactions, took_us, longest_us : int64 arrays
        Of those that have been told: how many, and how long they took, in all and at most.
    """

    steps: Column
    sure: Column
    unsure: Column
    transactions: Column
    took_us: Column
    longest_us: Column

    @classmethod
    def of_new(cls, count: int) -> _Progress:
        """Of so many that begin."""
        nothing = np.zeros((5, count), np.int64)
        return cls(nothing[0], nothing[1], np.full(count, FOREVER), *nothing[2:])

    def end(self, number: int, sure: Rows, unsure: Rows) -> None:
        """Members have gone through the transaction of that number."""
        self.sure[sure], self.unsure[sure] = number, FOREVER
        self.unsure[unsure] = np.minimum(self.unsure[unsure], number)

    def tally(self, one: Told) -> None:
        """A transaction is told."""
        rows, took_us = one.rows[one.counts], (one.cycle.after.back_us - one.cycle.batch.polls_us)[one.counts]
        self.transactions[rows] += 1
        self.took_us[rows] += took_us
        self.longest_us[rows] = np.maximum(self.longest_us[rows], took_us)


class Ahead:
    """What members do that are like one another.

    Parameters
    ----------
    law : CycleLaw
    """

    def __init__(self, law: CycleLaw) -> None:
        self._law = law
        self._cohort: Cohort | None = None
        self._first: list[Column] = []
        self._told: list[Told] = []
        self._told_before = 0
        self._last: dict[int, Told] = {}
        """Transactions after which some were for the last time without a heartbeat on its way, and that are told."""
        self._places: dict[int, _Place] = {}
        """Of those who go on by themselves, and have not been named by `parted`."""
        self._progress = _Progress.of_new(0)

    def join(self, members: Members, held: Held, standing: Standing, begun: Column) -> None:
        """More members; they go on in their partitions from ``begun`` on, shape (k,)."""
        before, count = len(self._first), len(members.slots)
        joining = Cohort(np.arange(before, before + count), members, held, standing, begun)
        self._cohort = self._cohort.joined(joining) if self._cohort is not None else joining
        self._first += [begun[held.part(index)] for index in range(count)]
        self._progress = self._progress.joined(_Progress.of_new(count))

    @property
    def untold_us(self) -> int:
        """Nothing that happens before that is told later, microseconds."""
        begins = [one.standing.back_us[one.counts] for one in self._told]
        if self._cohort is not None:
            begins.append(self._cohort.standing.back_us)
        return min((int(one.min()) for one in begins if one.size), default=FOREVER)

    def work_out(self, goal_us: int) -> Iterator[Sequence[Told]]:
        """All transactions that begin before then and can be told, some at a time."""
        cells = 0
        while self._cohort is not None and (late := np.flatnonzero(self._cohort.standing.back_us < goal_us)).size:
            cells += self._step(self._cohort, late)
            if cells >= _CELLS:
                cells = 0
                yield self._tell()
        yield self._tell()

    def _step(self, cohort: Cohort, late: Rows) -> int:
        """Another transaction of some of them; how many partitions these have."""
        one = cohort.of(late)
        cycle = self._law.cycle(one.members, one.held, one.standing, one.begun)
        goes_on = cycle.is_told & (self._progress.steps[one.rows] < one.members.most)
        self._told.append(Told(one.rows, one.members, one.held, one.standing, one.begun, cycle, goes_on))
        number, is_sure = self._told_before + len(self._told), cycle.after.is_sure
        self._progress.steps[one.rows] += 1
        self._progress.end(number, one.rows[goes_on & is_sure], one.rows[goes_on & ~is_sure])
        self._cohort = cohort.gone_on(late, cycle.after, cycle.batch.target)
        if np.count_nonzero(goes_on) < len(goes_on):
            self._part_with(self._cohort, late[~goes_on], one.standing.of(np.flatnonzero(~goes_on)))
        return len(one.held.positions)

    def _part_with(self, cohort: Cohort, parting: Rows, standing: Standing) -> None:
        """These take their steps as events, from there at the latest."""
        for index, row in enumerate(cohort.rows[parting].tolist()):
            self._places[row] = self._place(row, standing.of(np.array([index])))
        kept = np.delete(np.arange(len(cohort.rows)), parting)
        self._cohort = cohort.of(kept) if kept.size else None

    def _place(self, row: int, standing: Standing) -> _Place:
        """Where one goes on: with the last transaction at the end of which no heartbeat is on its way."""
        sure, unsure = int(self._progress.sure[row]), int(self._progress.unsure[row])
        for told in reversed(self._told[unsure - self._told_before - 1 :] if unsure < FOREVER else ()):
            index = told.index(row)
            if index >= 0 and told.counts[index]:
                standing, told.counts[index] = told.standing.of(np.array([index])), False
        if not sure:
            return _Place(0, standing, None, -1)
        last = self._told[sure - self._told_before - 1] if sure > self._told_before else self._last[sure]
        return _Place(sure, standing, last, last.index(row))

    def _tell(self) -> Sequence[Told]:
        """Those that nobody takes back any more, of those that have not been told."""
        rows = self._cohort.rows if self._cohort is not None else np.zeros(0, np.intp)
        number = min(int(self._progress.unsure[rows].min(initial=FOREVER)) - 1 - self._told_before, len(self._told))
        told, self._told = self._told[:number], self._told[number:]
        known = {**self._last, **dict(enumerate(told, self._told_before + 1))}
        self._told_before += number
        self._last = {
            number: known[number] for number in np.unique(self._progress.sure[rows]).tolist() if number in known
        }
        for one in told:
            self._progress.tally(one)
        return [one for one in told if np.count_nonzero(one.counts)]

    def parted(self) -> list[Done]:
        """What those have done who go on by themselves, once all of that is told: each of them once."""
        ready = sorted(row for row, place in self._places.items() if place.number <= self._told_before)
        return [self._done(row, self._places.pop(row)) for row in ready]

    def _done(self, row: int, place: _Place) -> Done:
        of, where = self._progress, (place.standing, place.last, place.index)
        counted = int(of.transactions[row]), *where, int(of.took_us[row]), int(of.longest_us[row])
        return Done(row, *counted, self._first[row])
