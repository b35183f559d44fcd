"""A group as a bystander has it who sees every write to ZooKeeper: who is there, who owns what, whether it is stable.

At a broker there is nothing of it but, if it wants that, its committed offsets (``offsets.storage=kafka``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from groupsim.sim.config import CoordinatorConfig
from groupsim.sim.protocol.classic.group import ClassicGroup
from groupsim.sim.protocol.classic.records import GroupRecord
from groupsim.sim.protocol.facts import (
    Cause,
    Fact,
    GroupEpochBumped,
    MemberAdmitted,
    MemberMoved,
    MemberReconciled,
    MemberRemoved,
    MemberSeen,
    StateChanged,
    TargetComputed,
)
from groupsim.sim.protocol.interface import GroupDescription, Outcome, Waiter
from groupsim.sim.protocol.messages import NO_PARTITIONS, Error, Positions
from groupsim.sim.protocol.zookeeper import paths
from groupsim.sim.protocol.zookeeper.assignment import Place, part_of
from groupsim.sim.protocol.zookeeper.connector import Places
from groupsim.sim.protocol.zookeeper.member import registered_id
from groupsim.sim.protocol.zookeeper.messages import Change, Kind, Registration
from groupsim.sim.protocol.zookeeper.states import GroupState, Phase


class ZookeeperGroup:
    """One group.

    Parameters
    ----------
    name : str
    config : CoordinatorConfig
        Of the brokers that keep its offsets.
    places : Places

    Attributes
    ----------
    at_broker : ClassicGroup
        What keeps its offsets there: a group that nobody joins.
    """

    leader = None

    def __init__(self, name: str, config: CoordinatorConfig, places: Places) -> None:
        self._name, self._config = name, config
        self._places = places
        self.at_broker = ClassicGroup(name, config)
        self.generation = 0
        """How often ids, or the partitions of a topic that it reads, have changed."""
        self._state = GroupState.EMPTY
        self._registered: dict[str, Registration] = {}
        self._settled_on: dict[str, int] = {}
        """Consumer -> version of the ids that it has settled on; not those that are at something."""
        self._version = 0
        self._owners: dict[Place, str] = {}
        self._targets: dict[Place, str] = {}
        self._partitions: dict[str, int] = {}

    @property
    def size(self) -> int:
        """Number of members."""
        return len(self._registered)

    @property
    def exists(self) -> bool:
        """Whether anybody is registered."""
        return bool(self._registered)

    @property
    def is_stable(self) -> bool:
        """Whether everybody has settled on what there is, and owns what follows from it."""
        return self._state is GroupState.STABLE

    @property
    def deadline(self) -> int:
        """When offsets at the broker may have to go."""
        return self.at_broker.deadline

    def describe(self) -> GroupDescription:
        """What a bystander would say."""
        return GroupDescription(self._state.value, self.generation)

    # --- writes to ZooKeeper ------------------------------------------------------------------------------------------

    def on_written(self, changes: Sequence[Change], version: int, *, has_expired: bool) -> list[Fact]:
        """One transaction has been committed; ``version`` is its number.

        Parameters
        ----------
        changes : sequence of Change
        version : int
        has_expired : bool
            It deletes what an expired session has left.
        """
        facts = self._change_owners(changes)
        for change in changes:
            if change.path.startswith(f"{paths.ids(self._name)}/"):
                facts += self._change_ids(change, version, has_expired=has_expired)
            elif change.path.startswith(f"{paths.TOPICS}/"):
                facts += self._change_topic(change, change.path.rsplit("/", 1)[1])
        return facts + self._judge()

    def _change_ids(self, change: Change, version: int, *, has_expired: bool) -> list[Fact]:
        consumer_id, registration = change.path.rsplit("/", 1)[1], change.data
        member_id = registered_id(consumer_id, registration.number)
        self._version = version
        if change.kind is Kind.CREATED:
            self._registered[consumer_id] = registration
            seen = MemberSeen(member_id, registration.topics)
            return [seen, MemberAdmitted(member_id, registration.name), *self._retarget(f"{registration.name} joins")]
        del self._registered[consumer_id]
        self._settled_on.pop(consumer_id, None)
        cause = Cause.EXPIRED if has_expired else Cause.LEFT
        removed = MemberRemoved(member_id, registration.name, cause)
        return [removed, *self._retarget(f"{registration.name}: {cause.value}")]

    def _change_topic(self, change: Change, topic: str) -> list[Fact]:
        self._partitions[topic] = change.data
        if not self.reads(topic):
            return []
        self._settled_on.clear()
        return self._retarget(f"metadata of {topic} changes")

    def reads(self, topic: str) -> bool:
        """Whether anybody subscribes to a topic."""
        return any(topic in one.topics for one in self._registered.values())

    def _retarget(self, reason: str) -> list[Fact]:
        """Something has changed that everybody has to work out anew: what must come of it."""
        self.generation += 1
        before, self._targets = self._targets, self._work_out()
        moved = {one for place, one in before.items() if self._targets.get(place) != one}
        moved |= {one for place, one in self._targets.items() if before.get(place) != one}
        targets = tuple(
            (self._member_id(one), self._positions(place for place, other in self._targets.items() if other == one))
            for one in sorted(moved & {*self._registered})
        )
        strategies = ", ".join(sorted({one.strategy for one in self._registered.values()}))
        return [GroupEpochBumped(self.generation, reason), TargetComputed(self.generation, strategies, targets)]

    def _work_out(self) -> dict[Place, str]:
        subscriptions = {one: registration.topics for one, registration in self._registered.items()}
        targets: dict[Place, str] = {}
        for one, registration in self._registered.items():
            try:
                part = part_of(one, registration.strategy, subscriptions, self._partitions)
            except ValueError:
                continue
            targets |= dict.fromkeys(part, one)
        return targets

    def _member_id(self, consumer_id: str) -> str:
        return registered_id(consumer_id, self._registered[consumer_id].number)

    def _positions(self, places: Iterable[Place]) -> Positions:
        found = [int(self._places.of(topic)[number]) for topic, number in places]
        return np.array(sorted(found), np.int32)

    def _change_owners(self, changes: Sequence[Change]) -> list[Fact]:
        owners = f"/consumers/{self._name}/owners/"
        touched: dict[str, None] = {}
        for change in changes:
            parts = change.path.removeprefix(owners).split("/")
            if not change.path.startswith(owners) or len(parts) != 2:
                continue
            place, one = (parts[0], int(parts[1])), change.data.removesuffix("-0")
            touched[one] = None
            if change.kind is Kind.CREATED:
                self._owners[place] = one
            else:
                del self._owners[place]
        return [
            MemberReconciled(self._member_id(one), 0, self._state.value, self._owned_by(one), NO_PARTITIONS)
            for one in touched
            if one in self._registered
        ]

    def _owned_by(self, consumer_id: str) -> Positions:
        return self._positions(place for place, one in self._owners.items() if one == consumer_id)

    # --- what members say ---------------------------------------------------------------------------------------------

    def on_report(self, member_id: str, phase: Phase, view: int) -> list[Fact]:
        """A member is at something else; ``view``: version of the ids that its part was worked out from."""
        consumer_id = member_id.partition("#")[0]
        if consumer_id not in self._registered or self._member_id(consumer_id) != member_id:
            return []
        self._settled_on.pop(consumer_id, None)
        if phase is Phase.SETTLED:
            self._settled_on[consumer_id] = view
        is_stale = phase is Phase.SETTLED and view != self._version
        return [MemberMoved(member_id, phase, is_stale=is_stale), *self._judge()]

    def _judge(self) -> list[Fact]:
        """The state, if it is another one."""
        if not self._registered:
            state = GroupState.EMPTY
        elif self._owners == self._targets and self._has_settled():
            state = GroupState.STABLE
        else:
            state = GroupState.REBALANCING
        if state is self._state:
            return []
        self._state = state
        return [StateChanged(state, self.generation)]

    def _has_settled(self) -> bool:
        return all(self._settled_on.get(one) == self._version for one in self._registered)

    # --- offsets at a broker ------------------------------------------------------------------------------------------

    def on_request(self, now: int, request: Any, waiter: Waiter) -> Outcome:
        """A commit, from somebody who is no member of anything there."""
        return self._without_states(self.at_broker.on_request(now, request, waiter))

    def on_deadline(self, now: int) -> Outcome:
        """Offsets have expired."""
        return self._without_states(self.at_broker.on_deadline(now))

    def on_appended(self, now: int, batch: int, error: Error) -> Outcome:
        """Offsets are in the log."""
        return self._without_states(self.at_broker.on_appended(now, batch, error))

    def on_metadata(self, now: int, image: Mapping[str, int]) -> Outcome:
        """Topics are read in ZooKeeper."""
        return Outcome()

    def on_unloaded(self, now: int) -> Outcome:
        """The broker keeps its offsets no more; members notice with their next commit."""
        return self._without_states(self.at_broker.on_unloaded(now))

    def moved(self) -> ZookeeperGroup:
        """The group as it is; another broker is about to read its offsets."""
        self.at_broker = ClassicGroup(self._name, self._config)
        return self

    def replay(self, record: GroupRecord) -> None:
        """One record of the log that another broker reads."""
        self.at_broker.replay(record)

    def on_loaded(self, now: int) -> Outcome:
        """All of it has been read."""
        return self._without_states(self.at_broker.on_loaded(now))

    @staticmethod
    def _without_states(outcome: Outcome) -> Outcome:
        """The group that the broker sees is empty all the time."""
        outcome.facts = [fact for fact in outcome.facts if not isinstance(fact, StateChanged)]
        return outcome
