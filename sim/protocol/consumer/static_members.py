"""Members by instance id: who may come back in whose place (KIP-345 in KIP-848).

Source: ``GroupMetadataManager.getOrMaybeSubscribeStaticConsumerGroupMember``, ``replaceMember``,
``consumerGroupStaticMemberGroupLeave`` (Kafka 4.4).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from groupsim.sim.protocol.consumer.core import GroupCore, reconciled
from groupsim.sim.protocol.consumer.messages import STATIC_LEAVE_EPOCH
from groupsim.sim.protocol.consumer.records import (
    NO_EPOCHS,
    ConsumerGroupCurrentMemberAssignment,
    ConsumerGroupMemberMetadata,
    ConsumerGroupTargetAssignmentMember,
)
from groupsim.sim.protocol.consumer.refusals import Refused
from groupsim.sim.protocol.consumer.roster import Member
from groupsim.sim.protocol.facts import MemberReplaced
from groupsim.sim.protocol.messages import NO_PARTITIONS, Error


class StaticMembers:
    """Static members of one group.

    Parameters
    ----------
    core : GroupCore
    """

    def __init__(self, core: GroupCore) -> None:
        self._core = core

    def known(self, member_id: str, instance_id: str) -> Member:
        """The member of an instance, that is known by ``member_id``.

        Raises
        ------
        Refused
            UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID.
        """
        member = self._core.roster.static_member(instance_id)
        if member is None:
            raise Refused(Error.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
        if member.member_id != member_id:
            raise Refused(
                Error.FENCED_INSTANCE_ID,
                f"Static member {member_id} with instance id {instance_id} was fenced by member {member.member_id}.",
            )
        return member

    def returning(self, member_id: str, instance_id: str) -> Member | None:
        """Whoever joins with a known instance id, in the place of the one that left; None if the id is new.

        Raises
        ------
        Refused
            UNRELEASED_INSTANCE_ID: the one that has it has not left.
        """
        former = self._core.roster.static_member(instance_id)
        if former is None:
            return None
        if former.metadata.classic is None and former.epoch != STATIC_LEAVE_EPOCH:
            raise Refused(
                Error.UNRELEASED_INSTANCE_ID,
                f"Static member {member_id} with instance id {instance_id} cannot join the group because the instance "
                f"id is owned by {former.member_id} member.",
            )
        return self.replace(former, member_id)

    def replace(self, former: Member, member_id: str) -> Member:
        """The same member under another id, at epoch 0, with all that it had (``replaceMember``)."""
        core, target = self._core, self._core.roster.target_of(former.member_id)
        metadata, current = former.metadata, replace(former.current, member_epoch=0, previous_epoch=0)
        self.erase(former.member_id)
        core.replaced.append(former.member_id)
        core.write(ConsumerGroupMemberMetadata(member_id, metadata))
        core.write(ConsumerGroupTargetAssignmentMember(member_id, target.told))
        core.write(ConsumerGroupCurrentMemberAssignment(member_id, current))
        core.note(MemberReplaced(former.member_id, metadata.name, member_id))
        return core.roster.members[member_id]

    def erase(self, member_id: str) -> None:
        """Write that a member and all that it had is gone (``removeMember``)."""
        self._core.write(ConsumerGroupCurrentMemberAssignment(member_id, None))
        self._core.write(ConsumerGroupTargetAssignmentMember(member_id, None))
        self._core.write(ConsumerGroupMemberMetadata(member_id, None))

    def leave_for_a_while(self, member: Member) -> None:
        """The member keeps what it has, but for what it was just giving up; its timers go on as they were."""
        core, current = self._core, member.current
        away = replace(
            current,
            member_epoch=STATIC_LEAVE_EPOCH,
            assigned_epochs=np.zeros(len(current.assigned), np.int32),
            pending=NO_PARTITIONS,
            pending_epochs=NO_EPOCHS,
        )
        core.write(ConsumerGroupCurrentMemberAssignment(member.member_id, away))
        core.note(reconciled(member))
