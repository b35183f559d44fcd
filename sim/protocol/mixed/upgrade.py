"""A classic group that becomes one of the consumer protocol (``GMM.convertToConsumerGroup``, Kafka 4.4)."""

from __future__ import annotations

import numpy as np

from groupsim.sim.protocol.classic.group import ClassicGroup
from groupsim.sim.protocol.classic.records import GroupTombstone
from groupsim.sim.protocol.classic.roster import Member
from groupsim.sim.protocol.classic.states import GroupState
from groupsim.sim.protocol.consumer.core import reconciled
from groupsim.sim.protocol.consumer.group import ConsumerGroup
from groupsim.sim.protocol.consumer.records import (
    ClassicMemberMetadata,
    ConsumerGroupCurrentMemberAssignment,
    ConsumerGroupMemberMetadata,
    ConsumerGroupMetadata,
    ConsumerGroupTargetAssignmentMember,
    ConsumerGroupTargetAssignmentMetadata,
    CurrentAssignment,
    GroupEpoch,
    MemberMetadata,
    TargetEpoch,
)
from groupsim.sim.protocol.messages import CONSUMER, Error, Positions, Subscription

_CUSTOM_ASSIGNOR = "Cannot upgrade classic group {} to consumer group because an unsupported custom assignor is in use."
"""What ``GMM.convertToConsumerGroup`` answers; it goes on with advice to use an assignor of Kafka's own."""


def is_empty(group: ClassicGroup) -> bool:
    """Whether the group has no members, so that it becomes one of the other protocol whatever the policy is."""
    return group.state is GroupState.EMPTY


def may_upgrade(group: ClassicGroup) -> bool:
    """``GMM.validateOnlineUpgrade``: the policy, the protocol type, and the size that a consumer group may have."""
    config, roster = group.config, group.roster
    return (
        config.consumer_migration_policy in ("bidirectional", "upgrade")
        and roster.protocol_type == CONSUMER
        and len(roster) <= config.consumer_max_size
    )


def refusal(group_id: str, group: ClassicGroup) -> tuple[Error, str] | None:
    """Error and message for whoever would upgrade the group, if Kafka cannot convert a member; None: it can.

    It goes through the members (``ConsumerGroup.fromClassicGroup``) and stops at the first whose assignment carries
    user data, which an assignor on the broker would lose (KAFKA-18134, 4.0), or of which it cannot tell what it
    subscribes to: it looks at the assignor of the last generation only, of which there is none in the very first join
    phase, and which who has joined since may not have.
    """
    for one in group.roster.in_table_order():
        if one.has_user_data:
            return Error.GROUP_ID_NOT_FOUND, _CUSTOM_ASSIGNOR.format(group_id)
        if _subscription(one, group.protocol) is None:
            return Error.UNKNOWN_SERVER_ERROR, "no value present"
    return None


def write_tombstone(old: ClassicGroup, new: ConsumerGroup) -> None:
    """The log forgets the classic group, if it knows it."""
    if old.exists:
        new.core.journal.write_aside(GroupTombstone())


def take_over(now: int, old: ClassicGroup, new: ConsumerGroup) -> None:
    """Let ``new`` have all members of ``old``: STABLE, at the generation, with what they were assigned last.

    That is their target as well; topics that are gone do not count. Nobody has to wait for the assignment interval, and
    sessions start anew.
    """
    core, members = new.core, old.roster.in_table_order()
    assigned = {one.member_id: new.topics.existing(one.assignment) for one in members}
    for member in members:
        core.write(ConsumerGroupMemberMetadata(member.member_id, _metadata(member, old.protocol)))
    core.write(ConsumerGroupMetadata(GroupEpoch(old.generation, new.topics.metadata_hash())))
    for member in members:
        core.write(ConsumerGroupTargetAssignmentMember(member.member_id, assigned[member.member_id]))
    core.write(ConsumerGroupTargetAssignmentMetadata(TargetEpoch(old.generation, 0)))
    for member in members:
        current = _current(assigned[member.member_id], old.generation)
        core.write(ConsumerGroupCurrentMemberAssignment(member.member_id, current))
        core.timers.arm_session(member.member_id, now + member.session_timeout_us)
        core.note(reconciled(core.roster.members[member.member_id]))


def _subscription(member: Member, protocol: str | None) -> Subscription | None:
    return next((told for name, told in member.protocols if name == protocol), None)


def _metadata(member: Member, protocol: str | None) -> MemberMetadata:
    subscription = _subscription(member, protocol)
    assert subscription is not None
    return MemberMetadata(
        instance_id=member.instance_id,
        rack=subscription.rack,
        name=member.name,
        topics=subscription.topics,
        rebalance_timeout_us=member.rebalance_timeout_us,
        classic=ClassicMemberMetadata(member.session_timeout_us, member.protocols),
    )


def _current(told: Positions, generation: int) -> CurrentAssignment:
    assigned = np.sort(told)
    epochs = np.full(len(assigned), generation, np.int32)
    return CurrentAssignment(generation, generation, assigned=assigned, assigned_epochs=epochs)
