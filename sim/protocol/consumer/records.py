"""What a consumer group writes to ``__consumer_offsets``: every change of it is one of these, and nothing else is.

Named as Kafka's records (``GroupCoordinatorRecordHelpers``, Kafka 4.4); a value of None is a tombstone.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.protocol.consumer.states import MemberState
from groupsim.sim.protocol.messages import NO_PARTITIONS, Positions, Protocols, are_same
from groupsim.sim.protocol.offsets.records import OffsetRecord
from groupsim.sim.units import MS

Epochs = NDArray[np.int32]
"""Assignment epochs (KIP-1251), parallel to the positions that they are of. Shape (n,)."""

NO_EPOCHS: Epochs = np.empty(0, dtype=np.int32)

UNKNOWN_TIMEOUT_US = -1 * MS
"""The rebalance timeout of a member that has never told one (-1)."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassicMemberMetadata:
    """What a member has told that uses the classic protocol (``ClassicMemberMetadata``); equal if its bytes are."""

    session_timeout_us: int
    protocols: Protocols

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClassicMemberMetadata) and (
            self.session_timeout_us == other.session_timeout_us
            and len(self.protocols) == len(other.protocols)
            and all(
                mine[0] == theirs[0] and mine[1].same_bytes(theirs[1])
                for mine, theirs in zip(self.protocols, other.protocols, strict=True)
            )
        )

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class MemberMetadata:
    """Who a member is and what it wants (``ConsumerGroupMemberMetadataValue``).

    Parameters
    ----------
    topics : tuple of str
        Sorted.
    pattern : str
        ``SubscribedTopicRegex``; empty for none.
    name : str
        The member's name in the scenario; stands for the client id.
    classic : ClassicMemberMetadata or None
        Set if it uses the classic protocol.
    """

    instance_id: str | None = None
    rack: str | None = None
    name: str = ""
    topics: tuple[str, ...] = ()
    pattern: str = ""
    rebalance_timeout_us: int = UNKNOWN_TIMEOUT_US
    server_assignor: str | None = None
    classic: ClassicMemberMetadata | None = None


@dataclass(slots=True, eq=False)
class CurrentAssignment:
    """What a member has, and how far it has come (``ConsumerGroupCurrentMemberAssignmentValue``).

    Parameters
    ----------
    member_epoch, previous_epoch : int
    state : MemberState
    assigned, pending : int32 array, ascending
        What it may own, and what it has to give up and has not acknowledged yet.
    assigned_epochs, pending_epochs : int32 array
        At which target epoch it got each of these.
    """

    member_epoch: int = 0
    previous_epoch: int = -1
    state: MemberState = MemberState.STABLE
    assigned: Positions = field(default_factory=lambda: NO_PARTITIONS)
    assigned_epochs: Epochs = field(default_factory=lambda: NO_EPOCHS)
    pending: Positions = field(default_factory=lambda: NO_PARTITIONS)
    pending_epochs: Epochs = field(default_factory=lambda: NO_EPOCHS)

    def same_as(self, other: CurrentAssignment) -> bool:
        """Whether both would be the same record."""
        return self is other or (
            self.member_epoch == other.member_epoch
            and self.previous_epoch == other.previous_epoch
            and self.state is other.state
            and are_same(self.assigned, other.assigned)
            and are_same(self.assigned_epochs, other.assigned_epochs)
            and are_same(self.pending, other.pending)
            and are_same(self.pending_epochs, other.pending_epochs)
        )


@dataclass(frozen=True, slots=True)
class ResolvedPattern:
    """The topics that a regular expression matches (``ConsumerGroupRegularExpressionValue``).

    Parameters
    ----------
    topics : tuple of str
        Sorted.
    version : int
        Of the metadata image that was looked at.
    timestamp_us : int, microseconds
        When it was looked at.
    """

    topics: tuple[str, ...]
    version: int
    timestamp_us: int


@dataclass(frozen=True, slots=True)
class GroupEpoch:
    """Group epoch, and a hash of the subscribed topics' metadata (``ConsumerGroupMetadataValue``); 0: no topics."""

    epoch: int
    metadata_hash: int


@dataclass(frozen=True, slots=True)
class TargetEpoch:
    """For which group epoch the targets are, and when their computation ended (``TargetAssignmentMetadataValue``).

    ``timestamp_us`` 0: whenever the next computation is wanted, it need not wait for the assignment interval.
    """

    epoch: int
    timestamp_us: int


@dataclass(frozen=True, slots=True)
class ConsumerGroupMemberMetadata:
    """A member has come or has changed; tombstone: it is gone."""

    member_id: str
    value: MemberMetadata | None

    @property
    def key(self) -> tuple[str, ...]:
        """Of records with the same key the last one counts."""
        return ("ConsumerGroupMemberMetadata", self.member_id)


@dataclass(frozen=True, slots=True)
class ConsumerGroupMetadata:
    """The group epoch; tombstone: there is no such group."""

    value: GroupEpoch | None

    @property
    def key(self) -> tuple[str, ...]:
        """Of records with the same key the last one counts."""
        return ("ConsumerGroupMetadata",)


@dataclass(frozen=True, slots=True, eq=False)
class ConsumerGroupTargetAssignmentMember:
    """A member's target, in the order in which the assignor has given it."""

    member_id: str
    value: Positions | None

    @property
    def key(self) -> tuple[str, ...]:
        """Of records with the same key the last one counts."""
        return ("ConsumerGroupTargetAssignmentMember", self.member_id)


@dataclass(frozen=True, slots=True)
class ConsumerGroupTargetAssignmentMetadata:
    """The assignment epoch."""

    value: TargetEpoch | None

    @property
    def key(self) -> tuple[str, ...]:
        """Of records with the same key the last one counts."""
        return ("ConsumerGroupTargetAssignmentMetadata",)


@dataclass(slots=True, eq=False)
class ConsumerGroupCurrentMemberAssignment:
    """A member's current assignment; tombstone: it has nothing."""

    member_id: str
    value: CurrentAssignment | None

    @property
    def key(self) -> tuple[str, ...]:
        """Of records with the same key the last one counts."""
        return ("ConsumerGroupCurrentMemberAssignment", self.member_id)


@dataclass(frozen=True, slots=True)
class ConsumerGroupRegularExpression:
    """What a regular expression has been resolved to; tombstone: nobody subscribes to it any more."""

    pattern: str
    value: ResolvedPattern | None

    @property
    def key(self) -> tuple[str, ...]:
        """Of records with the same key the last one counts."""
        return ("ConsumerGroupRegularExpression", self.pattern)


StateRecord = (
    ConsumerGroupMemberMetadata
    | ConsumerGroupMetadata
    | ConsumerGroupTargetAssignmentMember
    | ConsumerGroupTargetAssignmentMetadata
    | ConsumerGroupCurrentMemberAssignment
    | ConsumerGroupRegularExpression
)
"""A record that is replayed into the group."""

ConsumerGroupRecord = StateRecord | OffsetRecord
