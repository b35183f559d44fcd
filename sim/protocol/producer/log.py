"""The log of one partition as producers and readers see it: what is accepted, what is decided, what is aborted.

Source: ``UnifiedLog``, ``ProducerStateManager`` (storage), Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from groupsim.sim.protocol.messages import Error
from groupsim.sim.protocol.producer.batches import Kind, LogEntry, ProduceResponse, RecordBatch
from groupsim.sim.protocol.producer.states import ProducerState
from groupsim.sim.protocol.transactions.messages import NO_PRODUCER_ID, TV2, WriteTxnMarkers


@dataclass(frozen=True, slots=True)
class DecidedTransaction:
    """A transaction of which the partition has a marker: its records are in [first, marker)."""

    producer_id: int
    first: int
    marker: int
    is_aborted: bool


@dataclass(slots=True, eq=False)
class PartitionLog:
    """One partition.

    Attributes
    ----------
    entries : list of LogEntry
    end : int
        Log end offset.
    start : int
        Log start offset: what is before it is deleted.
    high_watermark : int
        Up to where everything in sync has it; moved by `advance`.
    states : dict of int to ProducerState
        By producer id.
    aborted : list of DecidedTransaction
        Those whose records no ``read_committed`` reader sees, in the order of their markers.
    """

    entries: list[LogEntry] = field(default_factory=list)
    end: int = 0
    start: int = 0
    high_watermark: int = 0
    states: dict[int, ProducerState] = field(default_factory=dict)
    aborted: list[DecidedTransaction] = field(default_factory=list)
    _unreplicated: list[DecidedTransaction] = field(default_factory=list)
    """Decided, but the high watermark is below the marker."""
    _verified: dict[int, int] = field(default_factory=dict)
    """Producer id -> level of transaction.version: what it opens next belongs to a transaction of the coordinator's."""

    # --- what is appended ---------------------------------------------------------------------------------------------

    def needs_verification(self, batch: RecordBatch) -> bool | Error:
        """Whether the transaction coordinator has to be asked before the append.

        ``maybeStartTransactionVerification``. An error: the batch comes too late.
        """
        state = self.states.get(batch.producer_id)
        if not batch.is_transactional or (state is not None and self._is_open(state, batch)):
            return False
        if state is not None and batch.epoch < state.epoch:
            return Error.INVALID_PRODUCER_EPOCH
        return True

    def verified(self, producer_id: int, version: int = TV2) -> None:
        """The coordinator says that this partition is in the producer's transaction."""
        self._verified[producer_id] = version

    @staticmethod
    def _is_open(state: ProducerState, batch: RecordBatch) -> bool:
        return state.open_since >= 0 and state.epoch == batch.epoch

    def append(self, now: int, batch: RecordBatch) -> ProduceResponse:
        """``analyzeAndValidateProducerState``, then the append."""
        if batch.producer_id == NO_PRODUCER_ID:
            return ProduceResponse(Error.NONE, self._write(LogEntry(self.end, batch.records)))
        state = self.states.get(batch.producer_id) or ProducerState()
        duplicate = state.duplicate(batch)
        if duplicate is not None:
            return ProduceResponse(Error.NONE, duplicate.offset)
        error = self._check(state, batch)
        if error is not Error.NONE:
            return ProduceResponse(error)
        self._verified.pop(batch.producer_id, None)
        self.states[batch.producer_id] = state
        state.remember(now, batch, self.end)
        entry = LogEntry(self.end, batch.records, Kind.DATA, batch.producer_id, batch.is_transactional)
        return ProduceResponse(Error.NONE, self._write(entry))

    def _check(self, state: ProducerState, batch: RecordBatch) -> Error:
        version = self._verified.get(batch.producer_id)
        if batch.is_transactional and not self._is_open(state, batch) and version is None:
            return Error.INVALID_TXN_STATE
        if batch.epoch < state.epoch:
            return Error.INVALID_PRODUCER_EPOCH
        error = state.check_sequence(batch, is_tv2=version == TV2)
        if error is not Error.NONE:
            return error
        return Error.INVALID_TXN_STATE if state.open_since >= 0 and not batch.is_transactional else Error.NONE

    def mark(self, now: int, markers: WriteTxnMarkers) -> ProduceResponse:
        """Append a marker (``appendEndTxnMarker``); one that ends nothing takes an offset all the same."""
        state = self.states.get(markers.producer_id) or ProducerState()
        error = state.check_marker(markers)
        if error is not Error.NONE:
            return ProduceResponse(error)
        offset, first = self.end, state.open_since
        self._write(LogEntry(offset, 1, Kind.COMMIT if markers.is_committed else Kind.ABORT, markers.producer_id, True))
        if first >= 0:
            decided = DecidedTransaction(markers.producer_id, first, offset, not markers.is_committed)
            self._unreplicated.append(decided)
            if decided.is_aborted:
                self.aborted.append(decided)
        self.states[markers.producer_id] = state
        state.end(now, markers)
        self._verified.pop(markers.producer_id, None)
        return ProduceResponse(Error.NONE, offset)

    def _write(self, entry: LogEntry) -> int:
        self.entries.append(entry)
        self.end = entry.end
        return entry.offset

    def advance(self, high_watermark: int | None = None) -> None:
        """The high watermark is here now; None: at the end."""
        self.high_watermark = self.end if high_watermark is None else high_watermark
        self._unreplicated = [one for one in self._unreplicated if one.marker >= self.high_watermark]

    def expire_producers(self, now: int, expiration_us: int) -> None:
        """``removeExpiredProducers``: who has not written for so long and has nothing open is not known any more."""
        stale = [
            name for name, one in self.states.items() if one.open_since < 0 and now - one.update_us >= expiration_us
        ]
        for name in stale:
            del self.states[name]

    # --- what is removed ----------------------------------------------------------------------------------------------

    def delete_before(self, offset: int) -> None:
        """Segments before ``offset`` are deleted, or DeleteRecords says so (``maybeIncrementLogStartOffset``).

        Whatever transaction they are of: not beyond the high watermark is the only bound.
        """
        self.start = max(self.start, min(offset, self.high_watermark))
        self.entries = [one for one in self.entries if one.end > self.start]

    def clean(self, is_superseded: Callable[[int], bool]) -> None:
        """Compact it: what was aborted goes, and each record that is not the last of its key.

        Up to the last stable offset, whichever transaction a record is of; markers stay (they go later, by
        delete.retention.ms). ``LogCleanerManager.cleanableOffsets``, ``Cleaner.cleanInto``.

        Parameters
        ----------
        is_superseded : callable
            Whether there is a later record of the key of the record at an offset.
        """
        stable, kept = self.last_stable_offset, []
        for entry in self.entries:
            if entry.kind is not Kind.DATA or entry.offset >= stable:
                kept.append(entry)
            elif not self._is_aborted(entry):
                stay = (offset for offset in range(entry.offset, entry.end) if not is_superseded(offset))
                kept += [replace(entry, offset=offset, records=1) for offset in stay]
        self.entries = kept

    # --- what is read -------------------------------------------------------------------------------------------------

    @property
    def last_stable_offset(self) -> int:
        """``UnifiedLog.lastStableOffset``; not before the log's start (``maybeIncrementFirstUnstableOffset``)."""
        opened = [one.open_since for one in self.states.values() if one.open_since >= 0]
        decided = [one.first for one in self._unreplicated]
        return max(self.start, min([self.high_watermark, *opened, *decided]))

    def end_for(self, *, is_committed: bool) -> int:
        """Where a reader of an isolation level finds the end: ``endOffsets``, ``seekToEnd``, and what lag counts to."""
        return self.last_stable_offset if is_committed else self.high_watermark

    def read(self, start: int, *, is_committed: bool) -> tuple[list[int], int]:
        """Offsets of the records that a reader gets from ``start`` on, and its position after them.

        ``CompletedFetch.nextFetchedRecord``: markers, and for ``read_committed`` what was aborted, are passed over.
        """
        end = self.end_for(is_committed=is_committed)
        found = [
            offset
            for entry in self._from(start, end)
            if not (is_committed and self._is_aborted(entry))
            for offset in range(max(entry.offset, start, self.start), min(entry.end, end))
        ]
        return found, max(start, end)

    def _from(self, start: int, end: int) -> Iterator[LogEntry]:
        return (one for one in self.entries if one.kind is Kind.DATA and one.end > start and one.offset < end)

    def _is_aborted(self, entry: LogEntry) -> bool:
        return entry.is_transactional and self.is_aborted(entry.producer_id, entry.offset)

    def is_aborted(self, producer_id: int, offset: int) -> bool:
        """Whether a record in a producer's transactions is of an aborted one."""
        return any(one.producer_id == producer_id and one.first <= offset < one.marker for one in self.aborted)
