"""Kafka's group keys -> `sim.config.GroupConfig`: what brokers are told about a single group."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from groupsim.sim.config import GroupConfig
from groupsim.sim.units import MS

_FIELDS: Final = MappingProxyType(
    {
        "consumer.session.timeout.ms": "consumer_session_timeout_us",
        "consumer.heartbeat.interval.ms": "consumer_heartbeat_interval_us",
        "consumer.assignment.interval.ms": "consumer_assignment_interval_us",
    }
)
MODELLED_GROUP: Final = frozenset(_FIELDS)


def group_config(given: Mapping[str, Any]) -> GroupConfig:
    """What is set for a group; keys that are not given are left to the broker."""
    return GroupConfig(**{_FIELDS[key]: value * MS for key, value in given.items()})
