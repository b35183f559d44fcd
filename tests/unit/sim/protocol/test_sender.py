"""An idempotent producer's sender and the log that it writes to; vectors 3 and 16 (Kafka 4.4)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupsim.sim.config import ProducerConfig
from groupsim.sim.protocol.messages import Error
from groupsim.sim.protocol.producer.batches import ProduceResponse, RecordBatch
from groupsim.sim.protocol.producer.log import PartitionLog
from groupsim.sim.protocol.producer.sender import ProducerBatch, Sender
from groupsim.sim.units import MS, S
from tests.unit.sim.protocol.transaction_scenes import T0, T1

CONFIG = ProducerConfig(linger_us=0)
PLAIN = replace(CONFIG, enable_idempotence=False)


class Link:
    """A sender of one record a batch, and a log; the test says when a request arrives and when its answer does."""

    def __init__(self, config: ProducerConfig = CONFIG) -> None:
        self.sender = Sender(config, config.batch_bytes, lambda _: 1000, lambda _: 0)
        self.sender.identify(7, 0)
        self.log = PartitionLog()
        self.now = 0

    def send(self, records: int) -> list[ProducerBatch]:
        self.sender.send(self.now, T0, records)
        return self.sender.drain(self.now)

    def arrive(self, batch: ProducerBatch) -> ProduceResponse:
        return self.log.append(self.now, self.sender.request_of(batch))

    def answer(self, batch: ProducerBatch, response: ProduceResponse) -> None:
        self.sender.on_response(self.now, batch, response)

    def wait(self, duration_us: int) -> list[ProducerBatch]:
        self.now += duration_us
        self.sender.on_deadline(self.now)
        return self.sender.drain(self.now)

    @property
    def results(self) -> list[Error]:
        return [one.error for one in self.sender.deliveries]


LOST = ProduceResponse(Error.DISCONNECTED)


def test_3_what_comes_out_of_order_is_sent_again_after_what_is_missing() -> None:
    """``TransactionManager.canRetry``, ``RecordAccumulator.shouldStopDrainBatchesForPartition``."""
    link = Link()
    zero, one, two = link.send(3)
    link.answer(zero, link.arrive(zero))
    refused = link.arrive(two)
    assert refused.error is Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    link.answer(two, refused)
    assert link.wait(200 * MS) == []
    link.answer(one, LOST)
    assert link.wait(200 * MS) == [one]
    link.answer(one, link.arrive(one))
    assert link.wait(0) == [two]
    link.answer(two, link.arrive(two))
    assert (link.results, link.log.end) == ([Error.NONE] * 3, 3)
    assert [link.sender.request_of(batch).first_sequence for batch in (zero, one, two)] == [0, 1, 2]


def test_16_a_batch_that_is_given_up_leaves_a_gap_that_a_new_epoch_closes() -> None:
    """``Sender.failExpiredBatches``, ``TransactionManager.maybeResolveSequences``."""
    link = Link()
    (first,) = link.send(1)
    link.arrive(first)
    link.wait(120 * S - 1)
    assert link.results == []
    link.wait(1)
    assert link.results == [Error.REQUEST_TIMED_OUT]
    (following,) = link.send(1)
    request = link.sender.request_of(following)
    assert (request.epoch, request.first_sequence) == (1, 0)
    assert link.arrive(following).offset == 1


def test_a_new_identity_begins_sequences_anew_for_all_that_is_sent_again() -> None:
    """``TransactionManager.startSequencesAtBeginning``."""
    link = Link()
    zero, one, two = link.send(3)
    link.answer(zero, link.arrive(zero))
    link.sender.identify(8, 0)
    (three,) = link.send(1)
    requests = [link.sender.request_of(batch) for batch in (one, two, three)]
    assert [(request.producer_id, request.first_sequence) for request in requests] == [(8, 0), (8, 1), (8, 2)]


@pytest.mark.parametrize(("config", "order"), [(PLAIN, [1, 0, 0]), (CONFIG, [0, 1])])
def test_without_idempotence_a_retry_overtakes_and_is_written_twice(config: ProducerConfig, order: list[int]) -> None:
    """max.in.flight.requests.per.connection > 1 and retries: order and uniqueness are lost (``ProducerConfig``)."""
    link, written = Link(config), []
    (known,) = link.send(1)
    link.answer(known, link.arrive(known))
    batches = link.send(2)

    def arrive(batch: ProducerBatch) -> ProduceResponse:
        before = link.log.end
        response = link.arrive(batch)
        if link.log.end > before:
            written.append(batches.index(batch))
        return response

    link.answer(batches[0], LOST)
    link.answer(batches[1], arrive(batches[1]))
    for _ in range(4):
        for batch in link.wait(200 * MS):
            response = arrive(batch)
            link.answer(batch, LOST if batch.attempts == 2 else response)
    assert written == order


def test_at_most_so_many_requests_are_under_way_to_a_broker() -> None:
    """``InFlightRequests.canSendMore``: whatever their partitions."""
    link = Link(replace(PLAIN, max_in_flight=2))
    link.sender.send(0, T1, 1)
    assert len(link.send(3)) == 2
    assert link.wait(0) == []


def test_a_batch_waits_for_linger_unless_it_is_full() -> None:
    """``RecordAccumulator.ready``."""
    link = Link(replace(CONFIG, linger_us=5 * MS))
    link.sender = Sender(replace(CONFIG, linger_us=5 * MS), CONFIG.batch_bytes // 4, lambda _: 1000, lambda _: 0)
    link.sender.identify(7, 0)
    assert [one.records for one in link.send(6)] == [4]
    assert link.sender.deadline(link.now) == 5 * MS
    assert [one.records for one in link.wait(5 * MS)] == [2]


def test_who_has_no_producer_id_yet_sends_nothing() -> None:
    """``shouldStopDrainBatchesForPartition``: without one nothing is drained."""
    sender = Sender(CONFIG, CONFIG.batch_bytes, lambda _: 1000, lambda _: 0)
    sender.send(0, T0, 1)
    assert sender.drain(0) == []
    sender.identify(7, 0)
    assert len(sender.drain(0)) == 1


def test_a_retry_after_the_producer_is_forgotten_is_written_again() -> None:
    """producer.id.expiration.ms: who has not written for a day is not known any more (``removeExpiredProducers``)."""
    log = PartitionLog()
    day = 24 * 3600 * S
    log.append(0, RecordBatch(1, 7, 0, 3))
    log.expire_producers(day - 1, day)
    assert log.append(day - 1, RecordBatch(1, 7, 0, 3)).offset == 0
    log.expire_producers(day, day)
    assert log.append(day, RecordBatch(1, 7, 0, 3)).offset == 1


@pytest.mark.parametrize("error", [Error.MESSAGE_TOO_LARGE, Error.INVALID_PRODUCER_EPOCH])
def test_what_is_not_retriable_is_told_at_once(error: Error) -> None:
    """``Sender.canRetry``."""
    link = Link()
    (batch,) = link.send(1)
    link.answer(batch, ProduceResponse(error))
    assert link.results == [error]


def test_an_application_that_sends_again_makes_a_duplicate() -> None:
    """What was given up may be in the log; Kafka does not know that it is the same record."""
    link = Link()
    (first,) = link.send(1)
    link.arrive(first)
    link.wait(120 * S)
    (again,) = link.send(1)
    link.answer(again, link.arrive(again))
    assert (link.results, link.log.end) == ([Error.REQUEST_TIMED_OUT, Error.NONE], 2)
