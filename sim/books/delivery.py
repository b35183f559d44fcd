"""What is read twice or never: counted when somebody begins to read, and while zombies read on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.availability import Availability, Times
from groupsim.sim.books.handles import Reading
from groupsim.sim.books.offsets.ledger import Ledger
from groupsim.sim.books.offsets.production import Offsets
from groupsim.sim.books.record import DELETED, EXPIRED, KILLED, LOST, OUT_OF_RANGE, GroupRecord
from groupsim.sim.catalog import Partitions
from groupsim.sim.protocol.messages import Positions

_CAUSES = {
    KILLED: "kill", LOST: "zombie", EXPIRED: "expired offset", DELETED: "deleted offset", OUT_OF_RANGE: "reset",
}  # fmt: skip


class Delivery:
    """Duplicates and losses of one group. They count within ``measure``.

    Parameters
    ----------
    partitions : Partitions
    ledger : Ledger
    availability : Availability
    record : GroupRecord
        Receives the counts.
    measure : (int, int), microseconds
    is_broadcast : bool
        Whether every member reads every partition: what one has read is then nothing to the others.
    clock : callable
        Virtual time, microseconds.

    Attributes
    ----------
    ended_by : int64 array, shape (n_partitions,)
        Why each partition was last given up (`sim.books.record`); -1: it never was.
    zombies : dict of Reading to None
        Who reads what is no longer its own.
    duplicates : int64 array, shape (n_partitions,)
        Records of each partition that were read twice.
    """

    def __init__(
        self, partitions: Partitions, ledger: Ledger, availability: Availability, record: GroupRecord,
        measure: tuple[int, int], *, is_broadcast: bool, clock: Callable[[], int],
    ) -> None:  # fmt: skip
        self._partitions = partitions
        self._ledger = ledger
        self._availability = availability
        self._record = record
        self._measure = measure
        self._is_broadcast = is_broadcast
        self._clock = clock
        self._own_frontiers: dict[int, Offsets] = {}
        self.ended_by: NDArray[np.int64] = np.empty(0, np.int64)
        self.zombies: dict[Reading, None] = {}
        self.duplicates: NDArray[np.int64] = np.empty(0, np.int64)

    def cover(self) -> None:
        """Make room for new positions."""
        new = len(self._partitions) - len(self.ended_by)
        self.ended_by = np.concatenate([self.ended_by, np.full(new, -1, np.int64)])
        self.duplicates = np.concatenate([self.duplicates, np.zeros(new, np.int64)])

    def frontier_of(self, slot: int) -> Offsets:
        """Processed by anybody (in a broadcast group: by this consumer). Shape (n_partitions,), -1: never."""
        if not self._is_broadcast:
            return self._ledger.frontier
        own = self._own_frontiers.get(slot, self._ledger.frontier[:0])
        if len(own) < len(self._partitions):
            own = np.concatenate([own, np.full(len(self._partitions) - len(own), -1, np.int64)])
            self._own_frontiers[slot] = own
        return own

    def meet_zombies(self, now: int, positions: Positions, starter: Reading) -> None:
        """``starter`` begins to read: whoever still reads the same reads it twice from here on."""
        if self._is_broadcast:
            return
        for zombie in self.zombies:
            if zombie is not starter:
                zombie.meet(now, positions)

    def count(self, kind: str, cause: str, records: int) -> None:
        """Records read twice (``duplicate``) or never (``loss``), as of now."""
        if self._counts_now:
            self._record.add_delivery(kind, cause, records)

    @property
    def _counts_now(self) -> bool:
        low, high = self._measure
        return low <= self._clock() <= high

    def count_again(self, cause: str, partitions: Positions, records: Offsets) -> None:
        """So many records of each partition have been read again, or have to be, as of now. Shapes (n,)."""
        self.count("duplicate", cause, int(records.sum()))
        if self._counts_now:
            self.duplicates[partitions] += records

    def add_zombie(self, since: NDArray[np.int64], until: int) -> None:
        """Partition-time in which somebody processed what was no longer its own."""
        low, high = self._measure
        self._record.zombie_us += int(np.maximum(np.minimum(until, high) - np.maximum(since, low), 0).sum())

    def account_starts(self, frontier: Offsets, at: Times, partitions: Positions, offsets: Offsets) -> None:
        """Count what starts repeat or skip, by why the last one to read a partition stopped.

        Parameters
        ----------
        frontier : int64 array, shape (n_partitions,)
            Read so far, -1: never; from now on at least ``offsets``.
        at : int, or int64 array of shape (n,), microseconds
            When each partition is read again.
        partitions, offsets : arrays, shape (n,)
            Each is read from ``offsets`` on.
        """
        before = frontier[partitions]
        if not np.count_nonzero(before != offsets):
            return
        frontier[partitions] = np.maximum(before, offsets)
        low, high = self._measure
        measured = (low <= at) & (at <= high)
        # What the group never read of a partition that is younger than the group is lost.
        younger = self._partitions.created_us[partitions] > self._availability.first_join_us
        late = measured & (before < 0) & younger
        if late.any():
            self._account_late_starts(partitions[late], offsets[late])
        counts = measured & (before >= 0) & (before != offsets)
        if not counts.any():
            return
        ahead, codes = (before - offsets)[counts], self.ended_by[partitions[counts]]
        self.duplicates[partitions[counts]] += np.maximum(ahead, 0)
        for code in np.unique(codes):
            records, cause = ahead[codes == code], self._cause(int(code))
            self._record.add_delivery("duplicate", cause, int(np.maximum(records, 0).sum()))
            self._record.add_delivery("loss", cause, int(np.maximum(-records, 0).sum()))
            these = partitions[counts][codes == code]
            self._ledger.lose(these, before[counts][codes == code], offsets[counts][codes == code], cause)

    def _account_late_starts(self, partitions: Positions, offsets: Offsets) -> None:
        """Count what the group never reads of partitions that it begins with at these offsets. Shapes (n,)."""
        deleted = np.minimum(offsets, self._ledger.log_start[partitions])
        self._record.add_delivery("loss", "retention", int(deleted.sum()))
        self._record.add_delivery("loss", "reset", int((offsets - deleted).sum()))
        self._ledger.lose(partitions, np.zeros(len(partitions), np.int64), deleted, "retention")
        self._ledger.lose(partitions, deleted, offsets, "reset")

    def _cause(self, code: int) -> str:
        return "broadcast overwrite" if self._is_broadcast else _CAUSES.get(code, "re-read")
