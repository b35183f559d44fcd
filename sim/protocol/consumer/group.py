"""The coordinator's side of one group of the consumer protocol, as a `GroupMachine`; tables are in the package.

The machine behind ``GroupMetadataManager.consumerGroupHeartbeat`` (Kafka 4.4). Every request is answered in the event
that it comes in; if anything was written, the answer travels with the batch. What the log keeps is all that a new
coordinator knows, but for timers and tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import cast

from groupsim.sim.config import CoordinatorConfig, GroupConfig
from groupsim.sim.protocol.consumer.assigning import TargetAssignor, TopicView
from groupsim.sim.protocol.consumer.classic_members import ClassicMembers, ClassicRequest
from groupsim.sim.protocol.consumer.core import GroupCore, reconciled
from groupsim.sim.protocol.consumer.heartbeat import Heartbeats
from groupsim.sim.protocol.consumer.journal import Undo
from groupsim.sim.protocol.consumer.messages import (
    JOIN_EPOCH,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatResponse,
)
from groupsim.sim.protocol.consumer.offsets import Offsets
from groupsim.sim.protocol.consumer.outlook import Outlook
from groupsim.sim.protocol.consumer.patterns import Matches, Patterns
from groupsim.sim.protocol.consumer.records import (
    ConsumerGroupMetadata,
    ConsumerGroupRecord,
    ConsumerGroupTargetAssignmentMetadata,
)
from groupsim.sim.protocol.consumer.refusals import Refused
from groupsim.sim.protocol.consumer.removal import Removal
from groupsim.sim.protocol.consumer.roster import Roster
from groupsim.sim.protocol.consumer.states import GroupState, MemberState
from groupsim.sim.protocol.consumer.static_members import StaticMembers
from groupsim.sim.protocol.consumer.targets import Targets
from groupsim.sim.protocol.consumer.timers import WRITE_RETRY_US, Timers
from groupsim.sim.protocol.consumer.topics import SubscribedTopics
from groupsim.sim.protocol.consumer.validation import check
from groupsim.sim.protocol.facts import GroupForgotten
from groupsim.sim.protocol.interface import GroupDescription, MemberDescription, Outcome, Reply, Waiter
from groupsim.sim.protocol.messages import (
    Acknowledgement,
    Error,
    OffsetCommit,
    OffsetFetch,
    Subscription,
    TxnOffsetCommit,
)
from groupsim.sim.protocol.offsets.expiration import ExpirationCondition
from groupsim.sim.protocol.offsets.records import OffsetRecord, accept

GroupRequest = ConsumerGroupHeartbeat | OffsetCommit | TxnOffsetCommit | ClassicRequest


class ConsumerGroup:
    """One group.

    Parameters
    ----------
    group_id : str
    config : CoordinatorConfig
    topics : TopicView
        Where topics' partitions are in the group's partition vector.
    assignors : mapping of str to TargetAssignor
        All that ``config.consumer_assignors`` names.
    group_config : GroupConfig, optional
    batches : iterator of int, optional
        Numbers that no batch of this group has had; from 1 on by default.

    Attributes
    ----------
    removal : Removal
    classic_members : ClassicMembers
        Both can be told how the group becomes a classic one.
    """

    def __init__(
        self,
        group_id: str,
        config: CoordinatorConfig,
        topics: TopicView,
        assignors: Mapping[str, TargetAssignor],
        group_config: GroupConfig | None = None,
        batches: Iterator[int] | None = None,
    ) -> None:
        numbers = count(1) if batches is None else batches
        core = self._core = GroupCore(group_id, config, group_config or GroupConfig(), numbers)
        self._topics = SubscribedTopics(core.roster, topics, counts_racks=core.rules.counts_racks)
        targets = Targets(core, self._topics, assignors)
        static = StaticMembers(core)
        self._patterns = Patterns(core, self._topics)
        self.removal = Removal(core, self._topics, self._patterns, static)
        self._heartbeats = Heartbeats(core, self._topics, targets, self._patterns, static)
        self.classic_members = ClassicMembers(core, self._topics, self._heartbeats, static, self.removal)
        self._offsets = Offsets(core)
        self.outlook = Outlook(core, self._topics, targets)
        self._is_dead = False

    # --- what anybody may read ----------------------------------------------------------------------------------------

    @property
    def core(self) -> GroupCore:
        """What all its parts share."""
        return self._core

    @property
    def topics(self) -> SubscribedTopics:
        """What its members subscribe to."""
        return self._topics

    @property
    def exists(self) -> bool:
        """Whether there is such a group."""
        return self.roster.exists

    @property
    def config(self) -> CoordinatorConfig:
        """What it was configured with last."""
        return self._core.config

    @property
    def group_config(self) -> GroupConfig:
        """What is set for this group."""
        return self._core.group_config

    @property
    def state(self) -> GroupState:
        """Its state; Dead once it is unloaded."""
        return GroupState.DEAD if self._is_dead else self.roster.state

    @property
    def roster(self) -> Roster:
        """The durable state: members, targets, epochs."""
        return self._core.roster

    @property
    def generation(self) -> int:
        """The group epoch."""
        return self.roster.group.epoch

    @property
    def size(self) -> int:
        """Number of members."""
        return len(self.roster)

    @property
    def is_stable(self) -> bool:
        """Whether every member has exactly what it is to have."""
        return self.state is GroupState.STABLE

    @property
    def leader(self) -> str | None:
        """Nobody: the protocol has no leader."""
        return None

    @property
    def deadline(self) -> int:
        """When `on_deadline` wants to be called, microseconds."""
        return self._core.timers.earliest

    @property
    def session_timeout_us(self) -> int:
        """Of members that use this protocol, microseconds."""
        return self._core.session_timeout_us

    def session_timeout_of(self, member_id: str) -> int:
        """How long the session of a member lasts, microseconds."""
        return self._core.session_timeout_of(member_id)

    def session_due(self, member_id: str) -> int:
        """When the session of ``member_id`` expires, microseconds; `FOREVER` while it has no timer."""
        return self._core.timers.session_due(member_id)

    def rebalance_due(self, member_id: str) -> int:
        """When ``member_id`` is fenced unless it acknowledges, microseconds; `FOREVER` if it need not."""
        return self._core.timers.rebalance_due(member_id)

    def describe(self) -> GroupDescription:
        """``ConsumerGroup.asDescribedGroup``, as far as it is described for any protocol."""
        roster = self.roster
        if not roster.exists:
            return GroupDescription(GroupState.DEAD.value, error=Error.GROUP_ID_NOT_FOUND)
        members = tuple(
            MemberDescription(
                one.member_id, one.metadata.instance_id, one.metadata.name,
                Subscription(self._topics.names_of(one.subscribed)), one.current.assigned,
            ) for one in roster
        )  # fmt: skip
        return GroupDescription(self.state.value, self.generation, members=members)

    # --- requests -----------------------------------------------------------------------------------------------------

    def on_request(self, now: int, request: GroupRequest, waiter: Waiter) -> Outcome:
        """Answer a request; an error changes nothing."""
        if isinstance(request, (OffsetCommit, TxnOffsetCommit)):
            return self._commit(now, request, waiter)
        if not isinstance(request, ConsumerGroupHeartbeat):
            return self.classic_members.work(now, request, waiter)
        try:
            check(request, self.config.consumer_assignors)
            if request.member_epoch < JOIN_EPOCH:
                response = self.removal.leave(now, request)
            else:
                response = self._heartbeats.beat(now, request)
        except Refused as refusal:
            answer = ConsumerGroupHeartbeatResponse(refusal.error, message=refusal.message)
            return self._core.refuse(Reply(waiter, answer))
        return self._core.take(Reply(waiter, response))

    def _commit(self, now: int, request: OffsetCommit | TxnOffsetCommit, waiter: Waiter) -> Outcome:
        """A commit renews no session; its offsets are kept elsewhere."""
        error = self._offsets.check_commit(request)
        if error is not Error.NONE:
            return self._core.take(Reply(waiter, Acknowledgement(error)))
        records, response = accept(now, request, self.config)
        if records is not None:
            self._core.journal.write_aside(records)
        return self._core.take(Reply(waiter, response))

    def check_fetch(self, request: OffsetFetch) -> Error:
        """Whether a member may fetch offsets, by what the log says of it."""
        return self._offsets.check_fetch(request)

    def delete(self) -> Outcome:
        """An administrator deletes the group; nothing happens to one with members, or to none."""
        core = self._core
        if core.roster.exists and not len(core.roster):
            core.write(ConsumerGroupTargetAssignmentMetadata(None))
            core.write(ConsumerGroupMetadata(None))
            core.note(GroupForgotten())
        return core.take()

    # --- time and the log ---------------------------------------------------------------------------------------------

    def on_deadline(self, now: int) -> Outcome:
        """The first timer that is due; if more are, `deadline` says so."""
        expired = self.removal.expire(now)
        return self._core.take(expired=expired)

    def on_appended(self, now: int, batch: int, error: Error) -> Outcome:
        """The log has a batch, or has refused it: it and what was built upon it are undone, but for timers.

        One that is not committed in time stays: only who waits for it is told. ``OperationTimeout``, an event of the
        shard offsets.commit.timeout.ms after the append, calls ``CoordinatorWriteEvent.complete`` with an error: it
        reverts nothing (``failCurrentBatch`` does), fails the result's ``appendFuture``, so that
        ``GMM.classicGroupJoinToConsumerGroup`` arms no timer, and whoever completes the event later comes to nothing
        (classes of Kafka 4.4.0).
        """
        core = self._core
        if error is Error.NONE:
            for undo in core.journal.committed(batch):
                core.end_timers(undo.replaced)
            self.classic_members.appended(now, batch)
            return Outcome()
        if error is Error.REQUEST_TIMED_OUT:
            self.classic_members.forget_one(batch)
            return Outcome()
        self.classic_members.forget(batch)
        for undo in core.journal.failed(batch):
            self._tell_undone(undo)
            for member_id in undo.expired:
                core.timers.arm_session(member_id, now + WRITE_RETRY_US)
            core.end_timers(undo.member_ids)
        return core.take()

    def _tell_undone(self, undo: Undo) -> None:
        for member_id in undo.member_ids:
            member = self.roster.members.get(member_id)
            if member is not None:
                self._core.note(reconciled(member))

    def on_metadata(self, now: int, image: Mapping[str, int]) -> Outcome:
        """The next heartbeat looks at it, if a subscribed topic is another one."""
        self._topics.on_metadata(now, image)
        return Outcome()

    def on_config(self, now: int, config: CoordinatorConfig) -> Outcome:
        """What is armed stays as it is."""
        self._core.config = config
        return Outcome()

    def on_group_config(self, now: int, group_config: GroupConfig) -> Outcome:
        """What is set for the group has changed; what is armed stays as it is."""
        self._core.group_config = group_config
        return Outcome()

    def on_task_done(self, now: int, key: str, result: object) -> Outcome:
        """Regular expressions are resolved."""
        self._patterns.resolved(now, cast(Matches, result))
        return self._core.take()

    def on_loaded(self, now: int) -> Outcome:
        """``GMM.onLoaded``: all sessions start anew, and so do the timers of members that have to revoke.

        The group's session timeout is everybody's until they are heard of, also of who uses the classic protocol.
        """
        core = self._core
        for member in self.roster:
            core.timers.arm_session(member.member_id, now + core.session_timeout_us)
            if member.current.state is MemberState.UNREVOKED_PARTITIONS:
                core.timers.arm_rebalance(member.member_id, now + member.metadata.rebalance_timeout_us, member.epoch)
        return core.take()

    def on_unloaded(self, now: int) -> Outcome:
        """``GMM.onUnloaded``: nobody is parked here; what is uncommitted is the host's to refuse."""
        core = self._core
        self._is_dead = True
        core.timers = Timers()
        core.journal.uncommitted.clear()
        self._patterns.forget()
        outcome = core.take()
        core.enter(GroupState.DEAD)
        outcome.facts += core.take().facts
        return outcome

    def replay(self, record: ConsumerGroupRecord) -> None:
        """``GMM.replay``; offsets are kept elsewhere, and a tombstone makes no group."""
        if not isinstance(record, OffsetRecord) and (self.exists or record.value is not None):
            self.roster.apply(record)

    def lapse(self, now: int) -> None:
        """Timers that are due by now have run while the group was none of this protocol: to no effect."""
        self._core.timers.lapse(now)

    # --- its offsets (`sim.protocol.offsets`) -------------------------------------------------------------------------

    @property
    def is_empty(self) -> bool:
        """Whether it has no members."""
        return not len(self.roster)

    @property
    def offset_expiration(self) -> ExpirationCondition | None:
        """``ConsumerGroup.offsetExpirationCondition``: by the commit, whether anybody is there or not."""
        return ExpirationCondition() if self.exists else None

    def is_subscribed_to(self, topic: str) -> bool:
        """``ModernGroup.isSubscribedToTopic``."""
        return topic in self._topics.subscribed()

    def check_offset_delete(self) -> Error:
        """``ConsumerGroup.validateOffsetDelete``: topics decide."""
        return Error.NONE

    def check_delete(self) -> Error:
        """``ConsumerGroup.validateDeleteGroup``."""
        return Error.NONE if self.is_empty else Error.NON_EMPTY_GROUP

    def log_offsets(self, record: OffsetRecord) -> None:
        """Write a record of offsets with the next batch."""
        self._core.journal.write_aside(record)

    def take(self) -> Outcome:
        """Everything since the last time."""
        return self._core.take()

    forget = delete
    """There is no such group any more: its tombstones are replayed at once."""

    # --- members whose renewals are known in advance ------------------------------------------------------------------

    commits_renew = False
    """A commit renews no session."""

    def is_steady(self, member_id: str, instance_id: str | None, epoch: int) -> bool:
        """Whether this member's heartbeats change nothing, now and as long as nothing else happens."""
        return self.outlook.is_steady(member_id, epoch)

    def suspend(self, member_id: str) -> int:
        """Take the session timer away from a member that is known to renew in time; its last renewal, microseconds."""
        renewed_us = self.session_due(member_id) - self._core.session_timeout_us
        self._core.timers.cancel_session(member_id)
        return renewed_us

    def advance(self, now: int, member_ids: Sequence[str]) -> Outcome:
        """Heartbeats of members that have no news have come: they report the epoch. Their sessions stay suspended.

        They came before whatever has to be done now, and found nothing to compute.
        """
        for member_id in member_ids:
            self._heartbeats.move(now, self.roster.members[member_id], None, subscription_changed=False)
        return self._core.take()

    def steady_answer(self, member_id: str) -> ConsumerGroupHeartbeatResponse:
        """What a heartbeat is answered that changes nothing."""
        epoch = self.roster.members[member_id].epoch
        return ConsumerGroupHeartbeatResponse(Error.NONE, member_id, epoch, self._core.heartbeat_interval_us)

    def resume(self, member_id: str, renewed_us: int) -> None:
        """Give the timer back, counting from the member's last renewal."""
        self._core.renew(renewed_us, member_id)
