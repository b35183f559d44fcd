"""What an EndTxn does in each state (``TransactionCoordinator.endTransaction`` and ``endTransactionWithTV1``, 4.4)."""

from __future__ import annotations

from groupsim.sim.protocol.messages import Error
from groupsim.sim.protocol.transactions.messages import LAST_EPOCH, TV2, EndTxn
from groupsim.sim.protocol.transactions.metadata import TransactionMetadata
from groupsim.sim.protocol.transactions.states import IDLE, TransactionState

ONGOING = TransactionState.ONGOING
_STATE_OF = {
    True: (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT),
    False: (TransactionState.PREPARE_ABORT, TransactionState.COMPLETE_ABORT),
}


def verdict(current: TransactionMetadata, request: EndTxn) -> Error | None:
    """What an EndTxn is answered at once; None: the transaction is to be ended as it says."""
    return _verdict_tv2(current, request) if request.version >= TV2 else _verdict_tv1(current, request)


def _verdict_tv1(current: TransactionMetadata, request: EndTxn) -> Error | None:
    prepared, completed = _STATE_OF[request.is_committed]
    if request.producer_id != current.producer_id:
        return Error.INVALID_PRODUCER_ID_MAPPING
    if request.epoch != current.epoch:
        return Error.PRODUCER_FENCED
    if current.state is ONGOING:
        return None
    if current.state is prepared:
        return Error.CONCURRENT_TRANSACTIONS
    return Error.NONE if current.state is completed else Error.INVALID_TXN_STATE


def _verdict_tv2(current: TransactionMetadata, request: EndTxn) -> Error | None:
    is_repeated = _is_repeated(current, request)
    if request.producer_id != current.producer_id and not is_repeated:
        return Error.INVALID_PRODUCER_ID_MAPPING
    if not _is_epoch_valid(current, request, is_repeated=is_repeated):
        return Error.PRODUCER_FENCED
    prepared, completed = _STATE_OF[request.is_committed]
    if current.state is ONGOING:
        return None
    if is_repeated:
        answers = {prepared: Error.CONCURRENT_TRANSACTIONS, completed: Error.NONE}
        return answers.get(current.state, Error.INVALID_TXN_STATE)
    return Error.INVALID_TXN_STATE if request.is_committed else None


def _is_repeated(current: TransactionMetadata, request: EndTxn) -> bool:
    """Whether the same request has raised the epoch already (``retryOnEpochBump``, ``retryOnOverflow``)."""
    if current.version < TV2:
        return False
    if request.producer_id == current.producer_id:
        return request.epoch == current.epoch - 1
    was_exhausted = request.epoch == LAST_EPOCH - 1 and current.epoch == 0
    return was_exhausted and request.producer_id == current.previous_producer_id


def _is_epoch_valid(current: TransactionMetadata, request: EndTxn, *, is_repeated: bool) -> bool:
    is_current = request.epoch == current.epoch
    if current.state is ONGOING or current.state is TransactionState.EMPTY:
        return is_current
    return is_repeated or (current.state in IDLE and is_current)
