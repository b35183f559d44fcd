"""What a transaction coordinator logs (``TransactionLogKey``, ``TransactionLogValue``, Kafka 4.4)."""

from __future__ import annotations

from dataclasses import dataclass

from groupsim.sim.protocol.transactions.metadata import TransactionMetadata


@dataclass(frozen=True, slots=True)
class TransactionRecord:
    """The state of a transactional id from now on; ``value`` None: there is no such id (a tombstone)."""

    transactional_id: str
    value: TransactionMetadata | None

    @property
    def key(self) -> tuple[str, str]:
        """What compaction goes by."""
        return "transaction", self.transactional_id
