"""Kafka's consumer keys -> `sim.config.ClientConfig`, and which of them groupsim models."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from groupsim.scenarios.kafka.client_profiles import PROFILES
from groupsim.scenarios.kafka.keys import Value
from groupsim.sim.config import ClientConfig
from groupsim.sim.units import FOREVER, MS, S

_TIMES: Final = MappingProxyType(
    {
        "session.timeout.ms": "session_timeout_us",
        "heartbeat.interval.ms": "heartbeat_interval_us",
        "max.poll.interval.ms": "max_poll_interval_us",
        "auto.commit.interval.ms": "auto_commit_interval_us",
        "request.timeout.ms": "request_timeout_us",
        "retry.backoff.ms": "retry_backoff_us",
        "retry.backoff.max.ms": "retry_backoff_max_us",
        "socket.connection.setup.timeout.ms": "connection_setup_timeout_us",
        "metadata.max.age.ms": "metadata_max_age_us",
        "fetch.max.wait.ms": "fetch_max_wait_us",
    }
)
_OTHERS: Final = MappingProxyType(
    {
        "max.poll.records": "max_poll_records",
        "enable.auto.commit": "enable_auto_commit",
        "auto.offset.reset": "auto_offset_reset",
        "client.id": "client_id",
        "client.rack": "client_rack",
    }
)
_STRATEGY: Final = "partition.assignment.strategy"
MODELLED: Final = frozenset({*_TIMES, *_OTHERS, _STRATEGY, "group.protocol"})


_LINUX_CONNECT_US: Final = 127 * S
"""What bounded a connection attempt before 2.7: the kernel's six SYN retries."""


def resolved_consumer(client: str, given: Mapping[str, Value]) -> dict[str, Any]:
    """All modelled keys as a client profile has them, overlaid with ``given``, which may hold keys of any kind."""
    return {**PROFILES[client].defaults, **given}


def unknown_to(client: str, config: Mapping[str, Value]) -> list[str]:
    """The modelled keys in ``config`` that came after this generation of clients; it ignores them."""
    return sorted(key for key in config if key in PROFILES["4.4"].defaults and key not in PROFILES[client].defaults)


def client_config(client: str, given: Mapping[str, Value]) -> ClientConfig:
    """A consumer's configuration.

    Parameters
    ----------
    client : str
        A key of `PROFILES`.
    given : mapping
        Kafka keys with checked values, over the profile's defaults; keys the profile does not know have no effect.
    """
    profile = PROFILES[client]
    config = {key: value for key, value in resolved_consumer(client, given).items() if key in profile.defaults}
    fields: dict[str, Any] = _before_its_time(config)
    fields |= {field: config[key] * MS for key, field in _TIMES.items() if key in config}
    fields |= {field: config[key] for key, field in _OTHERS.items() if key in config}
    fields["partition_assignment_strategy"] = tuple(config[_STRATEGY])
    return ClientConfig(**fields, behaviour=profile.behaviour)


def _before_its_time(config: Mapping[str, Any]) -> dict[str, int]:
    """What held before a key existed, for the fields of keys that ``config`` lacks."""
    former = {
        "max.poll.interval.ms": ("max_poll_interval_us", FOREVER),
        "max.poll.records": ("max_poll_records", (1 << 31) - 1),
        "retry.backoff.max.ms": ("retry_backoff_max_us", config["retry.backoff.ms"] * MS),
        "socket.connection.setup.timeout.ms": ("connection_setup_timeout_us", _LINUX_CONNECT_US),
    }
    return {field: value for key, (field, value) in former.items() if key not in config}
