"""A partition of an output topic, as it is written to by one group."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from typing import NamedTuple

from groupsim.sim.books.producing.output_history import MARKER
from groupsim.sim.books.producing.transactions import Output, TransactionBooks
from groupsim.sim.kernel.environment import Moment
from groupsim.sim.protocol.messages import Error
from groupsim.sim.protocol.producer.batches import Origin, RecordBatch
from groupsim.sim.protocol.producer.log import PartitionLog
from groupsim.sim.protocol.transactions.messages import WriteTxnMarkers


class WrittenBatch(NamedTuple):
    """Records in the log, and what the books know of them."""

    at_us: int
    end: int
    batch: RecordBatch
    output: Output


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
        Told what readers are shown: the moment, when it was written, by which producer id, and how many records.

    Attributes
    ----------
    log : PartitionLog
        Of the leader.
    written : list of WrittenBatch or WrittenMarker
        All that is in it, in the order of offsets.
    show : callable or None
        Is told when readers may see more; None: no group reads it.
    hide : callable or None
        Is told how much of ``written`` is kept, before the rest goes.
    """

    def __init__(
        self, group: str, books: TransactionBooks, version: int, history: Callable[[Moment, int, int, int], None]
    ) -> None:
        self.group = group
        self.log = PartitionLog()
        self.written: list[WrittenBatch | WrittenMarker] = []
        self.show: Callable[[OutputLog], None] | None = None
        self.hide: Callable[[OutputLog, int], None] | None = None
        self._books = books
        self._version = version
        self._shown = 0
        """How many of ``written`` readers may see."""
        self._history = history
        self._undecided: dict[int, list[WrittenBatch]] = {}
        """Producer id -> its batches that are not followed by a marker of its."""

    def append(
        self, now: int, batch: RecordBatch, transactional_id: str, origins: tuple[Origin, ...]
    ) -> tuple[Error, int]:
        """``appendAsLeader``: an error, or where the batch ends, be it there already."""
        end = self.log.end
        response = self.log.append(now, batch)
        if response.error is not Error.NONE:
            return response.error, -1
        if self.log.end > end:
            output = Output(self._books.author(transactional_id), origins)
            self._keep(WrittenBatch(now, self.log.end, batch, output))
        return response.error, response.offset + batch.records

    def _keep(self, one: WrittenBatch) -> None:
        self.written.append(one)
        self._undecided.setdefault(one.batch.producer_id, []).append(one)

    def mark(self, now: int, markers: WriteTxnMarkers) -> bool:
        """Whether a marker is written: the log may know better; it decides all that its producer has open here."""
        if self.log.mark(now, markers).error is not Error.NONE:
            return False
        self.written.append(WrittenMarker(now, self.log.end, markers))
        for one in self._undecided.pop(markers.producer_id, ()):
            self._books.mark(one.output, is_committed=markers.is_committed)
        return True

    def commit(self, moment: Moment) -> None:
        """All in sync have all that is written: readers may see it."""
        self.log.advance()
        for one in self.written[self._shown :]:
            if isinstance(one, WrittenBatch):
                self._books.shown(one.output, one.batch)
            self._note(moment, one, one.at_us)
        self._shown = len(self.written)
        if self.show is not None:
            self.show(self)

    def _note(self, moment: Moment, one: WrittenBatch | WrittenMarker, written_us: int) -> None:
        if isinstance(one, WrittenBatch):
            self._history(moment, written_us, one.batch.producer_id, one.batch.records)
        else:
            self._history(moment, written_us, one.markers.producer_id, MARKER)

    def is_aborted(self, one: WrittenBatch) -> bool:
        """Whether it is of a transaction that was aborted, of which the marker is there."""
        return self.log.is_aborted(one.batch.producer_id, one.end - one.batch.records)

    def cut(self, after_us: int, *, is_unclean: bool) -> bool:
        """Another broker leads, which lacks what was written after that: clean elections keep what is committed.

        What is known of producers is what its log says (``ProducerStateManager.truncateAndReload``). Whether readers
        have been shown some of what is gone.
        """
        is_safe = 0 if is_unclean else self._shown
        later = takewhile(lambda one: one.at_us <= after_us, self.written[is_safe:])
        kept = [*self.written[:is_safe], *later]
        gone = self.written[len(kept) :]
        if not gone:
            return False
        if self.hide is not None:
            self.hide(self, len(kept))
        was_undecided = {id(one) for batches in self._undecided.values() for one in batches}
        for one in gone:
            if isinstance(one, WrittenBatch) and one.output.transaction is not None:
                self._books.take_back(one.output)
        self._begin_anew(kept)
        for batches in self._undecided.values():
            for one in batches:
                if id(one) not in was_undecided:
                    self._books.reopen(one.output)
        has_shown, self._shown = self._shown > len(kept), min(self._shown, len(kept))
        return has_shown

    def _begin_anew(self, kept: list[WrittenBatch | WrittenMarker]) -> None:
        """Write again what is kept."""
        high_watermark, self.log = self.log.high_watermark, PartitionLog()
        self.written, self._undecided = [], {}
        for one in kept:
            if isinstance(one, WrittenMarker):
                self.log.mark(one.at_us, one.markers)
                self.written.append(one)
                self._undecided.pop(one.markers.producer_id, None)
            else:
                self.log.verified(one.batch.producer_id, self._version)
                self.log.append(one.at_us, one.batch)
                self._keep(one)
        self.log.advance(min(high_watermark, self.log.end))

    def show_again(self, moment: Moment) -> None:
        """Readers see this at a leader that lacks what others had: what they have waited for they still wait for."""
        batches = [one for batches in self._undecided.values() for one in batches if one.output.verdict is None]
        waited = {id(one) for one in batches}
        for one in self.written[: self._shown]:
            self._note(moment, one, one.at_us if id(one) in waited else moment[0])
