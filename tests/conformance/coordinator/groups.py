"""The groups of one conversation: the machines, and what Kafka's groups and timers are like by now."""

from __future__ import annotations

import re
from typing import Any

from groupsim.sim.config import CoordinatorConfig
from groupsim.sim.protocol.classic.group import ClassicGroup
from groupsim.sim.units import MS
from tests.conformance.coordinator.fields import Unplayable, expect
from tests.conformance.coordinator.state import armed, can_change_anything, compare_group, inside
from tests.conformance.coordinator.wire import Json, Payloads

_LONG_US = 1 << 60
_CONFIG = {"group.initial.rebalance.delay.ms": ("initial_rebalance_delay_us", MS), "group.max.size": ("max_size", 1)}
_OF_OTHERS = re.compile(
    r"group\.(consumer|share|streams)\..*|group\.(min|max)\.session\.timeout\.ms|offsets\.retention\.ms"
)
"""Settings of other groups, of the service layer, and of the host, which lets offsets expire."""

_NEW_GROUP = {
    "type": "classic", "state": "Empty", "generation": 0, "protocol_type": None, "protocol": None, "leader": None,
    "new_member_added": False, "static_members": {}, "pending_join": [], "pending_sync": [], "members": {},
}  # fmt: skip


def _configuration(settings: Json) -> CoordinatorConfig:
    """Limits of the session timeout are the service layer's, whose checks are not in the conversations."""
    chosen: dict[str, Any] = {}
    for key, value in settings.items():
        if key in _CONFIG:
            name, unit = _CONFIG[key]
            chosen[name] = value * unit
        elif not _OF_OTHERS.fullmatch(key):
            raise Unplayable(f"setting {key}")
    limits = {"min_session_timeout_us": -_LONG_US, "max_session_timeout_us": _LONG_US, "offsets_retention_us": _LONG_US}
    return CoordinatorConfig(**limits, **chosen)


class Groups:
    """Machines beside what Kafka has.

    Parameters
    ----------
    settings : dict
        The brokers', by Kafka's keys.
    payloads : Payloads

    Attributes
    ----------
    machines : dict
        Group id -> the machine.
    ids : set of str
        Every member id that has been heard of.
    """

    def __init__(self, settings: Json, payloads: Payloads) -> None:
        self._config, self._payloads = _configuration(settings), payloads
        self.machines: dict[str, ClassicGroup] = {}
        self.ids: set[str] = set()
        self._states: dict[str, Json] = {}
        self._timers: dict[str, int] = {}

    def get(self, group_id: str) -> ClassicGroup:
        """The machine of a group; one of which nothing is known, if there is none."""
        return self.machines.setdefault(group_id, self.unknown(group_id))

    def unknown(self, group_id: str) -> ClassicGroup:
        """A machine of which nothing is known."""
        return ClassicGroup(group_id, self._config)

    def create(self, now_ms: int, group_id: str) -> None:
        """A test makes a group, in memory only."""
        inside(self.get(group_id)).create(now_ms * MS)
        self._states[group_id] = _NEW_GROUP | {"state_timestamp": now_ms}

    def compare(self, step: Json) -> None:
        """Every group and every timer."""
        for group_id, state in step.get("groups", {}).items():
            self.ids |= set((state or {}).get("members", {})) | set((state or {}).get("pending_join", []))
            self._states[group_id] = state
        for group_id in self.machines.keys() | self._states.keys():
            compare_group(group_id, self._states.get(group_id), self.get(group_id), self._payloads)
        for key, deadline_ms in step.get("timers", {}).items():
            self._timers.pop(key, None)
            if deadline_ms is not None:
                self._timers[key] = deadline_ms
        expect("timers", {key: at for key, at in sorted(self._timers.items()) if self._changes(key)}, self._armed())

    def _armed(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for group_id, group in self.machines.items():
            found |= armed(group_id, group, self.ids)
        return dict(sorted(found.items()))

    def _changes(self, key: str) -> bool:
        """Whether the timer would do anything if it ran."""
        return any(can_change_anything(key, group_id, state) for group_id, state in self._states.items())

    def choose_as_kafka(self, step: Json) -> None:
        """Where the order of a Java hash map decides, let the machine walk members in an order with Kafka's result."""
        for group_id, state in step.get("groups", {}).items():
            members = self.get(group_id).roster._members
            if state is not None and (leader := members.pop(state["leader"] or "", None)) is not None:
                self.get(group_id).roster._members = {state["leader"]: leader, **members}

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
