"""What crosses on the wire: late batches, late and repeated markers, replicas that lag behind (Kafka 4.4)."""

from __future__ import annotations

import pytest

from groupsim.sim.protocol.messages import Error
from groupsim.sim.protocol.producer.batches import ProduceResponse, RecordBatch
from groupsim.sim.protocol.producer.log import PartitionLog
from groupsim.sim.protocol.transactions.messages import TV1, TV2, WriteTxnMarkers
from groupsim.sim.protocol.transactions.states import TransactionState
from tests.unit.sim.protocol.transaction_scenes import T0, T1, TransactionScene

P = 7


def marker(epoch: int, version: int = TV2) -> WriteTxnMarkers:
    return WriteTxnMarkers("X", P, epoch, True, (T0,), version=version)


@pytest.mark.parametrize("version", [TV1, TV2])
def test_what_was_verified_before_a_marker_is_not_after_it(version: int) -> None:
    """``VerificationGuard``: the batch is on its way while the transaction is aborted."""
    log = PartitionLog()
    late = RecordBatch(1, P, 0, 0, True)
    assert log.needs_verification(late) is True
    log.verified(P, version)
    log.mark(0, marker(0 if version == TV1 else 1, version))
    assert log.append(0, late).error is Error.INVALID_TXN_STATE
    assert log.last_stable_offset == log.high_watermark


def test_a_transaction_that_is_open_is_verified_once_wherever_it_began() -> None:
    """``ProducerStateManager.hasOngoingTransaction``: at offset 0 too."""
    log = PartitionLog()
    log.verified(P)
    log.append(0, RecordBatch(2, P, 0, 0, True))
    more = RecordBatch(1, P, 0, 2, True)
    assert log.needs_verification(more) is False
    assert log.append(0, more) == ProduceResponse(Error.NONE, 2)


def test_a_decided_transaction_is_stable_when_its_marker_is_replicated() -> None:
    """``ProducerStateManager.firstUnstableOffset``, ``onHighWatermarkUpdated``."""
    log = PartitionLog()
    log.verified(P)
    log.append(0, RecordBatch(2, P, 0, 0, True))
    log.advance(2)
    log.mark(0, marker(1))
    assert (log.high_watermark, log.last_stable_offset) == (2, 0)
    log.advance(2)
    assert log.last_stable_offset == 0
    log.advance(3)
    assert log.last_stable_offset == 3


@pytest.mark.parametrize(("version", "expected"), [(TV1, Error.NONE), (TV2, Error.INVALID_PRODUCER_EPOCH)])
def test_a_marker_of_the_same_epoch_may_end_something_only_under_tv1(version: int, expected: Error) -> None:
    """``ProducerAppendInfo.checkProducerEpoch``: under TV2 each transaction has an epoch of its own."""
    log = PartitionLog()
    log.verified(P, version)
    log.append(0, RecordBatch(1, P, 1, 0, True))
    assert log.mark(0, marker(1, version)).error is expected


def test_the_answer_to_a_marker_of_the_last_transaction_says_nothing_about_this_one() -> None:
    scene = TransactionScene()
    mine = scene.init()
    scene.send("X", mine.producer_id, 0)
    scene.holds_markers = True
    scene.end("X", mine.producer_id, 0, commit=True)
    old = scene.markers[0]
    scene.mark()
    scene.send("X", mine.producer_id, 1)
    scene.end("X", mine.producer_id, 1, commit=True)
    scene.carry_out(scene.coordinator.on_marker(scene.now, *old, Error.NONE))
    assert scene.coordinator.transactions["X"].metadata.state is TransactionState.PREPARE_COMMIT
    scene.mark()
    assert scene.coordinator.transactions["X"].metadata.state is TransactionState.COMPLETE_COMMIT


def test_the_clock_of_a_transaction_starts_with_its_first_partition() -> None:
    """``TransactionMetadata.prepareAddPartitions``: a partition that is added later does not prolong it."""
    scene = TransactionScene()
    mine = scene.init()
    scene.send("X", mine.producer_id, 0)
    scene.wait_until(50)
    scene.send("X", mine.producer_id, 0, to=T1)
    scene.wait_until(69)
    assert scene.coordinator.transactions["X"].metadata.state is TransactionState.COMPLETE_ABORT


@pytest.mark.parametrize(("version", "joined"), [(TV1, True), (TV2, False)])
def test_a_late_batch_of_the_last_transaction_may_join_the_next_one_only_under_tv1(version: int, joined: bool) -> None:
    """KIP-890: under TV2 its epoch tells it apart."""
    scene = TransactionScene(version)
    mine = scene.init()
    scene.send("X", mine.producer_id, 0, 0)
    answer = scene.end("X", mine.producer_id, 0, commit=False)
    scene.send("X", mine.producer_id, answer.epoch, 1 if version == TV1 else 0)
    late = scene.send("X", mine.producer_id, 0, 2 if version == TV1 else 1)
    assert (late.error is Error.NONE) == joined
