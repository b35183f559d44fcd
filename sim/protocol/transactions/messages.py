"""Requests of transactional producers and of their coordinator, with the fields that decide something (Kafka 4.4)."""

from __future__ import annotations

from dataclasses import dataclass

from groupsim.sim.protocol.messages import Error

TopicPartition = tuple[str, int]
"""Topic and number."""

NO_PRODUCER_ID = -1
NO_EPOCH = -1
LAST_EPOCH = (1 << 15) - 1
"""``Short.MAX_VALUE``."""
TV1, TV2 = 1, 2
"""Levels of transaction.version."""


@dataclass(frozen=True, slots=True)
class InitProducerId:
    """``InitProducerIdRequest``.

    Parameters
    ----------
    transactional_id : str or None
        None: of an idempotent producer.
    timeout_us : int, microseconds
        ``transaction.timeout.ms``.
    producer_id, epoch : int
        What the producer has, if it goes on after an error (KIP-360).
    """

    transactional_id: str | None
    timeout_us: int = 0
    producer_id: int = NO_PRODUCER_ID
    epoch: int = NO_EPOCH

    @property
    def goes_on(self) -> bool:
        """Whether a producer asks that has an id already."""
        return self.producer_id != NO_PRODUCER_ID


@dataclass(frozen=True, slots=True)
class ProducerIdentity:
    """Answer to InitProducerId and EndTxn: an error, or the producer id and epoch to go on with."""

    error: Error
    producer_id: int = NO_PRODUCER_ID
    epoch: int = NO_EPOCH


@dataclass(frozen=True, slots=True)
class AddPartitionsToTxn:
    """``AddPartitionsToTxnRequest``, and AddOffsetsToTxn, whose partition is the group's of ``__consumer_offsets``.

    From the client under TV1; from the broker that leads the partition under TV2, or to verify (``verify_only``).
    """

    transactional_id: str
    producer_id: int
    epoch: int
    partitions: tuple[TopicPartition, ...]
    version: int = TV2
    verify_only: bool = False


@dataclass(frozen=True, slots=True)
class EndTxn:
    """``EndTxnRequest``; ``version`` is the client's: v5 of the request is TV2."""

    transactional_id: str
    producer_id: int
    epoch: int
    is_committed: bool
    version: int = TV2


@dataclass(frozen=True, slots=True)
class WriteTxnMarkers:
    """``WriteTxnMarkersRequest`` for one transaction: the coordinator asks the leaders of its partitions."""

    transactional_id: str
    producer_id: int
    epoch: int
    is_committed: bool
    partitions: tuple[TopicPartition, ...]
    coordinator_epoch: int = 0
    version: int = TV2


@dataclass(frozen=True, slots=True)
class FindTransactionCoordinator:
    """``FindCoordinatorRequest`` for a transactional id."""

    transactional_id: str


TransactionRequest = InitProducerId | AddPartitionsToTxn | EndTxn
