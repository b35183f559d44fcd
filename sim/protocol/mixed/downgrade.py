"""A group of the consumer protocol that becomes a classic one (``GMM.convertToClassicGroup``, Kafka 4.4)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from groupsim.sim.protocol.classic.group import ClassicGroup
from groupsim.sim.protocol.classic.rebalance import Rebalance
from groupsim.sim.protocol.classic.roster import Member as ClassicMember
from groupsim.sim.protocol.classic.states import GroupState
from groupsim.sim.protocol.consumer.classic_members import may_downgrade
from groupsim.sim.protocol.consumer.core import GroupCore
from groupsim.sim.protocol.consumer.group import ConsumerGroup
from groupsim.sim.protocol.consumer.records import (
    ConsumerGroupCurrentMemberAssignment,
    ConsumerGroupMemberMetadata,
    ConsumerGroupMetadata,
    ConsumerGroupRegularExpression,
    ConsumerGroupTargetAssignmentMember,
    ConsumerGroupTargetAssignmentMetadata,
    StateRecord,
)
from groupsim.sim.protocol.consumer.roster import Member, Roster
from groupsim.sim.protocol.facts import Fact, StateChanged
from groupsim.sim.protocol.messages import CONSUMER, Positions


class Downgrade:
    """Watches who leaves one consumer group, and makes a classic group of it when only classic members are left.

    Parameters
    ----------
    group : ConsumerGroup
        Stays as it is: should the log refuse the change, it is the group again.
    batches : iterator of int
        Numbers that no batch of the group has had.
    late : callable
        Of `ClassicGroup`.

    Attributes
    ----------
    successor : ClassicGroup or None
        What it has been made into in this event.
    facts : list of Fact
        What happens in that one at once.
    """

    def __init__(self, group: ConsumerGroup, batches: Iterator[int], late: Callable[[int], int]) -> None:
        self._core: GroupCore = group.core
        self._topics = group.topics
        self._batches, self._late = batches, late
        self.successor: ClassicGroup | None = None
        self.facts: list[Fact] = []
        group.removal.downgrade = self.without
        group.classic_members.succeed = self.with_successor

    def without(self, now: int, leaving: Sequence[Member]) -> bool:
        """Members are leaving: whether the group is a classic one without them, which then rebalances."""
        if not self._may_be_classic_without(leaving):
            return False
        core = self._core
        self._convert(now, core.roster.group.epoch, {one.member_id for one in leaving}, "member leaving")
        return True

    def _may_be_classic_without(self, leaving: Sequence[Member]) -> bool:
        """``GMM.validateOnlineDowngradeWithFencedMembers``."""
        core, roster = self._core, self._core.roster
        n_left = len(roster) - len(leaving)
        n_classic_left = roster.n_classic - sum(one.metadata.classic is not None for one in leaving)
        return 0 < n_left == n_classic_left and may_downgrade(core) and n_left <= core.config.max_size

    def with_successor(self, now: int, generation: int, must_rebalance: bool) -> None:
        """The last member that used the consumer protocol has been replaced by one that does not."""
        self._convert(now, generation, (), "static member replacement with stale assignment" if must_rebalance else "")

    def _convert(self, now: int, generation: int, leaving: Collection[str], why: str) -> None:
        """Targets without topics that are gone become assignments; ``why`` the group has to rebalance, if it has to."""
        core = self._core
        for tombstone in tombstones(core.roster):
            core.journal.write_aside(tombstone)
        rebalance = Rebalance(core.group_id, core.config, self._batches, self._late)
        rebalance.exists, rebalance.state, rebalance.state_us = True, GroupState.STABLE, now
        rebalance.generation, rebalance.roster.protocol_type = generation, CONSUMER
        for member in core.roster:
            if member.member_id not in leaving:
                target = self._topics.existing(core.roster.target_of(member.member_id).positions)
                rebalance.roster.restore(_classic(member, target))
        rebalance.protocol = rebalance.roster.select_protocol()
        rebalance.learn_topics()
        core.journal.write_aside(rebalance.summary())
        reason = f"Downgrade group {core.group_id} from consumer to classic for {why}"
        rebalance.note(StateChanged(rebalance.state, generation, "" if why else reason.removesuffix(" for ")))
        for one in rebalance.roster:
            rebalance.timers.renew(now, one)
        if why:
            rebalance.prepare(now, reason)
        self.successor, self.facts = ClassicGroup.of(rebalance), rebalance.take().facts


def tombstones(roster: Roster) -> Iterator[StateRecord]:
    """What makes the log forget a consumer group (``ConsumerGroup.createGroupTombstoneRecords``)."""
    for member_id in roster.members:
        yield ConsumerGroupCurrentMemberAssignment(member_id, None)
    for member_id in roster.members:
        yield ConsumerGroupTargetAssignmentMember(member_id, None)
    yield ConsumerGroupTargetAssignmentMetadata(None)
    for member_id in roster.members:
        yield ConsumerGroupMemberMetadata(member_id, None)
    for pattern in roster.patterns:
        yield ConsumerGroupRegularExpression(pattern, None)
    yield ConsumerGroupMetadata(None)


def _classic(member: Member, target: Positions) -> ClassicMember:
    classic = member.metadata.classic
    assert classic is not None
    return ClassicMember(
        member_id=member.member_id,
        instance_id=member.metadata.instance_id,
        name=member.metadata.name,
        session_timeout_us=classic.session_timeout_us,
        rebalance_timeout_us=member.metadata.rebalance_timeout_us,
        protocols=classic.protocols,
        assignment=target,
        is_new=False,
    )
