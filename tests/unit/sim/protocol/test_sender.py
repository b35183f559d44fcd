"""An idempotent producer's sender and the log that it writes to; vectors 3 and 16 (Kafka 4.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from groupsim.sim.config import ProducerConfig
from groupsim.sim.protocol.messages import Error
from groupsim.sim.protocol.producer.batches import ProduceResponse, RecordBatch, sequence_after
from groupsim.sim.protocol.producer.log import PartitionLog
from groupsim.sim.protocol.producer.producer_batch import ProducerBatch, ProducerRequest
from groupsim.sim.protocol.producer.sender import Sender
from groupsim.sim.protocol.transactions.messages import LAST_EPOCH, NO_EPOCH, NO_PRODUCER_ID
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
        self._requests: dict[ProducerBatch, ProducerRequest] = {}

    def send(self, records: int) -> list[ProducerBatch]:
        self.sender.send(self.now, T0, records)
        return self._drained()

    def _drained(self) -> list[ProducerBatch]:
        """What is sent now: here each request has one batch."""
        drained = self.sender.drain(self.now)
        self._requests.update((batch, request) for request in drained for batch in request.batches)
        return [batch for request in drained for batch in request.batches]

    def arrive(self, batch: ProducerBatch) -> ProduceResponse:
        return self.log.append(self.now, self.sender.record_batch(batch))

    def answer(self, batch: ProducerBatch, response: ProduceResponse) -> None:
        self.sender.on_response(self.now, self._requests.pop(batch), [response])

    def wait(self, duration_us: int) -> list[ProducerBatch]:
        self.now += duration_us
        self.sender.on_deadline(self.now)
        return self._drained()

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
    assert [link.sender.record_batch(batch).first_sequence for batch in (zero, one, two)] == [0, 1, 2]


def test_16_a_batch_that_is_given_up_leaves_a_gap_that_a_new_epoch_closes() -> None:
    """``Sender.failExpiredBatches``, ``TransactionManager.maybeResolveSequences``."""
    link = Link()
    (first,) = link.send(1)
    link.arrive(first)
    link.answer(first, LOST)
    assert link.wait(120 * S - 1) == [first]
    assert link.results == []
    link.wait(1)
    assert link.results == [Error.REQUEST_TIMED_OUT]
    (following,) = link.send(1)
    request = link.sender.record_batch(following)
    assert (request.epoch, request.first_sequence) == (1, 0)
    assert link.arrive(following).offset == 1


def test_a_batch_that_is_given_up_before_its_first_answer_leaves_the_epoch_as_it_is() -> None:
    """``Sender.failExpiredBatches``: unresolved is what was sent again (``ProducerBatch.inRetry``)."""
    link = Link()
    (first,) = link.send(1)
    link.arrive(first)
    link.wait(120 * S)
    (following,) = link.send(1)
    request = link.sender.record_batch(following)
    assert (request.epoch, request.first_sequence) == (0, 1)


@pytest.mark.parametrize(("retries", "epoch"), [(5, 1), (0, 0)])
def test_what_is_refused_for_good_makes_sequences_begin_anew_unless_its_retries_ran_out(
    retries: int, epoch: int
) -> None:
    """``handleFailedBatch``: at once, in flight or not; who has no retries left does not know what is in the log."""
    link = Link(replace(CONFIG, retries=retries))
    refused, beside = link.send(2)
    link.answer(refused, ProduceResponse(Error.INVALID_PRODUCER_EPOCH))
    link.wait(0)
    request = link.sender.record_batch(beside)
    assert (request.epoch, request.first_sequence) == (epoch, 1 - epoch)


def test_out_of_order_for_the_last_time_makes_sequences_begin_anew() -> None:
    """``handleFailedBatch``: the log has a gap, whether or not there are retries left."""
    link = Link(replace(CONFIG, retries=0))
    (refused,) = link.send(1)
    link.answer(refused, ProduceResponse(Error.OUT_OF_ORDER_SEQUENCE_NUMBER))
    (following,) = link.send(1)
    assert link.sender.record_batch(following).epoch == 1


def test_an_old_answer_to_what_has_a_new_sequence_says_nothing() -> None:
    """``canRetry``, ``sequenceHasBeenReset``: what came out of order was another number."""
    link = Link()
    refused, beside = link.send(2)
    link.answer(refused, ProduceResponse(Error.MESSAGE_TOO_LARGE))
    link.wait(0)
    link.answer(beside, ProduceResponse(Error.OUT_OF_ORDER_SEQUENCE_NUMBER))
    assert link.wait(200 * MS) == [beside]
    request = link.sender.record_batch(beside)
    assert (request.epoch, request.first_sequence) == (1, 0)


def after_expiry(*, is_sent_again: bool) -> tuple[Link, ProducerBatch, ProducerBatch]:
    """A batch is given up in flight, and the next one is in flight behind it."""
    link = Link()
    (old,) = link.send(1)
    if is_sent_again:
        link.answer(old, LOST)
    assert link.wait(60 * S) == [old] * is_sent_again
    (young,) = link.send(1)
    link.wait(60 * S)
    assert link.results == [Error.REQUEST_TIMED_OUT]
    return link, old, young


def sent_after_a_gap(link: Link, batch: ProducerBatch) -> tuple[int, int]:
    """Epoch and sequence with which a batch is sent again that came out of order."""
    link.answer(batch, ProduceResponse(Error.OUT_OF_ORDER_SEQUENCE_NUMBER))
    assert link.wait(200 * MS) == [batch]
    request = link.sender.record_batch(batch)
    return request.epoch, request.first_sequence


def test_what_follows_a_batch_that_was_given_up_and_is_not_there_begins_anew() -> None:
    """``isNextSequenceForUnresolvedPartition``."""
    link, _, young = after_expiry(is_sent_again=True)
    assert sent_after_a_gap(link, young) == (1, 0)


@pytest.mark.parametrize(("is_answered", "sent"), [(False, (0, 1)), (True, (1, 0))])
def test_an_answer_to_a_batch_that_was_given_up_counts_for_those_that_follow(
    is_answered: bool, sent: tuple[int, int]
) -> None:
    """``handleCompletedBatch`` comes first: the log had it, so that it lacks something now."""
    link, old, young = after_expiry(is_sent_again=False)
    if is_answered:
        link.answer(old, ProduceResponse(Error.NONE, 0))
    assert sent_after_a_gap(link, young) == sent


def test_nothing_begins_anew_while_a_batch_waits_to_be_sent_again() -> None:
    """Such a one is in flight, too (``TxnPartitionEntry.hasInflightBatches``): the log may have it."""
    link = Link()
    (old,) = link.send(1)
    link.wait(S)
    (young,) = link.send(1)
    link.arrive(old)
    link.arrive(young)
    link.now = 120 * S - MS
    link.answer(old, LOST)
    link.answer(young, LOST)
    assert link.wait(MS) == []
    assert link.wait(200 * MS) == [young]
    link.answer(young, link.arrive(young))
    assert (link.results, link.log.end) == ([Error.REQUEST_TIMED_OUT, Error.NONE], 2)


def test_what_is_sent_again_keeps_its_sequence() -> None:
    """The first of all, too: what has one gets no other (``RecordAccumulator.drainBatchesForOneNode``)."""
    link = Link()
    zero, _ = link.send(2)
    link.answer(zero, LOST)
    (again,) = link.wait(200 * MS)
    assert again is zero
    assert link.sender.record_batch(again).first_sequence == 0


def test_a_log_that_lacks_what_it_has_acknowledged_makes_sequences_begin_anew() -> None:
    """Nothing is missing between the last acknowledged record and what it calls out of order (``canRetry``)."""
    link = Link()
    link.sender = Sender(replace(CONFIG, linger_us=MS), CONFIG.batch_bytes // 4, lambda _: 1000, lambda _: 0)
    link.sender.identify(7, 0)
    link.send(2)
    (two,) = link.wait(MS)
    link.answer(two, link.arrive(two))
    link.send(1)
    (lost,) = link.wait(MS)
    assert link.sender.record_batch(lost).first_sequence == 2
    link.answer(lost, ProduceResponse(Error.OUT_OF_ORDER_SEQUENCE_NUMBER))
    (again,) = link.wait(200 * MS)
    request = link.sender.record_batch(again)
    assert (request.epoch, request.first_sequence) == (1, 0)


def test_who_has_used_up_its_epochs_asks_for_another_producer_id() -> None:
    """``TransactionManager.bumpIdempotentProducerEpoch``: Short.MaxValue is the last."""
    link = Link()
    link.sender.identify(7, LAST_EPOCH)
    (first,) = link.send(1)
    link.answer(first, ProduceResponse(Error.MESSAGE_TOO_LARGE))
    assert link.send(1) == []
    assert (link.sender.producer_id, link.sender.epoch) == (NO_PRODUCER_ID, NO_EPOCH)


def test_a_retry_is_sent_when_its_backoff_is_over_and_not_before() -> None:
    """retry.backoff.ms (``RecordAccumulator.shouldBackoff``)."""
    link = Link(PLAIN)
    (first,) = link.send(1)
    link.answer(first, LOST)
    assert link.sender.deadline(link.now) == 100 * MS
    assert link.wait(100 * MS - 1) == []
    assert link.wait(1) == [first]


def test_another_leader_gets_a_retry_at_once() -> None:
    """``shouldBackoff``, ``hasLeaderChangedForTheOngoingRetry`` (KIP-951); the next one has to wait again."""
    nodes = dict(NODES)
    sender = Sender(PLAIN, 1 << 14, lambda _: 1000, nodes.__getitem__)
    sender.send(0, ("t", 0), 1)
    (request,) = sender.drain(0)
    sender.on_response(0, request, [ProduceResponse(Error.NOT_LEADER_OR_FOLLOWER)])
    assert sender.drain(0) == []
    nodes["t", 0] = 2
    (again,) = sender.drain(MS)
    sender.on_response(MS, again, [LOST])
    assert drained(sender, 200 * MS) == []
    assert drained(sender, 201 * MS) == [(2, [0])]


def test_sequences_wrap() -> None:
    """``DefaultRecordBatch.incrementSequence``."""
    last = 2**31 - 1
    assert [sequence_after(last - 1), sequence_after(last), sequence_after(last - 3, 10)] == [last, 0, 6]


def wire(sender: Sender, requests: Sequence[ProducerRequest]) -> list[tuple[int, int, int]]:
    """Producer id, epoch and sequence of each batch, as it is sent."""
    sent = (sender.record_batch(batch) for request in requests for batch in request.batches)
    return [(one.producer_id, one.epoch, one.first_sequence) for one in sent]


def test_a_new_identity_is_that_of_a_partition_once_nothing_is_in_flight() -> None:
    """``TransactionManager.maybeUpdateProducerIdAndEpoch``."""
    link = Link()
    zero, one = link.send(2)
    link.answer(zero, link.arrive(zero))
    link.sender.identify(8, 0)
    assert link.send(1) == []
    assert link.arrive(one) == ProduceResponse(Error.NONE, 1)
    link.answer(one, LOST)
    assert link.wait(200 * MS) == [one]
    link.answer(one, link.arrive(one))
    assert (wire(link.sender, link.sender.drain(link.now)), link.log.end) == ([(8, 0, 0)], 2)


def test_other_partitions_keep_their_epoch_until_what_is_in_flight_has_ended() -> None:
    """Their logs know it by that (``partitionsToRewriteSequences``, ``hasStaleProducerIdAndEpoch``)."""
    sender = sender_of_many()
    for number in (0, 1):
        sender.send(0, ("t", number), 1)
    lost_by_log, beside = sender.drain(0)
    sender.on_response(0, lost_by_log, [ProduceResponse(Error.OUT_OF_ORDER_SEQUENCE_NUMBER)])
    sender.on_response(0, beside, [LOST])
    sender.send(0, ("t", 1), 1)
    again = sender.drain(200 * MS)
    assert wire(sender, again) == [(7, 1, 0), (7, 0, 0)]
    sender.on_response(200 * MS, again[1], [ProduceResponse(Error.NONE)])
    assert wire(sender, sender.drain(200 * MS)) == [(7, 1, 0)]


def test_partitions_that_lack_something_at_once_need_one_epoch() -> None:
    """``bumpIdempotentEpochAndResetIdIfNeeded`` comes once, after all answers."""
    sender = sender_of_many()
    for number in (0, 2):
        sender.send(0, ("t", number), 1)
    (both,) = sender.drain(0)
    sender.on_response(0, both, [ProduceResponse(Error.OUT_OF_ORDER_SEQUENCE_NUMBER)] * 2)
    assert wire(sender, sender.drain(200 * MS)) == [(7, 1, 0)] * 2


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
    first, beside, second = link.send(3)
    assert [one.partition for one in (first, beside, second)] == [T0, T1, T0]
    assert link.wait(0) == []


NODES = {("t", 0): 1, ("t", 1): 2, ("t", 2): 1, ("t", 3): 1}


def sender_of_many(config: ProducerConfig = CONFIG, record_bytes: int = 1 << 14) -> Sender:
    sender = Sender(config, record_bytes, lambda _: 1000, NODES.__getitem__)
    sender.identify(7, 0)
    return sender


def drained(sender: Sender, now: int = 0) -> list[tuple[int, list[int]]]:
    """Requests: to whom, and the numbers of the partitions of which they have a batch."""
    return [(one.node, [batch.partition[1] for batch in one.batches]) for one in sender.drain(now)]


def test_a_request_has_a_batch_of_each_partition_that_its_broker_leads() -> None:
    """``drainBatchesForOneNode``; what still lingers goes along with what is ready."""
    sender = sender_of_many(replace(CONFIG, linger_us=5 * MS), record_bytes=1 << 10)
    for number in (3, 1):
        sender.send(0, ("t", number), 1)
    sender.send(4 * MS, ("t", 0), 1)
    assert drained(sender, 4 * MS) == []
    assert drained(sender, 5 * MS) == [(1, [0, 3]), (2, [1])]


def test_one_request_at_a_time_has_every_partition() -> None:
    """max.in.flight.requests.per.connection=1: nobody waits for anybody else's answer (``guaranteeMessageOrder``)."""
    sender = sender_of_many(replace(PLAIN, max_in_flight=1))
    for number in (0, 2, 3):
        sender.send(0, ("t", number), 2)
    (request,) = sender.drain(0)
    assert [batch.partition[1] for batch in request.batches] == [0, 2, 3]
    assert sender.drain(0) == []
    sender.on_response(0, request, [ProduceResponse(Error.NONE)] * 3)
    assert drained(sender) == [(1, [0, 2, 3])]


@pytest.mark.parametrize(("max_in_flight", "sent"), [(1, []), (5, [(2, [0])])])
def test_who_sends_one_at_a_time_keeps_the_order_when_another_leads(max_in_flight: int, sent: list[Any]) -> None:
    """``Sender.sendProduceRequest`` mutes a partition until its batch is answered, whoever leads it meanwhile."""
    nodes = dict(NODES)
    sender = Sender(replace(PLAIN, max_in_flight=max_in_flight), 1 << 14, lambda _: 1000, nodes.__getitem__)
    sender.send(0, ("t", 0), 1)
    assert drained(sender) == [(1, [0])]
    nodes["t", 0] = 2
    sender.send(0, ("t", 0), 1)
    assert drained(sender) == sent


def test_what_does_not_fit_into_a_request_is_the_first_of_the_next() -> None:
    """``max.request.size`` (1 MiB), ``nodesDrainIndex``."""
    sender = sender_of_many(replace(PLAIN, batch_bytes=400_000), record_bytes=400_000)
    for number in (0, 2, 3):
        sender.send(0, ("t", number), 2)
    assert drained(sender) == [(1, [0, 2]), (1, [3, 0]), (1, [2, 3])]


def test_a_batch_that_has_to_wait_holds_up_what_comes_after_it() -> None:
    """``shouldStopDrainBatchesForPartition`` ends the request, and the next one begins with that partition."""
    sender = sender_of_many()
    sender.send(0, ("t", 2), 2)
    zero, one = sender.drain(0)
    out_of_order = [ProduceResponse(Error.OUT_OF_ORDER_SEQUENCE_NUMBER)]
    sender.on_response(0, one, out_of_order)
    for number in (0, 3):
        sender.send(200 * MS, ("t", number), 1)
    assert drained(sender, 200 * MS) == [(1, [0])]
    sender.send(200 * MS, ("t", 0), 1)
    assert drained(sender, 200 * MS) == []
    sender.on_response(200 * MS, zero, [ProduceResponse(Error.NONE)])
    assert drained(sender, 200 * MS) == [(1, [2, 3, 0])]


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
