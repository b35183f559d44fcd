"""Requests, responses and error codes of the classic group protocol, with the fields that decide something.

Partitions are positions in the group's partition vector (`sim.catalog.Partitions`), so an assignment is an ``int32``
array. Error codes are values, as on the wire (``org.apache.kafka.common.protocol.Errors``), never exceptions.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

Positions = NDArray[np.int32]
"""Partitions of a group, as positions in its partition vector. Shape (n,)."""

NO_PARTITIONS: Positions = np.empty(0, dtype=np.int32)

CONSUMER = "consumer"
"""The protocol type of consumers (``ConsumerProtocol.PROTOCOL_TYPE``)."""


_FEW = 1 << 10  # pairs that are compared one by one


def without(positions: Positions, gone: Positions) -> Positions:
    """Those of ``positions`` that are not in ``gone``; the usual cases (nothing, everything) cost nothing."""
    if not gone.size or not positions.size:
        return positions
    if gone is positions or (len(gone) == len(positions) and (gone == positions).all()):
        return NO_PARTITIONS
    return positions[~within(positions, gone)]


def are_same(positions: Positions, others: Positions) -> bool:
    """Whether both are the same partitions in the same order: `numpy.array_equal`, at a fifth of the cost for a few."""
    if positions is others or len(positions) != len(others):
        return positions is others
    is_few = len(positions) * len(others) <= _FEW
    return bool(positions.tolist() == others.tolist() if is_few else np.logical_and.reduce(positions == others))


def within(positions: Positions, others: Positions) -> NDArray[np.bool_]:
    """Which of ``positions`` are in ``others``: `numpy.isin`, at a fifth of the cost for a few of either."""
    if len(positions) * len(others) <= _FEW:
        found: NDArray[np.bool_] = np.logical_or.reduce(positions[:, None] == others, axis=1)
        return found
    return np.isin(positions, others)


class Api(Enum):
    """Requests that groupsim counts, named as Kafka's ``ApiKeys``."""

    FIND_COORDINATOR = "FindCoordinator"
    JOIN_GROUP = "JoinGroup"
    SYNC_GROUP = "SyncGroup"
    HEARTBEAT = "Heartbeat"
    LEAVE_GROUP = "LeaveGroup"
    OFFSET_COMMIT = "OffsetCommit"
    OFFSET_FETCH = "OffsetFetch"
    TXN_OFFSET_COMMIT = "TxnOffsetCommit"
    OFFSET_DELETE = "OffsetDelete"
    DELETE_GROUPS = "DeleteGroups"
    METADATA = "Metadata"
    CONSUMER_GROUP_HEARTBEAT = "ConsumerGroupHeartbeat"
    INIT_PRODUCER_ID = "InitProducerId"
    PRODUCE = "Produce"
    END_TXN = "EndTxn"
    ADD_PARTITIONS_TO_TXN = "AddPartitionsToTxn"
    ADD_OFFSETS_TO_TXN = "AddOffsetsToTxn"
    __hash__ = object.__hash__  # looked up with every request, and there is one object of each


class Error(Enum):
    """Error codes that a group member, or the append of a group's records, can meet (``Errors``, Kafka 4.4)."""

    NONE = "NONE"
    COORDINATOR_NOT_AVAILABLE = "COORDINATOR_NOT_AVAILABLE"
    COORDINATOR_LOAD_IN_PROGRESS = "COORDINATOR_LOAD_IN_PROGRESS"
    NOT_COORDINATOR = "NOT_COORDINATOR"
    UNKNOWN_MEMBER_ID = "UNKNOWN_MEMBER_ID"
    ILLEGAL_GENERATION = "ILLEGAL_GENERATION"
    INCONSISTENT_GROUP_PROTOCOL = "INCONSISTENT_GROUP_PROTOCOL"
    INVALID_SESSION_TIMEOUT = "INVALID_SESSION_TIMEOUT"
    REBALANCE_IN_PROGRESS = "REBALANCE_IN_PROGRESS"
    MEMBER_ID_REQUIRED = "MEMBER_ID_REQUIRED"
    FENCED_INSTANCE_ID = "FENCED_INSTANCE_ID"
    GROUP_MAX_SIZE_REACHED = "GROUP_MAX_SIZE_REACHED"
    UNKNOWN_SERVER_ERROR = "UNKNOWN_SERVER_ERROR"
    UNKNOWN_TOPIC_OR_PARTITION = "UNKNOWN_TOPIC_OR_PARTITION"
    OFFSET_METADATA_TOO_LARGE = "OFFSET_METADATA_TOO_LARGE"
    NOT_ENOUGH_REPLICAS = "NOT_ENOUGH_REPLICAS"
    REQUEST_TIMED_OUT = "REQUEST_TIMED_OUT"
    NOT_LEADER_OR_FOLLOWER = "NOT_LEADER_OR_FOLLOWER"
    KAFKA_STORAGE_ERROR = "KAFKA_STORAGE_ERROR"
    MESSAGE_TOO_LARGE = "MESSAGE_TOO_LARGE"
    RECORD_LIST_TOO_LARGE = "RECORD_LIST_TOO_LARGE"
    INVALID_FETCH_SIZE = "INVALID_FETCH_SIZE"
    GROUP_ID_NOT_FOUND = "GROUP_ID_NOT_FOUND"
    INVALID_REQUEST = "INVALID_REQUEST"
    INVALID_REGULAR_EXPRESSION = "INVALID_REGULAR_EXPRESSION"
    UNSUPPORTED_ASSIGNOR = "UNSUPPORTED_ASSIGNOR"
    UNSUPPORTED_VERSION = "UNSUPPORTED_VERSION"
    FENCED_MEMBER_EPOCH = "FENCED_MEMBER_EPOCH"
    STALE_MEMBER_EPOCH = "STALE_MEMBER_EPOCH"
    UNRELEASED_INSTANCE_ID = "UNRELEASED_INSTANCE_ID"
    NON_EMPTY_GROUP = "NON_EMPTY_GROUP"
    GROUP_SUBSCRIBED_TO_TOPIC = "GROUP_SUBSCRIBED_TO_TOPIC"
    UNSTABLE_OFFSET_COMMIT = "UNSTABLE_OFFSET_COMMIT"
    OUT_OF_ORDER_SEQUENCE_NUMBER = "OUT_OF_ORDER_SEQUENCE_NUMBER"
    INVALID_PRODUCER_EPOCH = "INVALID_PRODUCER_EPOCH"
    INVALID_PRODUCER_ID_MAPPING = "INVALID_PRODUCER_ID_MAPPING"
    INVALID_TXN_STATE = "INVALID_TXN_STATE"
    INVALID_TRANSACTION_TIMEOUT = "INVALID_TRANSACTION_TIMEOUT"
    CONCURRENT_TRANSACTIONS = "CONCURRENT_TRANSACTIONS"
    PRODUCER_FENCED = "PRODUCER_FENCED"
    TRANSACTION_ABORTABLE = "TRANSACTION_ABORTABLE"
    TRANSACTION_COORDINATOR_FENCED = "TRANSACTION_COORDINATOR_FENCED"
    NETWORK_EXCEPTION = "NETWORK_EXCEPTION"
    NO_OFFSET_FOR_PARTITION = "NO_OFFSET_FOR_PARTITION"
    """Nor are these two: what poll() raises where auto.offset.reset is none (``NoOffsetForPartitionException``)."""
    OFFSET_OUT_OF_RANGE = "OFFSET_OUT_OF_RANGE"
    """``OffsetOutOfRangeException``."""
    DISCONNECTED = "DISCONNECTED"
    """Not a code of the wire: the connection ended, or the request timed out, before the answer came."""
    REBALANCE_FAILED = "ConsumerRebalanceFailedException"
    """Not a code either: what the consumer before 0.9 throws when it has not got its partitions at its start."""
    ZOOKEEPER_TIMEOUT = "ZkTimeoutException"
    """The same, if no ZooKeeper server can be reached."""


@dataclass(slots=True, eq=False)
class Subscription:
    """A member's metadata for one assignor (``ConsumerPartitionAssignor.Subscription``).

    Parameters
    ----------
    topics : tuple of str
        Sorted, as the sender sorts them (``ConsumerProtocol.serializeSubscription``).
    owned : int32 array, shape (n,)
        Owned partitions (v1+); empty under an eager assignor, which has revoked everything before it joins.
    generation : int or None
        v2+ (3.4): the generation in which ``owned`` was assigned.
    user_data : object or None
        What the assignor adds (sticky: its memory).
    """

    topics: tuple[str, ...]
    owned: Positions = field(default_factory=lambda: NO_PARTITIONS)
    generation: int | None = None
    user_data: Any = None
    rack: str | None = None

    def same_bytes(self, other: Subscription) -> bool:
        """Whether both would be the same bytes on the wire (``ClassicGroupMember.matches``)."""
        return (
            self.generation == other.generation
            and self.topics == other.topics
            and self.rack == other.rack
            and _same_content(self.user_data, other.user_data)
            and are_same(self.owned, other.owned)
        )


def _same_content(mine: Any, other: Any) -> bool:
    """Equality of what assignors put into user data: plain values, arrays, sequences, dataclasses of those."""
    if mine is other or type(mine) is not type(other):
        return mine is other
    if isinstance(mine, np.ndarray):
        return np.array_equal(mine, other)
    if isinstance(mine, (tuple, list)):
        return len(mine) == len(other) and all(map(_same_content, mine, other))
    if is_dataclass(mine):
        return all(_same_content(getattr(mine, one.name), getattr(other, one.name)) for one in fields(mine))
    return bool(mine == other)


Protocols = tuple[tuple[str, Subscription], ...]
"""Assignor names in the member's order of preference, each with its metadata."""


@dataclass(slots=True, eq=False)
class JoinGroup:
    """``JoinGroupRequest``. ``fresh_id`` is the id that the broker would make up for a member without one."""

    member_id: str
    instance_id: str | None
    session_timeout_us: int
    rebalance_timeout_us: int
    protocols: Protocols
    reason: str = ""
    fresh_id: str = ""
    knows_member_id_required: bool = True
    knows_skip_assignment: bool = True
    name: str = ""
    """The member's name in the scenario; decides nothing."""
    protocol_type: str = CONSUMER


@dataclass(slots=True, eq=False)
class JoinResponse:
    """``JoinGroupResponse``; ``members`` only for the leader: (member id, instance id, subscription) in group order."""

    error: Error
    generation: int = -1
    protocol: str | None = None
    leader: str = ""
    member_id: str = ""
    members: tuple[tuple[str, str | None, Subscription], ...] = ()
    skip_assignment: bool = False
    protocol_type: str | None = None


@dataclass(slots=True, eq=False)
class SyncGroup:
    """``SyncGroupRequest``; ``assignments`` only from the leader. Before v5 there is no protocol, nor its type."""

    member_id: str
    instance_id: str | None
    generation: int
    protocol: str | None = None
    assignments: dict[str, Positions] | None = None
    protocol_type: str | None = CONSUMER
    with_user_data: frozenset[str] = frozenset()
    """Member ids whose assignment carries user data (``ConsumerProtocolAssignment.userData``)."""


@dataclass(slots=True, eq=False)
class SyncResponse:
    """``SyncGroupResponse``."""

    error: Error
    assignment: Positions = field(default_factory=lambda: NO_PARTITIONS)
    protocol: str | None = None
    protocol_type: str | None = None


@dataclass(slots=True, eq=False)
class Heartbeat:
    """``HeartbeatRequest``."""

    member_id: str
    instance_id: str | None
    generation: int


@dataclass(slots=True, eq=False)
class MemberIdentity:
    """Who leaves (``LeaveGroupRequest.MemberIdentity``); without a member id, whoever has the instance id (KIP-345)."""

    member_id: str
    instance_id: str | None
    reason: str = ""


@dataclass(slots=True, eq=False)
class LeaveGroup:
    """``LeaveGroupRequest``; a member that leaves by itself is the only one."""

    members: tuple[MemberIdentity, ...]

    @property
    def member_id(self) -> str:
        """The first; who sends it, if it leaves by itself."""
        return self.members[0].member_id


@dataclass(slots=True, eq=False)
class LeaveResponse:
    """``LeaveGroupResponse``: an error of the group's, or one for each member in the order of the request."""

    group_error: Error
    members: tuple[Error, ...] = ()

    @property
    def error(self) -> Error:
        """The group's error, else the first of a member's (``LeaveGroupResponse.error``)."""
        return next((one for one in (self.group_error, *self.members) if one is not Error.NONE), Error.NONE)


@dataclass(slots=True, eq=False)
class OffsetCommit:
    """``OffsetCommitRequest``: ``offsets[i]`` for partition ``positions[i]``; generation -1 = no membership."""

    member_id: str
    instance_id: str | None
    generation: int
    positions: Positions
    offsets: NDArray[np.int64]
    is_awaited: bool = False
    """As in `sim.protocol.effects.Commit`; decides nothing at the coordinator."""
    knows_stale_epoch: bool = True
    """v9 (KIP-848): told of a missing group as such; older ones hear of an illegal generation, and members of the
    consumer protocol may not send them."""
    retention_us: int = -1
    """How long the offsets are to be kept (v2 to v4); -1: as the broker has it."""
    metadata_sizes: NDArray[np.int64] | None = None
    """Characters of metadata with each offset; None, as members here have it: there are none."""


@dataclass(slots=True, eq=False)
class TxnOffsetCommit:
    """``TxnOffsetCommitRequest``: offsets of a transaction; without id, instance and generation nobody is fenced."""

    member_id: str
    instance_id: str | None
    generation: int
    positions: Positions
    offsets: NDArray[np.int64]
    producer_id: int
    knows_stale_epoch: bool = True
    """v6 (4.4): told of a stale epoch and of a missing group as such; older ones hear of an illegal generation."""
    transactional_id: str = ""
    producer_epoch: int = 0
    """These two are for the broker, which adds the offsets partition to the transaction first (TV2)."""
    metadata_sizes: NDArray[np.int64] | None = None

    @property
    def is_anonymous(self) -> bool:
        """Whether it says nothing about membership, as before KIP-447."""
        return not self.member_id and self.instance_id is None and self.generation < 0


@dataclass(slots=True, eq=False)
class OffsetDelete:
    """``OffsetDeleteRequest``: offsets of some partitions are to be deleted."""

    positions: Positions


@dataclass(slots=True, eq=False)
class OffsetDeleteResponse:
    """``OffsetDeleteResponse``: ``refused`` are of topics that the group subscribes to (GROUP_SUBSCRIBED_TO_TOPIC)."""

    error: Error
    refused: Positions = field(default_factory=lambda: NO_PARTITIONS)


@dataclass(slots=True, eq=False)
class OffsetFetch:
    """``OffsetFetchRequest`` for some partitions; only members of the consumer protocol say who they are (KIP-848)."""

    positions: Positions
    member_id: str | None = None
    member_epoch: int = -1


@dataclass(slots=True, eq=False)
class OffsetFetchResponse:
    """``OffsetFetchResponse``: committed offsets, -1 where there is none.

    ``unstable``: partitions that an open transaction has written to (UNSTABLE_OFFSET_COMMIT).
    """

    error: Error
    offsets: NDArray[np.int64]
    unstable: Positions = field(default_factory=lambda: NO_PARTITIONS)

    def as_a_whole(self) -> OffsetFetchResponse:
        """As a consumer takes it: no offset at all while one of them is unstable (``OffsetFetchResponseHandler``)."""
        if not self.unstable.size:
            return self
        return OffsetFetchResponse(Error.UNSTABLE_OFFSET_COMMIT, self.offsets[:0], self.unstable)


@dataclass(slots=True, eq=False)
class FindCoordinator:
    """``FindCoordinatorRequest`` for a group id."""

    group: str


@dataclass(slots=True, eq=False)
class FindCoordinatorResponse:
    """``FindCoordinatorResponse``; ``node`` is a broker id."""

    error: Error
    node: int = -1


@dataclass(slots=True, eq=False)
class Acknowledgement:
    """A response that is nothing but an error code: Heartbeat, OffsetCommit."""

    error: Error


def failed(request: object, error: Error) -> JoinResponse | SyncResponse | OffsetFetchResponse | Acknowledgement:
    """What a member hears of a request that the broker never answered."""
    match request:
        case JoinGroup():
            return JoinResponse(error)
        case SyncGroup():
            return SyncResponse(error)
        case OffsetFetch():
            return OffsetFetchResponse(error, np.empty(0, np.int64))
        case _:
            return Acknowledgement(error)
