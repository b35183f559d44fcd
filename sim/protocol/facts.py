"""What happens in a group, one class a kind: the books are fed by these and know no protocol.

Every group machine tells them in the order in which they happened (`sim.protocol.interface.Outcome`). Whatever a
protocol calls its states, they are members of an Enum whose values are Kafka's names.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from groupsim.sim.protocol.messages import Positions


class Cause(Enum):
    """Why a member is no longer in the group."""

    LEFT = "left"
    """It said so (LeaveGroup)."""
    EXPIRED = "expired"
    """Its session is over, or the time that a new member has to join."""
    NOT_REJOINED = "not rejoined"
    """The join phase ended without it, or the group was full when it rejoined."""
    NOT_SYNCED = "not synced"
    """It never asked for its assignment."""
    NOT_REVOKED = "not revoked"
    """It never acknowledged what it had to give up (consumer protocol)."""
    LOST = "lost"
    """The group has another coordinator, which has not read of it."""


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that happened in a group."""


@dataclass(frozen=True, slots=True)
class StateChanged(Fact):
    """The group is in another state.

    Parameters
    ----------
    state : Enum
        Of the protocol; the value is Kafka's name.
    generation : int
    reason : str
        What the coordinator logs about it.
    shown : str
        What Kafka calls the state, where that is not its value.
    """

    state: Enum
    generation: int
    reason: str = ""
    shown: str = ""


@dataclass(frozen=True, slots=True)
class DelayExtended(Fact):
    """The initial rebalance waits for one more window."""


@dataclass(frozen=True, slots=True)
class MemberSeen(Fact):
    """Somebody has asked to be a member, with this subscription, whatever it is answered."""

    member_id: str
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AssignmentSynced(Fact):
    """Members' assignments hold from now on: (member id, positions) of each."""

    assignments: tuple[tuple[str, Positions], ...]


@dataclass(frozen=True, slots=True)
class MemberIdGiven(Fact):
    """A joiner without an id was given one; it is no member yet (KIP-394)."""

    member_id: str
    name: str


@dataclass(frozen=True, slots=True)
class MemberAdmitted(Fact):
    """A member is in the group."""

    member_id: str
    name: str


@dataclass(frozen=True, slots=True)
class MemberRemoved(Fact):
    """A member is out of the group.

    Parameters
    ----------
    member_id, name : str
    cause : Cause
    is_pending : bool
        It had been given an id and had not joined yet.
    """

    member_id: str
    name: str
    cause: Cause
    is_pending: bool = False


@dataclass(frozen=True, slots=True)
class MemberReplaced(Fact):
    """A static instance is known by another member id from now on; the one that had the old id is fenced."""

    member_id: str
    name: str
    successor: str


@dataclass(frozen=True, slots=True)
class OffsetsRemoved(Fact):
    """There are no committed offsets of these partitions any more: ``expired`` or ``deleted``."""

    positions: Positions
    why: str


@dataclass(frozen=True, slots=True)
class GroupForgotten(Fact):
    """The group is gone."""


@dataclass(frozen=True, slots=True)
class GroupConverted(Fact):
    """The group speaks another protocol from now on, ``classic`` or ``consumer``, and has so many members."""

    protocol: str
    size: int


@dataclass(frozen=True, slots=True)
class GroupEpochBumped(Fact):
    """Something has changed that may change the assignment (consumer protocol)."""

    epoch: int
    reason: str


@dataclass(frozen=True, slots=True)
class TargetComputed(Fact):
    """A server assignor has run (consumer protocol).

    Parameters
    ----------
    epoch : int
        The group epoch for which the target is.
    assignor : str
    targets : tuple of (member id, positions)
        Of members whose target has changed.
    """

    epoch: int
    assignor: str
    targets: tuple[tuple[str, Positions], ...]


@dataclass(frozen=True, slots=True)
class MemberMoved(Fact):
    """A member is at something else, which nobody but itself knows (ZooKeeper protocol).

    Parameters
    ----------
    member_id : str
    phase : Enum
    is_stale : bool
        It has settled on members who are not those that are registered.
    """

    member_id: str
    phase: Enum
    is_stale: bool = False


@dataclass(frozen=True, slots=True)
class MemberReconciled(Fact):
    """A member has come nearer to its target, or has reported an epoch (consumer protocol).

    Parameters
    ----------
    member_id : str
    epoch : int
        The member's.
    state : str
        Kafka's name of the member's state at the coordinator.
    assigned : int32 array
        All that it may own now.
    pending : int32 array
        What it has to give up, and has not acknowledged yet.
    """

    member_id: str
    epoch: int
    state: str
    assigned: Positions
    pending: Positions
