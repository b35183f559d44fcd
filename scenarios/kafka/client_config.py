"""Kafka's consumer keys -> `sim.config.ClientConfig`, and which of them groupsim models."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final

from groupsim.scenarios.kafka.client_profiles import NEWEST, PROFILES, ClientProfile
from groupsim.scenarios.kafka.keys import Value
from groupsim.scenarios.kafka.zookeeper_consumer import SESSION, zookeeper_client_config
from groupsim.sim.config import ClientConfig, GroupProtocol
from groupsim.sim.units import FOREVER, MS, S

_TIMES: Final = MappingProxyType(
    {
        "session.timeout.ms": "session_timeout_us",
        "heartbeat.interval.ms": "heartbeat_interval_us",
        "max.poll.interval.ms": "max_poll_interval_us",
        "auto.commit.interval.ms": "auto_commit_interval_us",
        "request.timeout.ms": "request_timeout_us",
        "default.api.timeout.ms": "default_api_timeout_us",
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
        "isolation.level": "isolation_level",
    }
)
_SIZES: Final = MappingProxyType(
    {
        "fetch.min.bytes": "fetch_min_bytes",
        "fetch.max.bytes": "fetch_max_bytes",
        "max.partition.fetch.bytes": "max_partition_fetch_bytes",
    }
)
"""Of fetches; where a file does not say them, `sim.config.ClientConfig` does."""
_STRATEGY: Final = "partition.assignment.strategy"
_PROTOCOL: Final = "group.protocol"
_REMOTE_ASSIGNOR: Final = "group.remote.assignor"
MODELLED: Final = frozenset({*_TIMES, *_OTHERS, *_SIZES, _STRATEGY, _PROTOCOL, _REMOTE_ASSIGNOR})

FORBIDDEN: Final[Mapping[GroupProtocol, tuple[str, ...]]] = MappingProxyType(
    {
        "classic": (_REMOTE_ASSIGNOR, "share.acknowledgement.mode"),
        "consumer": (_STRATEGY, "heartbeat.interval.ms", "session.timeout.ms", "share.acknowledgement.mode"),
        "zookeeper": (),
    }
)
"""Keys that a protocol does not go with (``CLASSIC_`` and ``CONSUMER_PROTOCOL_UNSUPPORTED_CONFIGS``, Kafka 4.4)."""


_SECONDS: Final = MappingProxyType({"D": 86_400, "H": 3_600, "M": 60, "S": 1})
_LINUX_CONNECT_US: Final = 127 * S
"""What bounded a connection attempt before 2.7: the kernel's six SYN retries."""


def protocol_of(config: Mapping[str, Any]) -> GroupProtocol:
    """The group protocol that a consumer's configuration chooses."""
    if SESSION in config:
        return "zookeeper"
    return "consumer" if config.get(_PROTOCOL) == "consumer" else "classic"


def resolved_consumer(profile: ClientProfile, given: Mapping[str, Value]) -> dict[str, Any]:
    """All modelled keys as a client has them, overlaid with ``given``, which may hold keys of any kind.

    Defaults of keys that the chosen protocol forbids are left out.
    """
    forbidden = FORBIDDEN[protocol_of(given)]
    return {**{key: value for key, value in profile.defaults.items() if key not in forbidden}, **given}


def layered(profile: ClientProfile, layers: Sequence[Mapping[str, Value]]) -> dict[str, Any]:
    """All modelled keys after changes on top of one another.

    A change of ``group.protocol`` takes away what the layers below say of keys that the new protocol forbids, as
    whoever deploys it must: Kafka takes no configuration with both. What the change itself says stays, to be refused.

    Parameters
    ----------
    profile : ClientProfile
    layers : sequence of mapping
        Kafka keys with checked values, the undermost first.
    """
    merged = {key: value for layer in layers for key, value in layer.items()}
    protocol = protocol_of(merged)
    since = len(layers)
    while since and _last_protocol(layers[:since]) == protocol:
        since -= 1
    above = {key for layer in layers[since:] for key in layer}
    kept = {key: value for key, value in merged.items() if key in above or key not in FORBIDDEN[protocol]}
    return resolved_consumer(profile, kept)


def _last_protocol(layers: Sequence[Mapping[str, Value]]) -> GroupProtocol:
    """The group protocol that layers choose together."""
    return next((protocol_of(layer) for layer in reversed(layers) if _PROTOCOL in layer), "classic")


def unknown_to(profile: ClientProfile, config: Mapping[str, Value]) -> list[str]:
    """The modelled keys in ``config`` that this generation of clients does not have; it ignores them."""
    known = {*PROFILES["java"][NEWEST].defaults, _PROTOCOL, _REMOTE_ASSIGNOR}
    own = {*profile.defaults, *(() if profile.no_consumer_protocol else (_PROTOCOL, _REMOTE_ASSIGNOR))}
    return sorted(key for key in config if key in known and key not in own)


def client_config(profile: ClientProfile, given: Mapping[str, Value]) -> ClientConfig:
    """A consumer's configuration.

    Parameters
    ----------
    profile : ClientProfile
    given : mapping
        Kafka keys with checked values, over the profile's defaults; keys the profile does not know have no effect.
    """
    resolved = resolved_consumer(profile, given)
    if protocol_of(resolved) == "zookeeper":
        return zookeeper_client_config(resolved)
    config = {key: value for key, value in resolved.items() if key in profile.defaults}
    fields: dict[str, Any] = _before_its_time(config)
    fields |= {field: config[key] * MS for key, field in _TIMES.items() if key in config}
    fields |= {field: config[key] for key, field in _OTHERS.items() if key in config}
    fields |= {field: resolved[key] for key, field in _SIZES.items() if key in resolved}
    fields |= _by_duration(str(config["auto.offset.reset"]))
    if _STRATEGY in config:
        fields["partition_assignment_strategy"] = tuple(config[_STRATEGY])
    if not profile.no_consumer_protocol:
        fields |= {"group_protocol": protocol_of(given), "group_remote_assignor": given.get(_REMOTE_ASSIGNOR)}
    return ClientConfig(**fields, behaviour=profile.behaviour)


def _by_duration(reset: str) -> dict[str, Any]:
    """``auto.offset.reset: by_duration:PnDTnHnMn.nS``, which has been checked, in microseconds."""
    name, _, duration = reset.partition(":")
    if not duration:
        return {}
    parts = re.findall(r"([\d.]+)([DHMS])", duration)
    seconds = sum(Fraction(number) * _SECONDS[unit] for number, unit in parts)
    return {"auto_offset_reset": name, "reset_duration_us": int(seconds * S)}


def _before_its_time(config: Mapping[str, Any]) -> dict[str, int]:
    """What held before a key existed, for the fields of keys that ``config`` lacks."""
    former = {
        "max.poll.interval.ms": ("max_poll_interval_us", FOREVER),
        "max.poll.records": ("max_poll_records", (1 << 31) - 1),
        "default.api.timeout.ms": ("default_api_timeout_us", FOREVER),
        "retry.backoff.max.ms": ("retry_backoff_max_us", config["retry.backoff.ms"] * MS),
        "socket.connection.setup.timeout.ms": ("connection_setup_timeout_us", _LINUX_CONNECT_US),
    }
    return {field: value for key, (field, value) in former.items() if key not in config}
