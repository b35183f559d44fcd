"""How many bytes are in a partition of ``__consumer_offsets``: what groups have written, less what has been cleaned.

Nothing here is an event: both are counted, and what the cleaner has done by now follows from how much was written.

Source: ``LogCleanerManager.grabFilthiestCompactedLog`` and ``cleanableOffsets``, ``LogToClean``, ``Cleaner.cleanInto``
(Kafka 4.4): a log is cleaned once the segments that are not clean, without the active one, are more than
``log.cleaner.min.cleanable.ratio`` of all but that one; of each key the last record is left.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from groupsim.sim.books.group_books import GroupBooks
from groupsim.sim.config import BrokerConfig
from groupsim.sim.protocol.interface import Batch
from groupsim.sim.protocol.messages import Positions
from groupsim.sim.protocol.offsets.records import CommittedOffsets, OffsetTombstones
from groupsim.sim.protocol.record_sizes import (
    BATCH_BYTES,
    offset_bytes,
    offset_tombstone_bytes,
    state_bytes,
)


class GroupBytes:
    """Those of one group.

    Parameters
    ----------
    name : str
        Of the group.
    books : GroupBooks

    Attributes
    ----------
    written : int
        In this run, whatever has been cleaned.
    """

    def __init__(self, name: str, books: GroupBooks) -> None:
        self._name = name
        self._topics = books.partitions.topic
        self._offsets = books.ledger.offsets
        self._each = np.empty(0, np.int64)
        """Bytes of an offset of each partition."""
        self.written = 0

    def write(self, batch: Batch) -> None:
        """A batch is appended.

        A heartbeat that is not a message has no batch of its own, so what a batch adds is counted with commits alone.
        """
        for record in batch.records:
            if isinstance(record, CommittedOffsets):
                self.commit(1, record.positions)
            elif isinstance(record, OffsetTombstones):
                named = (self._topics[at] for at in record.positions.tolist())
                self.written += sum(offset_tombstone_bytes(self._name, topic) for topic in named)
            else:
                self.written += state_bytes(self._name, record)

    def commit(self, times: int, positions: Positions) -> None:
        """So many commits of these partitions are appended, each in a batch of its own."""
        self.written += times * (BATCH_BYTES + self._bytes_of(positions))

    def left(self, records: tuple[Any, ...]) -> int:
        """What a cleaner leaves: the last record of each key, of which these are not offsets."""
        state = sum(state_bytes(self._name, record) for record in records)
        return state + self._bytes_of(self._offsets.known())

    def _bytes_of(self, positions: Positions) -> int:
        new = self._topics[len(self._each) :]
        if new:
            self._each = np.append(self._each, [offset_bytes(self._name, topic) for topic in new])
        return int(self._each[positions].sum())


def log_bytes(before: int, written: int, left: int, config: BrokerConfig) -> int:
    """Bytes in a partition's log.

    Parameters
    ----------
    before : int
        What was there at the beginning: the cleaner has been there, and leaves it.
    written : int
        Since then.
    left : int
        What it leaves of all that was written.
    config : BrokerConfig
    """
    segment = config.offsets_segment_bytes
    dirty, active = divmod(written, segment)
    if not config.is_cleaned:
        return before + written
    first = _segments_until_cleaned(before, segment, config.min_cleanable_ratio)
    if dirty < first:
        return before + written
    clean = before + left
    dirty = (dirty - first) % _segments_until_cleaned(clean, segment, config.min_cleanable_ratio)
    return clean + dirty * segment + active


def _segments_until_cleaned(clean: int, segment: int, ratio: float) -> int:
    """How many segments are written until the dirty ones are more than that part of all."""
    if ratio >= 1.0:
        return 1 << 62
    return int(ratio * clean / (segment * (1.0 - ratio))) + 1
