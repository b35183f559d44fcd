"""Kafka's broker and topic keys -> `sim.config.CoordinatorConfig`, and which of them groupsim models."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from groupsim.scenarios.kafka.keys import Value
from groupsim.sim.config import CoordinatorConfig
from groupsim.sim.units import FOREVER, MINUTE, MS

_FIELDS: Final = MappingProxyType(
    {
        "group.initial.rebalance.delay.ms": ("initial_rebalance_delay_us", MS),
        "group.min.session.timeout.ms": ("min_session_timeout_us", MS),
        "group.max.session.timeout.ms": ("max_session_timeout_us", MS),
        "group.max.size": ("max_size", 1),
        "offsets.topic.num.partitions": ("offsets_topic_num_partitions", 1),
        "offsets.retention.minutes": ("offsets_retention_us", MINUTE),
        "offsets.retention.check.interval.ms": ("offsets_retention_check_interval_us", MS),
    }
)
_LOG_RETENTION: Final = MappingProxyType(
    {"log.retention.ms": MS, "log.retention.minutes": MINUTE, "log.retention.hours": 60 * MINUTE}
)
"""The first that is set holds (``KafkaConfig.logRetentionTimeMillis``)."""

_CHECK: Final = "log.retention.check.interval.ms"

_4_4: Final[Mapping[str, Value]] = MappingProxyType(
    {
        "group.initial.rebalance.delay.ms": 3_000,
        "group.min.session.timeout.ms": 6_000,
        "group.max.session.timeout.ms": 1_800_000,
        "group.max.size": 2_147_483_647,
        "offsets.topic.num.partitions": 50,
        "offsets.retention.minutes": 10_080,
        "offsets.retention.check.interval.ms": 600_000,
        "log.retention.hours": 168,
        _CHECK: 300_000,
    }
)
_NOT_IN_0_9: Final = ("group.initial.rebalance.delay.ms", "group.max.size")
COORDINATORS: Final[Mapping[str, Mapping[str, Value]]] = MappingProxyType(
    {
        "4.4": _4_4,
        "0.9": MappingProxyType(
            {key: value for key, value in _4_4.items() if key not in _NOT_IN_0_9}
            | {"group.max.session.timeout.ms": 30_000, "offsets.retention.minutes": 1_440}
        ),
    }
)
"""Defaults of the modelled keys by coordinator; those of 0.9 are 0.9.0.1's (``kafka.server.Defaults``)."""

MODELLED_BROKER: Final = frozenset({*_FIELDS, *_LOG_RETENTION, _CHECK, "default.replication.factor"})
MODELLED_TOPIC: Final = frozenset({"retention.ms"})


def resolved_broker(coordinator: str, given: Mapping[str, Value]) -> dict[str, Any]:
    """All modelled keys as a coordinator profile has them, overlaid with ``given``, which may hold keys of any kind."""
    return {**COORDINATORS[coordinator], **given}


def coordinator_config(coordinator: str, given: Mapping[str, Value]) -> CoordinatorConfig:
    """The group coordinator's configuration.

    Parameters
    ----------
    coordinator : {"4.4", "0.9"}
    given : mapping
        Kafka keys with checked values; those that the coordinator does not know have no effect.
    """
    known = COORDINATORS[coordinator]
    config = resolved_broker(coordinator, given)
    fields = {field: config[key] * unit for key, (field, unit) in _FIELDS.items() if key in known}
    if coordinator == "0.9":
        fields["initial_rebalance_delay_us"] = 0
    return CoordinatorConfig(**fields, version=coordinator)


def unknown_to_coordinator(coordinator: str, config: Mapping[str, Value]) -> list[str]:
    """The modelled keys in ``config`` that came after this coordinator; it ignores them."""
    return sorted(key for key in config if key in _FIELDS and key not in COORDINATORS[coordinator])


def log_retention_check_us(config: Mapping[str, Any]) -> int:
    """How often brokers look for records that are too old, microseconds."""
    return int(config[_CHECK]) * MS


def retention_us(topic: Mapping[str, Any], broker: Mapping[str, Any], horizon_us: int) -> int:
    """How long a topic keeps records: its own ``retention.ms``, else the broker's, in microseconds.

    `FOREVER` when nothing can reach that age within the run, so that the simulator need not look.
    """
    if "retention.ms" in topic:
        value_us = topic["retention.ms"] * MS
    else:
        value_us = next(broker[key] * unit for key, unit in _LOG_RETENTION.items() if key in broker)
    return FOREVER if value_us < 0 or value_us >= horizon_us else value_us
