"""What becomes of transactions, step by step: the vectors 1 to 10 and 15 of Kafka 4.4's rules.

Sources are named at each; the numbers are those of the list of vectors that the rules were read into.
"""

from __future__ import annotations

from groupsim.sim.protocol.messages import Error
from groupsim.sim.protocol.producer.batches import Kind, RecordBatch
from groupsim.sim.protocol.producer.log import PartitionLog
from groupsim.sim.protocol.transactions.messages import TV1, WriteTxnMarkers
from groupsim.sim.protocol.transactions.states import TransactionState
from groupsim.sim.units import S
from tests.unit.sim.protocol.transaction_scenes import T0, TransactionScene

P = 7


def idempotent(sequence: int, records: int = 1, epoch: int = 0) -> RecordBatch:
    return RecordBatch(records, P, epoch, sequence)


def visible(log: PartitionLog) -> list[int]:
    return log.read(0, is_committed=True)[0]


def test_1_a_batch_that_is_sent_again_is_written_once() -> None:
    """``UnifiedLog.analyzeAndValidateProducerState``, ``ProducerStateEntry.findDuplicateBatch``."""
    log = PartitionLog()
    answers = [log.append(0, idempotent(first, 5)) for first in (0, 5, 0)]
    assert [(one.error, one.offset) for one in answers] == [(Error.NONE, 0), (Error.NONE, 5), (Error.NONE, 0)]
    assert log.end == 10


def test_2_five_batches_are_remembered() -> None:
    """``ProducerAppendInfo.checkSequence``, ``NUM_BATCHES_TO_RETAIN``."""
    log = PartitionLog()
    for sequence in range(6):
        log.append(0, idempotent(sequence))
    assert log.append(0, idempotent(0)).error is Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.append(0, idempotent(1)).offset == 1
    assert log.end == 6


def test_4_epochs_at_the_partition() -> None:
    """``ProducerAppendInfo.checkSequence``, ``checkProducerEpoch``."""
    log = PartitionLog()
    batches = [idempotent(0), idempotent(3, epoch=1), idempotent(0, epoch=1), idempotent(1)]
    assert [log.append(0, one).error for one in batches] == [
        Error.NONE, Error.OUT_OF_ORDER_SEQUENCE_NUMBER, Error.NONE, Error.INVALID_PRODUCER_EPOCH,
    ]  # fmt: skip


def test_5_a_transaction_from_its_beginning_to_its_marker() -> None:
    """``TransactionMetadata.prepareAbortOrCommit``, ``ProducerAppendInfo.appendEndTxnMarker``."""
    scene = TransactionScene()
    scene.holds_markers = True
    mine, log = scene.init(), scene.logs[T0]
    assert (mine.error, mine.epoch) == (Error.NONE, 0)
    offsets = [scene.send("X", mine.producer_id, 0, sequence).offset for sequence in (0, 1)]
    answer = scene.end("X", mine.producer_id, 0, commit=True)
    assert (offsets, answer.error, answer.epoch) == ([0, 1], Error.NONE, 1)
    assert (log.last_stable_offset, visible(log)) == (0, [])
    marker = scene.markers[0]
    scene.mark()
    assert marker[0].epoch == 1
    assert (log.last_stable_offset, log.read(0, is_committed=True)) == (3, ([0, 1], 3))
    scene.markers.append(marker)
    assert scene.mark() is Error.NONE
    assert (log.end, visible(log)) == (4, [0, 1])


def test_6_records_become_readable_in_the_order_of_offsets() -> None:
    """``ProducerStateManager.firstUnstableOffset``, ``CompletedFetch.nextFetchedRecord``."""
    scene = TransactionScene()
    a, b, log = scene.init("A"), scene.init("B"), scene.logs[T0]
    scene.send("A", a.producer_id, 0)
    scene.send("B", b.producer_id, 0)
    scene.end("B", b.producer_id, 0, commit=True)
    assert (log.end, log.last_stable_offset, visible(log)) == (3, 0, [])
    scene.end("A", a.producer_id, 0, commit=False)
    assert (log.last_stable_offset, visible(log), log.read(0, is_committed=False)[0]) == (4, [1], [0, 1])


def test_7_an_ending_that_is_repeated_is_recognised_by_its_epoch() -> None:
    """``TransactionCoordinator.endTransaction``, retryOnEpochBump."""
    scene = TransactionScene()
    scene.holds_markers = True
    mine = scene.init()
    scene.send("X", mine.producer_id, 0)
    scene.end("X", mine.producer_id, 0, commit=True)
    assert scene.end("X", mine.producer_id, 0, commit=True).error is Error.CONCURRENT_TRANSACTIONS
    assert scene.end("X", mine.producer_id, 0, commit=False).error is Error.INVALID_TXN_STATE
    assert scene.end("X", mine.producer_id, 1, commit=True).error is Error.PRODUCER_FENCED
    scene.mark()
    again = scene.end("X", mine.producer_id, 0, commit=True)
    assert (again.error, again.producer_id, again.epoch) == (Error.NONE, mine.producer_id, 1)


def timed_out(version: int = 2) -> tuple[TransactionScene, int]:
    """A transaction that began at 0 s; scans at 9, 19, ... s; now it is 75 s."""
    scene = TransactionScene(version)
    mine = scene.init()
    if version == TV1:
        scene.add("X", mine.producer_id, 0)
    scene.send("X", mine.producer_id, 0)
    scene.wait_until(68.9)
    assert scene.coordinator.transactions["X"].metadata.state is TransactionState.ONGOING
    scene.wait_until(75)
    assert scene.coordinator.transactions["X"].metadata.state is TransactionState.COMPLETE_ABORT
    assert scene.coordinator.transactions["X"].metadata.update_us == 69 * S
    return scene, mine.producer_id


def test_8_after_a_time_out_who_aborts_goes_on_and_who_commits_is_lost() -> None:
    """``TransactionStateManager.timedOutTransactions``, ``TransactionCoordinator.endTransaction``."""
    scene, producer_id = timed_out()
    answer = scene.end("X", producer_id, 0, commit=False)
    assert (answer.error, answer.epoch) == (Error.NONE, 1)
    assert scene.send("X", producer_id, 1).error is Error.NONE
    scene, producer_id = timed_out()
    assert scene.end("X", producer_id, 0, commit=True).error is Error.INVALID_TXN_STATE
    for commits in (True, False):
        scene, producer_id = timed_out(TV1)
        assert scene.end("X", producer_id, 0, commit=commits).error is Error.PRODUCER_FENCED


def test_9_what_is_sent_after_a_time_out_is_refused_by_its_epoch() -> None:
    """``UnifiedLog.maybeStartTransactionVerification``."""
    scene, producer_id = timed_out()
    assert scene.send("X", producer_id, 0, 1).error is Error.INVALID_PRODUCER_EPOCH
    answer = scene.end("X", producer_id, 0, commit=False)
    assert (answer.error, scene.send("X", producer_id, answer.epoch).error) == (Error.NONE, Error.NONE)


def test_10_a_successor_with_the_same_id_fences() -> None:
    """``TransactionCoordinator.prepareInitProducerIdTransit``."""
    scene = TransactionScene()
    scene.holds_markers = True
    first = scene.init()
    scene.send("X", first.producer_id, 0)
    assert scene.init().error is Error.CONCURRENT_TRANSACTIONS
    assert [(one.epoch, one.is_committed) for one, _ in scene.markers] == [(1, False)]
    assert scene.init().error is Error.CONCURRENT_TRANSACTIONS
    scene.mark()
    second = scene.init()
    assert (second.error, second.producer_id, second.epoch) == (Error.NONE, first.producer_id, 2)
    assert scene.end("X", first.producer_id, 0, commit=True).error is Error.PRODUCER_FENCED
    assert scene.send("X", first.producer_id, 0, 1).error is Error.INVALID_PRODUCER_EPOCH


def test_15_the_next_transaction_waits_until_the_last_one_is_complete() -> None:
    """``TransactionCoordinator.handleAddPartitionsToTransaction``: the leader asks again while this is the answer."""
    scene = TransactionScene()
    scene.holds_markers = True
    mine = scene.init()
    scene.send("X", mine.producer_id, 0)
    scene.end("X", mine.producer_id, 0, commit=True)
    assert scene.send("X", mine.producer_id, 1).error is Error.CONCURRENT_TRANSACTIONS
    scene.mark()
    assert scene.send("X", mine.producer_id, 1).error is Error.NONE
    assert [one.kind for one in scene.logs[T0].entries] == [Kind.DATA, Kind.COMMIT, Kind.DATA]


def test_markers_of_an_older_coordinator_are_refused() -> None:
    """``ProducerAppendInfo.checkCoordinatorEpoch``."""
    log = PartitionLog()

    def marker(epoch: int, coordinator_epoch: int) -> Error:
        return log.mark(0, WriteTxnMarkers("X", P, epoch, True, (T0,), coordinator_epoch)).error

    assert [marker(1, 5), marker(2, 4), marker(1, 5), marker(0, 5)] == [
        Error.NONE, Error.TRANSACTION_COORDINATOR_FENCED, Error.NONE, Error.INVALID_PRODUCER_EPOCH,
    ]  # fmt: skip
