"""A group id at its coordinator, whichever protocol its group speaks; tables are in the package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, NamedTuple

from groupsim.sim.config import CoordinatorConfig, GroupConfig
from groupsim.sim.protocol.classic.group import ClassicGroup
from groupsim.sim.protocol.classic.rebalance import on_time
from groupsim.sim.protocol.classic.records import GroupMetadata, GroupRecord, GroupTombstone
from groupsim.sim.protocol.consumer.assigning import TargetAssignor, TopicView
from groupsim.sim.protocol.consumer.classic_members import ClassicRequest
from groupsim.sim.protocol.consumer.group import ConsumerGroup
from groupsim.sim.protocol.consumer.messages import (
    JOIN_EPOCH,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatResponse,
)
from groupsim.sim.protocol.consumer.records import ConsumerGroupRecord
from groupsim.sim.protocol.consumer.refusals import Refused
from groupsim.sim.protocol.consumer.validation import check
from groupsim.sim.protocol.facts import GroupConverted, GroupEpochBumped, StateChanged
from groupsim.sim.protocol.interface import Batch, GroupDescription, Outcome, Reply, Waiter
from groupsim.sim.protocol.messages import Error, JoinGroup, OffsetCommit, OffsetFetch, TxnOffsetCommit
from groupsim.sim.protocol.mixed import upgrade
from groupsim.sim.protocol.mixed.downgrade import Downgrade, tombstones
from groupsim.sim.protocol.offsets.expiration import ExpirationCondition
from groupsim.sim.protocol.offsets.records import OffsetRecord

GroupRequest = ClassicRequest | ConsumerGroupHeartbeat | OffsetCommit | TxnOffsetCommit
Machine = ClassicGroup | ConsumerGroup


class Conversion(NamedTuple):
    """A change of protocol that the log does not have yet.

    Parameters
    ----------
    batch : int
        Number of the batch that writes it.
    former : ClassicGroup or ConsumerGroup
        The group again, should the log refuse the batch.
    writer : ClassicGroup or ConsumerGroup
        Which of the two waits for the batch.
    """

    batch: int
    former: Machine
    writer: Machine


class MixedGroup:
    """One group id, with a classic group or one of the consumer protocol (``GroupMetadataManager``, Kafka 4.4).

    Parameters
    ----------
    group_id : str
    config : CoordinatorConfig
    topics : TopicView
        Where topics' partitions are in the group's partition vector.
    assignors : mapping of str to TargetAssignor
        All that ``config.consumer_assignors`` names.
    group_config : GroupConfig, optional
    late : callable
        Of `ClassicGroup`.

    Attributes
    ----------
    group : ClassicGroup or ConsumerGroup
        The group; a classic one of which nothing is known, if there is none.
    """

    def __init__(
        self,
        group_id: str,
        config: CoordinatorConfig,
        topics: TopicView,
        assignors: Mapping[str, TargetAssignor],
        group_config: GroupConfig | None = None,
        late: Callable[[int], int] = on_time,
    ) -> None:
        self._group_id = group_id
        self._config = config
        self._topics = topics
        self._assignors = assignors
        self._group_config = group_config or GroupConfig()
        self._image: tuple[int, Mapping[str, int]] = 0, {}
        """When the coordinator has learnt of its metadata image, and the image."""
        self._batches = count(1)
        self._late = late
        self._conversions: list[Conversion] = []
        self._downgrade: Downgrade | None = None
        self.group: Machine = self._new_classic()

    def _new_classic(self) -> ClassicGroup:
        return ClassicGroup(self._group_id, self._config, self._batches, self._late)

    def _new_consumer(self) -> ConsumerGroup:
        group = ConsumerGroup(
            self._group_id, self._config, self._topics, self._assignors, self._group_config, self._batches
        )
        group.on_metadata(*self._image)
        return group

    def _become(self, group: Machine) -> None:
        """The group is this one from now on."""
        self.group = group
        self._downgrade = Downgrade(group, self._batches, self._late) if isinstance(group, ConsumerGroup) else None

    # --- what anybody may read ----------------------------------------------------------------------------------------

    @property
    def is_consumer(self) -> bool:
        """Whether the group speaks the consumer protocol."""
        return isinstance(self.group, ConsumerGroup)

    @property
    def exists(self) -> bool:
        """Whether there is such a group."""
        return self.group.exists

    @property
    def deadline(self) -> int:
        """When `on_deadline` wants to be called, microseconds."""
        return self.group.deadline

    @property
    def generation(self) -> int:
        """Generation, or group epoch."""
        return self.group.generation

    @property
    def size(self) -> int:
        """Number of members, of either protocol."""
        return self.group.size

    @property
    def is_stable(self) -> bool:
        """Whether no rebalance is under way and somebody is there."""
        return self.group.is_stable

    @property
    def leader(self) -> str | None:
        """Member id of the leader; a consumer group has none."""
        return self.group.leader

    def describe(self) -> GroupDescription:
        """What an administrator is told; changes nothing."""
        return self.group.describe()

    # --- requests -----------------------------------------------------------------------------------------------------

    def on_request(self, now: int, request: GroupRequest, waiter: Waiter) -> Outcome:
        """Answer a request of either protocol, or park it; the group may be of the other one afterwards."""
        if self.is_consumer and not self.exists:
            self._become(self._new_classic())
        group = self.group
        if isinstance(group, ClassicGroup):
            if isinstance(request, ConsumerGroupHeartbeat):
                return self._beat_classic(now, group, request, waiter)
            return group.on_request(now, request, waiter)
        if isinstance(request, JoinGroup) and group.exists and not group.size:
            return self._join_empty(now, group, request, waiter)
        return self._followed(group, group.on_request(now, request, waiter))

    def _beat_classic(self, now: int, old: ClassicGroup, request: ConsumerGroupHeartbeat, waiter: Waiter) -> Outcome:
        """``GMM.getOrMaybeCreateConsumerGroup``: a member that joins makes a consumer group of it, if it may."""
        new = self._new_consumer()
        if request.member_epoch != JOIN_EPOCH:
            return new.on_request(now, request, waiter)
        try:
            check(request, self._config.consumer_assignors)
        except Refused as refusal:
            return _refused(waiter, refusal.error, refusal.message)
        interrupted = Outcome()
        if not upgrade.is_empty(old):
            if not upgrade.may_upgrade(old):
                return _refused(waiter, Error.GROUP_ID_NOT_FOUND, f"Group {self._group_id} is not a consumer group.")
            interrupted = old.dismiss(Error.REBALANCE_IN_PROGRESS)
            if (reason := upgrade.refusal(self._group_id, old)) is not None:
                interrupted.replies += _refused(waiter, *reason).replies
                return interrupted
        upgrade.write_tombstone(old, new)
        if not upgrade.is_empty(old):
            upgrade.take_over(now, old, new)
        outcome = new.on_request(now, request, waiter)
        outcome.replies = interrupted.replies + outcome.replies
        if outcome.batch is not None and old.exists:
            self._convert(outcome.batch, new, new)
            outcome.facts.insert(0, GroupConverted("consumer", new.size))
        elif outcome.batch is not None:
            self._become(new)
        return outcome

    def _join_empty(self, now: int, old: ConsumerGroup, request: JoinGroup, waiter: Waiter) -> Outcome:
        """``GMM.maybeDeleteEmptyConsumerGroup``: whoever joins makes a new classic group of an empty one."""
        new = self._new_classic()
        outcome = new.on_request(now, request, waiter)
        if outcome.batch is None:
            self._become(new)
            return outcome
        outcome.batch.records = (*tombstones(old.roster), *outcome.batch.records)
        self._convert(outcome.batch, new, new)
        outcome.facts.insert(0, GroupConverted("classic", new.size))
        return outcome

    def _followed(self, group: ConsumerGroup, outcome: Outcome) -> Outcome:
        """What a consumer group makes of an event; a classic group may follow it, and adds what comes of that."""
        successor = None if self._downgrade is None else self._downgrade.successor
        if self._downgrade is None or successor is None:
            return outcome
        assert outcome.batch is not None
        told = [fact for fact in outcome.facts if not isinstance(fact, (StateChanged, GroupEpochBumped))]
        outcome.facts = [*told, GroupConverted("classic", successor.size), *self._downgrade.facts]
        self._convert(outcome.batch, successor, group)
        return outcome

    def _convert(self, batch: Batch, new: Machine, writer: Machine) -> None:
        batch.is_awaited = True
        self._conversions.append(Conversion(batch.number, self.group, writer))
        self._become(new)

    def check_fetch(self, request: OffsetFetch) -> Error:
        """Whether a member may fetch offsets."""
        return self.group.check_fetch(request)

    def delete(self) -> Outcome:
        """An administrator deletes the group; nothing happens to one with members, or to none."""
        return self.group.delete()

    # --- its offsets (`sim.protocol.offsets`) -------------------------------------------------------------------------

    @property
    def is_empty(self) -> bool:
        """Whether nobody is a member, or about to be one."""
        return self.group.is_empty

    @property
    def offset_expiration(self) -> ExpirationCondition | None:
        """Which offsets may expire now."""
        return self.group.offset_expiration

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether a member reads this topic."""
        return self.group.is_subscribed_to(topic)

    def check_offset_delete(self) -> Error:
        """Whether offsets of single topics may be deleted."""
        return self.group.check_offset_delete()

    def check_delete(self) -> Error:
        """Whether the group may be deleted."""
        return self.group.check_delete()

    def log_offsets(self, record: OffsetRecord) -> None:
        """Write a record of offsets with the next batch."""
        self.group.log_offsets(record)

    def take(self) -> Outcome:
        """Everything since the last time."""
        return self.group.take()

    def forget(self) -> Outcome:
        """There is no such group any more."""
        return self.group.forget()

    def resume(self, member_id: str, renewed_us: int) -> None:
        """The session of a member counts from its last renewal, whichever protocol it speaks."""
        self.group.resume(member_id, renewed_us)

    # --- time and the log ---------------------------------------------------------------------------------------------

    def on_deadline(self, now: int) -> Outcome:
        """Do what is due by now, or the first of it; if more is due, `deadline` says so."""
        group = self.group
        if isinstance(group, ClassicGroup):
            return group.on_deadline(now)
        return self._followed(group, group.on_deadline(now))

    def on_appended(self, now: int, batch: int, error: Error) -> Outcome:
        """The batch is committed, or has failed with ``error``: then the group is what it was before the batch.

        One that is late may still be committed.
        """
        owner = self._owner(batch)
        outcome = owner.on_appended(now, batch, error)
        if owner is not self.group:
            outcome.facts.clear()
        if error is Error.NONE:
            self._conversions = [one for one in self._conversions if one.batch > batch]
            return outcome
        if error is Error.REQUEST_TIMED_OUT:
            return outcome
        undone = [one for one in self._conversions if one.writer is owner and one.batch >= batch]
        if undone:
            self._restore(now, undone[0], outcome)
        return outcome

    def _owner(self, batch: int) -> Machine:
        """Who waits for a batch."""
        for one in self._conversions:
            if batch <= one.batch:
                return one.writer if batch == one.batch else one.former
        return self.group

    def _restore(self, now: int, conversion: Conversion, outcome: Outcome) -> None:
        """The former group is there again; its timers that were due meanwhile have run to no effect."""
        self._conversions = self._conversions[: self._conversions.index(conversion)]
        group = conversion.former
        group.lapse(now)
        self._become(group)
        outcome.facts.append(GroupConverted("consumer" if self.is_consumer else "classic", group.size))
        outcome.facts.append(StateChanged(group.state, group.generation, "the log has refused another protocol"))

    def on_metadata(self, now: int, image: Mapping[str, int]) -> Outcome:
        """The coordinator has learnt of a new metadata image: topic -> number of partitions."""
        self._image = now, image
        return self.group.on_metadata(now, image)

    def on_config(self, now: int, config: CoordinatorConfig) -> Outcome:
        """The coordinator's configuration has changed."""
        self._config = config
        return self.group.on_config(now, config)

    def on_group_config(self, now: int, group_config: GroupConfig) -> Outcome:
        """What is set for the group has changed."""
        self._group_config = group_config
        return self.group.on_group_config(now, group_config) if isinstance(self.group, ConsumerGroup) else Outcome()

    def on_task_done(self, now: int, key: str, result: object) -> Outcome:
        """A task of a consumer group is done; one of a group that has become a classic one comes to nothing."""
        return self.group.on_task_done(now, key, result)

    def on_loaded(self, now: int) -> Outcome:
        """The log has been replayed, the coordinator is active."""
        return self.group.on_loaded(now)

    def on_unloaded(self, now: int) -> Outcome:
        """The coordinator is somewhere else from now on."""
        self._conversions.clear()
        return self.group.on_unloaded(now)

    def replay(self, record: GroupRecord | ConsumerGroupRecord) -> None:
        """``GMM.replay``: a record of the other protocol follows the tombstones of the former group."""
        if isinstance(record, OffsetRecord):
            if not self.exists and self.is_consumer:
                self._become(self._new_classic())
        elif isinstance(record, (GroupMetadata, GroupTombstone)):
            if self.is_consumer and isinstance(record, GroupTombstone):
                return
            if self.is_consumer:
                self._become(self._new_classic())
        elif not self.is_consumer:
            if record.value is None:
                return
            self._become(self._new_consumer())
        machine: Any = self.group
        machine.replay(record)


def _refused(waiter: Waiter, error: Error, message: str) -> Outcome:
    return Outcome([Reply(waiter, ConsumerGroupHeartbeatResponse(error, message=message))])
