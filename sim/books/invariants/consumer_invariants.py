"""Invariants of a group of the consumer protocol, as the published TLA+ model of KIP-848 states them.

What the coordinator has been told counts: a member holds what it was assigned until it has acknowledged that it gave it
up. A group whose members are of both protocols has the same invariants while it is a consumer group.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from operator import attrgetter

import numpy as np

from groupsim.sim.books.invariants.watched import Seen, Watched, protocol_machine, twice
from groupsim.sim.protocol.consumer.group import ConsumerGroup
from groupsim.sim.protocol.consumer.messages import LEAVE_EPOCH, STATIC_LEAVE_EPOCH
from groupsim.sim.protocol.consumer.roster import Member
from groupsim.sim.protocol.consumer.states import MemberState
from groupsim.sim.protocol.messages import Positions
from groupsim.sim.units import FOREVER, S


def consumer_group(group: Watched) -> ConsumerGroup | None:
    """The group, if it is one of the consumer protocol now."""
    machine = protocol_machine(group)
    return machine if isinstance(machine, ConsumerGroup) else None


_METADATA, _CURRENT = attrgetter("metadata"), attrgetter("current")


def _records(machine: ConsumerGroup) -> list[object]:
    """All that members have and are to have, as objects that are replaced when they change."""
    roster = machine.roster
    members = roster.members.values()
    return [
        machine, roster.group, roster.target, machine.topics.version, *roster.patterns.values(),
        *map(_METADATA, members), *map(_CURRENT, members), *roster.targets.values(),
    ]  # fmt: skip


class OfRecords(ABC):
    """What follows from a group's records alone, and so is looked at again when one of them has been replaced."""

    def __init__(self) -> None:
        self._seen = Seen()

    def violated(self, now: int, group: Watched) -> str | None:
        """What is wrong with the records, if they are new and something is."""
        machine = consumer_group(group)
        if machine is None or self._seen.is_same(group.books.name, _records(machine)):
            return None
        return self._wrong(machine)

    @abstractmethod
    def _wrong(self, machine: ConsumerGroup) -> str | None:
        """What is wrong with the records, if something is."""


class OneHolder(OfRecords):
    """A partition is held by one member at a time, and is in one member's target."""

    def _wrong(self, machine: ConsumerGroup) -> str | None:
        """A partition that two members hold or are to have, if there is one."""
        roster = machine.roster
        held = [part for one in roster for part in (one.current.assigned, one.current.pending)]
        if (double := twice(held)) is not None:
            return f"partition {double} is held twice"
        if (double := twice(target.positions for target in roster.targets.values())) is not None:
            return f"partition {double} is in two targets"
        return None


class EpochsOrdered(OfRecords):
    """No member is ahead of the target, no target ahead of the group; who has left for a while has no epoch."""

    def _wrong(self, machine: ConsumerGroup) -> str | None:
        """An epoch that cannot be, if there is one."""
        roster = machine.roster
        if roster.target.epoch > roster.group.epoch:
            return f"the target of epoch {roster.target.epoch} is ahead of the group's, {roster.group.epoch}"
        for one in roster:
            is_away = one.epoch == STATIC_LEAVE_EPOCH and one.metadata.instance_id is not None
            if one.epoch > roster.target.epoch or (one.epoch <= LEAVE_EPOCH and not is_away):
                return f"{one.metadata.name} has epoch {one.epoch}, the target {roster.target.epoch}"
        return None


class StableIsStable(OfRecords):
    """In a stable group every member has the target's epoch and exactly its target.

    From 4.2 on it has less while it subscribes to less: to nothing, with a pattern that the broker has yet to resolve,
    which comes with no new epoch (``GMM.hasMemberSubscriptionChanged``).
    """

    def _wrong(self, machine: ConsumerGroup) -> str | None:
        """A member of a stable group that is not where it is to be, if there is one."""
        if not machine.is_stable:
            return None
        roster = machine.roster
        if roster.group.epoch != roster.target.epoch:
            return f"stable at epoch {roster.group.epoch} with a target of {roster.target.epoch}"
        return next((wrong for one in roster if (wrong := _unfinished(machine, one.member_id)) is not None), None)


def _unfinished(machine: ConsumerGroup, member_id: str) -> str | None:
    roster = machine.roster
    one, target = roster.members[member_id], roster.target_of(member_id).positions
    current = one.current
    is_done = (
        current.state is MemberState.STABLE
        and current.member_epoch == roster.target.epoch
        and not len(current.pending)
        and (
            np.array_equal(current.assigned, target) or np.array_equal(current.assigned, _wanted(machine, one, target))
        )
    )
    return None if is_done else f"{one.metadata.name} is {current.state.name} at {current.member_epoch}, not done"


def _wanted(machine: ConsumerGroup, member: Member, target: Positions) -> Positions:
    """The part of a target that a member can have while it subscribes to what it does."""
    if not machine.core.rules.enforces_subscription:
        return target
    mask = machine.topics.mask_of(member.subscribed)
    known = target[target < len(mask)]
    wanted: Positions = known[mask[known]]
    return wanted


LATE_US = 2 * S
"""What messages, retries and clocks may add to a heartbeat interval before a group counts as disturbed."""


class ConvergesOnceCalm:
    """Once faults stop, a group is stable within its assignment interval, three heartbeat intervals and 2 s.

    A heartbeat after the assignment interval computes the target; with their next ones donors hear of it and new owners
    get what is free, and with one more whoever came too early. The interval is the longest of a member: those of the
    classic protocol bring their own. A group that only these are left in computes nothing, and is none of this protocol
    for long.

    What counts as disturbed: a new group epoch, a coordinator that is elsewhere or away, a member of which nothing has
    been heard for a heartbeat interval and 2 s, one that has yet to give partitions up, or (classic) to join or to sync
    (for at most its rebalance timeout: then it is removed, which bumps the epoch). The time counts from the last of it.
    """

    def __init__(self) -> None:
        self._calm: dict[str, tuple[int, tuple[int, int]]] = {}

    def violated(self, now: int, group: Watched) -> str | None:
        """Since when the group should have been stable, if it is not."""
        machine = consumer_group(group)
        if machine is None:
            return None
        since, at = self._calm.get(group.books.name, (now, (-1, -1)))
        state = machine.roster.group.epoch, group.host.terms
        if state != at or machine.is_stable or not group.host.is_active or _is_disturbed(now, group, machine):
            self._calm[group.books.name] = now, state
            return None
        beating_us = now - since - machine.core.assignment_interval_us - LATE_US
        is_late = beating_us > 0 and beating_us > 3 * max(_intervals_us(group, machine).values())
        return f"calm since {since} us and not stable" if is_late else None


def _is_disturbed(now: int, group: Watched, machine: ConsumerGroup) -> bool:
    return not machine.size or any(_is_busy(machine, one) for one in machine.roster) or _is_silent(now, group, machine)


def _is_busy(machine: ConsumerGroup, member: Member) -> bool:
    """Whether it has yet to give partitions up, to join or to sync."""
    timers = machine.core.timers
    return (
        member.current.state is MemberState.UNREVOKED_PARTITIONS
        or timers.join_due(member.member_id) < FOREVER
        or timers.sync_due(member.member_id) < FOREVER
    )


def _is_silent(now: int, group: Watched, machine: ConsumerGroup) -> bool:
    """Whether a member is overdue with its heartbeat."""
    intervals = _intervals_us(group, machine)
    return any(now > _heard_us(machine, one.member_id) + intervals[one.member_id] + LATE_US for one in machine.roster)


def _heard_us(machine: ConsumerGroup, member_id: str) -> int:
    """When a member's session was last renewed; `FOREVER` of one whose timer is away, since it renews in time."""
    return machine.session_due(member_id) - machine.session_timeout_of(member_id)


def _intervals_us(group: Watched, machine: ConsumerGroup) -> dict[str, int]:
    """How often each member beats; a classic one that nobody has the machine of is overdue soon."""
    own = {one.machine.member_id: one.machine.config for one in group.members if one.machine is not None}
    beat_us = machine.core.heartbeat_interval_us
    return {
        one.member_id: own[one.member_id].heartbeat_interval_us
        if one.metadata.classic is not None and one.member_id in own
        else beat_us
        for one in machine.roster
    }


class MembersWithinHoldings:
    """A member of the group believes that it owns nothing but what the coordinator knows it to hold.

    Members of the classic protocol are passed over: theirs is what the last round has said.
    """

    def __init__(self) -> None:
        self._seen = Seen()

    def violated(self, now: int, group: Watched) -> str | None:
        """A member that owns what others may be given, if there is one."""
        machine = consumer_group(group)
        if machine is None:
            return None
        members = machine.roster.members
        pairs = [
            (consumer.name, member.owned, known.current)
            for consumer in group.members
            if (member := consumer.machine) is not None
            and (known := members.get(member.member_id)) is not None
            and known.metadata.classic is None
        ]
        if self._seen.is_same(group.books.name, [part for _, *parts in pairs for part in parts]):
            return None
        for name, owned, current in pairs:
            if self._seen.is_same((group.books.name, name), [owned, current]):
                continue
            more = np.setdiff1d(owned, np.concatenate((current.assigned, current.pending)))
            if more.size:
                return f"{name} owns partition {int(more[0])}, which it does not hold"
        return None
