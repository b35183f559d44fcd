"""Exact peaks of single partitions: most unprocessed records of each, and the greatest age of one in those of a group.

Where nobody serves, both are highest at the end of a stretch. Where somebody works off a backlog, records are most
when one arrives: at one of the two arrivals around the only peak of what is left of the partition. What that leaves
open is settled by dividing time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.output.joined_production import JoinedProduction
from groupsim.sim.output.lag_curve import counted, highest_of_each
from groupsim.sim.output.stretches import Floats, Integers, Motion, Stretches

_DEPARTURES = 1 << 12
"""So many are looked at one by one, or four for each stretch if that is more."""


class RecordPeaks:
    """Most unprocessed records of each partition, from stretches that are added bit by bit.

    Parameters
    ----------
    motion : Motion
    partitions : int

    Attributes
    ----------
    records : int64 array, shape (n_partitions,)
    """

    def __init__(self, motion: Motion, partitions: int) -> None:
        self._motion = motion
        self.records = np.zeros(partitions, np.int64)

    def add(self, rows: Stretches, above: Floats) -> None:
        """Stretches in which something is unprocessed, or can be, and what none of them exceeds."""
        rests = np.flatnonzero(rows.service < 0)
        waiting = self._motion.produced(rows.production[rests], rows.end[rests] - 1) - rows.floor[rests]
        self._raise(rows.partition[rests], waiting)
        higher = np.flatnonzero((rows.service >= 0) & (above > self.records[rows.partition]))
        served, above = rows[higher], above[higher]
        self._raise(served.partition, self._motion.lag(served, served.begin))
        served = served[above > self.records[served.partition]]
        if len(served):
            self._add_arrivals(served)

    def _raise(self, partitions: Integers, values: Integers) -> None:
        np.maximum.at(self.records, partitions, values)

    def _add_arrivals(self, rows: Stretches) -> None:
        motion, last = self._motion, rows.end - 1
        before, after = _arrivals_around_peak(motion, rows)
        most = np.zeros(len(rows))
        for at in (before, after):
            is_there = (rows.begin < at) & (at <= last)
            at = np.where(is_there, at, rows.begin)
            self._raise(rows.partition, motion.lag(rows, at))
            most = np.where(is_there, np.maximum(most, motion.left(rows, at)), most)
        # A record arrives up to a microsecond after the fluid has reached it: another one may have lost less by that.
        rows = rows[np.ceil(most + 1e-6) > self.records[rows.partition]]
        if len(rows):
            best, each, ends = self.records[rows.partition], np.arange(len(rows)), (rows.begin, rows.end - 1)
            self._raise(rows.partition, highest_of_each(motion, rows, each, ends, best))


def _arrivals_around_peak(motion: Motion, rows: Stretches) -> tuple[Integers, Integers]:
    """Two arrivals, one of which finds the most records unprocessed. Shapes (n,), microseconds.

    What is left grows until the level rises faster than records come (`sim.books.offsets.levels`).
    """
    who, last = rows.service, rows.end - 1
    elapsed = np.minimum(motion.levels.outpaced(who, motion.mrps[rows.production] / 1e9), 1e17)
    at = np.clip(motion.since[who] + elapsed.astype(np.int64), rows.begin, last)
    before = motion.produced(rows.production, at)
    return motion.arrival(rows.production, before), motion.arrival(rows.production, before + 1)


class OldestRecords:
    """The greatest age of an unprocessed record of each group, from stretches that are added bit by bit.

    Parameters
    ----------
    motion : Motion
    production : JoinedProduction
        When each record was produced, and of which group each partition is.
    """

    def __init__(self, motion: Motion, production: JoinedProduction) -> None:
        self._motion = motion
        self._production = production
        self._group = production.group
        self._age_us = np.zeros(production.groups, np.int64)
        self._open: list[Stretches] = []

    def add(self, rows: Stretches) -> None:
        """Stretches in which something is unprocessed, or can be."""
        rests = rows.service < 0
        resting, served = rows[rests], rows[~rests]
        self._raise(resting, self._ages(resting, resting.end - 1, resting.floor))
        self._open.append(served[self._ages_at_most(served, served.end - 1, served.floor) > self._known(served)])

    def know(self, age_us: Integers) -> None:
        """The greatest age of each group is at least that, microseconds. Shape (n_groups,)."""
        self._age_us = np.maximum(self._age_us, age_us)

    def age_us(self) -> Integers:
        """The greatest age of each group, microseconds. Shape (n_groups,)."""
        rows = Stretches.joined(self._open)
        self._open = []
        while len(rows):
            rows, first, counts = self._that_can_be_older(rows)
            if int(counts.sum()) <= max(_DEPARTURES, 4 * len(rows)):
                self._look_at_departures(rows, first, counts)
                break
            middle = (rows.begin + rows.end) // 2
            rows = Stretches.joined([rows.between(rows.begin, middle), rows.between(middle, rows.end)])
        return self._age_us

    def _that_can_be_older(self, rows: Stretches) -> tuple[Stretches, Integers, Integers]:
        """Stretches that can hold something older, between their ends, than what is known then.

        Also: the offset that each has been processed up to at its beginning, and how many records are in it.
        """
        last = rows.end - 1
        first, final = (self._motion.processed(rows, at) for at in (rows.begin, last))
        self._look_at(rows, rows.begin, first)
        self._look_at(rows, last, final)
        # None is older than those that are unprocessed at the beginning would be at the end.
        oldest = self._ages_at_most(rows, last, first)
        kept = np.flatnonzero((oldest > self._known(rows)) & (last - rows.begin > 1))
        return rows[kept], first[kept], (final - first)[kept]

    def _look_at_departures(self, rows: Stretches, first: Integers, counts: Integers) -> None:
        """What is oldest just before each of the records is processed that come after ``first``."""
        row, record = counted(first, counts)
        if len(departing := rows[row]):
            at = self._motion.departure(departing, record) - 1
            self._look_at(departing, at, self._motion.processed(departing, at))

    def _look_at(self, rows: Stretches, at: Integers, first: Integers) -> None:
        """What is oldest in each row at an instant, the first that is not processed, is known from now on."""
        there = np.flatnonzero(self._motion.produced(rows.production, at) > first)
        self._raise(rows[there], self._ages(rows, at, first)[there])

    def _raise(self, rows: Stretches, ages: Integers) -> None:
        np.maximum.at(self._age_us, self._group[rows.partition], ages)

    def _known(self, rows: Stretches) -> Integers:
        """The greatest age of each one's group as far as it is known. Shape (n,)."""
        return self._age_us[self._group[rows.partition]]

    def _ages(self, rows: Stretches, at: Integers, record: Integers) -> Integers:
        """How long before ``at`` a record of each row was produced, or its production will be. Shape (n,)."""
        return self._by(self._production.age, rows, at, record)

    def _ages_at_most(self, rows: Stretches, at: Integers, record: Integers) -> Integers:
        """What no record of each row from ``record`` on is older than at ``at``. Shape (n,)."""
        return self._by(self._production.age_at_most, rows, at, record)

    def _by(
        self, age: Callable[[Integers, NDArray[np.intp], Integers], Integers], rows: Stretches, at: Integers,
        record: Integers,
    ) -> Integers:  # fmt: skip
        """By closed forms as far as ``record`` came with the production of its row, else by ``age``. Shape (n,)."""
        ages = at - self._motion.arrival(rows.production, record + 1)
        older = (record + 1) * 1000 <= self._motion.base[rows.production]
        ages[older] = age(at[older], rows.partition[older], record[older])
        return ages
