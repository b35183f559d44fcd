"""A producer's sender: batches wait, are sent, and sent again, until they are acknowledged or too old. Pure.

Source: ``Sender``, ``RecordAccumulator``, ``TransactionManager`` (clients, Kafka 4.4), as far as a producer has no
transactional id. A request has one batch of each partition that its broker leads and for which something waits; at most
``max.in.flight.requests.per.connection`` of them are under way to a broker.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Final

from groupsim.sim.config import ProducerConfig
from groupsim.sim.protocol.controller.partition import NO_LEADER
from groupsim.sim.protocol.lookup import Backoff
from groupsim.sim.protocol.messages import Error
from groupsim.sim.protocol.producer.batches import ProduceResponse, RecordBatch, sequence_after
from groupsim.sim.protocol.producer.producer_batch import Delivery, ProducerBatch, ProducerRequest, SendState
from groupsim.sim.protocol.transactions.messages import LAST_EPOCH, NO_EPOCH, NO_PRODUCER_ID, TopicPartition
from groupsim.sim.units import FOREVER

_REQUEST_BYTES: Final = 1 << 20
"""``max.request.size``."""

RETRIABLE = frozenset(
    {
        Error.NOT_LEADER_OR_FOLLOWER, Error.NOT_ENOUGH_REPLICAS, Error.REQUEST_TIMED_OUT, Error.DISCONNECTED,
        Error.UNKNOWN_TOPIC_OR_PARTITION, Error.KAFKA_STORAGE_ERROR, Error.COORDINATOR_LOAD_IN_PROGRESS,
        Error.CONCURRENT_TRANSACTIONS, Error.COORDINATOR_NOT_AVAILABLE, Error.NOT_COORDINATOR,
    }
)  # fmt: skip
"""``RetriableException``, as far as a broker answers it to a producer."""


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
        Broker that leads a partition, `NO_LEADER`: it cannot be reached now.

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
        self._record_bytes = record_bytes
        self._most = max(config.batch_bytes // record_bytes, 1)
        self._backoff = Backoff(config.retry_backoff_us, config.retry_backoff_max_us, jitter)
        self._leader_of = leader_of
        self.producer_id = NO_PRODUCER_ID
        self.epoch = NO_EPOCH
        self.partitions: defaultdict[TopicPartition, SendState] = defaultdict(SendState)
        self.deliveries: list[Delivery] = []
        self._unsent: dict[TopicPartition, SendState] = {}
        """For which something waits to be sent."""
        self._in_flight: Counter[int] = Counter()
        """Requests to each broker."""
        self._begins: dict[int, TopicPartition] = {}
        """Broker -> the partition with which its next request begins (``nodesDrainIndex``)."""
        self._expires_us = FOREVER
        """No batch is too old before."""
        self._unresolved: dict[TopicPartition, int] = {}
        """Of which a batch was given up that may be in the log -> the sequence after it; nothing new of it is sent."""
        self._rewritten = set[TopicPartition]()
        """Whose sequences begin anew with the next epoch, in flight or not (``partitionsToRewriteSequences``)."""

    def identify(self, producer_id: int, epoch: int) -> None:
        """InitProducerId is answered: a partition's sequences begin anew once nothing of it is in flight."""
        self.producer_id, self.epoch = producer_id, epoch

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
        self._unsent[partition] = state

    # --- sending ------------------------------------------------------------------------------------------------------

    def drain(self, now: int) -> list[ProducerRequest]:
        """What is sent now (``Sender.runOnce``); of a batch `record_batch` is what goes over the wire."""
        self._resolve()
        self._raise_epoch()
        sent = []
        for node in sorted(dict.fromkeys(map(self._leader_of, self._unsent))):
            if node == NO_LEADER:
                continue
            while self._in_flight[node] < self._config.max_in_flight and (batches := self._drain_to(node, now)):
                sent.append(self._request(node, batches, now))
        return sent

    def _drain_to(self, node: int, now: int) -> list[ProducerBatch]:
        """What the next request to a broker has, if any of it is ready (``RecordAccumulator.drainBatchesForOneNode``).

        Whatever else waits for it goes along, linger.ms or not. A batch that has to wait for others of its partition
        holds up all partitions after it, and the next request begins with it.
        """
        waiting = sorted(one for one in self._unsent if self._leader_of(one) == node and not self._is_muted(one))
        firsts = [batch for one in waiting if (batch := self._unsent[one].first_unsent) is not None]
        if all(_is_early(batch, node, now) for batch in firsts):
            return []
        begin, room = bisect_left(waiting, self._begins.get(node, ("", 0))), _REQUEST_BYTES
        drained = list[ProducerBatch]()
        for batch in firsts[begin:] + firsts[:begin]:
            if batch.in_retry and _is_early(batch, node, now):
                continue
            room -= batch.records * self._record_bytes
            if (drained and room < 0) or not self._may_be_sent(batch):
                self._begins[node] = batch.partition
                break
            drained.append(batch)
        return drained

    def _is_muted(self, partition: TopicPartition) -> bool:
        """Who has one request in flight at a time has one batch of a partition (``guaranteeMessageOrder``)."""
        return self._config.max_in_flight == 1 and any(one.is_in_flight for one in self.partitions[partition].batches)

    def _request(self, node: int, batches: Sequence[ProducerBatch], now: int) -> ProducerRequest:
        self._in_flight[node] += 1
        for batch in batches:
            self._number(batch)
            batch.attempts += 1
            batch.sent_us, batch.node, batch.is_rewritten = now, node, False
            self._note_unsent(batch.partition)
        return ProducerRequest(node, tuple(batches))

    def _note_unsent(self, partition: TopicPartition) -> None:
        """Something of it has been sent, or given up."""
        if self.partitions[partition].first_unsent is None:
            self._unsent.pop(partition, None)

    def _may_be_sent(self, batch: ProducerBatch) -> bool:
        return not self._config.enable_idempotence or self._keeps_order(self.partitions[batch.partition], batch)

    def _keeps_order(self, state: SendState, batch: ProducerBatch) -> bool:
        """``shouldStopDrainBatchesForPartition``: whether an idempotent producer may send it now."""
        if self.producer_id == NO_PRODUCER_ID:
            return False
        if batch.sequence >= 0:
            # While something is sent again, only what comes first is.
            return batch is state.batches[0]
        return batch.partition not in self._unresolved and not (state.has_in_flight and self._is_stale(state))

    def _is_stale(self, state: SendState) -> bool:
        """``hasStaleProducerIdAndEpoch``."""
        return (state.producer_id, state.epoch) != (self.producer_id, self.epoch)

    def _number(self, batch: ProducerBatch) -> None:
        """Give it a sequence, the first of all if nothing is in flight (``maybeUpdateProducerIdAndEpoch``)."""
        if self._config.enable_idempotence and batch.sequence < 0:
            state = self.partitions[batch.partition]
            if self._is_stale(state):
                self._begin_anew(state)
            batch.sequence = state.next_sequence
            state.next_sequence = sequence_after(state.next_sequence, batch.records)

    def record_batch(self, batch: ProducerBatch) -> RecordBatch:
        """What goes over the wire."""
        if not self._config.enable_idempotence:
            return RecordBatch(batch.records)
        state = self.partitions[batch.partition]
        return RecordBatch(batch.records, state.producer_id, state.epoch, batch.sequence)

    # --- answers ------------------------------------------------------------------------------------------------------

    def on_response(self, now: int, request: ProducerRequest, responses: Sequence[ProduceResponse]) -> None:
        """``Sender.completeBatch``, of each; of a batch that was given up meanwhile the application does not hear."""
        self._in_flight[request.node] -= 1
        for batch, response in zip(request.batches, responses, strict=True):
            batch.sent_us = -1
            state = self.partitions[batch.partition]
            if response.error is Error.NONE and batch.sequence >= 0:
                state.last_acknowledged = max(batch.last_sequence, state.last_acknowledged)
            if batch in state.batches:
                self._complete(now, state, batch, response)

    def _complete(self, now: int, state: SendState, batch: ProducerBatch, response: ProduceResponse) -> None:
        error = response.error
        if error is Error.NONE:
            state.batches.remove(batch)
            self.deliveries.append(Delivery(batch, error, response.offset))
        elif self._may_retry(now, state, batch, error):
            batch.ready_us = now + self._backoff.after(batch.attempts - 1)
            self._unsent[batch.partition] = state
            if not self._config.enable_idempotence:
                # ``RecordAccumulator.reenqueue``: to the front, so what fails one after the other turns round.
                state.batches.remove(batch)
                state.batches.appendleft(batch)
        else:
            self._refuse(state, batch, error)

    def _may_retry(self, now: int, state: SendState, batch: ProducerBatch, error: Error) -> bool:
        """``canRetry``: an idempotent producer sends what came out of order again, after what is missing."""
        is_in_time = now - batch.created_us < self._config.delivery_timeout_us
        if not is_in_time or batch.attempts > self._config.retries:
            return False
        if error is not Error.OUT_OF_ORDER_SEQUENCE_NUMBER:
            return error in RETRIABLE
        if self._follows_a_gap(state, batch):
            self._rewritten.add(batch.partition)
        return True

    def _follows_a_gap(self, state: SendState, batch: ProducerBatch) -> bool:
        """Whether nothing in flight is missing before what came out of order, so that the log lacks something."""
        if batch.partition in self._unresolved:
            return batch.sequence == self._unresolved[batch.partition]
        return not batch.is_rewritten and batch.sequence == sequence_after(state.last_acknowledged)

    def _refuse(self, state: SendState, batch: ProducerBatch, error: Error) -> None:
        """``handleFailedBatch``: the log does not have it; whoever has used up its retries does not know."""
        is_known = error is Error.OUT_OF_ORDER_SEQUENCE_NUMBER or batch.attempts <= self._config.retries
        if self._config.enable_idempotence and is_known:
            self._rewritten.add(batch.partition)
        self._give_up(state, batch, error)

    def _give_up(self, state: SendState, batch: ProducerBatch, error: Error) -> None:
        state.batches.remove(batch)
        self._note_unsent(batch.partition)
        self.deliveries.append(Delivery(batch, error))

    def _resolve(self) -> None:
        """``maybeResolveSequences``: once nothing is in flight, a gap that remains is closed by a new epoch."""
        for partition in [*self._unresolved]:
            state = self.partitions[partition]
            if not state.has_in_flight:
                del self._unresolved[partition]
                if sequence_after(state.last_acknowledged) != state.next_sequence:
                    self._rewritten.add(partition)

    def _raise_epoch(self) -> None:
        """``bumpIdempotentProducerEpoch``: locally; when epochs are used up, InitProducerId is asked anew.

        What other partitions have in flight keeps the old one, by which their logs know it.
        """
        if not self._rewritten:
            return
        if self.epoch >= LAST_EPOCH:
            self.producer_id, self.epoch = NO_PRODUCER_ID, NO_EPOCH
        else:
            self.epoch += 1
        for partition in sorted(self._rewritten):
            self._begin_anew(self.partitions[partition])
            self._unresolved.pop(partition, None)
        self._rewritten.clear()

    def _begin_anew(self, state: SendState) -> None:
        """Sequences of a partition from 0; what is sent again gets new ones (``startSequencesAtBeginning``)."""
        state.producer_id, state.epoch = self.producer_id, self.epoch
        state.next_sequence, state.last_acknowledged = 0, -1
        for batch in state.batches:
            if batch.sequence >= 0:
                batch.sequence, batch.is_rewritten = state.next_sequence, True
                state.next_sequence = sequence_after(state.next_sequence, batch.records)

    # --- time ---------------------------------------------------------------------------------------------------------

    def deadline(self, now: int) -> int:
        """When after now a batch is ready, or may be too old, microseconds; `FOREVER` if there is none."""
        firsts = (state.first_unsent for state in self._unsent.values())
        ready = (one.ready_us for one in firsts if one is not None and one.ready_us > now)
        return min(self._expires_us, min(ready, default=FOREVER))

    def on_deadline(self, now: int) -> None:
        """``failExpiredBatches``: queued or in flight, it is too late. The application is told; the log may have it."""
        if now < self._expires_us:
            return
        timeout_us, oldest_us = self._config.delivery_timeout_us, FOREVER
        for partition in sorted(self.partitions):
            state = self.partitions[partition]
            for batch in [one for one in state.batches if now - one.created_us >= timeout_us]:
                self._give_up(state, batch, Error.REQUEST_TIMED_OUT)
                if self._config.enable_idempotence and batch.in_retry:
                    self._unresolved[partition] = sequence_after(batch.last_sequence)
            oldest_us = min(oldest_us, *(one.created_us for one in state.batches), FOREVER)
        self._expires_us = min(oldest_us + timeout_us, FOREVER)


def _is_early(batch: ProducerBatch, node: int, now: int) -> bool:
    """Whether it lingers or backs off; another leader than it was sent to need not be spared (``shouldBackoff``)."""
    return batch.ready_us > now and not (batch.in_retry and batch.node != node)
