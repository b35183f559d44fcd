"""What the logs of groups' offsets give at the end of a run: peaks of their lag, recovery, the work of their services.

Many small groups are worked on at once: their logs are joined, and read as that of one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from groupsim.sim.books.exact_ledger import ExactLedger
from groupsim.sim.books.ledger import Ledger
from groupsim.sim.books.offset_log import OffsetLog
from groupsim.sim.output.joined_production import JoinedProduction
from groupsim.sim.output.lag_curve import Bounds, Condition, GroupLags, Window, line_above, within
from groupsim.sim.output.lag_peaks import OldestRecords, RecordPeaks
from groupsim.sim.output.stretches import Integers, Motion, Reader, Stretches
from groupsim.sim.output.work import Work
from groupsim.sim.units import seconds

_PARTS = 4096
"""Of the window, at most: fewer where little has happened."""
_PARTS_JOINED = 1024
"""Of the window where groups are joined: in most of them there are few enough steps to be written out at once."""
_KEPT = 1 << 21
"""So many stretches are kept; of longer logs they are read again instead."""
_JOINED_ROWS = 1 << 16
"""So many rows have the logs that are joined, or one of more."""


class LagFigures:
    """Lag and work of one group.

    Parameters
    ----------
    ledger : Ledger
    index : int
        Of the group in ``joined``.
    joined : JoinedFigures

    Attributes
    ----------
    record_peaks : int64 array, shape (n_partitions,)
        Most unprocessed records of each partition.
    age_us : int, microseconds
        The greatest age of an unprocessed record.
    records_end : int
        Unprocessed records at the last instant that counts.
    records_max : int
        Most unprocessed records of the group at once.
    slots, since, records, partition_us, busy_us : arrays, shape (n_services,)
        Of `Work`.
    """

    def __init__(self, ledger: Ledger, index: int, joined: JoinedFigures) -> None:
        self._ledger = ledger
        self._index = index
        self._joined = joined
        partitions, services = joined.partitions_of(index), joined.services_of(index)
        self.origin_us = joined.origin_us
        self.record_peaks = joined.record_peaks[partitions]
        self.age_us, self.records_end = int(joined.age_us[index]), int(joined.records_end[index])
        self.records_max = int(joined.records_max[index])
        work = joined.work
        self.slots, self.since, self.records = work.slots[services], work.since[services], work.records[services]
        self.partition_us, self.busy_us = work.partition_us[services], work.busy_us[services]

    def work(self) -> Work:
        """The work of its services in detail."""
        if self._joined.groups == 1:
            return self._joined.work
        log, motion = self._ledger.log, Motion(self._ledger.log)
        reader = Reader(log, motion, len(self._ledger.frontier), self._joined.horizon_us)
        return Work(motion, reader, self.origin_us, self._joined.horizon_us)

    def recovery_s(self, last_fault_us: int | None, limit: int | None) -> float | None:
        """From the last fault's end until the lag is below ``limit`` records for good; None if never."""
        return self._joined.recovery_s(self._index, last_fault_us, limit)


def figures_of(ledgers: Sequence[Ledger], horizon_us: int, measure: Window, origin_us: int = 0) -> Iterator[LagFigures]:
    """Lag and work of each group.

    Parameters
    ----------
    ledgers : sequence of Ledger
    horizon_us : int, microseconds
    measure : (int, int), microseconds
        First and last instant that count for lag.
    origin_us : int, microseconds
        From when on work counts.
    """
    for some in _portions(ledgers):
        joined = JoinedFigures(some, horizon_us, measure, origin_us)
        yield from (LagFigures(ledger, index, joined) for index, ledger in enumerate(some))


def _portions(ledgers: Sequence[Ledger]) -> Iterator[list[Ledger]]:
    """Ledgers that are worked on at once, in their order; those that know each record one by one."""
    some: list[Ledger] = []
    rows = 0
    for ledger in ledgers:
        rows += ledger.log.rows
        if some and (rows > _JOINED_ROWS or isinstance(ledger, ExactLedger)):
            yield some
            some, rows = [], ledger.log.rows
        some.append(ledger)
    if some:
        yield some


class JoinedFigures:
    """Lag and work of groups whose partitions and services are numbered through; parameters are those of `figures_of`.

    Attributes
    ----------
    record_peaks : int64 array, shape (n_partitions,)
    age_us, records_end, records_max : int64 arrays, shape (n_groups,)
        See `LagFigures`.
    work : Work
    """

    def __init__(self, ledgers: Sequence[Ledger], horizon_us: int, measure: Window, origin_us: int) -> None:
        self.horizon_us, self.origin_us, self.groups = horizon_us, origin_us, len(ledgers)
        self._window = (measure[0], min(measure[1], horizon_us))
        self._production = production = JoinedProduction(ledgers, [len(one.frontier) for one in ledgers])
        logs = [one.log for one in ledgers]
        log = OffsetLog.joined(logs, production.begins[:-1].tolist())
        self._services = np.cumsum([0, *(one.services_begun for one in logs)])
        self._motion = motion = Motion(log)
        self._reader = Reader(log, motion, int(production.begins[-1]), horizon_us)
        self._kept: list[Stretches] | None = []
        (first, *_) = ledgers
        exact = first if isinstance(first, ExactLedger) else None
        self.work = Work(motion, self._reader, origin_us, horizon_us, exact)
        self.records_end = np.zeros(self.groups, np.int64)
        peaks, oldest = RecordPeaks(motion, len(production.group)), OldestRecords(motion, production)
        parts = min(16 + log.rows // 8, _PARTS) if self.groups == 1 else _PARTS_JOINED
        bounds = Bounds(self._window, parts, self.groups)
        for rows in self._first_reading():
            level, slope = line_above(motion, rows)
            bounds.add(rows, level, slope, production.group[rows.partition])
            peaks.add(rows, np.maximum(level, level + slope * (rows.end - 1 - rows.begin)))
            oldest.add(rows)
        self.record_peaks, self.age_us = peaks.records, oldest.age_us()
        self._lags = GroupLags(motion, self._lagging, bounds, production.group)
        highest = np.zeros(self.groups, np.int64)
        np.maximum.at(highest, production.group, peaks.records)
        self.records_max = self._lags.peaks(highest)

    def partitions_of(self, group: int) -> slice:
        """Numbers of a group's partitions."""
        return slice(*self._production.begins[group : group + 2].tolist())

    def services_of(self, group: int) -> slice:
        """Numbers of a group's services."""
        return slice(*self._services[group : group + 2].tolist())

    def recovery_s(self, group: int, last_fault_us: int | None, limit: int | None) -> float | None:
        """See `LagFigures.recovery_s`."""
        if not limit or last_fault_us is None or last_fault_us > self._window[1]:
            return None
        since = max(last_fault_us, self._window[0])
        last = self._lags.last_at_least(group, limit, since)
        if last == self._window[1]:
            return None
        return seconds((since if last is None else last + 1) - last_fault_us)

    def _first_reading(self) -> Iterator[Stretches]:
        kept = 0
        for stretches in self._reader:
            self.work.count(stretches)
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
        lag: Integers = self._motion.lag(rows, rows.begin)
        np.add.at(self.records_end, self._production.group[rows.partition], lag)

    def _lagging(self, condition: Condition) -> Iterable[Stretches]:
        """All stretches that count, in which something can be unprocessed, and for which a condition holds."""
        if self._kept is not None:
            return (rows[condition(rows)] for rows in self._kept)
        return (self._motion.lagging(rows[condition(rows)], self._window) for rows in self._reader)
