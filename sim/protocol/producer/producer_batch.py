"""What a producer's sender keeps of what its application has sent: batches, requests, and what becomes of them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from groupsim.sim.protocol.controller.partition import NO_LEADER
from groupsim.sim.protocol.messages import Error
from groupsim.sim.protocol.producer.batches import sequence_after
from groupsim.sim.protocol.transactions.messages import NO_EPOCH, NO_PRODUCER_ID, TopicPartition


@dataclass(slots=True, eq=False)
class ProducerBatch:
    """Records that are sent together.

    Attributes
    ----------
    produced_us : list of int
        When the application sent each of its records (``ProducerRecord.timestamp``, CreateTime).
    first : int
        How many records the producer has sent to the partition before those in it.
    sequence : int
        Given when it is sent for the first time; -1.
    attempts : int
        How often it was sent.
    sent_us : int, microseconds
        When it was sent last; -1: it is not in flight.
    node : int
        To which broker.
    ready_us : int, microseconds
        It is not sent before: linger.ms, or a backoff.
    is_rewritten : bool
        It has another sequence than it was sent with (``sequenceHasBeenReset``).
    """

    partition: TopicPartition
    produced_us: list[int]
    first: int = 0
    sequence: int = -1
    attempts: int = 0
    sent_us: int = -1
    node: int = NO_LEADER
    ready_us: int = 0
    is_rewritten: bool = False

    @property
    def created_us(self) -> int:
        """When the first of its records was sent."""
        return self.produced_us[0]

    @property
    def records(self) -> int:
        """How many it has."""
        return len(self.produced_us)

    @property
    def last_sequence(self) -> int:
        """Of its last record."""
        return sequence_after(self.sequence, self.records - 1)

    @property
    def is_in_flight(self) -> bool:
        """Whether its answer is outstanding (``ProducerBatch.isInflight``)."""
        return self.sent_us >= 0

    @property
    def in_retry(self) -> bool:
        """Whether it was to be sent again: ``ready_us`` is the end of a backoff, and not of linger.ms."""
        return self.attempts > self.is_in_flight


@dataclass(frozen=True, slots=True, eq=False)
class ProducerRequest:
    """``ProduceRequest``: batches of several partitions, one of each, to the broker that leads them."""

    node: int
    batches: tuple[ProducerBatch, ...]


@dataclass(slots=True, eq=False)
class SendState:
    """What the sender keeps of one partition.

    Attributes
    ----------
    batches : deque of ProducerBatch
        Not acknowledged, in the order of their records.
    sent : int
        Records that the application has sent.
    producer_id, epoch : int
        Of all in flight; the producer may have others by now.
    next_sequence, last_acknowledged : int
    """

    batches: deque[ProducerBatch] = field(default_factory=deque)
    sent: int = 0
    producer_id: int = NO_PRODUCER_ID
    epoch: int = NO_EPOCH
    next_sequence: int = 0
    last_acknowledged: int = -1

    @property
    def first_unsent(self) -> ProducerBatch | None:
        """The first that is not in flight; None: all are."""
        return next((one for one in self.batches if not one.is_in_flight), None)

    @property
    def has_in_flight(self) -> bool:
        """Whether one that has a sequence has not ended: unanswered, or to be sent again (``hasInflightBatches``)."""
        return bool(self.batches) and self.batches[0].sequence >= 0


@dataclass(slots=True, eq=False)
class Delivery:
    """What has become of a batch: acknowledged at ``offset``, or failed for the application to see."""

    batch: ProducerBatch
    error: Error
    offset: int = -1
