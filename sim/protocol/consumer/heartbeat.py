"""A heartbeat of a member that joins or stays (``GroupMetadataManager.consumerGroupHeartbeat``, Kafka 4.4).

All steps are taken in one event: the member is written as it is now; what may change the assignment bumps the group
epoch; a target that is behind is computed; the member is moved towards it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from groupsim.sim.protocol.consumer.core import GroupCore
from groupsim.sim.protocol.consumer.messages import (
    JOIN_EPOCH,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatResponse,
)
from groupsim.sim.protocol.consumer.patterns import Patterns
from groupsim.sim.protocol.consumer.reconciliation import Aim, reconcile
from groupsim.sim.protocol.consumer.records import (
    ConsumerGroupMemberMetadata,
    CurrentAssignment,
    MemberMetadata,
)
from groupsim.sim.protocol.consumer.refusals import Refused
from groupsim.sim.protocol.consumer.roster import NOBODY, Member
from groupsim.sim.protocol.consumer.states import MemberState
from groupsim.sim.protocol.consumer.static_members import StaticMembers
from groupsim.sim.protocol.consumer.targets import Targets
from groupsim.sim.protocol.consumer.topics import SubscribedTopics
from groupsim.sim.protocol.facts import MemberAdmitted, MemberSeen
from groupsim.sim.protocol.messages import Error, Positions, are_same, within


class Heartbeats:
    """Heartbeats of one group's members.

    Parameters
    ----------
    core : GroupCore
    topics : SubscribedTopics
    targets : Targets
    patterns : Patterns
    static : StaticMembers
    """

    def __init__(
        self, core: GroupCore, topics: SubscribedTopics, targets: Targets, patterns: Patterns, static: StaticMembers
    ) -> None:
        self._core = core
        self._topics = topics
        self._targets = targets
        self._patterns = patterns
        self._static = static

    def beat(self, now: int, request: ConsumerGroupHeartbeat) -> ConsumerGroupHeartbeatResponse:
        """Answer a heartbeat with an epoch of 0 or above.

        Raises
        ------
        Refused
            What has been changed by then is to be undone.
        """
        self._check_group(request)
        member = self._member(request)
        before = member.current if member is not None else CurrentAssignment()
        if member is not None and self._is_quiet(now, member, request):
            self._core.renew(now, request.member_id)
            return self._response(member, request, before)
        changed = self.update(now, request.member_id, _updated(member, request))
        member = self._core.roster.members[request.member_id]
        self.advance(now, member, request.owned, subscription_changed=changed)
        self._core.renew(now, request.member_id)
        return self._response(member, request, before)

    # --- who asks -----------------------------------------------------------------------------------------------------

    def _check_group(self, request: ConsumerGroupHeartbeat) -> None:
        core = self._core
        if not core.roster.exists and request.member_epoch != JOIN_EPOCH:
            raise Refused(Error.GROUP_ID_NOT_FOUND, f"Group {core.group_id} not found.")
        self.check_room(request.member_id, request.instance_id)

    def check_room(self, member_id: str, instance_id: str | None) -> None:
        """``throwIfConsumerGroupIsFull``."""
        core, roster = self._core, self._core.roster
        if len(roster) < core.config.consumer_max_size or member_id in roster.members:
            return
        if not (core.rules.counts_known_instances and instance_id in roster.static):
            raise Refused(Error.GROUP_MAX_SIZE_REACHED, "The consumer group has reached its maximum capacity.")

    def _member(self, request: ConsumerGroupHeartbeat) -> Member | None:
        """Who asks; None for somebody new."""
        is_join = request.member_epoch == JOIN_EPOCH
        if request.instance_id is not None:
            if is_join:
                return self._static.returning(request.member_id, request.instance_id)
            member = self._static.known(request.member_id, request.instance_id)
        else:
            known = self._core.roster.members.get(request.member_id)
            if known is None and is_join:
                return None
            if known is None:
                raise Refused(Error.UNKNOWN_MEMBER_ID, f"Member {request.member_id} is not a member of the group.")
            member = known
        self._check_epoch(member, request)
        return member

    def _check_epoch(self, member: Member, request: ConsumerGroupHeartbeat) -> None:
        """``throwIfConsumerGroupMemberEpochIsInvalid``: an older epoch is that of a response that was lost."""
        received, stored = request.member_epoch, member.epoch
        if received == stored or (received == JOIN_EPOCH and self._core.rules.accepts_rejoin):
            return
        if received > stored:
            raise Refused(
                Error.FENCED_MEMBER_EPOCH, f"member epoch {received} is greater than the known one ({stored})"
            )
        owns_no_more = request.owned is not None and within(request.owned, member.current.assigned).all()
        if received != member.current.previous_epoch or not owns_no_more:
            raise Refused(
                Error.FENCED_MEMBER_EPOCH, f"member epoch {received} is smaller than the known one ({stored})"
            )

    def _is_quiet(self, now: int, member: Member, request: ConsumerGroupHeartbeat) -> bool:
        """Whether nothing can come of the heartbeat: the usual case, told by a few comparisons."""
        roster, current = self._core.roster, member.current
        return (
            request.topics is None
            and request.pattern is None
            and request.server_assignor is None
            and request.rebalance_timeout_us is None
            and request.rack is None
            and current.member_epoch == roster.target.epoch == roster.group.epoch
            and current.state is MemberState.STABLE
            and member.metadata.classic is None
            and not roster.has_patterns
            and not self._topics.is_refresh_due(now)
        )

    # --- what has changed ---------------------------------------------------------------------------------------------

    def update(self, now: int, member_id: str, metadata: MemberMetadata) -> bool:
        """Write a member as it is now, and bump the group epoch if need be; whether its subscription has changed."""
        core, roster = self._core, self._core.roster
        known = roster.members.get(member_id)
        before = known.metadata if known is not None else NOBODY
        if metadata is before and known is not None:
            self._patterns.look(now)
            self._refresh(now, "")
            return False
        winner, is_new_group = self._targets.preferred_assignor, not roster.group.epoch
        core.write(ConsumerGroupMemberMetadata(member_id, metadata))
        if known is None:
            core.note(MemberAdmitted(member_id, metadata.name))
        names_changed = before.topics != metadata.topics
        pattern_changed, is_resolved = self._patterns.update(now, before, metadata)
        if known is None or names_changed or pattern_changed:
            core.note(MemberSeen(member_id, self._topics.names_of((metadata.topics, metadata.pattern))))
        reason = ""
        if known is None and (names_changed or is_resolved or is_new_group):
            reason = f"member {metadata.name or member_id} joins"
        elif names_changed or is_resolved or is_new_group:
            reason = f"member {metadata.name or member_id} subscribes to other topics"
        elif core.rules.bumps_on_vote and self._targets.preferred_assignor != winner:
            reason = "another assignor has the most votes"
        self._refresh(now, reason)
        return names_changed or pattern_changed

    def _refresh(self, now: int, reason: str) -> None:
        """``updateSubscriptionMetadata``: look at the topics' metadata if they may have changed, or the epoch does."""
        core = self._core
        if not reason and not self._topics.is_refresh_due(now):
            return
        metadata_hash = self._topics.metadata_hash()
        if not reason and metadata_hash != core.roster.group.metadata_hash:
            reason = "metadata of subscribed topics have changed"
        if reason:
            core.bump(metadata_hash, reason)
        self._topics.refreshed(now)

    # --- where the member goes ----------------------------------------------------------------------------------------

    def advance(self, now: int, member: Member, owned: Positions | None, *, subscription_changed: bool) -> None:
        """Compute a target if one is due, and move the member towards its own."""
        if self._targets.is_wanted(now):
            self._targets.compute(now)
        self.move(now, member, owned, subscription_changed=subscription_changed)

    def move(self, now: int, member: Member, owned: Positions | None, *, subscription_changed: bool) -> None:
        """Move the member towards its target as it is."""
        core, roster = self._core, self._core.roster
        current, target = member.current, roster.target_of(member.member_id).positions
        aim = Aim(
            target, roster.target.epoch, owned, self._topics.mask_of(member.subscribed), subscription_changed,
            roster.held, core.rules,
        )  # fmt: skip
        moved = reconcile(current, aim)
        if not moved.same_as(current):
            core.assign(now, member, moved)

    # --- the answer ---------------------------------------------------------------------------------------------------

    def _response(
        self, member: Member, request: ConsumerGroupHeartbeat, before: CurrentAssignment
    ) -> ConsumerGroupHeartbeatResponse:
        """With the assignment if the request was a full one, or if it has changed."""
        current = member.current
        is_full = (
            request.rebalance_timeout_us is not None
            and (request.topics is not None or request.pattern is not None)
            and request.owned is not None
        )
        is_told = request.member_epoch == JOIN_EPOCH or is_full or not are_same(before.assigned, current.assigned)
        return ConsumerGroupHeartbeatResponse(
            Error.NONE,
            member.member_id,
            current.member_epoch,
            self._core.heartbeat_interval_us,
            current.assigned if is_told else None,
        )


def _updated(member: Member | None, request: ConsumerGroupHeartbeat) -> MemberMetadata:
    """The member with what the request tells; who uses this protocol no longer uses the classic one."""
    known = member.metadata if member is not None else NOBODY
    told: dict[str, Any] = {
        "instance_id": request.instance_id,
        "rack": request.rack,
        "topics": request.topics,
        "pattern": request.pattern,
        "rebalance_timeout_us": request.rebalance_timeout_us,
        "server_assignor": request.server_assignor,
        "name": request.name or None,
    }
    news: dict[str, Any] = {
        key: value for key, value in told.items() if value is not None and value != getattr(known, key)
    }
    if known.classic is not None:
        news["classic"] = None
    return replace(known, **news) if news else known
