"""Members of a consumer group that use the classic protocol (``classicGroup...ToConsumerGroup``, Kafka 4.4).

There is no barrier and no leader for them: JoinGroup is a heartbeat that tells everything, SyncGroup fetches what the
member may own by now, and each step towards the target is another JoinGroup, for which a Heartbeat calls. What they are
answered to JoinGroup and SyncGroup waits for the log, and so do the timers that follow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from groupsim.sim.protocol.consumer.core import GroupCore
from groupsim.sim.protocol.consumer.heartbeat import Heartbeats
from groupsim.sim.protocol.consumer.records import ClassicMemberMetadata, MemberMetadata
from groupsim.sim.protocol.consumer.refusals import Refused
from groupsim.sim.protocol.consumer.removal import Removal
from groupsim.sim.protocol.consumer.roster import NOBODY, Member
from groupsim.sim.protocol.consumer.states import MemberState
from groupsim.sim.protocol.consumer.static_members import StaticMembers
from groupsim.sim.protocol.consumer.topics import SubscribedTopics
from groupsim.sim.protocol.facts import Cause
from groupsim.sim.protocol.interface import Outcome, Reply, Waiter
from groupsim.sim.protocol.messages import (
    CONSUMER,
    Acknowledgement,
    Error,
    Heartbeat,
    JoinGroup,
    JoinResponse,
    LeaveGroup,
    LeaveResponse,
    MemberIdentity,
    SyncGroup,
    SyncResponse,
)

ClassicRequest = JoinGroup | SyncGroup | Heartbeat | LeaveGroup


class Answered(NamedTuple):
    """A JoinGroup or SyncGroup whose answer waits for the log; ``sync_us`` None: it was a SyncGroup."""

    member_id: str
    session_timeout_us: int
    sync_us: int | None = None


class ClassicMembers:
    """What members that use the classic protocol ask of one group.

    Parameters
    ----------
    core : GroupCore
    topics : SubscribedTopics
    heartbeats : Heartbeats
    static : StaticMembers
    removal : Removal

    Attributes
    ----------
    succeed : callable or None
        Makes a classic group of this one in which a static member has come back: time, generation, whether it has to
        rebalance.
    """

    succeed: Callable[[int, int, bool], None] | None = None

    def __init__(
        self, core: GroupCore, topics: SubscribedTopics, heartbeats: Heartbeats, static: StaticMembers, removal: Removal
    ) -> None:
        self._core = core
        self._topics = topics
        self._heartbeats = heartbeats
        self._static = static
        self._removal = removal
        self._answered: dict[int, Answered] = {}

    def work(self, now: int, request: ClassicRequest, waiter: Waiter) -> Outcome:
        """Answer a request of the classic protocol."""
        match request:
            case JoinGroup():
                return self._join(now, request, waiter)
            case SyncGroup():
                return self._sync(now, request, waiter)
            case Heartbeat():
                return self._core.take(Reply(waiter, Acknowledgement(self._beat(now, request))))
            case LeaveGroup():
                return self._core.take(Reply(waiter, self._leave(now, request)))

    def appended(self, now: int, batch: int) -> None:
        """The log has the batch that an answer waited for: the session is renewed, and the next step is timed."""
        answered, timers = self._answered.pop(batch, None), self._core.timers
        if answered is None:
            return
        member_id, session_timeout_us, sync_us = answered
        timers.arm_session(member_id, now + session_timeout_us)
        if sync_us is None:
            timers.synced(member_id)
        else:
            timers.joined(member_id)
            timers.await_sync(member_id, now + sync_us)

    def forget_one(self, batch: int) -> None:
        """The log has not had this batch in time: its answer was an error, and times nothing."""
        self._answered.pop(batch, None)

    def forget(self, batch: int) -> None:
        """The log has refused this batch, and all that followed."""
        self._answered = {number: one for number, one in self._answered.items() if number < batch}

    # --- JoinGroup ----------------------------------------------------------------------------------------------------

    def _join(self, now: int, request: JoinGroup, waiter: Waiter) -> Outcome:
        member_id = request.member_id or request.fresh_id
        try:
            self._check_join(request, member_id)
            if not request.member_id and request.instance_id is None and request.knows_member_id_required:
                return self._core.take(Reply(waiter, JoinResponse(Error.MEMBER_ID_REQUIRED, member_id=member_id)))
            member, is_classic = self._admit(now, request, member_id)
        except Refused as refusal:
            return self._core.refuse(Reply(waiter, JoinResponse(refusal.error, member_id=request.member_id)))
        response = JoinResponse(
            Error.NONE, member.epoch, request.protocols[0][0], member_id=member_id, protocol_type=CONSUMER
        )
        outcome = self._core.take(Reply(waiter, response), awaits_log=True)
        if not is_classic and outcome.batch is not None:
            self._answered[outcome.batch.number] = Answered(
                member_id, request.session_timeout_us, request.rebalance_timeout_us
            )
        return outcome

    def _check_join(self, request: JoinGroup, member_id: str) -> None:
        core = self._core
        if core.rules.refuses_classic and core.config.consumer_migration_policy == "disabled":
            raise Refused(Error.INCONSISTENT_GROUP_PROTOCOL, "migration between protocols is disabled")
        self._heartbeats.check_room(member_id, request.instance_id)
        if not self._supports(request):
            raise Refused(Error.INCONSISTENT_GROUP_PROTOCOL, f"Member {member_id}'s protocols are not supported.")

    def _supports(self, request: JoinGroup) -> bool:
        """Whether some assignor of the joiner's is one of every member's that uses the classic protocol."""
        if request.protocol_type != CONSUMER:
            return False
        others = [one.metadata.classic for one in self._core.roster if one.metadata.classic is not None]
        common = {name for name, _ in request.protocols}
        for one in others:
            common &= {name for name, _ in one.protocols}
        return bool(common)

    def _admit(self, now: int, request: JoinGroup, member_id: str) -> tuple[Member, bool]:
        """Write the member and move it towards its target; and whether the group is a classic one from now on."""
        roster, succeeds = self._core.roster, self._may_succeed(request)
        generation = roster.group.epoch
        known = self._known(request, member_id)
        changed = self._heartbeats.update(now, member_id, _metadata(known, request))
        member, owned = roster.members[member_id], self._topics.existing(request.protocols[0][1].owned)
        if not succeeds:
            self._heartbeats.advance(now, member, owned, subscription_changed=changed)
            return member, False
        is_stale = roster.group.epoch > roster.target.epoch
        must_rebalance = is_stale if self._core.rules.rebalances_stale_downgrade else changed
        if not must_rebalance:
            self._heartbeats.advance(now, member, owned, subscription_changed=changed)
        assert self.succeed is not None
        self.succeed(now, generation, must_rebalance)
        return member, True

    def _known(self, request: JoinGroup, member_id: str) -> Member | None:
        """Who joins; whoever comes back with an instance id takes its place, whichever protocol that one used."""
        roster, instance_id = self._core.roster, request.instance_id
        if instance_id is None:
            return roster.members.get(member_id)
        if request.member_id:
            return self._static.known(member_id, instance_id)
        former = roster.static_member(instance_id)
        return None if former is None else self._static.replace(former, member_id)

    def _may_succeed(self, request: JoinGroup) -> bool:
        """Whether the last member that uses the consumer protocol is replaced, so that the group can be a classic one.

        ``GMM.validateOnlineDowngradeWithReplacedMember``.
        """
        core, roster = self._core, self._core.roster
        former = None if request.instance_id is None else roster.static_member(request.instance_id)
        if self.succeed is None or former is None or former.metadata.classic is not None:
            return False
        is_last = roster.n_classic == len(roster) - 1
        return is_last and may_downgrade(core) and len(roster) <= core.config.max_size

    # --- the others ---------------------------------------------------------------------------------------------------

    def _sync(self, now: int, request: SyncGroup, waiter: Waiter) -> Outcome:
        try:
            member, classic = self._caller(request.member_id, request.instance_id, request.generation)
            self._check_sync(now, member, classic, request)
        except Refused as refusal:
            return self._core.refuse(Reply(waiter, SyncResponse(refusal.error)))
        assigned = self._topics.existing(member.current.assigned)
        response = SyncResponse(Error.NONE, assigned, request.protocol, request.protocol_type)
        outcome = self._core.take(Reply(waiter, response), awaits_log=True)
        assert outcome.batch is not None
        self._answered[outcome.batch.number] = Answered(member.member_id, classic.session_timeout_us)
        return outcome

    def _check_sync(self, now: int, member: Member, classic: ClassicMemberMetadata, request: SyncGroup) -> None:
        """``throwIfClassicProtocolUnmatched``, ``throwIfRebalanceInProgress``."""
        told = ((request.protocol_type, CONSUMER), (request.protocol, classic.protocols[0][0]))
        if any(theirs is not None and theirs != ours for theirs, ours in told):
            raise Refused(Error.INCONSISTENT_GROUP_PROTOCOL, f"Member {member.member_id} has another protocol.")
        if self._is_behind(member) and member.current.state is not MemberState.UNREVOKED_PARTITIONS:
            self._call(now, member)
            raise Refused(Error.REBALANCE_IN_PROGRESS, f"Member {member.member_id} should rejoin to catch up.")

    def _beat(self, now: int, request: Heartbeat) -> Error:
        """``classicGroupHeartbeatToConsumerGroup``: whoever can make a step is called to rejoin."""
        try:
            member, classic = self._caller(request.member_id, request.instance_id, request.generation)
        except Refused as refusal:
            return refusal.error
        self._core.timers.arm_session(member.member_id, now + classic.session_timeout_us)
        state = member.current.state
        may_step = state is MemberState.UNRELEASED_PARTITIONS and not self._waits_for_others(member)
        if not (self._is_behind(member) or state is MemberState.UNREVOKED_PARTITIONS or may_step):
            return Error.NONE
        self._call(now, member)
        return Error.REBALANCE_IN_PROGRESS

    def _leave(self, now: int, request: LeaveGroup) -> LeaveResponse:
        """``classicGroupLeaveToConsumerGroup``: an administrator may name members of either protocol."""
        leaving: dict[str, Member] = {}
        errors = []
        if not self._core.roster.exists:
            return LeaveResponse(Error.UNKNOWN_MEMBER_ID)
        for who in request.members:
            try:
                member = self._leaver(who)
                leaving[member.member_id] = member
                errors.append(Error.NONE)
            except Refused as refusal:
                errors.append(refusal.error)
        if leaving:
            self._removal.remove(now, list(leaving.values()), Cause.LEFT)
        return LeaveResponse(Error.NONE, tuple(errors))

    def _leaver(self, who: MemberIdentity) -> Member:
        if who.instance_id is None or who.member_id:
            return self._member(who.member_id, who.instance_id)
        member = self._core.roster.static_member(who.instance_id)
        if member is None:
            raise Refused(Error.UNKNOWN_MEMBER_ID, f"Instance id {who.instance_id} is unknown.")
        return member

    # --- who asks -----------------------------------------------------------------------------------------------------

    def _member(self, member_id: str, instance_id: str | None) -> Member:
        """``validateConsumerGroupMember``."""
        if instance_id is not None:
            return self._static.known(member_id, instance_id)
        member = self._core.roster.members.get(member_id)
        if member is None:
            raise Refused(Error.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of the group.")
        return member

    def _caller(self, member_id: str, instance_id: str | None, generation: int) -> tuple[Member, ClassicMemberMetadata]:
        """A member that uses the classic protocol, at the epoch that it was told as generation."""
        member = self._member(member_id, instance_id)
        if member.metadata.classic is None:
            raise Refused(Error.UNKNOWN_MEMBER_ID, f"Member {member_id} does not use the classic protocol.")
        if generation != member.epoch:
            raise Refused(Error.ILLEGAL_GENERATION, f"generation {generation} is not the member epoch {member.epoch}")
        return member, member.metadata.classic

    def _is_behind(self, member: Member) -> bool:
        roster = self._core.roster
        return member.epoch < (roster.target.epoch if self._core.rules.calls_for_target else roster.group.epoch)

    def _waits_for_others(self, member: Member) -> bool:
        """``ConsumerGroup.waitingOnUnreleasedPartition``."""
        target = self._core.roster.target_of(member.member_id).positions
        missing = target[~np.isin(target, member.current.assigned)]
        return not bool(self._core.roster.held.are_free(missing).all())

    def _call(self, now: int, member: Member) -> None:
        """Let it have its rebalance timeout to rejoin, from the first call on."""
        self._core.timers.call(member.member_id, now + member.metadata.rebalance_timeout_us)


def may_downgrade(core: GroupCore) -> bool:
    """Whether consumer groups may become classic ones (``ConsumerGroupMigrationPolicy.isDowngradeEnabled``)."""
    return core.config.consumer_migration_policy in ("bidirectional", "downgrade")


def _metadata(known: Member | None, request: JoinGroup) -> MemberMetadata:
    """The member with what the request tells: it counts by its first assignor's subscription; the same if no news."""
    before, subscription = known.metadata if known is not None else NOBODY, request.protocols[0][1]
    after = replace(
        before,
        instance_id=before.instance_id if request.instance_id is None else request.instance_id,
        rack=before.rack if subscription.rack is None else subscription.rack,
        topics=subscription.topics,
        pattern="",
        rebalance_timeout_us=request.rebalance_timeout_us,
        name=request.name,
        classic=ClassicMemberMetadata(request.session_timeout_us, request.protocols),
    )
    return before if after == before else after
