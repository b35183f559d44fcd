"""What a partition knows of each producer (``ProducerStateEntry``, Kafka 4.4)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from groupsim.sim.protocol.messages import Error
from groupsim.sim.protocol.producer.batches import RecordBatch, sequence_after
from groupsim.sim.protocol.transactions.messages import NO_EPOCH, TV2, WriteTxnMarkers

BATCHES_REMEMBERED = 5
"""``ProducerStateEntry.NUM_BATCHES_TO_RETAIN``; so many requests may be in flight."""


class Remembered(NamedTuple):
    """A batch that a repetition is recognised by."""

    first_sequence: int
    last_sequence: int
    offset: int


@dataclass(slots=True, eq=False)
class ProducerState:
    """One producer id in one partition.

    Attributes
    ----------
    epoch : int
        The highest that was written, by data or by a marker; `NO_EPOCH`: none.
    batches : deque of Remembered
        The last of this epoch.
    open_since : int
        First offset of the open transaction, -1: none is open.
    coordinator_epoch : int
        Of the last marker, -1.
    update_us : int, microseconds
        Of the last write.
    """

    epoch: int = NO_EPOCH
    batches: deque[Remembered] = field(default_factory=lambda: deque(maxlen=BATCHES_REMEMBERED))
    open_since: int = -1
    coordinator_epoch: int = -1
    update_us: int = 0

    def duplicate(self, batch: RecordBatch) -> Remembered | None:
        """The same batch, if it is among the last ones (``findDuplicateBatch``)."""
        if batch.epoch != self.epoch:
            return None
        span = (batch.first_sequence, batch.last_sequence)
        return next((one for one in self.batches if (one.first_sequence, one.last_sequence) == span), None)

    def check_sequence(self, batch: RecordBatch, *, is_tv2: bool) -> Error:
        """``ProducerAppendInfo.checkSequence``; a producer that is not known may begin anywhere, unless under TV2."""
        expected = 0
        if self.epoch == NO_EPOCH or (batch.epoch == self.epoch and not self.batches):
            # After a marker, or when everything was forgotten: nothing is known of this epoch's sequences.
            expected = 0 if is_tv2 or self.epoch != NO_EPOCH else batch.first_sequence
        elif batch.epoch == self.epoch:
            expected = sequence_after(self.batches[-1].last_sequence)
        return Error.NONE if batch.first_sequence == expected else Error.OUT_OF_ORDER_SEQUENCE_NUMBER

    def remember(self, now: int, batch: RecordBatch, offset: int) -> None:
        """The batch is written (``appendDataBatch``)."""
        if batch.epoch != self.epoch:
            self.batches.clear()
            self.epoch = batch.epoch
        self.batches.append(Remembered(batch.first_sequence, batch.last_sequence, offset))
        self.update_us = now
        if batch.is_transactional and self.open_since < 0:
            self.open_since = offset

    def check_marker(self, markers: WriteTxnMarkers) -> Error:
        """``checkProducerEpoch`` and ``checkCoordinatorEpoch`` of a marker."""
        is_repeated = markers.epoch == self.epoch and (markers.version < TV2 or self.open_since < 0)
        if markers.epoch <= self.epoch and not is_repeated:
            return Error.INVALID_PRODUCER_EPOCH
        is_old = markers.coordinator_epoch < self.coordinator_epoch
        return Error.TRANSACTION_COORDINATOR_FENCED if is_old else Error.NONE

    def end(self, now: int, markers: WriteTxnMarkers) -> None:
        """The marker is written (``appendEndTxnMarker``)."""
        if markers.epoch != self.epoch:
            self.batches.clear()
        self.epoch, self.coordinator_epoch = markers.epoch, markers.coordinator_epoch
        self.open_since, self.update_us = -1, now
