"""Members that leave, or of which nothing is heard (``consumerGroupLeave``, ``consumerGroupFenceMembers``; Kafka 4.4).

A removal bumps the group epoch and frees the member's partitions at once. It computes no target: that is done by the
next heartbeat of anybody.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from groupsim.sim.protocol.consumer.core import GroupCore
from groupsim.sim.protocol.consumer.messages import (
    STATIC_LEAVE_EPOCH,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatResponse,
)
from groupsim.sim.protocol.consumer.patterns import Patterns
from groupsim.sim.protocol.consumer.records import ConsumerGroupTargetAssignmentMetadata, TargetEpoch
from groupsim.sim.protocol.consumer.refusals import Refused
from groupsim.sim.protocol.consumer.roster import Member
from groupsim.sim.protocol.consumer.static_members import StaticMembers
from groupsim.sim.protocol.consumer.topics import SubscribedTopics
from groupsim.sim.protocol.facts import Cause, MemberRemoved
from groupsim.sim.protocol.messages import Error


class Removal:
    """Takes members out of one group.

    Parameters
    ----------
    core : GroupCore
    topics : SubscribedTopics
    patterns : Patterns
    static : StaticMembers

    Attributes
    ----------
    downgrade : callable or None
        Makes a classic group of this one, if it may be one without these members; whether it has done so.
    """

    downgrade: Callable[[int, Sequence[Member]], bool] | None = None

    def __init__(self, core: GroupCore, topics: SubscribedTopics, patterns: Patterns, static: StaticMembers) -> None:
        self._core = core
        self._topics = topics
        self._patterns = patterns
        self._static = static

    def leave(self, now: int, request: ConsumerGroupHeartbeat) -> ConsumerGroupHeartbeatResponse:
        """A member leaves, for good or (static) for a while.

        Raises
        ------
        Refused
            GROUP_ID_NOT_FOUND, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID.
        """
        core = self._core
        if not core.roster.exists:
            raise Refused(Error.GROUP_ID_NOT_FOUND, f"Group {core.group_id} not found.")
        member = self._leaver(request)
        if request.member_epoch == STATIC_LEAVE_EPOCH:
            self._static.leave_for_a_while(member)
        else:
            self.remove(now, [member], Cause.LEFT)
        return ConsumerGroupHeartbeatResponse(Error.NONE, request.member_id, request.member_epoch)

    def _leaver(self, request: ConsumerGroupHeartbeat) -> Member:
        if request.instance_id is not None:
            return self._static.known(request.member_id, request.instance_id)
        member = self._core.roster.members.get(request.member_id)
        if member is None:
            raise Refused(Error.UNKNOWN_MEMBER_ID, f"Member {request.member_id} is not a member of the group.")
        return member

    def remove(self, now: int, members: Sequence[Member], cause: Cause) -> None:
        """Members are out, all at once: one bump; or the group is a classic one from now on."""
        core = self._core
        for member in members:
            core.note(MemberRemoved(member.member_id, member.metadata.name, cause))
        if self.downgrade is not None and self.downgrade(now, members):
            return
        for member in members:
            self._static.erase(member.member_id)
            core.timers.cancel(member.member_id)
        self._patterns.drop_unused(tuple(sorted({member.metadata.pattern for member in members})))
        names = ", ".join(member.metadata.name or member.member_id for member in members)
        core.bump(self._topics.metadata_hash(), f"{names}: {cause.value}")
        if core.rules.resets_when_empty and not len(core.roster):
            core.write(ConsumerGroupTargetAssignmentMetadata(TargetEpoch(core.roster.group.epoch, 0)))

    def expire(self, now: int) -> tuple[str, ...]:
        """Remove the first member whose timer is due; its id, or nothing."""
        while (due := self._core.timers.pop(now)) is not None:
            member = self._core.roster.members.get(due.member_id)
            if member is not None and due.epoch in (None, member.epoch):
                self.remove(now, [member], due.cause)
                return (due.member_id,)
        return ()
