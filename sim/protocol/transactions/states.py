"""States of a transactional id (``TransactionState``, Kafka 4.4)."""

from __future__ import annotations

from enum import Enum


class TransactionState(Enum):
    """By Kafka's names."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"


DECIDED = frozenset({TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT})
"""What becomes of the transaction is certain, its markers are under way."""
IDLE = frozenset({TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT})
"""No transaction is open."""

PREVIOUS = {
    TransactionState.EMPTY: IDLE,
    TransactionState.ONGOING: IDLE.union({TransactionState.ONGOING}),
    TransactionState.PREPARE_COMMIT: frozenset({TransactionState.ONGOING}),
    TransactionState.PREPARE_ABORT: IDLE.union({TransactionState.ONGOING, TransactionState.PREPARE_EPOCH_FENCE}),
    TransactionState.COMPLETE_COMMIT: frozenset({TransactionState.PREPARE_COMMIT}),
    TransactionState.COMPLETE_ABORT: frozenset({TransactionState.PREPARE_ABORT}),
    TransactionState.DEAD: IDLE,
    TransactionState.PREPARE_EPOCH_FENCE: frozenset({TransactionState.ONGOING}),
}
"""From which states each may be entered (``TransactionState.validPreviousStates``)."""
