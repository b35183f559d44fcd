"""What the logs of groups' offsets give at the end of a run: peaks of their lag, recovery, the work of their services.

Many small groups are worked on at once: their logs are joined, and read as that of one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from groupsim.sim.books.offsets.exact_ledger import ExactLedger
from groupsim.sim.books.offsets.ledger import Ledger
from groupsim.sim.books.offsets.offset_log import OffsetLog
from groupsim.sim.output.joined_production import JoinedProduction
from groupsim.sim.output.lag_curve import Bounds, Condition, GroupLags, Window, line_above, within
from groupsim.sim.output.lag_peaks import OldestRecords, RecordPeaks
from groupsim.sim.output.stretch_reader import Reader
from groupsim.sim.output.stretches import Integers, Motion, Stretches
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


_NEVER: Window = (-1, -1)


@dataclass(frozen=True, slots=True)
class Span:
    """What is read of a log.

    Parameters
    ----------
    origin_us, until_us : int, microseconds
        From when on, and until when, work counts.
    last_us : int, microseconds
        The last instant that is looked at.
    measure : (int, int), microseconds
        First and last instant that count for lag.
    """

    origin_us: int
    until_us: int
    last_us: int
    measure: Window


@dataclass(frozen=True, slots=True)
class Earlier:
    """What the log of one group has come to up to a time, when all of it before that has been read and forgotten.

    Attributes
    ----------
    until_us : int, microseconds
    stretches : Stretches
        How each partition is then; of what goes on, by its index in the following.
    services : sequence of arrays
        `OffsetLog.begun_with`, of what goes on.
    records, partition_us : int64 arrays
        `Work`, of services that go on.
    over : sequence of arrays, shapes (n_lives,)
        Slot, since when, records, time served and time busy of all services of a life that are over.
    record_peaks, age_us, records_end, records_max : arrays
        `JoinedFigures`.
    at_limit_us : int or None, microseconds
        The last instant at which the lag was at the limit.
    """

    until_us: int
    stretches: Stretches
    services: tuple[Any, ...]
    records: Integers
    partition_us: Integers
    over: tuple[Any, ...]
    record_peaks: Integers
    age_us: Integers
    records_end: Integers
    records_max: Integers
    at_limit_us: int | None


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
        Of `Work`; services of a life that were forgotten are one, and the first ``over`` are such.
    """

    def __init__(self, ledger: Ledger, index: int, joined: JoinedFigures) -> None:
        self._ledger = ledger
        self._index = index
        self._joined = joined
        partitions, services = joined.partitions_of(index), joined.services_of(index)
        self.origin_us = joined.span.origin_us
        self.record_peaks = joined.record_peaks[partitions]
        self.age_us, self.records_end = int(joined.age_us[index]), int(joined.records_end[index])
        self.records_max = int(joined.records_max[index])
        work, over = joined.work, () if joined.earlier is None else joined.earlier.over
        self.over = len(over[0]) if over else 0
        told = work.slots, work.since, work.records, work.partition_us, work.busy_us
        columns: list[Any] = [one[services] for one in told]
        if over:
            columns = [np.concatenate(pair) for pair in zip(over, columns, strict=True)]
        self.slots, self.since, self.records, self.partition_us, self.busy_us = columns

    def work(self) -> Work:
        """The work of its services in detail, but for those that were forgotten."""
        if self._joined.groups == 1:
            return self._joined.work
        log, motion, span = self._ledger.log, Motion(self._ledger.log), self._joined.span
        reader = Reader(log, motion, len(self._ledger.frontier), span.last_us)
        return Work(motion, reader, span.origin_us, span.until_us)

    def recovery_s(self, last_fault_us: int | None, limit: int | None) -> float | None:
        """From the last fault's end until the lag is below ``limit`` records for good; None if never."""
        return self._joined.recovery_s(self._index, last_fault_us, limit)


def figures_of(
    ledgers: Sequence[Ledger], horizon_us: int, measure: Window, origin_us: int = 0,
    earlier: Sequence[Earlier | None] = (),
) -> Iterator[LagFigures]:  # fmt: skip
    """Lag and work of each group.

    Parameters
    ----------
    ledgers : sequence of Ledger
    horizon_us : int, microseconds
    measure : (int, int), microseconds
        First and last instant that count for lag.
    origin_us : int, microseconds
        From when on work counts.
    earlier : sequence of (Earlier or None), optional
        What logs have come to that were forgotten in part.
    """
    span = Span(origin_us, horizon_us, horizon_us, measure)
    known = earlier or [None] * len(ledgers)
    for begin, end in _portions(ledgers, known):
        some = ledgers[begin:end]
        joined = JoinedFigures(some, [one.log for one in some], span, known[begin])
        yield from (LagFigures(ledger, index, joined) for index, ledger in enumerate(some))


def _portions(ledgers: Sequence[Ledger], earlier: Sequence[Earlier | None]) -> Iterator[tuple[int, int]]:
    """Ledgers that are worked on at once; those that know each record, or have forgotten some, one by one."""
    begin = rows = 0
    for index, (ledger, known) in enumerate(zip(ledgers, earlier, strict=True)):
        is_by_itself = isinstance(ledger, ExactLedger) or known is not None or earlier[index - 1] is not None
        rows += ledger.log.rows
        if index > begin and (rows > _JOINED_ROWS or is_by_itself):
            yield begin, index
            begin, rows = index, ledger.log.rows
    if ledgers:
        yield begin, len(ledgers)


class JoinedFigures:
    """Lag and work of groups whose partitions and services are numbered through.

    Parameters
    ----------
    ledgers : sequence of Ledger
    logs : sequence of OffsetLog
        What is read of each.
    span : Span
    earlier : Earlier, optional
        What was before the log, of one group alone.

    Attributes
    ----------
    record_peaks : int64 array, shape (n_partitions,)
    age_us, records_end, records_max : int64 arrays, shape (n_groups,)
        See `LagFigures`.
    work : Work
    motion : Motion
    reader : Reader
    """

    def __init__(
        self, ledgers: Sequence[Ledger], logs: Sequence[OffsetLog], span: Span, earlier: Earlier | None = None
    ) -> None:
        self.span, self.earlier, self.groups = span, earlier, len(ledgers)
        self._window = _window(span, earlier)
        self._production = production = JoinedProduction(ledgers, [len(one.frontier) for one in ledgers])
        log = OffsetLog.joined(logs, production.begins[:-1].tolist())
        self._services = np.cumsum([0, *(one.services_begun for one in logs)])
        if earlier is not None:
            (news,) = logs
            log = OffsetLog.begun_with(*earlier.services)
            log.append(news)
            self._services = np.array([0, log.services_begun])
        self.motion = motion = Motion(log)
        before = None if earlier is None else earlier.stretches
        self.reader = Reader(log, motion, int(production.begins[-1]), span.last_us, before)
        self._lagging = _Lagging(motion, self.reader, self._window)
        (first, *_) = ledgers
        exact = first if isinstance(first, ExactLedger) else None
        self.work = Work(motion, self.reader, span.origin_us, span.until_us, exact)
        self.records_end = np.zeros(self.groups, np.int64)
        peaks, oldest = RecordPeaks(motion, len(production.group)), OldestRecords(motion, production)
        if earlier is not None:
            self._go_on_from(earlier, peaks, oldest)
        parts = min(16 + log.rows // 8, _PARTS) if self.groups == 1 else _PARTS_JOINED
        bounds = Bounds(self._window, parts, self.groups)
        for rows in self._first_reading():
            level, slope = line_above(motion, rows)
            bounds.add(rows, level, slope, production.group[rows.partition])
            peaks.add(rows, np.maximum(level, level + slope * (rows.end - 1 - rows.begin)))
            oldest.add(rows)
        self.record_peaks, self.age_us = peaks.records, oldest.age_us()
        self._lags = GroupLags(motion, self._lagging, bounds, production.group)
        highest = np.zeros(self.groups, np.int64) if earlier is None else earlier.records_max.copy()
        np.maximum.at(highest, production.group, peaks.records)
        self.records_max = self._lags.peaks(highest)

    def _go_on_from(self, earlier: Earlier, peaks: RecordPeaks, oldest: OldestRecords) -> None:
        peaks.records[: len(earlier.record_peaks)] = earlier.record_peaks
        oldest.know(earlier.age_us)
        self.work.records[: len(earlier.records)] = earlier.records
        self.work.partition_us[: len(earlier.records)] = earlier.partition_us
        if self._window == _NEVER:
            self.records_end[:] = earlier.records_end

    def partitions_of(self, group: int) -> slice:
        """Numbers of a group's partitions."""
        return slice(*self._production.begins[group : group + 2].tolist())

    def services_of(self, group: int) -> slice:
        """Numbers of a group's services."""
        return slice(*self._services[group : group + 2].tolist())

    def recovery_s(self, group: int, last_fault_us: int | None, limit: int | None) -> float | None:
        """See `LagFigures.recovery_s`."""
        first_us, last_us = self.span.measure[0], min(self.span.measure[1], self.span.last_us)
        if not limit or last_fault_us is None or last_fault_us > last_us:
            return None
        since = max(last_fault_us, first_us)
        last = self.at_limit_us(group, limit, since)
        if last == last_us:
            return None
        return seconds((since if last is None else last + 1) - last_fault_us)

    def at_limit_us(self, group: int, limit: int, since: int) -> int | None:
        """The last instant from ``since`` on at which the lag is at a limit, microseconds; None: there is none."""
        last = self._lags.last_at_least(group, limit, since)
        if last is not None or self.earlier is None or self.earlier.at_limit_us is None:
            return last
        return self.earlier.at_limit_us if self.earlier.at_limit_us >= since else None

    def _first_reading(self) -> Iterator[Stretches]:
        for stretches in self.reader:
            self.work.count(stretches)
            rows = self._lagging.look_at(stretches)
            self._count_end(rows)
            yield rows

    def _count_end(self, rows: Stretches) -> None:
        rows = within(rows, (self._window[1], self._window[1]))
        lag: Integers = self.motion.lag(rows, rows.begin)
        np.add.at(self.records_end, self._production.group[rows.partition], lag)


class _Lagging:
    """All stretches that count, in which something can be unprocessed, and for which a condition holds.

    It knows nobody who asks for them: what is forgotten is gone at once, as Python's cyclic collector rests in a run.
    """

    def __init__(self, motion: Motion, reader: Reader, window: Window) -> None:
        self._motion, self._reader, self._window = motion, reader, window
        self._kept: list[Stretches] | None = []
        self._number = 0

    def look_at(self, stretches: Stretches) -> Stretches:
        """Some of all stretches, for the first time."""
        rows = self._motion.lagging(stretches, self._window)
        self._number += len(rows)
        if self._number > _KEPT:
            self._kept = None
        elif self._kept is not None:
            self._kept.append(rows)
        return rows

    def __call__(self, condition: Condition) -> Iterable[Stretches]:
        """All that hold."""
        if self._kept is not None:
            return (rows[condition(rows)] for rows in self._kept)
        return (self._motion.lagging(rows[condition(rows)], self._window) for rows in self._reader)


def _window(span: Span, earlier: Earlier | None) -> Window:
    """First and last instant that count for lag and have not been looked at."""
    first = span.measure[0] if earlier is None else max(span.measure[0], earlier.until_us)
    last = min(span.measure[1], span.last_us)
    return (first, last) if first <= last else _NEVER
