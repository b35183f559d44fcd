"""What the services of groups have processed, from the stretches of their log or record by record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from groupsim.sim.books.offsets.exact_ledger import ExactLedger
from groupsim.sim.output.stretches import Floats, Integers, Motion, Stretches, begun_last


class Work:
    """That of all services of a log.

    Parameters
    ----------
    motion : Motion
    stretches : iterable of Stretches
        All of the log; a reading of it each time.
    origin_us, horizon_us : int, microseconds
        From when on, and until when, work counts.
    exact : ExactLedger, optional
        Whose log it is, if each record is known.

    Attributes
    ----------
    slots, since : int64 arrays, shape (n_services,)
        Who served, and since when.
    records : int64 array, shape (n_services,)
        What each service has processed since then: its share of the flow, or record by record.
    partition_us : int64 array, shape (n_services,)
        Time served, summed over partitions.
    """

    def __init__(
        self, motion: Motion, stretches: Iterable[Stretches], origin_us: int, horizon_us: int,
        exact: ExactLedger | None = None,
    ) -> None:  # fmt: skip
        self._motion = motion
        self._stretches = stretches
        self._window = (origin_us, horizon_us)
        self.slots, self.since = motion.slot[:-1], motion.since[:-1]
        self.records = np.zeros(len(self.slots), np.int64)
        self.partition_us = np.zeros(len(self.slots), np.int64)
        self._deliveries = None if exact is None else self._delivered(exact)
        if self._deliveries is not None:
            self._count_records(self._deliveries)

    @property
    def busy_us(self) -> Floats:
        """How long what was processed took at the capacity of each service. Shape (n_services,)."""
        busy_us: Floats = self.records / np.maximum(self._motion.capacity[:-1], 1e-30)
        return busy_us

    def count(self, stretches: Stretches) -> None:
        """Add what services have processed in these, whoever had processed it before."""
        rows, services = self._of_services(stretches), len(self.records)
        self.partition_us += np.bincount(rows.service, rows.end - rows.begin, services).astype(np.int64)
        if self._deliveries is None:
            self._count_records(rows)

    def served(self) -> Iterator[Stretches]:
        """All stretches in which somebody serves, from when work counts up to the horizon."""
        if self._deliveries is not None:
            return iter((self._deliveries,))
        return (self._of_services(rows) for rows in self._stretches)

    def done(self, rows: Stretches, begin: Integers, end: Integers) -> Integers:
        """What services have processed in parts of `served` stretches, whoever had processed it before. Shape (n,)."""
        if self._deliveries is not None:
            return (end - begin).astype(np.int64)
        return self._got_to(rows, end) - self._got_to(rows, begin)

    def _count_records(self, rows: Stretches) -> None:
        done = self.done(rows, rows.begin, rows.end)
        self.records += np.bincount(rows.service, done, len(self.records)).astype(np.int64)

    def _of_services(self, rows: Stretches) -> Stretches:
        rows = rows[(rows.service >= 0) & (rows.end > self._window[0])]
        return rows.cut(*self._window)

    def _got_to(self, rows: Stretches, at: Integers) -> Integers:
        offsets = rows.offset.copy()
        later = np.flatnonzero(at > self._motion.since[rows.service])
        if later.size:
            offsets[later] = self._motion.served(rows[later], at[later])
        return offsets

    def _delivered(self, ledger: ExactLedger) -> Stretches:
        """A stretch for each record and each time that it was processed: the microsecond in which that ended.

        What the flow makes of a record between two instants at which it is set right would count it before and after.
        """
        read, slots = ledger.deliveries()
        counts = (read.done > self._window[0]) & (read.done <= self._window[1])
        read, slots = read.part(counts), slots[counts]
        service = begun_last(self.slots, self.since, slots, read.done, "left")
        nothing, partition = np.zeros(len(read), np.int64), read.partition.astype(np.int64)
        return Stretches(partition, read.done - 1, read.done, nothing, service, nothing, nothing, nothing, nothing)
