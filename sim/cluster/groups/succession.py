"""What the books are told of a group that another coordinator has loaded, or that has never been logged.

The books know the group as the former coordinator had it. What the log did not have is lost: ids that were handed out,
members that have come since the last SyncGroup of a leader, a rebalance under way. Who had left since then is a member
again, until the session ends. A stable group goes on as it was, and nothing has to be said about it.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from groupsim.sim.protocol.classic.group import ClassicGroup
from groupsim.sim.protocol.classic.records import GroupTombstone
from groupsim.sim.protocol.consumer.group import ConsumerGroup
from groupsim.sim.protocol.facts import (
    AssignmentSynced,
    Cause,
    Fact,
    MemberAdmitted,
    MemberRemoved,
    MemberSeen,
    StateChanged,
)
from groupsim.sim.protocol.messages import Positions
from groupsim.sim.protocol.mixed.group import MixedGroup
from groupsim.sim.protocol.zookeeper.group import ZookeeperGroup


class Member(NamedTuple):
    """One member, as a coordinator knows it."""

    name: str
    topics: tuple[str, ...]
    assignment: Positions


class Standing(NamedTuple):
    """A group at one of its coordinators; ``pending``: ids that were handed out, with the names of their owners."""

    state: Enum
    generation: int
    members: dict[str, Member]
    pending: dict[str, str]
    has_rounds: bool


Machine = ClassicGroup | ConsumerGroup | MixedGroup | ZookeeperGroup


def standing(machine: Machine) -> Standing:
    """How a group stands; of one that ZooKeeper holds together nothing stands there but offsets."""
    if isinstance(machine, ZookeeperGroup):
        return Standing(machine.at_broker.state, machine.at_broker.generation, {}, {}, False)
    group = machine.group if isinstance(machine, MixedGroup) else machine
    if isinstance(group, ClassicGroup):
        members = {one.member_id: Member(one.name, one.protocols[0][1].topics, one.assignment) for one in group.roster}
        return Standing(group.state, group.generation, members, dict(group.roster.pending), True)
    known = {
        one.member_id: Member(one.metadata.name, group.topics.names_of(one.subscribed), one.current.assigned)
        for one in group.roster
    }
    return Standing(group.state, group.generation, known, {}, False)


def reverted(machine: Machine) -> list[Fact]:
    """The log has refused all that there is of a group: there is none (``CoordinatorRuntime.failCurrentBatch``).

    A consumer group has undone that itself.
    """
    if isinstance(machine, ConsumerGroup) or not machine.exists:
        return []
    before = standing(machine)
    machine.replay(GroupTombstone())
    return succession(before, standing(machine), "the log has refused the group")


def succession(before: Standing, after: Standing, why: str = "another coordinator has loaded the group") -> list[Fact]:
    """What has changed with the coordinator, as facts."""
    facts: list[Fact] = [
        MemberRemoved(member_id, name, Cause.LOST, is_pending=True) for member_id, name in before.pending.items()
    ]
    for member_id in sorted(before.members.keys() - after.members.keys()):
        facts.append(MemberRemoved(member_id, before.members[member_id].name, Cause.LOST))
    for member_id in sorted(after.members.keys() - before.members.keys()):
        risen = after.members[member_id]
        facts += [MemberSeen(member_id, risen.topics), MemberAdmitted(member_id, risen.name)]
    if after.has_rounds and (before.state, before.generation) != (after.state, after.generation):
        if after.members:
            assignments = tuple((member_id, one.assignment) for member_id, one in after.members.items())
            facts.append(AssignmentSynced(assignments))
        facts.append(StateChanged(after.state, after.generation, why))
    return facts
