"""What a classic group writes to ``__consumer_offsets``, and how it is made from a group.

A classic group changes in memory and logs a summary of itself; each summary supersedes the one before. Source:
``GroupCoordinatorRecordHelpers.newGroupMetadataRecord``, ``GroupMetadataManager.replay`` (Kafka 4.4).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from groupsim.sim.protocol.classic.roster import Member, Roster
from groupsim.sim.protocol.interface import Waiter
from groupsim.sim.protocol.messages import NO_PARTITIONS, Error, Positions, Protocols, Subscription
from groupsim.sim.protocol.offsets.records import OffsetRecord


class MemberMetadata(NamedTuple):
    """One member in `GroupMetadata` (``GroupMetadataValue.MemberMetadata``).

    ``subscription`` is that of the selected protocol only; ``name`` stands for the client id. A negative rebalance
    timeout is that of a record that knows none: the session timeout counts.
    """

    member_id: str
    instance_id: str | None
    name: str
    session_timeout_us: int
    rebalance_timeout_us: int
    subscription: Subscription
    assignment: Positions
    has_user_data: bool = False

    def restored(self, protocol: str) -> Member:
        """The member as a coordinator knows it that has only read about it."""
        knows_timeout = self.rebalance_timeout_us >= 0
        return Member(
            member_id=self.member_id,
            instance_id=self.instance_id,
            name=self.name,
            session_timeout_us=self.session_timeout_us,
            rebalance_timeout_us=self.rebalance_timeout_us if knows_timeout else self.session_timeout_us,
            protocols=((protocol, self.subscription),),
            assignment=self.assignment,
            has_user_data=self.has_user_data,
            is_new=False,
        )


@dataclass(frozen=True, slots=True, eq=False)
class GroupMetadata:
    """``GroupMetadataValue``: the group as of its last SyncGroup of a leader, or without members.

    Parameters
    ----------
    generation : int
    protocol, leader : str or None
    state_us : int, microseconds
        When the group entered the state that it was in (``currentStateTimestamp``).
    members : tuple of MemberMetadata
    protocol_type : str
        Empty if nobody has ever joined.
    """

    generation: int
    protocol: str | None
    leader: str | None
    state_us: int
    members: tuple[MemberMetadata, ...] = ()
    protocol_type: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        """Of records with the same key the last one counts."""
        return ("GroupMetadata",)


@dataclass(frozen=True, slots=True)
class GroupTombstone:
    """The group is deleted; tombstones of its offsets are records of their own."""

    @property
    def key(self) -> tuple[str, ...]:
        """Of records with the same key the last one counts."""
        return ("GroupMetadata",)


GroupRecord = GroupMetadata | GroupTombstone | OffsetRecord


APPEND_ERRORS = {
    Error.UNKNOWN_TOPIC_OR_PARTITION: Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_ENOUGH_REPLICAS: Error.COORDINATOR_NOT_AVAILABLE,
    Error.REQUEST_TIMED_OUT: Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_LEADER_OR_FOLLOWER: Error.NOT_COORDINATOR,
    Error.KAFKA_STORAGE_ERROR: Error.NOT_COORDINATOR,
    Error.MESSAGE_TOO_LARGE: Error.UNKNOWN_SERVER_ERROR,
    Error.RECORD_LIST_TOO_LARGE: Error.UNKNOWN_SERVER_ERROR,
    Error.INVALID_FETCH_SIZE: Error.UNKNOWN_SERVER_ERROR,
}
"""What a member is told if an append fails (``GMM.appendGroupMetadataErrorToResponseError``)."""


@dataclass(frozen=True, slots=True, eq=False)
class NewGroup:
    """Awaits the append of a group that did not exist: if it fails, the first JoinGroup is refused."""

    waiter: Waiter


@dataclass(frozen=True, slots=True, eq=False)
class LeaderSync:
    """Awaits the append of an assignment: the group is Stable then, if it is still completing that generation."""

    generation: int
    assignments: Mapping[str, Positions]
    with_user_data: Collection[str] = ()


@dataclass(frozen=True, slots=True, eq=False)
class StaticReplacement:
    """Awaits the append of a static member's new id; if it fails, what is kept here of the old one is put back.

    ``leader`` is who led before the id was replaced, ``waiter`` of the JoinGroup that replaced it.
    """

    member_id: str
    old_id: str
    leader: str | None
    waiter: Waiter
    protocols: Protocols
    session_timeout_us: int
    rebalance_timeout_us: int
    knows_skip_assignment: bool


Awaited = NewGroup | LeaderSync | StaticReplacement


def members_of(roster: Roster, protocol: str | None, given: LeaderSync | None) -> tuple[MemberMetadata, ...]:
    """The members as they are logged, with the assignments ``given`` or, if None, with those that they have."""
    if protocol is None:
        return ()
    return tuple(
        MemberMetadata(
            one.member_id,
            one.instance_id,
            one.name,
            one.session_timeout_us,
            one.rebalance_timeout_us,
            one.subscription_for(protocol),
            one.assignment if given is None else given.assignments.get(one.member_id, NO_PARTITIONS),
            one.has_user_data if given is None else one.member_id in given.with_user_data,
        )
        for one in roster.in_table_order()
    )
