"""Offsets that open transactions have written: pending until a marker decides.

Source: ``OffsetMetadataManager.replay``, ``replayEndTransactionMarker``, ``OpenTransactions`` (Kafka 4.4).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from groupsim.sim.protocol.messages import NO_PARTITIONS, Positions
from groupsim.sim.protocol.offsets.records import CommittedOffsets
from groupsim.sim.protocol.offsets.table import OffsetTable


class PendingOffset(NamedTuple):
    """One offset of an open transaction; times in microseconds, ``written`` as in `OffsetTable`."""

    offset: int
    commit_us: int
    expire_us: int
    written: int


class PendingOffsets:
    """Of one group.

    Attributes
    ----------
    by_producer : dict
        Producer id -> partition -> its latest offset in that producer's open transaction.
    """

    def __init__(self) -> None:
        self.by_producer: dict[int, dict[int, PendingOffset]] = {}
        self._marks: dict[int, dict[int, dict[int, PendingOffset]]] = {}
        """Replica of the log that follows no more -> what it has."""

    @property
    def is_open(self) -> bool:
        """Whether any transaction has written offsets and is undecided."""
        return bool(self.by_producer)

    def positions(self) -> Positions:
        """Partitions that have one, ascending. Shape (n,)."""
        if not self.by_producer:
            return NO_PARTITIONS
        return np.array(sorted({at for offsets in self.by_producer.values() for at in offsets}), np.int32)

    def add(self, record: CommittedOffsets, written: int) -> None:
        """A record of a transaction; its partitions are at ``written`` and the places after it."""
        offsets = self.by_producer.setdefault(record.producer_id, {})
        pairs = zip(record.positions.tolist(), record.offsets.tolist(), strict=True)
        for place, (position, offset) in enumerate(pairs, written):
            offsets[position] = PendingOffset(offset, record.commit_us, record.expire_us, place)

    def forget(self, positions: Positions) -> None:
        """Nothing is pending for these any more, whatever comes of the transactions."""
        for producer_id, offsets in list(self.by_producer.items()):
            for position in positions.tolist():
                offsets.pop(position, None)
            if not offsets:
                del self.by_producer[producer_id]

    def mark(self, replica: int) -> None:
        """A replica of the log has what there is now, and nothing that comes."""
        self._marks.setdefault(replica, {producer: dict(offsets) for producer, offsets in self.by_producer.items()})

    def catch_up(self, replica: int) -> None:
        """A replica of the log has everything."""
        self._marks.pop(replica, None)

    def cut_back(self, replica: int) -> None:
        """A replica of the log leads that lacks something: that is gone, markers and offsets alike."""
        self.by_producer = self._marks.pop(replica, self.by_producer)

    def ends(self) -> dict[int, int]:
        """Partition -> the highest offset that is pending for it."""
        found: dict[int, int] = {}
        for offsets in self.by_producer.values():
            for position, one in offsets.items():
                found[position] = max(one.offset, found.get(position, 0))
        return found

    def skip(self, positions: Positions, records: Callable[[int, int], int]) -> None:
        """Some records of these are gone: after an offset of the n-th of them, ``records(n, offset)``."""
        for offsets in self.by_producer.values():
            for index, position in enumerate(positions.tolist()):
                if position in offsets:
                    one = offsets[position]
                    offsets[position] = one._replace(offset=one.offset + records(index, one.offset))

    def end(self, producer_id: int, table: OffsetTable, *, is_committed: bool) -> Positions:
        """A marker: pending offsets go into ``table`` unless a later record is there, or are dropped.

        Which partitions have another offset now.
        """
        offsets = self.by_producer.pop(producer_id, {})
        later = {
            position: one
            for position, one in (offsets.items() if is_committed else ())
            if table.offset[position] < 0 or one.written > table.written[position]
        }
        changed = np.array([*later], np.int32)
        if later:
            table.commit(changed, *np.array([*later.values()], np.int64).T)
        return changed
