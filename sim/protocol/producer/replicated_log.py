"""A partition's log on its leader, and what of it all in sync have; another leader may lack the rest. Pure.

Source: ``Partition.appendRecordsToLeader``, ``ReplicaManager.appendRecords``, ``UnifiedLog.truncateTo`` (Kafka 4.4).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from groupsim.sim.protocol.messages import Error
from groupsim.sim.protocol.producer.batches import ProduceResponse, RecordBatch
from groupsim.sim.protocol.producer.log import PartitionLog


class Source(NamedTuple):
    """Which records a batch has: those of a producer for one partition, from the ``first``-th on.

    ``produced_us``: when the application sent each, which is its timestamp.
    """

    producer: str
    first: int
    produced_us: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Appended:
    """A batch in the log. ``at_us``: when the leader wrote it."""

    at_us: int
    offset: int
    batch: RecordBatch
    source: Source

    @property
    def end(self) -> int:
        """The offset after it."""
        return self.offset + self.batch.records


class ReplicatedLog:
    """One partition.

    Attributes
    ----------
    log : PartitionLog
        Of the leader.
    appended : list of Appended
        In the order of offsets.
    """

    def __init__(self) -> None:
        self.log = PartitionLog()
        self.appended: list[Appended] = []

    def append(self, now: int, batch: RecordBatch, source: Source) -> ProduceResponse:
        """The leader writes it, unless it is refused or there already."""
        end = self.log.end
        response = self.log.append(now, batch)
        if response.error is Error.NONE and self.log.end > end:
            self.appended.append(Appended(now, end, batch, source))
        return response

    def commit(self, until_us: int) -> list[Appended]:
        """All in sync have what was written by then: the high watermark follows; what it passes."""
        before, passed = self.log.high_watermark, list[Appended]()
        for one in reversed(self.appended):
            if one.offset < before:
                break
            # Times of appends only grow: what is before one that all have is there as well.
            if passed or one.at_us <= until_us:
                passed.append(one)
        passed.reverse()
        self.log.advance(passed[-1].end if passed else before)
        return passed

    def cut(self, after_us: int, *, is_unclean: bool) -> list[Appended]:
        """Somebody else leads, who lacks what was written after that; what was there and is gone.

        A leader that was in sync has all that is committed, however late its last fetch was. What is known of
        producers is what its log says (``ProducerStateManager.truncateAndReload``).
        """
        kept = list(self._kept(after_us, is_unclean=is_unclean))
        gone = self.appended[len(kept) :]
        if gone:
            high_watermark = self.log.high_watermark
            self.log, self.appended = PartitionLog(), []
            for one in kept:
                self.append(one.at_us, one.batch, one.source)
            self.log.advance(min(high_watermark, self.log.end))
        return gone

    def _kept(self, after_us: int, *, is_unclean: bool) -> Iterator[Appended]:
        for one in self.appended:
            is_committed = one.end <= self.log.high_watermark and not is_unclean
            if one.at_us > after_us and not is_committed:
                return
            yield one
