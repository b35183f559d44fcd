"""A producer's sender: batches wait, are sent, and sent again, until they are acknowledged or too old. Pure.

Source: ``Sender``, ``RecordAccumulator``, ``TransactionManager`` (clients, Kafka 4.4), as far as a producer has no
transactional id. Each request has one batch of one partition; at most ``max.in.flight.requests.per.connection`` of them
are under way to a broker.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from groupsim.sim.config import ProducerConfig
from groupsim.sim.protocol.controller.partition import NO_LEADER
from groupsim.sim.protocol.lookup import Backoff
from groupsim.sim.protocol.messages import Error
from groupsim.sim.protocol.producer.batches import ProduceResponse, RecordBatch, sequence_after
from groupsim.sim.protocol.transactions.messages import LAST_EPOCH, NO_EPOCH, NO_PRODUCER_ID, TopicPartition
from groupsim.sim.units import FOREVER

RETRIABLE = frozenset(
    {
        Error.NOT_LEADER_OR_FOLLOWER, Error.NOT_ENOUGH_REPLICAS, Error.REQUEST_TIMED_OUT, Error.DISCONNECTED,
        Error.UNKNOWN_TOPIC_OR_PARTITION, Error.KAFKA_STORAGE_ERROR, Error.COORDINATOR_LOAD_IN_PROGRESS,
        Error.CONCURRENT_TRANSACTIONS, Error.COORDINATOR_NOT_AVAILABLE, Error.NOT_COORDINATOR,
    }
)  # fmt: skip
"""``RetriableException``, as far as a broker answers it to a producer."""


@dataclass(slots=True, eq=False)
class ProducerBatch:
    """Records that are sent together.

    Attributes
    ----------
    produced_us : list of int
        When the application sent each of its records (``ProducerRecord.timestamp``, CreateTime).
    first : int
        How many records the producer has sent to the partition before those in it.
    sequence, epoch : int
        Given when it is sent for the first time; -1.
    attempts : int
        How often it was sent.
    sent_us : int, microseconds
        When it was sent last; -1: it is not in flight.
    ready_us : int, microseconds
        It is not sent before: linger.ms, or a backoff.
    """

    partition: TopicPartition
    produced_us: list[int]
    first: int = 0
    sequence: int = -1
    epoch: int = NO_EPOCH
    attempts: int = 0
    sent_us: int = -1
    ready_us: int = 0

    @property
    def created_us(self) -> int:
        """When the first of its records was sent."""
        return self.produced_us[0]

    @property
    def records(self) -> int:
        """How many it has."""
        return len(self.produced_us)

    @property
    def is_in_flight(self) -> bool:
        """Whether its answer is outstanding."""
        return self.sent_us >= 0


@dataclass(slots=True, eq=False)
class SendState:
    """What the sender keeps of one partition.

    Attributes
    ----------
    batches : deque of ProducerBatch
        Not acknowledged, in the order of their records.
    sent : int
        Records that the application has sent.
    next_sequence, last_acknowledged : int
    is_unresolved : bool
        A batch was given up that may be in the log.
    """

    batches: deque[ProducerBatch] = field(default_factory=deque)
    sent: int = 0
    next_sequence: int = 0
    last_acknowledged: int = -1
    is_unresolved: bool = False


@dataclass(slots=True, eq=False)
class Delivery:
    """What has become of a batch: acknowledged at ``offset``, or failed for the application to see."""

    batch: ProducerBatch
    error: Error
    offset: int = -1


class Sender:
    """Of one producer.

    Parameters
    ----------
    config : ProducerConfig
    record_bytes : int
        Of each record.
    jitter : callable
        Retry number -> factor in permille (800 .. 1200).
    leader_of : callable
        Broker that leads a partition, `NO_LEADER`: it cannot be reached now. What is in flight counts by connection.

    Attributes
    ----------
    producer_id, epoch : int
        Set by `identify`; an idempotent producer sends nothing before.
    deliveries : list of Delivery
        What the application has not been told yet.
    """

    def __init__(
        self, config: ProducerConfig, record_bytes: int, jitter: Callable[[int], int],
        leader_of: Callable[[TopicPartition], int],
    ) -> None:  # fmt: skip
        self._config = config
        self._most = max(config.batch_bytes // record_bytes, 1)
        self._backoff = Backoff(config.retry_backoff_us, config.retry_backoff_max_us, jitter)
        self._leader_of = leader_of
        self.producer_id = NO_PRODUCER_ID
        self.epoch = NO_EPOCH
        self.partitions: defaultdict[TopicPartition, SendState] = defaultdict(SendState)
        self.deliveries: list[Delivery] = []
        self._expires_us = FOREVER
        """No batch is too old before."""

    def identify(self, producer_id: int, epoch: int) -> None:
        """InitProducerId is answered: sequences begin anew."""
        self.producer_id, self.epoch = producer_id, epoch
        for state in self.partitions.values():
            self._begin_anew(state)

    def send(self, now: int, partition: TopicPartition, records: int) -> None:
        """The application sends records to one partition."""
        state = self.partitions[partition]
        while records:
            last = state.batches[-1] if state.batches else None
            if last is None or last.attempts or last.records >= self._most:
                last = ProducerBatch(partition, [], state.sent, ready_us=now + self._config.linger_us)
                state.batches.append(last)
                self._expires_us = min(self._expires_us, now + self._config.delivery_timeout_us)
            taken = min(self._most - last.records, records)
            last.produced_us += [now] * taken
            state.sent += taken
            records -= taken
            if last.records >= self._most:
                last.ready_us = now

    # --- sending ------------------------------------------------------------------------------------------------------

    def drain(self, now: int) -> list[ProducerBatch]:
        """What is sent now (``Sender.sendProducerData``); the requests are `request_of` each."""
        sent = []
        for partition in sorted(self.partitions):
            while (batch := self._next(now, self.partitions[partition])) is not None:
                self._number(batch)
                batch.attempts += 1
                batch.sent_us = now
                sent.append(batch)
        return sent

    def _next(self, now: int, state: SendState) -> ProducerBatch | None:
        """The first batch of a partition that may be sent now."""
        waiting = next((one for one in state.batches if not one.is_in_flight), None)
        if waiting is None or waiting.ready_us > now or not self._has_room(waiting.partition):
            return None
        return None if self._config.enable_idempotence and not self._keeps_order(state, waiting) else waiting

    def _has_room(self, partition: TopicPartition) -> bool:
        node = self._leader_of(partition)
        return node != NO_LEADER and self._in_flight(node) < self._config.max_in_flight

    def _in_flight(self, node: int) -> int:
        return sum(
            batch.is_in_flight
            for name, state in self.partitions.items()
            if self._leader_of(name) == node
            for batch in state.batches
        )

    def _keeps_order(self, state: SendState, batch: ProducerBatch) -> bool:
        """``shouldStopDrainBatchesForPartition``: whether an idempotent producer may send it now."""
        if self.producer_id == NO_PRODUCER_ID:
            return False
        if batch.sequence >= 0:
            # While something is sent again, only what comes first is.
            return batch is state.batches[0]
        flying = [one for one in state.batches if one.is_in_flight]
        return not state.is_unresolved and all(one.epoch == self.epoch for one in flying)

    def _number(self, batch: ProducerBatch) -> None:
        if self._config.enable_idempotence and batch.sequence < 0:
            state = self.partitions[batch.partition]
            batch.sequence, batch.epoch = state.next_sequence, self.epoch
            state.next_sequence = sequence_after(state.next_sequence, batch.records)

    def request_of(self, batch: ProducerBatch) -> RecordBatch:
        """What goes over the wire."""
        if not self._config.enable_idempotence:
            return RecordBatch(batch.records)
        return RecordBatch(batch.records, self.producer_id, batch.epoch, batch.sequence)

    # --- answers ------------------------------------------------------------------------------------------------------

    def on_response(self, now: int, batch: ProducerBatch, response: ProduceResponse) -> None:
        """``Sender.completeBatch``; of a batch that was given up meanwhile nobody hears."""
        batch.sent_us = -1
        state = self.partitions[batch.partition]
        if batch in state.batches:
            self._complete(now, state, batch, response)
        self._resolve(state)

    def _complete(self, now: int, state: SendState, batch: ProducerBatch, response: ProduceResponse) -> None:
        error = response.error
        if error is Error.NONE:
            state.batches.remove(batch)
            if batch.epoch == self.epoch and batch.sequence >= 0:
                last = sequence_after(batch.sequence, batch.records - 1)
                state.last_acknowledged = max(last, state.last_acknowledged)
            self.deliveries.append(Delivery(batch, error, response.offset))
        elif self._may_retry(now, state, batch, error):
            batch.ready_us = now + self._backoff.after(batch.attempts - 1)
            if not self._config.enable_idempotence:
                # ``RecordAccumulator.reenqueue``: to the front, so what fails one after the other turns round.
                state.batches.remove(batch)
                state.batches.appendleft(batch)
        else:
            self._give_up(state, batch, error)

    def _may_retry(self, now: int, state: SendState, batch: ProducerBatch, error: Error) -> bool:
        """``canRetry``: an idempotent producer sends what came out of order again, after what is missing."""
        is_in_time = now - batch.created_us < self._config.delivery_timeout_us
        if not is_in_time or batch.attempts > self._config.retries:
            return False
        if error is not Error.OUT_OF_ORDER_SEQUENCE_NUMBER:
            return error in RETRIABLE
        if batch.sequence == sequence_after(state.last_acknowledged) and batch.epoch == self.epoch:
            # Nothing is missing on this side, so the log has lost something: sequences begin anew.
            self._raise_epoch()
        return True

    def _give_up(self, state: SendState, batch: ProducerBatch, error: Error) -> None:
        state.batches.remove(batch)
        if self._config.enable_idempotence and batch.sequence >= 0:
            state.is_unresolved = True
        self.deliveries.append(Delivery(batch, error))

    def _resolve(self, state: SendState) -> None:
        """``maybeResolveSequences``: once nothing is in flight, a gap that remains is closed by a new epoch."""
        if state.is_unresolved and not any(one.is_in_flight for one in state.batches):
            state.is_unresolved = False
            if sequence_after(state.last_acknowledged) != state.next_sequence:
                self._raise_epoch()

    def _raise_epoch(self) -> None:
        """``bumpIdempotentProducerEpoch``: locally; when epochs are used up, InitProducerId is asked anew."""
        if self.epoch >= LAST_EPOCH:
            self.producer_id, self.epoch = NO_PRODUCER_ID, NO_EPOCH
            return
        self.epoch += 1
        for state in self.partitions.values():
            self._begin_anew(state)

    def _begin_anew(self, state: SendState) -> None:
        """Sequences of a partition from 0; what is sent again gets new ones (``startSequencesAtBeginning``)."""
        state.next_sequence, state.last_acknowledged = 0, -1
        for batch in state.batches:
            if batch.sequence >= 0:
                batch.sequence, batch.epoch = state.next_sequence, self.epoch
                state.next_sequence = sequence_after(state.next_sequence, batch.records)

    # --- time ---------------------------------------------------------------------------------------------------------

    def deadline(self, now: int) -> int:
        """When after now a batch is ready, or too old, microseconds; `FOREVER` if there is none."""
        ready_us = oldest_us = FOREVER
        for state in self.partitions.values():
            for one in state.batches:
                oldest_us = min(oldest_us, one.produced_us[0])
                if one.sent_us < 0 and now < one.ready_us < ready_us:
                    ready_us = one.ready_us
        self._expires_us = min(oldest_us + self._config.delivery_timeout_us, FOREVER)
        return min(ready_us, self._expires_us)

    def on_deadline(self, now: int) -> None:
        """``failExpiredBatches``: queued or in flight, it is too late. The application is told; the log may have it."""
        if now < self._expires_us:
            return
        for partition in sorted(self.partitions):
            state = self.partitions[partition]
            for batch in list(state.batches):
                if now - batch.created_us >= self._config.delivery_timeout_us:
                    batch.sent_us = -1
                    self._give_up(state, batch, Error.REQUEST_TIMED_OUT)
            self._resolve(state)
