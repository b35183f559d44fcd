"""Kafka's broker and topic keys -> `sim.config.CoordinatorConfig`, and which of them groupsim models."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

from groupsim.scenarios.kafka.keys import Value
from groupsim.sim.config import BrokerConfig, CoordinatorConfig, TransactionConfig
from groupsim.sim.units import FOREVER, MINUTE, MS, S

_FIELDS: Final = MappingProxyType(
    {
        "group.initial.rebalance.delay.ms": ("initial_rebalance_delay_us", MS),
        "group.min.session.timeout.ms": ("min_session_timeout_us", MS),
        "group.max.session.timeout.ms": ("max_session_timeout_us", MS),
        "group.max.size": ("max_size", 1),
        "group.coordinator.threads": ("coordinator_threads", 1),
        "group.coordinator.append.linger.ms": ("append_linger_us", MS),
        "offsets.topic.num.partitions": ("offsets_topic_num_partitions", 1),
        "offsets.retention.minutes": ("offsets_retention_us", MINUTE),
        "offsets.retention.check.interval.ms": ("offsets_retention_check_interval_us", MS),
        "group.consumer.session.timeout.ms": ("consumer_session_timeout_us", MS),
        "group.consumer.min.session.timeout.ms": ("consumer_min_session_timeout_us", MS),
        "group.consumer.max.session.timeout.ms": ("consumer_max_session_timeout_us", MS),
        "group.consumer.heartbeat.interval.ms": ("consumer_heartbeat_interval_us", MS),
        "group.consumer.min.heartbeat.interval.ms": ("consumer_min_heartbeat_interval_us", MS),
        "group.consumer.max.heartbeat.interval.ms": ("consumer_max_heartbeat_interval_us", MS),
        "group.consumer.assignment.interval.ms": ("consumer_assignment_interval_us", MS),
        "group.consumer.min.assignment.interval.ms": ("consumer_min_assignment_interval_us", MS),
        "group.consumer.max.assignment.interval.ms": ("consumer_max_assignment_interval_us", MS),
        "group.consumer.max.size": ("consumer_max_size", 1),
        "group.consumer.regex.refresh.interval.ms": ("consumer_regex_refresh_interval_us", MS),
    }
)
ASSIGNORS: Final = "group.consumer.assignors"
POLICY: Final = "group.consumer.migration.policy"
PROTOCOLS: Final = "group.coordinator.rebalance.protocols"
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
        "group.coordinator.threads": 4,
        "group.coordinator.append.linger.ms": -1,
        "group.consumer.session.timeout.ms": 45_000,
        "group.consumer.min.session.timeout.ms": 45_000,
        "group.consumer.max.session.timeout.ms": 60_000,
        "group.consumer.heartbeat.interval.ms": 5_000,
        "group.consumer.min.heartbeat.interval.ms": 5_000,
        "group.consumer.max.heartbeat.interval.ms": 15_000,
        "group.consumer.assignment.interval.ms": 1_000,
        "group.consumer.min.assignment.interval.ms": 0,
        "group.consumer.max.assignment.interval.ms": 15_000,
        "group.consumer.max.size": 2_147_483_647,
        "group.consumer.regex.refresh.interval.ms": 600_000,
        ASSIGNORS: ["uniform", "range"],
        POLICY: "bidirectional",
        "offsets.topic.num.partitions": 50,
        "offsets.retention.minutes": 10_080,
        "offsets.retention.check.interval.ms": 600_000,
        "log.retention.hours": 168,
        _CHECK: 300_000,
    }
)
_SINCE_4_3: Final = ("group.consumer.assignment.interval.ms", "group.consumer.min.assignment.interval.ms",
                     "group.consumer.max.assignment.interval.ms")  # fmt: skip
_SINCE_4_1: Final = ("group.consumer.regex.refresh.interval.ms",)
_BEFORE_ITS_TIME: Final = MappingProxyType(
    {
        "group.initial.rebalance.delay.ms": ("initial_rebalance_delay_us", 0),
        "group.coordinator.threads": ("coordinator_threads", 8),
        "group.coordinator.append.linger.ms": ("append_linger_us", 0),
        "group.consumer.assignment.interval.ms": ("consumer_assignment_interval_us", 0),
        "group.consumer.regex.refresh.interval.ms": ("consumer_regex_refresh_interval_us", FOREVER),
    }
)
"""What a coordinator did that did not know the key yet: no waiting, no refreshing; ``num.io.threads`` did the work."""


def _without(base: Mapping[str, Value], *absent: str, **changed: Value) -> Mapping[str, Value]:
    kept = {key: value for key, value in base.items() if key not in absent}
    return MappingProxyType(kept | {key.replace("_", "."): value for key, value in changed.items()})


_4_2: Final = _without(_4_4, *_SINCE_4_3)
_4_1: Final = _without(_4_2, group_coordinator_append_linger_ms=5)
_4_0: Final = _without(_4_1, *_SINCE_4_1)
_CAME_AFTER_0_9: Final = (
    "group.initial.rebalance.delay.ms", "group.max.size", "group.coordinator.threads",
    "group.coordinator.append.linger.ms", *(key for key in _4_4 if key.startswith("group.consumer."))
)  # fmt: skip
_0_9: Final = _without(
    _4_4, *_CAME_AFTER_0_9, group_max_session_timeout_ms=30_000, offsets_retention_minutes=1_440
)  # fmt: skip
COORDINATORS: Final[Mapping[str, Mapping[str, Value]]] = MappingProxyType(
    {"4.4": _4_4, "4.3": _4_4, "4.2": _4_2, "4.1": _4_1, "4.0": _4_0, "0.9": _0_9}
)
"""Defaults of the modelled keys by ``cluster.version``; those of 0.9 are 0.9.0.1's (``kafka.server.Defaults``)."""

_CLUSTER_FIELDS: Final = MappingProxyType(
    {
        "broker.session.timeout.ms": ("session_timeout_us", MS),
        "broker.heartbeat.interval.ms": ("heartbeat_interval_us", MS),
        "controller.quorum.fetch.timeout.ms": ("quorum_fetch_timeout_us", MS),
        "controller.quorum.election.timeout.ms": ("quorum_election_timeout_us", MS),
        "leader.imbalance.check.interval.seconds": ("leader_imbalance_check_us", S),
        "offsets.topic.replication.factor": ("offsets_replication_factor", 1),
        "offsets.commit.timeout.ms": ("offsets_commit_timeout_us", MS),
        "offsets.topic.segment.bytes": ("offsets_segment_bytes", 1),
        "log.cleaner.min.cleanable.ratio": ("min_cleanable_ratio", 1),
        "min.insync.replicas": ("min_insync_replicas", 1),
        "replica.lag.time.max.ms": ("replica_lag_time_max_us", MS),
    }
)
_TRANSACTION_FIELDS: Final = MappingProxyType(
    {
        "transaction.max.timeout.ms": ("max_timeout_us", MS),
        "transactional.id.expiration.ms": ("id_expiration_us", MS),
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": ("abort_interval_us", MS),
        "transaction.remove.expired.transaction.cleanup.interval.ms": ("remove_interval_us", MS),
        "transaction.state.log.num.partitions": ("topic_partitions", 1),
        "transaction.state.log.replication.factor": ("replication_factor", 1),
        "transaction.state.log.min.isr": ("min_insync", 1),
    }
)
_VERIFIED: Final = "transaction.partition.verification.enable"
_BALANCES: Final = "auto.leader.rebalance.enable"
_CLEANS: Final = "log.cleaner.enable"
_MIN_INSYNC: Final = "min.insync.replicas"
_UNCLEAN: Final = "unclean.leader.election.enable"
SELECTOR: Final = "replica.selector.class"
RACK_AWARE: Final = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
"""The only class of Kafka's own: without it everybody reads from leaders (``ReplicaManager``, 4.4)."""

MODELLED_BROKER: Final = frozenset(
    {*_FIELDS, *_LOG_RETENTION, *_CLUSTER_FIELDS, *_TRANSACTION_FIELDS, ASSIGNORS, POLICY, PROTOCOLS, _CHECK, _BALANCES,
     _CLEANS, _UNCLEAN, _VERIFIED, SELECTOR, "default.replication.factor"}
)  # fmt: skip
MODELLED_TOPIC: Final = frozenset({"retention.ms", _MIN_INSYNC, _UNCLEAN})


def resolved_broker(version: str, given: Mapping[str, Value]) -> dict[str, Any]:
    """All modelled keys as a broker of that version has them, overlaid with ``given``, which may hold any keys."""
    return {**COORDINATORS[version], **given}


def coordinator_config(version: str, given: Mapping[str, Value]) -> CoordinatorConfig:
    """The group coordinator's configuration.

    Parameters
    ----------
    version : str
        A key of `COORDINATORS`.
    given : mapping
        Kafka keys with checked values; those that this version does not know have no effect.
    """
    known = COORDINATORS[version]
    config = resolved_broker(version, given)
    fields = {field: config[key] * unit for key, (field, unit) in _FIELDS.items() if key in known}
    fields |= dict(held for key, held in _BEFORE_ITS_TIME.items() if key not in known)
    if ASSIGNORS in known:
        fields["consumer_assignors"] = tuple(config[ASSIGNORS])
        fields["consumer_migration_policy"] = config[POLICY]
    return CoordinatorConfig(**fields, version=version)


def broker_config(given: Mapping[str, Any]) -> BrokerConfig:
    """What decides when somebody else leads; 4.4's defaults where ``given`` has no value."""
    fields = {field: given[key] * unit for key, (field, unit) in _CLUSTER_FIELDS.items() if key in given}
    if not given.get(_BALANCES, True):
        fields["leader_imbalance_check_us"] = FOREVER
    return BrokerConfig(
        **fields, is_cleaned=given.get(_CLEANS, True), unclean_leader_election=is_unclean({}, given),
        is_rack_aware=given.get(SELECTOR) == RACK_AWARE,
    )  # fmt: skip


def transaction_config(given: Mapping[str, Any], version: Literal[1, 2] = 2) -> TransactionConfig:
    """The transaction coordinators' configuration; 4.4's defaults where ``given`` has no value.

    ``version`` is the level of the feature transaction.version.
    """
    fields = {field: given[key] * unit for key, (field, unit) in _TRANSACTION_FIELDS.items() if key in given}
    return TransactionConfig(**fields, version=version, is_verified=given.get(_VERIFIED, True))


def min_insync(topic: Mapping[str, Any], broker: Mapping[str, Any]) -> int:
    """A topic's ``min.insync.replicas``: its own, else the broker's."""
    return int(topic.get(_MIN_INSYNC, broker.get(_MIN_INSYNC, 1)))


def is_unclean(topic: Mapping[str, Any], broker: Mapping[str, Any]) -> bool:
    """A topic's ``unclean.leader.election.enable``: its own, else the broker's."""
    return bool(topic.get(_UNCLEAN, broker.get(_UNCLEAN, False)))


def unknown_to_coordinator(version: str, config: Mapping[str, Value]) -> list[str]:
    """The modelled keys in ``config`` that came after this version; it ignores them."""
    known = {*_FIELDS, ASSIGNORS, POLICY}
    return sorted(key for key in config if key in known and key not in COORDINATORS[version])


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
