"""The groups of one conversation: the machines, and what Kafka's groups and timers are like by now."""

from __future__ import annotations

import re
from typing import Any

from groupsim.sim.config import CoordinatorConfig
from groupsim.sim.protocol.consumer.group import ConsumerGroup
from groupsim.sim.protocol.consumer.records import (
    ConsumerGroupMemberMetadata,
    ConsumerGroupMetadata,
    GroupEpoch,
    MemberMetadata,
)
from groupsim.sim.protocol.consumer.roster import Roster
from groupsim.sim.protocol.consumer.rules import Rules
from groupsim.sim.protocol.consumer.topics import SubscribedTopics
from groupsim.sim.protocol.mixed.group import MixedGroup
from groupsim.sim.units import MS
from tests.conformance.coordinator.assignors import Assignors
from tests.conformance.coordinator.consumer_state import compare_consumer_group
from tests.conformance.coordinator.consumer_timers import armed_consumer, can_fence
from tests.conformance.coordinator.fields import Unplayable, expect
from tests.conformance.coordinator.state import armed, can_change_anything, compare_group, inside
from tests.conformance.coordinator.topics import Topics
from tests.conformance.coordinator.wire import Json, Payloads

_LONG_US = 1 << 60
_CONFIG = {
    "group.initial.rebalance.delay.ms": ("initial_rebalance_delay_us", MS), "group.max.size": ("max_size", 1),
    "group.consumer.max.size": ("consumer_max_size", 1),
    "group.consumer.session.timeout.ms": ("consumer_session_timeout_us", MS),
    "group.consumer.heartbeat.interval.ms": ("consumer_heartbeat_interval_us", MS),
    "group.consumer.assignment.interval.ms": ("consumer_assignment_interval_us", MS),
    "group.consumer.regex.refresh.interval.ms": ("consumer_regex_refresh_interval_us", MS),
    "offsets.retention.ms": ("offsets_retention_us", MS),
    "offset.metadata.max.bytes": ("offset_metadata_max_size", 1),
}  # fmt: skip
_OF_OTHERS = re.compile(r"group\.(share|streams)\..*|group\.(min|max)\.session\.timeout\.ms|group\.consumer\.assignors")
"""Settings of other groups, and of the service layer."""

_NEW_GROUP = {
    "type": "classic", "state": "Empty", "generation": 0, "protocol_type": None, "protocol": None, "leader": None,
    "new_member_added": False, "static_members": {}, "pending_join": [], "pending_sync": [], "members": {},
}  # fmt: skip
_NEW_CONSUMER_GROUP = {
    "type": "consumer", "state": "Empty", "assignment_timestamp": 0, "metadata_hash": 0, "members": {}, "target": {},
    "static_members": {}, "regexes": {},
}  # fmt: skip


def configuration(conversation: Json, assignors: tuple[str, ...]) -> CoordinatorConfig:
    """Limits of the session timeout are the service layer's, whose checks are not in the conversations."""
    chosen: dict[str, Any] = {}
    for key, value in conversation["config"].items():
        if key in _CONFIG:
            name, unit = _CONFIG[key]
            chosen[name] = value * unit
        elif key == "group.consumer.migration.policy":
            chosen["consumer_migration_policy"] = value.lower()
        elif not _OF_OTHERS.fullmatch(key):
            raise Unplayable(f"setting {key}")
    limits = {"min_session_timeout_us": -_LONG_US, "max_session_timeout_us": _LONG_US}
    version = "4.3" if conversation.get("v44") else "4.4"
    return CoordinatorConfig(**limits, **chosen, version=version, consumer_assignors=assignors)


class Hashes(dict[Any, int]):
    """What the conversation calls a hash of metadata -> the machine's; a number is no topics' and stands for itself."""

    def __init__(self, named: dict[str, int]) -> None:
        super().__init__(named)

    def __missing__(self, name: Any) -> int:
        if isinstance(name, int):
            return name
        raise Unplayable(f"metadata hash {name}, of which nothing is said")


class Groups:
    """Machines beside what Kafka has.

    Parameters
    ----------
    conversation : dict
        One line of the files.
    payloads : Payloads

    Attributes
    ----------
    config : CoordinatorConfig
    assignors : Assignors
    machines : dict
        Group id -> the machine.
    ids : set of str
        Every member id that has been heard of.
    hashes, hash_names : dict
        What the conversation calls a hash of metadata -> the machine's, and back.
    """

    def __init__(self, conversation: Json, payloads: Payloads) -> None:
        self._payloads, self._topics = payloads, payloads.topics
        self.assignors = Assignors(conversation["assignors"], self._topics)
        self.config = configuration(conversation, self.assignors.names)
        self.machines: dict[str, MixedGroup] = {}
        self.ids: set[str] = set()
        self.hashes = Hashes({name: metadata_hash(topics) for name, topics in conversation["hashes"].items()})
        self.hash_names = {number: name for name, number in self.hashes.items() if number}
        self._states: dict[str, Json] = {}
        self._timers: dict[str, int] = {}

    def get(self, group_id: str) -> MixedGroup:
        """The machine of a group; one of which nothing is known, if there is none."""
        if group_id not in self.machines:
            self.machines[group_id] = self.unknown(group_id)
        return self.machines[group_id]

    def unknown(self, group_id: str) -> MixedGroup:
        """A machine of which nothing is known."""
        one = MixedGroup(group_id, self.config, self._topics, self.assignors.by_name)
        one.on_metadata(0, self._topics.counts)
        return one

    def settle(self) -> None:
        """The metadata that a conversation begins with are no news."""
        for one in self.machines.values():
            if isinstance(one.group, ConsumerGroup):
                one.group.topics.new_topics_version = 0

    def create(self, now_ms: int, group_id: str, kind: str) -> None:
        """A test makes a group, in memory only."""
        if kind == "consumer":
            self.make_consumer_group(group_id)
            self._states[group_id] = _NEW_CONSUMER_GROUP | {
                "epoch": self._first_epoch, "assignment_epoch": self._first_epoch
            }  # fmt: skip
        else:
            inside(self.get(group_id).group).create(now_ms * MS)
            self._states[group_id] = _NEW_GROUP | {"state_timestamp": now_ms}

    def make_consumer_group(self, group_id: str) -> None:
        """There is such a group from now on, if there was none."""
        group = self.get(group_id)
        if not group.exists:
            group.replay(ConsumerGroupMetadata(GroupEpoch(self._first_epoch, 0)))

    @property
    def _first_epoch(self) -> int:
        return Rules.of(self.config).first_epoch

    def put_back(self, group_id: str, before: MixedGroup) -> None:
        """What a group has written is not replayed: it is what it was ``before``, but for its timers."""
        now = self.machines[group_id].group
        self.machines[group_id] = before
        if isinstance(now, ConsumerGroup) and isinstance(before.group, ConsumerGroup):
            before.group.core.timers = now.core.timers

    def forget_timers(self) -> None:
        """The coordinator is somewhere else, and whatever it had armed with it."""
        self._timers.clear()

    def compare(self, step: Json) -> None:
        """Every group and every timer."""
        for group_id, state in step.get("groups", {}).items():
            self.ids |= set((state or {}).get("members", {})) | set((state or {}).get("pending_join", []))
            self._states[group_id] = state
        for group_id in self.machines.keys() | self._states.keys():
            self._compare_group(group_id, self._states.get(group_id))
        for key, deadline_ms in step.get("timers", {}).items():
            self._timers.pop(key, None)
            if deadline_ms is not None:
                self._timers[key] = deadline_ms
        expect("timers", {key: at for key, at in sorted(self._timers.items()) if self._changes(key)}, self._armed())

    def _compare_group(self, group_id: str, state: Json | None) -> None:
        group = self.get(group_id)
        if state is not None and state["type"] not in ("classic", "consumer"):
            raise Unplayable(f"groups of type {state['type']}")
        expect(f"{group_id} exists", state is not None, group.exists)
        if state is None:
            return
        expect(f"{group_id}.type", state["type"], "consumer" if group.is_consumer else "classic")
        if isinstance(group.group, ConsumerGroup):
            compare_consumer_group(group_id, state, group.group.roster, self._topics, self.hash_names)
        else:
            compare_group(group_id, state, group.group, self._payloads)

    def _armed(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for group_id, group in self.machines.items():
            if isinstance(group.group, ConsumerGroup):
                found |= armed_consumer(group_id, group.group)
            else:
                found |= armed(group_id, group.group, self.ids)
        return dict(sorted(found.items()))

    def _changes(self, key: str) -> bool:
        """Whether the timer would do anything if it ran."""
        return any(
            can_fence(key, group_id, state) if state and state["type"] == "consumer"
            else can_change_anything(key, group_id, state)
            for group_id, state in self._states.items()
        )  # fmt: skip

    def choose_as_kafka(self, step: Json) -> None:
        """Where the order of a Java hash map decides, let the machine walk members in an order with Kafka's result."""
        for group_id, state in step.get("groups", {}).items():
            if state is None or state["type"] != "classic":
                continue
            group = self.get(group_id).group
            if isinstance(group, ConsumerGroup):  # it is about to be a classic one
                members = group.roster.members
                if (leader := members.pop(state["leader"] or "", None)) is not None:
                    rest = dict(members)
                    members.clear()
                    members.update({state["leader"]: leader, **rest})
                continue
            roster = inside(group).roster
            if (leader := roster._members.pop(state["leader"] or "", None)) is not None:
                roster._members = {state["leader"]: leader, **roster._members}

    def compare_expired(self, step: Json, before_ms: int, now_ms: int) -> None:
        """Which timers run, but for those that are armed meanwhile: the states afterwards tell of them."""
        ran = {one["key"]: one["deadline_ms"] for one in step.get("expired", [])}
        for key, deadline_ms in ran.items():
            if deadline_ms <= before_ms or key in self._timers:
                expect(f"timer {key}", self._timers.get(key), deadline_ms)
        due = {key: at for key, at in self._armed().items() if at <= now_ms}
        known = {key: at for key, at in ran.items() if key in self._timers and self._changes(key)}
        cancelled = {key for key, at in due.items() if any(first <= at for first in known.values())} - known.keys()
        expect("timers that run", known, {key: at for key, at in due.items() if key not in cancelled})


def metadata_hash(topics: Json) -> int:
    """The machine's hash of these topics; None for one that there is not."""
    there = [{"name": name, **one} for name, one in topics.items() if one is not None]
    roster, view = Roster(0), Topics(there)
    roster.apply(ConsumerGroupMemberMetadata("member", MemberMetadata(topics=tuple(sorted(topics)))))
    subscribed = SubscribedTopics(roster, view)
    subscribed.image = view.counts
    return subscribed.metadata_hash()
