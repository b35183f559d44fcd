"""The durable state of a consumer group: all that its log says, and what follows from that alone.

Source: ``ConsumerGroup``, ``ModernGroup``, ``GroupMetadataManager.replay`` (Kafka 4.4).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from groupsim.sim.protocol.consumer.messages import LEAVE_EPOCH
from groupsim.sim.protocol.consumer.partition_epochs import PartitionEpochs
from groupsim.sim.protocol.consumer.records import (
    ConsumerGroupCurrentMemberAssignment,
    ConsumerGroupMemberMetadata,
    ConsumerGroupMetadata,
    ConsumerGroupRegularExpression,
    ConsumerGroupTargetAssignmentMember,
    ConsumerGroupTargetAssignmentMetadata,
    CurrentAssignment,
    GroupEpoch,
    MemberMetadata,
    ResolvedPattern,
    StateRecord,
    TargetEpoch,
)
from groupsim.sim.protocol.consumer.states import GroupState, MemberState
from groupsim.sim.protocol.messages import NO_PARTITIONS, Positions

Subscribed = tuple[tuple[str, ...], str]
"""Names and regular expression that a member subscribes to."""

Key = TypeVar("Key")

NOBODY = MemberMetadata()
NOTHING = CurrentAssignment()
LEFT = CurrentAssignment(LEAVE_EPOCH, LEAVE_EPOCH)
"""What a tombstone leaves of a current assignment, until the member's own tombstone follows."""


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A member's target: as the assignor has given it, and ascending."""

    told: Positions
    positions: Positions

    @classmethod
    def of(cls, told: Positions) -> Target:
        """A target as it was given."""
        ascending = bool((told[:-1] < told[1:]).all())
        return cls(told, told if ascending else np.sort(told))


NO_TARGET = Target(NO_PARTITIONS, NO_PARTITIONS)


@dataclass(slots=True, eq=False)
class Member:
    """One member: who it is, and what it has; both are replaced as a whole."""

    member_id: str
    metadata: MemberMetadata = NOBODY
    current: CurrentAssignment = NOTHING

    @property
    def epoch(self) -> int:
        """Its member epoch."""
        return self.current.member_epoch

    @property
    def subscribed(self) -> Subscribed:
        """What it subscribes to."""
        return self.metadata.topics, self.metadata.pattern


class Roster:
    """Members, targets, epochs and resolved regular expressions.

    Parameters
    ----------
    first_epoch : int
        Both epochs of a group of which nothing is known.

    Attributes
    ----------
    exists : bool
        Whether the log knows the group.
    members : dict
    static : dict
        Instance id -> member id.
    targets : dict
        Member id -> `Target`.
    group : GroupEpoch
    target : TargetEpoch
    patterns : dict
        Regular expression -> what it has been resolved to.
    held : PartitionEpochs
    subscriptions : Counter of Subscribed
        By how many members.
    votes : Counter of str
        Server assignors that members have named.
    n_classic : int
        Members that use the classic protocol.
    """

    def __init__(self, first_epoch: int) -> None:
        self.exists = False
        self.members: dict[str, Member] = {}
        self.static: dict[str, str] = {}
        self.targets: dict[str, Target] = {}
        self._first_epoch = first_epoch
        self.group = GroupEpoch(first_epoch, 0)
        self.target = TargetEpoch(first_epoch, 0)
        self.patterns: dict[str, ResolvedPattern] = {}
        self.held = PartitionEpochs()
        self.subscriptions: Counter[Subscribed] = Counter()
        self.votes: Counter[str] = Counter()
        self.n_classic = 0
        self._n_patterns = 0
        self._stable_at: Counter[int] = Counter()
        """Member epoch -> members that are STABLE there."""

    def __len__(self) -> int:
        return len(self.members)

    def __iter__(self) -> Iterator[Member]:
        return iter(self.members.values())

    @property
    def state(self) -> GroupState:
        """``ConsumerGroup.maybeUpdateGroupState``."""
        if not self.members:
            return GroupState.EMPTY
        if self.group.epoch > self.target.epoch:
            return GroupState.ASSIGNING
        is_stable = self._stable_at[self.target.epoch] == len(self.members)
        return GroupState.STABLE if is_stable else GroupState.RECONCILING

    def static_member(self, instance_id: str) -> Member | None:
        """The member that is known by ``instance_id``."""
        return self.members.get(self.static.get(instance_id, ""))

    def target_of(self, member_id: str) -> Target:
        """Its target; an empty one, if none was ever computed for it."""
        return self.targets.get(member_id, NO_TARGET)

    @property
    def has_patterns(self) -> bool:
        """Whether a member subscribes to a regular expression."""
        return self._n_patterns > 0

    @property
    def mixes_patterns(self) -> bool:
        """Whether members subscribe by regular expressions, but not all by the same one and by nothing else.

        Such subscriptions are different ones, whatever they match (``ConsumerGroup.subscriptionType``).
        """
        return self.has_patterns and (len(self.subscriptions) > 1 or any(names for names, _ in self.subscriptions))

    def n_subscribers(self, pattern: str) -> int:
        """Members that subscribe to a regular expression."""
        return sum(count for (_, one), count in self.subscriptions.items() if one == pattern)

    # --- replay -------------------------------------------------------------------------------------------------------

    def apply(self, record: StateRecord) -> StateRecord:
        """Take a record over; what would have to be applied to undo that."""
        self.exists = True
        match record:
            case ConsumerGroupCurrentMemberAssignment(member_id, current):
                return ConsumerGroupCurrentMemberAssignment(member_id, self._set_current(member_id, current))
            case ConsumerGroupMemberMetadata(member_id, metadata):
                return ConsumerGroupMemberMetadata(member_id, self._set_metadata(member_id, metadata))
            case ConsumerGroupTargetAssignmentMember(member_id, told):
                former = self.targets.get(member_id)
                self._set_target(member_id, told)
                return ConsumerGroupTargetAssignmentMember(member_id, None if former is None else former.told)
            case ConsumerGroupTargetAssignmentMetadata(target):
                before, self.target = self.target, target or TargetEpoch(LEAVE_EPOCH, 0)
                return ConsumerGroupTargetAssignmentMetadata(before)
            case ConsumerGroupMetadata(group):
                return self._set_group(group)
            case ConsumerGroupRegularExpression(pattern, resolved):
                return ConsumerGroupRegularExpression(pattern, self._set_pattern(pattern, resolved))

    def _set_group(self, group: GroupEpoch | None) -> StateRecord:
        before, self.group = self.group, group or GroupEpoch(self._first_epoch, 0)
        self.exists = group is not None
        if group is None:
            self.target = TargetEpoch(self._first_epoch, 0)
        return ConsumerGroupMetadata(before)

    def _set_pattern(self, pattern: str, resolved: ResolvedPattern | None) -> ResolvedPattern | None:
        before = self.patterns.pop(pattern, None)
        if resolved is not None:
            self.patterns[pattern] = resolved
        return before

    def _set_target(self, member_id: str, told: Positions | None) -> None:
        if told is None:
            self.targets.pop(member_id, None)
        else:
            self.targets[member_id] = Target.of(told)

    def _set_current(self, member_id: str, current: CurrentAssignment | None) -> CurrentAssignment | None:
        member = self.members.get(member_id)
        if member is None:
            if current is None:
                return None
            member = self._admit(member_id)
        before, after = member.current, LEFT if current is None else current
        if after.assigned is not before.assigned:
            self.held.remove(before.assigned, before.member_epoch)
        if before.pending.size:
            self.held.remove(before.pending, before.member_epoch)
        self.held.add(after.assigned, after.member_epoch)
        if after.pending.size:
            self.held.add(after.pending, after.member_epoch)
        self._count_stable(before, -1)
        self._count_stable(after, 1)
        member.current = after
        return before

    def _count_stable(self, current: CurrentAssignment, by: int) -> None:
        if current.state is MemberState.STABLE:
            _add(self._stable_at, current.member_epoch, by)

    def _admit(self, member_id: str) -> Member:
        member = self.members[member_id] = Member(member_id)
        self._count(member, 1)
        self._count_stable(member.current, 1)
        return member

    def _set_metadata(self, member_id: str, metadata: MemberMetadata | None) -> MemberMetadata | None:
        member = self.members.get(member_id)
        before = None if member is None else member.metadata
        if metadata is None:
            if member is not None:
                self._remove(member)
            return before
        if member is None:
            member = self._admit(member_id)
        self._count(member, -1)
        member.metadata = metadata
        self._count(member, 1)
        return before

    def _remove(self, member: Member) -> None:
        self._count(member, -1)
        self._set_current(member.member_id, None)
        self._count_stable(member.current, -1)
        del self.members[member.member_id]

    def _count(self, member: Member, by: int) -> None:
        """Let a member count in everything that is told of all members, or no longer."""
        metadata = member.metadata
        _add(self.subscriptions, member.subscribed, by)
        if metadata.server_assignor is not None:
            _add(self.votes, metadata.server_assignor, by)
        self.n_classic += by * (metadata.classic is not None)
        self._n_patterns += by * bool(metadata.pattern)
        instance_id = metadata.instance_id
        if instance_id is not None and by > 0:
            self.static[instance_id] = member.member_id
        elif instance_id is not None and self.static.get(instance_id) == member.member_id:
            del self.static[instance_id]


def _add(counter: Counter[Key], key: Key, by: int) -> None:
    counter[key] += by
    if not counter[key]:
        del counter[key]
