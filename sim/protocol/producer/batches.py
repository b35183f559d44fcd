"""Batches of records and transaction markers, as they stand in a partition's log (``RecordBatch``, Kafka 4.4)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from groupsim.sim.protocol.controller.partition import NO_LEADER
from groupsim.sim.protocol.messages import Error
from groupsim.sim.protocol.transactions.messages import NO_EPOCH, NO_PRODUCER_ID, TopicPartition

LAST_SEQUENCE = (1 << 31) - 1
"""``Integer.MAX_VALUE``; 0 follows."""


def sequence_after(sequence: int, records: int = 1) -> int:
    """So many records further on (``DefaultRecordBatch.incrementSequence``)."""
    return (sequence + records) % (LAST_SEQUENCE + 1)


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """Records of one producer for one partition; a sequence number counts records.

    Parameters
    ----------
    records : int
        Number of them, at least 1.
    producer_id, epoch, first_sequence : int
        -1: the producer is not idempotent.
    is_transactional : bool
    """

    records: int
    producer_id: int = NO_PRODUCER_ID
    epoch: int = NO_EPOCH
    first_sequence: int = -1
    is_transactional: bool = False

    @property
    def last_sequence(self) -> int:
        """Of the last record."""
        return sequence_after(self.first_sequence, self.records - 1)


class Kind(Enum):
    """What stands at an offset."""

    DATA = "data"
    COMMIT = "commit"
    ABORT = "abort"


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A batch, or a marker, at its offsets."""

    offset: int
    records: int
    kind: Kind = Kind.DATA
    producer_id: int = NO_PRODUCER_ID
    is_transactional: bool = False

    @property
    def end(self) -> int:
        """The offset after it."""
        return self.offset + self.records


@dataclass(frozen=True, slots=True)
class ProduceResponse:
    """Of one batch: where it stands, or why it does not; who does not lead says who does (KIP-951)."""

    error: Error
    offset: int = -1
    leader: int = NO_LEADER


@dataclass(frozen=True, slots=True)
class Origin:
    """Which input records an output batch was made of: [first, last) of a partition that the group reads."""

    position: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Produce:
    """``ProduceRequest`` of a transaction, a batch for each partition; answered by one error for all.

    Each batch comes with what nobody in Kafka knows: where its records come from.
    """

    transactional_id: str
    batches: tuple[tuple[TopicPartition, RecordBatch, tuple[Origin, ...]], ...]
    timeout_us: int
