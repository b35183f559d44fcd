"""Every modelled key of Kafka's is read by the simulator, and changes what it gives in some scenario."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

import groupsim.sim
from groupsim.sim import simulate
from groupsim.sim.config import ClientConfig, CoordinatorConfig, EventTimes, GroupConfig
from groupsim.sim.model import (
    Broker,
    Close,
    Cut,
    Distribution,
    Entry,
    Link,
    Network,
    Override,
    Processing,
    Rate,
    Scenario,
    Subscription,
    Target,
    Topic,
)
from groupsim.sim.units import MINUTE, MS, S
from tests.support.scenarios import AUTO, at, client, close, group, hang, kill, member, scenario
from tests.unit.sim.chained_scenes import chain, reader

Play = Callable[[ClientConfig, CoordinatorConfig], Scenario]


def _played(*timeline: Entry, members: int = 3, processing: Processing = AUTO, **world: Any) -> Play:
    """Three members on twelve partitions at ten records a second each, for a minute."""

    def play(config: ClientConfig, coordinator: CoordinatorConfig) -> Scenario:
        one = group(members, client=config, processing=processing)
        given = {"horizon_us": MINUTE, "rate_mrps": 10_000, "delay_us": coordinator.initial_rebalance_delay_us, **world}
        return scenario(one, *timeline, config=coordinator, **given)

    return play


def _cut(config: ClientConfig, coordinator: CoordinatorConfig) -> Scenario:
    """A member cannot reach the only broker for half a minute."""
    cut = Cut(between=(member(0), Target("broker", "0")), duration=Distribution.constant(30 * S))
    return _played(at(20 * S, cut), horizon_us=2 * MINUTE)(config, coordinator)


def _racks(config: ClientConfig, coordinator: CoordinatorConfig) -> Scenario:
    """Brokers in two racks, a replica of each partition in one of them."""
    world = _played()(config, coordinator)
    brokers = (Broker(id=0, rack="a"), Broker(id=1, rack="b"))
    topics = tuple(replace(topic, replication_factor=1) for topic in world.topics)
    return replace(world, cluster=replace(world.cluster, brokers=brokers), topics=topics)


def _large_records(config: ClientConfig, coordinator: CoordinatorConfig) -> Scenario:
    """Records of 64 KiB over links of 20 ms: fetches decide how fast they can be read."""
    world = _played(latency=Distribution.constant(20 * MS))(config, coordinator)
    return replace(world, topics=tuple(replace(topic, record_bytes=64 << 10) for topic in world.topics))


def _one_broker(config: ClientConfig, coordinator: CoordinatorConfig) -> Scenario:
    """What is read anew waits behind what is read."""
    world = _played(close(20 * S, 0), brokers=1)(config, coordinator)
    return replace(world, topics=tuple(replace(topic, record_bytes=100) for topic in world.topics))


def _far_coordinator(config: ClientConfig, coordinator: CoordinatorConfig) -> Scenario:
    """One of three brokers is far away."""
    world = _played(brokers=3)(config, coordinator)
    far = Link(between=("broker:1", "g"), latency=Distribution.constant(70 * MS))
    return replace(world, cluster=replace(world.cluster, network=Network(links=(far,))))


def _committing_while_away(config: ClientConfig, coordinator: CoordinatorConfig) -> Scenario:
    """commitSync after each batch, while the coordinator's log is read for some seconds."""
    away = at(20 * S, Close(target=Target("broker", "coordinator/g")))
    world = _played(away, brokers=3, processing=Processing(commit="after_batch", commit_waits=True))(
        config, coordinator
    )
    return replace(world, cluster=replace(world.cluster, offsets_log_bytes=600 << 20))


def _busy_shards(config: ClientConfig, coordinator: CoordinatorConfig) -> Scenario:
    """Two groups, each of which keeps its shard busy for six tenths of the time."""
    world = _played()(config, coordinator)
    (one,) = world.groups
    groups = tuple(replace(one, name=name) for name in ("g", "h"))
    return replace(world, cluster=replace(world.cluster, event_times=EventTimes(heartbeat_us=600 * MS)), groups=groups)


def _empty(config: ClientConfig, coordinator: CoordinatorConfig) -> Scenario:
    """Everybody closes, and a member comes back five minutes later: are the group's offsets still there?"""
    back = kill(20 * S, 0, down_us=5 * MINUTE)
    return _played(back, close(20 * S, 1, 2), horizon_us=7 * MINUTE)(config, coordinator)


def _chained(config: ClientConfig, coordinator: CoordinatorConfig) -> Scenario:
    """The group reads what another one writes in transactions."""
    return chain(readers=(reader(client=config),), horizon_s=12)


def _consumers(*timeline: Entry, group_config: GroupConfig | None = None, mixed: bool = False, **world: Any) -> Play:
    """The same in a group of the consumer protocol; ``mixed``: its first member keeps to the classic one."""

    def play(config: ClientConfig, coordinator: CoordinatorConfig) -> Scenario:
        found = _played(*timeline, **world)(replace(config, group_protocol="consumer"), coordinator)
        (one,) = found.groups
        classic = Override(members=frozenset((0,)), client=config) if mixed else Override(members=frozenset())
        topics = Subscription(topics=tuple(topic.name for topic in found.topics))
        one = replace(one, group_config=group_config or GroupConfig(), overrides=(classic,), subscription=topics)
        return replace(found, groups=(one,))

    return play


def _set(**values: int) -> GroupConfig:
    return GroupConfig(**{f"consumer_{name}": value for name, value in values.items()})


TWO = (Topic(name="u", partitions=2, rate=Rate()),)
IDLE = _played(hang(30 * S, 20 * S, 0), rate_mrps=0, processing=Processing(poll_timeout_us=5 * S))
SLOW = _played(processing=Processing(per_record=Distribution.constant(24 * MS)))
BUSY = _played(processing=Processing(per_record=Distribution.constant(1 * MS), per_poll_us=50 * MS))

CLIENT: dict[str, tuple[Play, ClientConfig, object]] = {
    "session_timeout_us": (_played(kill(20 * S, 0)), client(), 8 * S),
    "heartbeat_interval_us": (_played(), client(), 1 * S),
    "max_poll_interval_us": (_played(hang(20 * S, 20 * S, 0)), client(max_poll_interval_us=8 * S), 9 * S),
    "max_poll_records": (BUSY, client(), 2),
    "partition_assignment_strategy": (_played(), client(), ("roundrobin",)),
    "enable_auto_commit": (_played(), client(), True),
    "auto_commit_interval_us": (_played(), client(enable_auto_commit=True), 2 * S),
    "auto_offset_reset": (SLOW, client(), "latest"),
    "reset_duration_us": (SLOW, client(auto_offset_reset="by_duration"), 5 * S),
    "default_api_timeout_us": (_committing_while_away, client(enable_auto_commit=False), 2 * S),
    "request_timeout_us": (_cut, client(), 3 * S),
    "retry_backoff_us": (_cut, client(request_timeout_us=3 * S), 300 * MS),
    "retry_backoff_max_us": (_cut, client(request_timeout_us=3 * S), 100 * MS),
    "connection_setup_timeout_us": (_cut, client(request_timeout_us=3 * S), 1 * S),
    "metadata_max_age_us": (_played(), client(), 5 * S),
    "fetch_max_wait_us": (IDLE, client(max_poll_interval_us=8 * S), 2_600 * MS),
    "fetch_min_bytes": (_one_broker, client(), 1 << 20),
    "fetch_max_bytes": (_large_records, client(), 128 << 10),
    "max_partition_fetch_bytes": (_large_records, client(), 64 << 10),
    "client_id": (_played(), client(), "orders"),
    "client_rack": (_racks, client(), "a"),
    "group_protocol": (_played(), client(), "consumer"),
    "isolation_level": (_chained, client(enable_auto_commit=False), "read_committed"),
    "group_remote_assignor": (_consumers(more_topics=TWO), client(), "range"),
}
"""Field -> a scenario, a configuration, and the value that makes a difference."""

SHORT = {"offsets_retention_us": 2 * MINUTE, "offsets_retention_check_interval_us": 10 * S}
COORDINATOR: dict[str, tuple[Play, object]] = {
    "initial_rebalance_delay_us": (_played(), 1 * S),
    "min_session_timeout_us": (_played(), 11 * S),
    "max_session_timeout_us": (_played(), 9 * S),
    "max_size": (_played(), 2),
    "offsets_topic_num_partitions": (_far_coordinator, 2),
    "coordinator_threads": (_busy_shards, 1),
    "append_linger_us": (_played(), 50 * MS),
    "offsets_retention_us": (_empty, 10 * MINUTE),
    "offsets_retention_check_interval_us": (_empty, 10 * MINUTE),
    "new_member_join_timeout_us": (_played(kill(800 * MS, 0)), 1 * S),
    "version": (_played(), "0.9"),
    "consumer_session_timeout_us": (_consumers(kill(5 * S, 0)), 50 * S),
    "consumer_min_session_timeout_us": (
        _consumers(kill(5 * S, 0), group_config=_set(session_timeout_us=20 * S)),
        20 * S,
    ),
    "consumer_max_session_timeout_us": (
        _consumers(kill(5 * S, 0), group_config=_set(session_timeout_us=49 * S)),
        46 * S,
    ),
    "consumer_heartbeat_interval_us": (_consumers(), 6 * S),
    "consumer_min_heartbeat_interval_us": (_consumers(group_config=_set(heartbeat_interval_us=2 * S)), 2 * S),
    "consumer_max_heartbeat_interval_us": (_consumers(group_config=_set(heartbeat_interval_us=9 * S)), 7 * S),
    "consumer_assignment_interval_us": (_consumers(), 0),
    "consumer_min_assignment_interval_us": (_consumers(group_config=_set(assignment_interval_us=0)), 2 * S),
    "consumer_max_assignment_interval_us": (_consumers(group_config=_set(assignment_interval_us=9 * S)), 0),
    "consumer_max_size": (_consumers(), 2),
    "consumer_assignors": (_consumers(more_topics=TWO), ("range", "uniform")),
    "consumer_migration_policy": (_consumers(mixed=True), "disabled"),
}


NO_TRACE = {"consumer_regex_refresh_interval_us", "offset_metadata_max_size"}
"""Nothing comes of resolving patterns again but what new topics have brought about already, and no member here commits
metadata with its offsets: Kafka's conversations alone do."""


def _digests(play: Play, config: ClientConfig, coordinator: CoordinatorConfig) -> dict[str, str]:
    return dict(simulate(play(config, coordinator), seed=3).manifest["digests"])


def test_every_field_has_a_case() -> None:
    assert set(CLIENT) == {field.name for field in fields(ClientConfig)} - {"behaviour", "zookeeper"}
    assert set(COORDINATOR) == {field.name for field in fields(CoordinatorConfig)} - NO_TRACE


@pytest.mark.parametrize("field", CLIENT)
def test_every_consumer_key_changes_some_table(field: str) -> None:
    play, config, value = CLIENT[field]
    broker = CoordinatorConfig(min_session_timeout_us=1 * S)
    assert _digests(play, config, broker) != _digests(play, replace(config, **{field: value}), broker)


@pytest.mark.parametrize("field", COORDINATOR)
def test_every_coordinator_key_changes_some_table(field: str) -> None:
    play, value = COORDINATOR[field]
    config, broker = client(enable_auto_commit=True), CoordinatorConfig(**SHORT)
    assert _digests(play, config, broker) != _digests(play, config, replace(broker, **{field: value}))


def test_the_simulator_reads_every_field() -> None:
    root = Path(groupsim.sim.__file__).parent
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in root.rglob("*.py")]
    read = {node.attr for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert {field.name for kind in (ClientConfig, CoordinatorConfig) for field in fields(kind)} <= read
