"""The coordinator of the transactional ids of one partition of ``__transaction_state``: a pure machine.

Source: ``TransactionCoordinator``, ``TransactionStateManager``, ``TransactionMarkerChannelManager`` (Kafka 4.4). Every
transition is handed out as a batch and counts from `TransactionCoordinator.on_appended` on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from groupsim.sim.config import TransactionConfig
from groupsim.sim.protocol.interface import Batch, Reply, Waiter
from groupsim.sim.protocol.messages import Acknowledgement, Error
from groupsim.sim.protocol.transactions.endings import verdict
from groupsim.sim.protocol.transactions.messages import (
    NO_EPOCH,
    NO_PRODUCER_ID,
    TV2,
    AddPartitionsToTxn,
    EndTxn,
    InitProducerId,
    ProducerIdentity,
    TopicPartition,
    TransactionRequest,
    WriteTxnMarkers,
)
from groupsim.sim.protocol.transactions.metadata import TransactionMetadata
from groupsim.sim.protocol.transactions.records import TransactionRecord
from groupsim.sim.protocol.transactions.states import DECIDED, IDLE, TransactionState
from groupsim.sim.protocol.transactions.timers import TransactionTimers

_STOPPED = frozenset({Error.INVALID_PRODUCER_EPOCH, Error.TRANSACTION_COORDINATOR_FENCED})
"""Answers to a marker after which somebody newer finishes (``TransactionMarkerRequestCompletionHandler``)."""
_APPEND_ERRORS = {
    Error.UNKNOWN_TOPIC_OR_PARTITION: Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_ENOUGH_REPLICAS: Error.COORDINATOR_NOT_AVAILABLE,
    Error.REQUEST_TIMED_OUT: Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_LEADER_OR_FOLLOWER: Error.NOT_COORDINATOR,
    Error.KAFKA_STORAGE_ERROR: Error.NOT_COORDINATOR,
}
"""What a client is told of an append that has failed (``TransactionStateManager.appendTransactionToLog``)."""


@dataclass(slots=True, eq=False)
class Decision:
    """What the coordinator wants done: append ``batches``, send ``replies``, have ``markers`` written.

    Each batch has one record and is awaited; its number goes to `TransactionCoordinator.on_appended`.
    """

    replies: list[Reply] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)
    markers: list[WriteTxnMarkers] = field(default_factory=list)

    def add(self, more: Decision) -> Decision:
        """And then ``more``."""
        self.replies += more.replies
        self.batches += more.batches
        self.markers += more.markers
        return self


@dataclass(slots=True, eq=False)
class Transition:
    """A change that is being logged, and who hears of it; ``target`` None: the id goes."""

    transactional_id: str
    target: TransactionMetadata | None
    waiter: Waiter | None = None
    request: TransactionRequest | None = None
    is_fence: bool = False


@dataclass(slots=True, eq=False)
class Transaction:
    """One transactional id.

    Attributes
    ----------
    metadata : TransactionMetadata
        What the log says.
    pending : int or None
        Number of the batch that changes it.
    unmarked : set of (topic, number)
        Whose marker is not written yet; never walked through.
    has_failed_fence : bool
        TV1: the epoch was raised, and the log does not know.
    """

    metadata: TransactionMetadata
    pending: int | None = None
    unmarked: set[TopicPartition] = field(default_factory=set)
    has_failed_fence: bool = False


class TransactionCoordinator:
    """Of one partition.

    Parameters
    ----------
    config : TransactionConfig
    new_producer_id : callable
        The next producer id (``ProducerIdManager``).
    loaded_us : int, microseconds
        When its broker was started: both scans count from there.
    epoch : int
        Leader epoch of the partition.

    Attributes
    ----------
    transactions : dict of str to Transaction
    """

    def __init__(
        self, config: TransactionConfig, new_producer_id: Callable[[], int], loaded_us: int = 0, epoch: int = 0
    ) -> None:
        self._config = config
        self._new_producer_id = new_producer_id
        self._epoch = epoch
        self._timers = TransactionTimers(config, loaded_us)
        self._batches = 0
        self._transitions: dict[int, Transition] = {}
        self.transactions: dict[str, Transaction] = {}

    @property
    def deadline(self) -> int:
        """The next scan that finds something, microseconds; `FOREVER` if none does."""
        return self._timers.deadline

    def on_request(self, now: int, request: TransactionRequest, waiter: Waiter) -> Decision:
        """Answer a request, or log what it changes first."""
        match request:
            case InitProducerId():
                return self._initialise(now, request, waiter)
            case AddPartitionsToTxn():
                return self._add(now, request, waiter)
            case EndTxn():
                return self._end(now, request, waiter)

    # --- InitProducerId -----------------------------------------------------------------------------------------------

    def _initialise(self, now: int, request: InitProducerId, waiter: Waiter) -> Decision:
        """``handleInitProducerId``; without a transactional id nothing is logged."""
        name = request.transactional_id
        if name is None:
            return _reply(waiter, ProducerIdentity(Error.NONE, self._new_producer_id(), 0))
        if not 0 < request.timeout_us <= self._config.max_timeout_us:
            return _reply(waiter, ProducerIdentity(Error.INVALID_TRANSACTION_TIMEOUT))
        one = self.transactions.get(name)
        if one is None:
            fresh = TransactionMetadata(self._new_producer_id(), request.timeout_us)
            one = self.transactions[name] = Transaction(fresh)
        if one.pending is not None:
            return _reply(waiter, ProducerIdentity(Error.CONCURRENT_TRANSACTIONS))
        if not one.metadata.accepts(request):
            return _reply(waiter, ProducerIdentity(Error.PRODUCER_FENCED))
        if one.metadata.state in DECIDED:
            return _reply(waiter, ProducerIdentity(Error.CONCURRENT_TRANSACTIONS))
        if one.metadata.state is TransactionState.ONGOING:
            return self._fence(now, name, Transition(name, None, waiter, request))
        new_id = self._new_producer_id() if one.metadata.needs_new_id(request) else NO_PRODUCER_ID
        target = one.metadata.initialised(now, request, new_id)
        if isinstance(target, Error):
            return _reply(waiter, ProducerIdentity(target))
        return self._log(Transition(name, target, waiter, request))

    def _fence(self, now: int, name: str, transition: Transition) -> Decision:
        """Abort an open transaction under a higher epoch."""
        one = self.transactions[name]
        before = one.metadata
        target = before.fenced(now, self._next_id(before, before.version))
        if one.has_failed_fence:
            target = replace(target, epoch=before.epoch)
        elif before.version < TV2:
            # The epoch counts in memory at once, whatever becomes of the append.
            one.metadata = replace(before, epoch=target.epoch, last_epoch=NO_EPOCH)
        transition.target, transition.is_fence = target, True
        return self._log(transition)

    # --- AddPartitionsToTxn, AddOffsetsToTxn --------------------------------------------------------------------------

    def _add(self, now: int, request: AddPartitionsToTxn, waiter: Waiter) -> Decision:
        """``handleAddPartitionsToTransaction``, ``handleVerifyPartitionsInTransaction``."""
        one = self.transactions.get(request.transactional_id)
        error = self._check_producer(one, request)
        if one is None or error is not Error.NONE:
            return _reply(waiter, Acknowledgement(error))
        is_in = {*one.metadata.partitions}.issuperset(request.partitions)
        if request.verify_only:
            return _reply(waiter, Acknowledgement(Error.NONE if is_in else Error.TRANSACTION_ABORTABLE))
        if is_in and one.metadata.state is TransactionState.ONGOING:
            return _reply(waiter, Acknowledgement(Error.NONE))
        target = one.metadata.added(now, request.partitions, request.version)
        return self._log(Transition(request.transactional_id, target, waiter, request))

    def _check_producer(self, one: Transaction | None, request: AddPartitionsToTxn) -> Error:
        if one is None:
            return Error.INVALID_PRODUCER_ID_MAPPING
        if one.pending is not None and not request.verify_only:
            return Error.CONCURRENT_TRANSACTIONS
        if one.metadata.producer_id != request.producer_id:
            return Error.INVALID_PRODUCER_ID_MAPPING
        if one.metadata.epoch != request.epoch:
            return Error.PRODUCER_FENCED
        return Error.CONCURRENT_TRANSACTIONS if one.metadata.state in DECIDED else Error.NONE

    # --- EndTxn and markers -------------------------------------------------------------------------------------------

    def _end(self, now: int, request: EndTxn, waiter: Waiter) -> Decision:
        """``handleEndTransaction``: `endings` decides."""
        one = self.transactions.get(request.transactional_id)
        if one is None:
            return _reply(waiter, ProducerIdentity(Error.INVALID_PRODUCER_ID_MAPPING))
        if one.pending is not None:
            return _reply(waiter, ProducerIdentity(Error.CONCURRENT_TRANSACTIONS))
        current, error = one.metadata, verdict(one.metadata, request)
        if error is Error.NONE:
            return _reply(waiter, ProducerIdentity(error, current.producer_id, current.epoch))
        if error is not None:
            return _reply(waiter, ProducerIdentity(error))
        target = current.ended(
            now, is_committed=request.is_committed, version=request.version,
            next_producer_id=self._next_id(current, request.version),
        )  # fmt: skip
        return self._log(Transition(request.transactional_id, target, waiter, request))

    def _next_id(self, current: TransactionMetadata, version: int) -> int:
        """Another producer id if an ending under TV2 uses up the epochs of this one, by a fence, too."""
        return self._new_producer_id() if version >= TV2 and current.is_exhausted else NO_PRODUCER_ID

    def _send_markers(self, now: int, name: str) -> Decision:
        """``addTxnMarkersToSend``; a transaction without partitions is complete at once."""
        one = self.transactions[name]
        one.unmarked = {*one.metadata.partitions}
        if not one.unmarked:
            return self._complete(now, name)
        return Decision(markers=[self._markers(name, one.metadata.partitions)])

    def _markers(self, name: str, partitions: tuple[TopicPartition, ...]) -> WriteTxnMarkers:
        current = self.transactions[name].metadata
        is_committed = current.state is TransactionState.PREPARE_COMMIT
        return WriteTxnMarkers(
            name, current.producer_id, current.epoch, is_committed, partitions, self._epoch, current.version
        )

    def on_marker(self, now: int, markers: WriteTxnMarkers, partition: TopicPartition, error: Error) -> Decision:
        """A leader has answered for one partition; what could not be written is asked for again, for ever."""
        name = markers.transactional_id
        one = self.transactions.get(name)
        if one is None or one.metadata.state not in DECIDED or one.metadata.epoch != markers.epoch:
            return Decision()
        if one.pending is not None or error in _STOPPED:
            return Decision()
        if error is not Error.NONE:
            return Decision(markers=[self._markers(name, (partition,))])
        one.unmarked.discard(partition)
        return Decision() if one.unmarked else self._complete(now, name)

    def _complete(self, now: int, name: str) -> Decision:
        return self._log(Transition(name, self.transactions[name].metadata.completed(now)))

    # --- the log ------------------------------------------------------------------------------------------------------

    def _log(self, transition: Transition) -> Decision:
        """``appendTransactionToLog``: until the log has it, nothing else may change the id."""
        self._batches += 1
        self._transitions[self._batches] = transition
        self.transactions[transition.transactional_id].pending = self._batches
        record = TransactionRecord(transition.transactional_id, transition.target)
        return Decision(batches=[Batch(self._batches, (record,), is_awaited=True)])

    def on_appended(self, now: int, number: int, error: Error) -> Decision:
        """The batch is committed, or has failed with ``error``."""
        transition = self._transitions.pop(number, None)
        if transition is None:
            return Decision()
        one = self.transactions[transition.transactional_id]
        one.pending = None
        if error is not Error.NONE:
            return self._on_failure(now, one, transition, error)
        if transition.target is None:
            del self.transactions[transition.transactional_id]
            self._timers.forget(transition.transactional_id)
            return Decision()
        one.metadata, one.has_failed_fence = transition.target, False
        self._timers.watch(now, transition.transactional_id, one.metadata)
        decision = _answer(transition, Error.NONE)
        if one.metadata.state in DECIDED:
            decision.add(self._send_markers(now, transition.transactional_id))
        return decision

    def _on_failure(self, now: int, one: Transaction, transition: Transition, error: Error) -> Decision:
        """Only that a transaction is complete is logged again and again; else the state is what it was."""
        name, target = transition.transactional_id, transition.target
        if one.metadata.state in DECIDED and target is not None:
            return self._log(transition)
        one.has_failed_fence = transition.is_fence and one.metadata.version < TV2
        self._timers.watch(now, name, one.metadata)
        return _answer(transition, _APPEND_ERRORS.get(error, Error.UNKNOWN_SERVER_ERROR))

    def replay(self, record: TransactionRecord) -> None:
        """Take over one record of the log."""
        if record.value is None:
            self.transactions.pop(record.transactional_id, None)
        else:
            self.transactions[record.transactional_id] = Transaction(record.value)

    def is_settled(self, name: str) -> bool:
        """Whether an id stays as it is until somebody asks for something, or a scan finds it."""
        one = self.transactions.get(name)
        return one is not None and one.pending is None and one.metadata.state not in DECIDED

    def copy(self, name: str) -> Transaction:
        """An id as it is, for `restore`."""
        one = self.transactions[name]
        return Transaction(one.metadata, one.pending, {*one.unmarked}, one.has_failed_fence)

    def restore(self, now: int, name: str, before: Transaction) -> None:
        """What was done since `copy`, all of which is logged, was not done."""
        self.transactions[name] = before
        self._timers.watch(now, name, before.metadata)

    def on_loaded(self, now: int) -> Decision:
        """The log has been replayed: markers of what was decided are sent again, under the new coordinator epoch."""
        decision = Decision()
        for name in sorted(self.transactions):
            self._timers.watch(now, name, self.transactions[name].metadata)
            if self.transactions[name].metadata.state in DECIDED:
                decision.add(self._send_markers(now, name))
        return decision

    def on_unloaded(self) -> Decision:
        """Another broker coordinates: whoever waits is told so; what was not logged is forgotten."""
        decision = Decision()
        for _, transition in sorted(self._transitions.items()):
            decision.add(_answer(transition, Error.NOT_COORDINATOR))
        self._transitions.clear()
        self.transactions.clear()
        self._timers.clear()
        return decision

    # --- time ---------------------------------------------------------------------------------------------------------

    def on_deadline(self, now: int) -> Decision:
        """``abortTimedOutTransactions``, ``removeExpiredTransactionalIds``: skipped where a change is being logged."""
        decision = Decision()
        while (name := self._timers.pop_timed_out(now)) is not None:
            if self.transactions[name].pending is None:
                decision.add(self._fence(now, name, Transition(name, None)))
        while (name := self._timers.pop_expired(now)) is not None:
            one = self.transactions[name]
            if one.pending is None and one.metadata.state in IDLE:
                decision.add(self._log(Transition(name, None)))
        return decision


def _reply(waiter: Waiter, response: object) -> Decision:
    return Decision(replies=[Reply(waiter, response)])


def _answer(transition: Transition, error: Error) -> Decision:
    """Tell who waits for a transition what has come of it; scans wait for nothing."""
    target = transition.target
    match transition.request:
        case None:
            return Decision()
        case AddPartitionsToTxn():
            return _reply(transition.waiter, Acknowledgement(error))
        case InitProducerId() if transition.is_fence and error is Error.NONE:
            # The successor asks again until the transaction of its predecessor is aborted.
            return _reply(transition.waiter, ProducerIdentity(Error.CONCURRENT_TRANSACTIONS))
    if error is not Error.NONE or target is None:
        return _reply(transition.waiter, ProducerIdentity(error))
    if target.next_producer_id != NO_PRODUCER_ID:
        return _reply(transition.waiter, ProducerIdentity(error, target.next_producer_id, 0))
    return _reply(transition.waiter, ProducerIdentity(error, target.producer_id, target.epoch))
