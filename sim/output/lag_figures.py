"""What the log of a group's offsets gives at the end of a run: peaks of its lag, recovery, the work of its services."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from groupsim.sim.books.exact_ledger import ExactLedger
from groupsim.sim.books.ledger import Ledger
from groupsim.sim.output.lag_curve import Bounds, GroupLag, Window, line_above, within
from groupsim.sim.output.lag_peaks import OldestRecord, RecordPeaks
from groupsim.sim.output.stretches import Floats, Integers, Motion, Reader, Stretches, begun_last
from groupsim.sim.units import seconds

_PARTS = 4096
"""Of the window, at most: fewer where little has happened."""
_KEPT = 1 << 21
"""So many stretches are kept; of longer logs they are read again instead."""


class LagFigures:
    """Lag and work of one group.

    Parameters
    ----------
    ledger : Ledger
    horizon_us : int, microseconds
    measure : (int, int), microseconds
        First and last instant that count for lag.
    origin_us : int, microseconds
        From when on work counts.

    Attributes
    ----------
    record_peaks : int64 array, shape (n_partitions,)
        Most unprocessed records of each partition.
    age_us : int, microseconds
        The greatest age of an unprocessed record.
    records_end : int
        Unprocessed records at the last instant that counts.
    slots, since : int64 arrays, shape (n_services,)
        Who served, and since when.
    records : int64 array, shape (n_services,)
        What each service has processed since then: its share of the flow, or record by record.
    busy_us : float64 array, shape (n_services,)
        How long that took at its capacity.
    partition_us : int64 array, shape (n_services,)
        Time served, summed over partitions.
    """

    def __init__(self, ledger: Ledger, horizon_us: int, measure: Window, origin_us: int = 0) -> None:
        self.origin_us = origin_us
        self._motion = motion = Motion(ledger.log)
        self._horizon_us = horizon_us
        self._window = (measure[0], min(measure[1], horizon_us))
        self._reader = Reader(ledger.log, motion, len(ledger.frontier), horizon_us)
        self._kept: list[Stretches] | None = []
        self.slots, self.since = motion.slot[:-1], motion.since[:-1]
        self.records = np.zeros(len(self.slots), np.int64)
        self.records_end = 0
        self.partition_us = np.zeros(len(self.slots), np.int64)
        peaks, oldest = RecordPeaks(motion, len(ledger.frontier)), OldestRecord(motion, ledger)
        self._deliveries = self._delivered(ledger) if isinstance(ledger, ExactLedger) else None
        bounds = Bounds(self._window, min(16 + ledger.log.rows // 8, _PARTS))
        for rows in self._first_reading():
            level, slope = line_above(motion, rows)
            bounds.add(rows, level, slope)
            peaks.add(rows, np.maximum(level, level + slope * (rows.end - 1 - rows.begin)))
            oldest.add(rows)
        if self._deliveries is not None:
            self._count_records(self._deliveries)
        self.record_peaks, self.age_us = peaks.records, oldest.age_us()
        self.busy_us: Floats = self.records / np.maximum(motion.capacity[:-1], 1e-30)
        self._group = GroupLag(motion, self._lagging, bounds)

    def records_max(self) -> int:
        """Most unprocessed records of the group at once."""
        return self._group.peak(int(self.record_peaks.max(initial=0)))

    def recovery_s(self, last_fault_us: int | None, limit: int | None) -> float | None:
        """From the last fault's end until the lag is below ``limit`` records for good; None if never."""
        if not limit or last_fault_us is None or last_fault_us > self._window[1]:
            return None
        since = max(last_fault_us, self._window[0])
        last = self._group.last_at_least(limit, since)
        if last == self._window[1]:
            return None
        return seconds((since if last is None else last + 1) - last_fault_us)

    def _first_reading(self) -> Iterator[Stretches]:
        kept = 0
        for stretches in self._reader:
            self._count_work(stretches)
            rows = self._motion.lagging(stretches, self._window)
            self._count_end(rows)
            kept += len(rows)
            if self._kept is not None:
                self._kept.append(rows)
            if kept > _KEPT:
                self._kept = None
            yield rows

    def _count_end(self, rows: Stretches) -> None:
        rows = within(rows, (self._window[1], self._window[1]))
        self.records_end += int(self._motion.lag(rows, rows.begin).sum())

    def _count_work(self, stretches: Stretches) -> None:
        """What services have processed in these stretches, whoever had processed it before."""
        rows, services = self._of_services(stretches), len(self.records)
        self.partition_us += np.bincount(rows.service, rows.end - rows.begin, services).astype(np.int64)
        if self._deliveries is None:
            self._count_records(rows)

    def _count_records(self, rows: Stretches) -> None:
        done = self.done(rows, rows.begin, rows.end)
        self.records += np.bincount(rows.service, done, len(self.records)).astype(np.int64)

    def _of_services(self, rows: Stretches) -> Stretches:
        rows = rows[(rows.service >= 0) & (rows.end > self.origin_us)]
        return rows.cut(self.origin_us, self._horizon_us)

    def _delivered(self, ledger: ExactLedger) -> Stretches:
        """A stretch for each record and each time that it was processed: the microsecond in which that ended.

        What the flow makes of a record between two instants at which it is set right would count it before and after.
        """
        read, slots = ledger.deliveries()
        counts = (read.done > self.origin_us) & (read.done <= self._horizon_us)
        read, slots = read.part(counts), slots[counts]
        service = begun_last(self.slots, self.since, slots, read.done, "left")
        nothing, partition = np.zeros(len(read), np.int64), read.partition.astype(np.int64)
        return Stretches(partition, read.done - 1, read.done, nothing, service, nothing, nothing, nothing)

    def served(self) -> Iterator[Stretches]:
        """All stretches in which somebody serves, from when work counts up to the horizon."""
        if self._deliveries is not None:
            return iter((self._deliveries,))
        return (self._of_services(rows) for rows in self._reader)

    def done(self, rows: Stretches, begin: Integers, end: Integers) -> Integers:
        """What services have processed in parts of `served` stretches, whoever had processed it before. Shape (n,)."""
        if self._deliveries is not None:
            return (end - begin).astype(np.int64)
        return self._got_to(rows, end) - self._got_to(rows, begin)

    def _got_to(self, rows: Stretches, at: Integers) -> Integers:
        offsets = rows.offset.copy()
        later = np.flatnonzero(at > self._motion.since[rows.service])
        if later.size:
            offsets[later] = self._motion.served(rows[later], at[later])
        return offsets

    def _lagging(self, windows: Sequence[Window]) -> Iterable[Stretches]:
        """All stretches of some windows that count in which something can be unprocessed, others perhaps among them."""
        if self._kept is not None:
            return self._kept
        begins, lasts = (np.sort(ends) for ends in zip(*windows, strict=True))
        return (self._motion.lagging(_of_some(rows, begins, lasts), self._window) for rows in self._reader)


def _of_some(rows: Stretches, begins: Integers, lasts: Integers) -> Stretches:
    """The stretches that any of some windows meets, of which none meets another; whole ones."""
    return rows[np.searchsorted(begins, rows.end) > np.searchsorted(lasts, rows.begin)]
