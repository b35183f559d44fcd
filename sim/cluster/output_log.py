"""A partition of an output topic, as it is written to by one group."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from groupsim.sim.books.output_history import MARKER
from groupsim.sim.books.transactions import ProducerLife, TransactionBooks
from groupsim.sim.kernel.environment import Moment
from groupsim.sim.protocol.messages import Error
from groupsim.sim.protocol.producer.batches import Origin, RecordBatch
from groupsim.sim.protocol.producer.log import PartitionLog
from groupsim.sim.protocol.transactions.messages import WriteTxnMarkers


class WrittenBatch(NamedTuple):
    """Records in the log, whose they are, and what they were made of."""

    at_us: int
    end: int
    batch: RecordBatch
    life: ProducerLife
    origins: tuple[Origin, ...]


class WrittenMarker(NamedTuple):
    """A marker in the log."""

    at_us: int
    end: int
    markers: WriteTxnMarkers


class OutputLog:
    """What is appended is committed at once, but while its high watermark stands still.

    Parameters
    ----------
    group : str
        Whose members write to it.
    books : TransactionBooks
        Of that group.
    version : int
        Level of transaction.version.
    history : callable
        Told what is committed: the moment, when it was written, by which producer id, and how many records.

    Attributes
    ----------
    log : PartitionLog
        Of the leader.
    written : list of WrittenBatch or WrittenMarker
        All that is in it, in the order of offsets.
    show : callable or None
        Is told when readers may see more; None: no group reads it.
    """

    def __init__(
        self, group: str, books: TransactionBooks, version: int, history: Callable[[Moment, int, int, int], None]
    ) -> None:
        self.group = group
        self.log = PartitionLog()
        self.written: list[WrittenBatch | WrittenMarker] = []
        self.show: Callable[[OutputLog], None] | None = None
        self._books = books
        self._version = version
        self._shown = 0
        """How many of ``written`` readers may see."""
        self._history = history

    def append(
        self, now: int, batch: RecordBatch, transactional_id: str, origins: tuple[Origin, ...]
    ) -> tuple[Error, int]:
        """``appendAsLeader``: an error, or where the batch ends, be it there already."""
        end = self.log.end
        response = self.log.append(now, batch)
        if response.error is not Error.NONE:
            return response.error, -1
        if self.log.end > end:
            self.written.append(WrittenBatch(now, self.log.end, batch, self._books.author(transactional_id), origins))
        return response.error, response.offset + batch.records

    def mark(self, now: int, markers: WriteTxnMarkers) -> None:
        """A marker is written, unless the log knows better."""
        if self.log.mark(now, markers).error is Error.NONE:
            self.written.append(WrittenMarker(now, self.log.end, markers))

    def commit(self, moment: Moment) -> None:
        """All in sync have all that is written: readers may see it."""
        self.log.advance()
        for one in self.written[self._shown :]:
            if isinstance(one, WrittenBatch):
                self._books.shown(one.life, one.batch, one.origins)
                self._history(moment, one.at_us, one.batch.producer_id, one.batch.records)
            else:
                self._history(moment, one.at_us, one.markers.producer_id, MARKER)
        self._shown = len(self.written)
        if self.show is not None:
            self.show(self)

    def is_aborted(self, one: WrittenBatch) -> bool:
        """Whether it is of a transaction that was aborted, of which the marker is there."""
        return self.log.is_aborted(one.batch.producer_id, one.end - one.batch.records)

    def cut(self, after_us: int) -> None:
        """Another broker leads, which lacks what was written after that and is not committed.

        What is known of producers is what its log says (``ProducerStateManager.truncateAndReload``).
        """
        kept = self.written[: self._shown] + [one for one in self.written[self._shown :] if one.at_us <= after_us]
        if len(kept) == len(self.written):
            return
        high_watermark, self.log = self.log.high_watermark, PartitionLog()
        for one in kept:
            self._write_again(one)
        self.written = kept
        self.log.advance(high_watermark)

    def _write_again(self, one: WrittenBatch | WrittenMarker) -> None:
        if isinstance(one, WrittenMarker):
            self.log.mark(one.at_us, one.markers)
        else:
            self.log.verified(one.batch.producer_id, self._version)
            self.log.append(one.at_us, one.batch)
