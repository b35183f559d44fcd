"""The transaction coordinator: ids and epochs, what is pending, failed appends, expiry, another coordinator (4.4)."""

from __future__ import annotations

import pytest

from groupsim.sim.protocol.messages import Error
from groupsim.sim.protocol.transactions.messages import LAST_EPOCH, TV1, TV2, AddPartitionsToTxn, InitProducerId
from groupsim.sim.protocol.transactions.states import TransactionState
from groupsim.sim.units import S
from tests.unit.sim.protocol.transaction_scenes import T0, T1, TransactionScene

DAY = 24 * 3600


def state_of(scene: TransactionScene, name: str = "X") -> TransactionState:
    return scene.coordinator.transactions[name].metadata.state


def open_transaction(version: int = TV2) -> tuple[TransactionScene, int]:
    scene = TransactionScene(version)
    mine = scene.init()
    scene.send("X", mine.producer_id, 0)
    assert state_of(scene) is TransactionState.ONGOING
    return scene, mine.producer_id


def test_an_idempotent_producer_gets_a_new_id_each_time_and_nothing_is_logged() -> None:
    scene = TransactionScene()
    first, second = (scene.ask(InitProducerId(None)) for _ in range(2))
    assert (first.epoch, second.epoch, second.producer_id - first.producer_id) == (0, 0, 1)
    assert scene.written == []


@pytest.mark.parametrize("timeout_us", [0, -1, 900 * S + 1])
def test_a_time_out_beyond_what_the_broker_allows_is_refused(timeout_us: int) -> None:
    """transaction.max.timeout.ms."""
    assert TransactionScene().init(timeout_us=timeout_us).error is Error.INVALID_TRANSACTION_TIMEOUT


def test_while_a_change_is_being_logged_nothing_else_may_happen() -> None:
    scene, producer_id = open_transaction()
    scene.is_slow = True
    assert scene.end("X", producer_id, 0, commit=True) is None
    assert scene.init().error is Error.CONCURRENT_TRANSACTIONS
    assert scene.add("X", producer_id, 0, T1) is Error.CONCURRENT_TRANSACTIONS
    assert scene.end("X", producer_id, 0, commit=True).error is Error.CONCURRENT_TRANSACTIONS
    assert state_of(scene) is TransactionState.ONGOING
    scene.is_slow = False
    scene.go_on()
    assert state_of(scene) is TransactionState.COMPLETE_COMMIT


def test_partitions_are_added_once_and_only_by_who_is_the_producer() -> None:
    scene, producer_id = open_transaction()
    before = len(scene.written)
    assert scene.add("X", producer_id, 0, T0) is Error.NONE
    assert len(scene.written) == before
    assert scene.add("X", producer_id, 0, T1) is Error.NONE
    assert scene.add("X", producer_id, 1, T1) is Error.PRODUCER_FENCED
    assert scene.add("X", producer_id + 1, 0, T1) is Error.INVALID_PRODUCER_ID_MAPPING
    assert scene.add("Y", producer_id, 0, T1) is Error.INVALID_PRODUCER_ID_MAPPING
    assert scene.coordinator.transactions["X"].metadata.partitions == (T0, T1)


def test_who_verifies_is_told_what_is_not_in_the_transaction() -> None:
    scene, producer_id = open_transaction()
    answers = [scene.ask(AddPartitionsToTxn("X", producer_id, 0, (one,), verify_only=True)).error for one in (T0, T1)]
    assert answers == [Error.NONE, Error.TRANSACTION_ABORTABLE]


def test_who_verifies_hears_what_is_logged_whatever_is_being_logged() -> None:
    """``handleVerifyPartitionsInTransaction``: the append itself is checked once more."""
    scene, producer_id = open_transaction()
    scene.is_slow = True
    assert scene.ask(AddPartitionsToTxn("X", producer_id, 0, (T1,))) is None
    answers = [scene.ask(AddPartitionsToTxn("X", producer_id, 0, (one,), verify_only=True)).error for one in (T0, T1)]
    assert answers == [Error.NONE, Error.TRANSACTION_ABORTABLE]


def test_a_producer_goes_on_after_an_error_with_the_next_epoch_and_may_ask_twice() -> None:
    """KIP-360: ``TransactionMetadata.prepareIncrementProducerEpoch``."""
    scene = TransactionScene()
    mine = scene.init()
    answers = [scene.init(producer_id=mine.producer_id, epoch=0) for _ in range(2)]
    assert [(one.error, one.epoch) for one in answers] == [(Error.NONE, 1)] * 2
    assert scene.init().epoch == 2
    assert scene.init(producer_id=mine.producer_id, epoch=1).error is Error.PRODUCER_FENCED
    assert scene.init(producer_id=mine.producer_id + 5, epoch=2).error is Error.PRODUCER_FENCED


@pytest.mark.parametrize("version", [TV1, TV2])
def test_when_epochs_are_used_up_there_is_a_new_producer_id(version: int) -> None:
    scene = TransactionScene(version)
    mine = scene.init()
    for _ in range(LAST_EPOCH - 1):
        last = scene.init()
    assert (last.producer_id, last.epoch) == (mine.producer_id, LAST_EPOCH - 1)
    if version == TV2:
        scene.send("X", mine.producer_id, last.epoch)
        answer = scene.end("X", mine.producer_id, last.epoch, commit=True)
        again = scene.end("X", mine.producer_id, last.epoch, commit=True)
        assert answer == again
    else:
        answer = scene.init()
    assert (answer.error, answer.producer_id, answer.epoch) == (Error.NONE, mine.producer_id + 1, 0)


def test_a_fence_that_uses_up_the_epochs_brings_a_new_producer_id_under_tv2() -> None:
    """``endTransaction``: who was fenced goes on with it when it aborts, and never with the last epoch."""
    scene = TransactionScene()
    mine = scene.init()
    for _ in range(LAST_EPOCH - 1):
        scene.init()
    scene.send("X", mine.producer_id, LAST_EPOCH - 1)
    scene.wait_until(75)
    answer = scene.end("X", mine.producer_id, LAST_EPOCH - 1, commit=False)
    assert (answer.error, answer.producer_id, answer.epoch) == (Error.NONE, mine.producer_id + 1, 0)
    assert max(one.value.epoch for one in scene.written if one.value is not None) == LAST_EPOCH


@pytest.mark.parametrize(("other_id", "behind", "error"), [(0, 0, Error.NONE), (0, 1, Error.PRODUCER_FENCED),
                                                           (5, 0, Error.PRODUCER_FENCED)])  # fmt: skip
def test_who_was_not_told_of_its_new_producer_id_asks_with_the_last_epoch_of_the_old_one(
    other_id: int, behind: int, error: Error
) -> None:
    """``prepareIncrementProducerEpoch``: ``prevProducerId``, and only at ``Short.MaxValue - 1`` (KIP-360)."""
    scene = TransactionScene(TV1)
    mine = scene.init()
    for _ in range(LAST_EPOCH - 1):
        scene.init()
    last = scene.init(producer_id=mine.producer_id, epoch=LAST_EPOCH - 1)
    assert (last.producer_id, last.epoch) == (mine.producer_id + 1, 0)
    answer = scene.init(producer_id=mine.producer_id + other_id, epoch=LAST_EPOCH - 1 - behind)
    assert answer.error is error


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (Error.NOT_ENOUGH_REPLICAS, Error.COORDINATOR_NOT_AVAILABLE),
        (Error.NOT_LEADER_OR_FOLLOWER, Error.NOT_COORDINATOR),
        (Error.MESSAGE_TOO_LARGE, Error.UNKNOWN_SERVER_ERROR),
    ],
)
def test_an_append_that_fails_changes_nothing(error: Error, told: Error) -> None:
    """``TransactionStateManager.appendTransactionToLog``."""
    scene, producer_id = open_transaction()
    scene.is_slow = True
    waiter = object()
    scene.carry_out(scene.coordinator.on_request(scene.now, AddPartitionsToTxn("X", producer_id, 0, (T1,)), waiter))
    scene.append(error)
    assert scene.replies[waiter].error is told
    assert scene.coordinator.transactions["X"].metadata.partitions == (T0,)
    scene.is_slow = False
    assert scene.add("X", producer_id, 0, T1) is Error.NONE


def test_that_a_transaction_is_complete_is_logged_until_it_is_there() -> None:
    scene, producer_id = open_transaction()
    scene.is_slow = scene.holds_markers = True
    scene.end("X", producer_id, 0, commit=True)
    scene.append()
    scene.mark()
    for _ in range(3):
        scene.append(Error.NOT_ENOUGH_REPLICAS)
        assert state_of(scene) is TransactionState.PREPARE_COMMIT
    scene.append()
    assert state_of(scene) is TransactionState.COMPLETE_COMMIT


def test_under_tv1_a_fence_that_fails_has_raised_the_epoch_once() -> None:
    """``hasFailedEpochFence``."""
    scene, producer_id = open_transaction(TV1)
    scene.is_slow = True
    for _ in range(3):
        scene.init()
        scene.append(Error.NOT_ENOUGH_REPLICAS)
        assert scene.coordinator.transactions["X"].metadata.epoch == 1
    assert scene.end("X", producer_id, 0, commit=True).error is Error.PRODUCER_FENCED
    scene.is_slow = False
    scene.init()
    assert scene.init().epoch == 2


def test_a_marker_that_cannot_be_written_is_sent_for_ever_and_the_others_are_decided() -> None:
    """``TransactionMarkerRequestCompletionHandler``."""
    scene, producer_id = open_transaction()
    scene.send("X", producer_id, 0, to=T1)
    scene.holds_markers = True
    scene.end("X", producer_id, 0, commit=True)
    scene.mark()
    for _ in range(3):
        scene.mark(Error.NOT_LEADER_OR_FOLLOWER)
    assert scene.logs[T0].last_stable_offset == 2
    assert (scene.logs[T1].last_stable_offset, state_of(scene)) == (0, TransactionState.PREPARE_COMMIT)
    assert scene.send("X", producer_id, 1).error is Error.CONCURRENT_TRANSACTIONS
    scene.mark()
    assert (scene.logs[T1].last_stable_offset, state_of(scene)) == (2, TransactionState.COMPLETE_COMMIT)


@pytest.mark.parametrize("error", [Error.INVALID_PRODUCER_EPOCH, Error.TRANSACTION_COORDINATOR_FENCED])
def test_who_hears_of_somebody_newer_stops(error: Error) -> None:
    scene, producer_id = open_transaction()
    scene.holds_markers = True
    scene.end("X", producer_id, 0, commit=True)
    scene.mark(error)
    assert not scene.markers


def test_an_id_that_is_not_used_for_a_week_is_gone() -> None:
    """transactional.id.expiration.ms: ``TransactionStateManager.removeExpiredTransactionalIds``, hourly."""
    scene, producer_id = open_transaction()
    scene.end("X", producer_id, 0, commit=True)
    scene.wait_until(7 * DAY - 2)
    assert state_of(scene) is TransactionState.COMPLETE_COMMIT
    scene.wait_until(7 * DAY + 3600)
    assert "X" not in scene.coordinator.transactions
    assert scene.written[-1].value is None
    assert scene.end("X", producer_id, 1, commit=False).error is Error.INVALID_PRODUCER_ID_MAPPING
    assert scene.init().epoch == 0


def test_an_empty_transaction_is_aborted_under_tv2_only() -> None:
    scene = TransactionScene()
    mine = scene.init()
    assert scene.end("X", mine.producer_id, 0, commit=True).error is Error.INVALID_TXN_STATE
    answer = scene.end("X", mine.producer_id, 0, commit=False)
    assert (answer.error, answer.epoch, state_of(scene)) == (Error.NONE, 1, TransactionState.COMPLETE_ABORT)
    assert scene.end("X", mine.producer_id, 1, commit=False).epoch == 2
    old = TransactionScene(TV1)
    mine = old.init()
    assert old.end("X", mine.producer_id, 0, commit=False).error is Error.INVALID_TXN_STATE


def test_another_coordinator_sends_the_markers_again_and_they_do_no_harm() -> None:
    """``TransactionStateManager.loadTransactionsForTxnTopicPartition``; a marker may be there twice."""
    scene, producer_id = open_transaction()
    scene.send("X", producer_id, 0, to=T1)
    scene.holds_markers = True
    scene.end("X", producer_id, 0, commit=True)
    scene.mark()
    scene.reload(epoch=1)
    assert [(one.coordinator_epoch, where) for one, where in scene.markers] == [(1, T0), (1, T1)]
    scene.holds_markers = False
    scene.go_on()
    assert state_of(scene) is TransactionState.COMPLETE_COMMIT
    assert [log.read(0, is_committed=True)[0] for log in scene.logs.values()] == [[0], [0]]


def test_another_coordinator_goes_on_with_the_clock_of_a_transaction() -> None:
    scene, producer_id = open_transaction()
    scene.wait_until(50)
    scene.reload()
    scene.wait_until(68.9)
    assert state_of(scene) is TransactionState.ONGOING
    scene.wait_until(69)
    assert state_of(scene) is TransactionState.COMPLETE_ABORT
    assert producer_id == scene.coordinator.transactions["X"].metadata.producer_id


def test_what_was_not_logged_is_forgotten_and_who_waits_is_told() -> None:
    scene, producer_id = open_transaction()
    scene.is_slow = True
    waiter = object()
    request = AddPartitionsToTxn("X", producer_id, 0, (T1,))
    scene.carry_out(scene.coordinator.on_request(scene.now, request, waiter))
    scene.carry_out(scene.coordinator.on_unloaded())
    assert scene.replies[waiter].error is Error.NOT_COORDINATOR
    scene.is_slow = False
    scene.reload()
    assert scene.coordinator.transactions["X"].metadata.partitions == (T0,)
