"""What is known of one transactional id, as it is logged, and how each transition changes it.

Source: ``TransactionMetadata``, Kafka 4.4. A value never changes: a transition makes another one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from groupsim.sim.protocol.messages import Error
from groupsim.sim.protocol.transactions.messages import (
    LAST_EPOCH,
    NO_EPOCH,
    NO_PRODUCER_ID,
    TV1,
    TV2,
    InitProducerId,
    TopicPartition,
)
from groupsim.sim.protocol.transactions.states import IDLE, PREVIOUS, TransactionState

NEVER = -1
"""Instead of a start: no transaction has begun."""


@dataclass(frozen=True, slots=True)
class TransactionMetadata:
    """The value of a record of ``__transaction_state``.

    Parameters
    ----------
    producer_id, epoch : int
        Of the producer that may write now.
    last_epoch : int
        The epoch before, if a repetition of the last request may carry it; `NO_EPOCH`: nobody's may.
    previous_producer_id, next_producer_id : int
        The id of the transition before; the one to go on with, where epochs are used up.
    timeout_us : int, microseconds
        ``transaction.timeout.ms`` of the producer.
    state : TransactionState
    partitions : tuple of (topic, number), ascending
        That the open transaction has written to, and have no marker yet.
    start_us, update_us : int, microseconds
        When the first partition was added, `NEVER`; when anything was changed last.
    version : int
        The client's level of transaction.version.
    """

    producer_id: int
    timeout_us: int
    epoch: int = NO_EPOCH
    last_epoch: int = NO_EPOCH
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    state: TransactionState = TransactionState.EMPTY
    partitions: tuple[TopicPartition, ...] = ()
    start_us: int = NEVER
    update_us: int = 0
    version: int = TV1

    @property
    def is_exhausted(self) -> bool:
        """``isProducerEpochExhausted``: one epoch is kept so that a producer can always be fenced."""
        return self.epoch >= LAST_EPOCH - 1

    def _go(self, state: TransactionState, **changes: Any) -> TransactionMetadata:
        assert self.state in PREVIOUS[state], f"{self.state} -> {state}"
        return replace(self, state=state, previous_producer_id=self.producer_id, **changes)

    def initialised(self, now: int, request: InitProducerId, new_producer_id: int) -> TransactionMetadata | Error:
        """InitProducerId of an id that nobody has a transaction open for.

        ``new_producer_id`` is taken if `needs_new_id` says so. Source: ``prepareIncrementProducerEpoch``,
        ``prepareProducerIdRotation``.
        """
        if self.needs_new_id(request):
            last = self.epoch if request.goes_on else NO_EPOCH
            epochs: dict[str, Any] = {"producer_id": new_producer_id, "epoch": 0, "last_epoch": last}
        elif not request.goes_on:
            epochs = {"epoch": self.epoch + 1, "last_epoch": NO_EPOCH}
        elif self.epoch in (NO_EPOCH, request.epoch):
            epochs = {"epoch": self.epoch + 1, "last_epoch": self.epoch}
        elif request.epoch == self.last_epoch:
            epochs = {}
        else:
            return Error.PRODUCER_FENCED
        return self._go(
            TransactionState.EMPTY,
            timeout_us=request.timeout_us,
            partitions=(),
            start_us=NEVER,
            update_us=now,
            **epochs,
        )

    def needs_new_id(self, request: InitProducerId) -> bool:
        """Whether the epochs of the producer id are used up for whoever asks."""
        return self.is_exhausted and (not request.goes_on or request.epoch == self.epoch)

    def accepts(self, request: InitProducerId) -> bool:
        """Whether who asks may be the producer of now, or the one whose epochs were used up."""
        was_exhausted = request.producer_id == self.previous_producer_id and request.epoch >= LAST_EPOCH - 1
        return not request.goes_on or self.epoch == NO_EPOCH or request.producer_id == self.producer_id or was_exhausted

    def added(self, now: int, partitions: tuple[TopicPartition, ...], version: int) -> TransactionMetadata:
        """Partitions are in the transaction, which begins with the first (``prepareAddPartitions``)."""
        start = now if self.state in IDLE else self.start_us
        every = tuple(sorted({*self.partitions, *partitions}))
        return self._go(TransactionState.ONGOING, partitions=every, start_us=start, update_us=now, version=version)

    def ended(self, now: int, *, is_committed: bool, version: int, next_producer_id: int) -> TransactionMetadata:
        """It is decided what becomes of the transaction; TV2 raises the epoch (``prepareAbortOrCommit``)."""
        state = TransactionState.PREPARE_COMMIT if is_committed else TransactionState.PREPARE_ABORT
        bumped = {"epoch": self.epoch + 1, "last_epoch": self.epoch} if version >= TV2 else {}
        start = now if self.state in IDLE else self.start_us
        return self._go(
            state, next_producer_id=next_producer_id, start_us=start, update_us=now, version=version, **bumped
        )

    def fenced(self, now: int, next_producer_id: int) -> TransactionMetadata:
        """The open transaction is aborted under a higher epoch: its producer is shut out.

        ``prepareFenceProducerEpoch``, then ``prepareAbortOrCommit``. Under TV2 its producer can find out by a
        repetition that it is aborted; under TV1 nobody has the new epoch.
        """
        if self.version >= TV2:
            return self.ended(now, is_committed=False, version=self.version, next_producer_id=next_producer_id)
        return self._go(TransactionState.PREPARE_ABORT, epoch=self.epoch + 1, last_epoch=NO_EPOCH, update_us=now)

    def completed(self, now: int) -> TransactionMetadata:
        """All markers are written (``prepareComplete``)."""
        is_commit = self.state is TransactionState.PREPARE_COMMIT
        state = TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT
        rotates = self.version >= TV2 and self.next_producer_id != NO_PRODUCER_ID
        epochs = {"producer_id": self.next_producer_id, "epoch": 0} if rotates else {}
        return self._go(state, next_producer_id=NO_PRODUCER_ID, partitions=(), update_us=now, **epochs)
