"""Kafka's configuration keys: which there are, how their values are read, where they end up."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.scenarios.kafka import broker_config, client_config
from groupsim.scenarios.kafka.client_profiles import PROFILES, newest_of
from groupsim.scenarios.kafka.keys import HIDDEN, find_key, is_mistyped, known_keys
from groupsim.sim.config import ClientBehaviour, ClientConfig, CoordinatorConfig
from groupsim.sim.units import FOREVER, MINUTE, MS, S

JAVA = PROFILES["java"]
SHORT_NAMES = {"RangeAssignor": "range", "CooperativeStickyAssignor": "cooperative-sticky"}


@pytest.mark.parametrize(("kind", "number"), [("consumer", 120), ("broker", 379), ("topic", 38), ("group", 3)])
def test_every_key_of_kafka_4_4_is_known(kind: Any, number: int) -> None:
    assert len(known_keys(kind)) == number


@pytest.mark.parametrize(
    "key",
    [
        "bootstrap.servers", "group.remote.assignor", "metadata.cluster.check.enable", "share.acknowledgement.mode",
        "internal.leave.group.on.close",
    ],
)  # fmt: skip
def test_keys_that_came_late_or_went_are_known(key: str) -> None:
    assert find_key("consumer", key).name == key


@pytest.mark.parametrize(
    ("kind", "key", "raw", "value"),
    [
        ("consumer", "session.timeout.ms", 45000, 45000),
        ("consumer", "session.timeout.ms", " 45000 ", 45000),
        ("consumer", "metadata.max.age.ms", "+300000", 300000),
        ("consumer", "enable.auto.commit", "TRUE", True),
        ("consumer", "enable.auto.commit", False, False),
        ("consumer", "client.id", "reader", "reader"),
        ("consumer", "client.id", 7, "7"),
        ("consumer", "interceptor.classes", "a.B, c.D", ["a.B", "c.D"]),
        ("consumer", "interceptor.classes", "", []),
        ("consumer", "isolation.level", "read_committed", "read_committed"),
        ("consumer", "security.protocol", "sasl_ssl", "sasl_ssl"),
        ("consumer", "sasl.jaas.config", "user=x password=y", HIDDEN),
        ("broker", "log.cleaner.min.cleanable.ratio", "0.5", 0.5),
        ("broker", "group.coordinator.append.linger.ms", -1, -1),
        ("topic", "cleanup.policy", "compact,delete", ["compact", "delete"]),
    ],
)
def test_values_are_read_as_kafka_reads_them(kind: Any, key: str, raw: object, value: object) -> None:
    found = find_key(kind, key).parse(raw)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("kind", "key", "raw", "reason"),
    [
        ("consumer", "session.timeout.ms", "45s", "must be a whole number"),
        ("consumer", "session.timeout.ms", 45.0, "must be a whole number"),
        ("consumer", "session.timeout.ms", True, "must be a whole number"),
        ("consumer", "session.timeout.ms", [45], "must be a whole number"),
        ("consumer", "session.timeout.ms", 3_000_000_000, "must be from -2147483648 to 2147483647"),
        ("consumer", "max.poll.records", 0, "must be at least 1"),
        ("consumer", "auto.commit.interval.ms", "-1", "must be at least 0"),
        ("broker", "log.cleaner.min.cleanable.ratio", 1.5, "must be at most 1"),
        ("broker", "log.cleaner.min.cleanable.ratio", "half", "must be a number"),
        ("consumer", "enable.auto.commit", "yes", "must be true or false"),
        ("consumer", "enable.auto.commit", 1, "must be true or false"),
        ("consumer", "client.id", ["a"], "must be text"),
        ("consumer", "isolation.level", "read_comitted", "did you mean 'read_committed'"),
        ("consumer", "security.protocol", "TLS", "must be one of SASL_SSL"),
        ("consumer", "interceptor.classes", "a.B,a.B", "must not name anything twice"),
        ("consumer", "interceptor.classes", 3, "must be a list of names"),
        ("consumer", "bootstrap.servers", "", "must not be empty"),
        ("topic", "cleanup.policy", "purge", "must be one of compact, delete"),
    ],
)
def test_what_kafka_would_not_read_is_refused(kind: Any, key: str, raw: object, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        find_key(kind, key).parse(raw)


@pytest.mark.parametrize("kind", ["consumer", "broker", "topic", "group"])
def test_every_default_of_kafka_is_a_value_that_is_accepted(kind: Any) -> None:
    for key in known_keys(kind).values():
        if key.default is not None and key.type != "PASSWORD":
            assert key.parse(key.default) == key.default, key.name


@pytest.mark.parametrize(
    ("kind", "key", "hint"),
    [
        ("consumer", "session.timout.ms", "did you mean 'session.timeout.ms'?"),
        ("consumer", "max.poll.record", "did you mean 'max.poll.records'?"),
        ("broker", "group.initial.rebalance.delay", "did you mean 'group.initial.rebalance.delay.ms'?"),
        ("topic", "retention.hours", "did you mean 'retention.ms'?"),
        ("consumer", "qqq", r"is no consumer key of Kafka 4.4; leave it out: Kafka would ignore it$"),
        ("consumer", "fetch.wait.max.ms", "it is librdkafka's name for fetch.max.wait.ms: write that$"),
        ("consumer", "socket.timeout.ms", "name for request.timeout.ms"),
        ("consumer", "queued.min.messages", "it is librdkafka's, and not modelled: leave it out$"),
        ("consumer", "enable.auto.offset.store", "processing.commit of the group says which offsets are committed"),
        ("consumer", "listener.name.internal.ssl.keystore.type", "is no consumer key"),
        ("broker", "listener.name.internal.ssl.keystore.typ", "is no broker key"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_one(kind: Any, key: str, hint: str) -> None:
    with pytest.raises(ValueError, match=hint):
        find_key(kind, key)


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("consumer", "sesion.timeout.ms"), ("consumer", "max.poll.interval"), ("consumer", "group-id"),
        ("consumer", "spring.kafka.consumer.max-poll-records"), ("consumer", "fetch.wait.max.ms"),
        ("broker", "log.retention.hour"),
    ],
)  # fmt: skip
def test_a_key_that_is_nearly_kafkas_is_mistyped(kind: Any, key: str) -> None:
    assert is_mistyped(kind, key)


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("consumer", "schema.registry.url"), ("consumer", "specific.avro.reader"), ("consumer", "poll.timeout.ms"),
        ("consumer", "spring.json.trusted.packages"), ("consumer", "key.serializer"),
        ("consumer", "delivery.timeout.ms"), ("consumer", "queued.min.messages"),
        ("broker", "confluent.metrics.reporter.bootstrap.servers"), ("broker", "zookeeper.connect"),
        ("broker", "inter.broker.protocol.version"), ("broker", "session.timeout.ms"),
    ],
)  # fmt: skip
def test_a_key_for_somebody_elses_code_is_not_mistyped(kind: Any, key: str) -> None:
    assert not is_mistyped(kind, key)


@pytest.mark.parametrize(
    ("kind", "key", "raw", "value"),
    [
        ("broker", "listener.name.internal.ssl.keystore.type", "JKS", "JKS"),
        ("broker", "listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config", "x", HIDDEN),
        ("broker", "config.providers.vault.param.token", "secret", HIDDEN),
        ("consumer", "config.providers.file.class", "a.B", HIDDEN),
        ("broker", "rsm.config.bucket", "b", HIDDEN),
        ("broker", "super.users", "User:admin", HIDDEN),
    ],
)
def test_keys_of_listeners_and_plug_ins_are_accepted(kind: Any, key: str, raw: object, value: object) -> None:
    assert find_key(kind, key).parse(raw) == value


# --- what is modelled -------------------------------------------------------------------------------------------------


def test_the_newest_client_has_kafkas_defaults() -> None:
    declared = known_keys("consumer")
    for key, value in JAVA["4.4"].defaults.items():
        default = declared[key].default
        if key == "partition.assignment.strategy":
            default = [SHORT_NAMES[name.rpartition(".")[2]] for name in default]
        assert value == default, key


def test_the_newest_coordinator_has_kafkas_defaults() -> None:
    declared = known_keys("broker")
    for key, value in broker_config.COORDINATORS["4.4"].items():
        assert value == declared[key].default, key
    modelled = {key for key in declared if key.startswith("group.consumer.")} & broker_config.MODELLED_BROKER
    assert modelled == {key for key in broker_config.COORDINATORS["4.4"] if key.startswith("group.consumer.")}
    assert len(modelled) == 13


def test_defaults_are_those_of_the_simulator() -> None:
    assert client_config.client_config(JAVA["4.4"], {}) == ClientConfig()
    assert broker_config.coordinator_config("4.4", {}) == CoordinatorConfig()


@pytest.mark.parametrize(
    ("key", "value", "field", "expected"),
    [
        ("session.timeout.ms", 10_000, "session_timeout_us", 10 * S),
        ("heartbeat.interval.ms", 1, "heartbeat_interval_us", MS),
        ("max.poll.interval.ms", 2, "max_poll_interval_us", 2 * MS),
        ("max.poll.records", 7, "max_poll_records", 7),
        ("partition.assignment.strategy", ["sticky"], "partition_assignment_strategy", ("sticky",)),
        ("enable.auto.commit", False, "enable_auto_commit", False),
        ("auto.commit.interval.ms", 3, "auto_commit_interval_us", 3 * MS),
        ("auto.offset.reset", "earliest", "auto_offset_reset", "earliest"),
        ("request.timeout.ms", 4, "request_timeout_us", 4 * MS),
        ("default.api.timeout.ms", 5, "default_api_timeout_us", 5 * MS),
        ("retry.backoff.ms", 6, "retry_backoff_us", 6 * MS),
        ("retry.backoff.max.ms", 8, "retry_backoff_max_us", 8 * MS),
        ("socket.connection.setup.timeout.ms", 11, "connection_setup_timeout_us", 11 * MS),
        ("metadata.max.age.ms", 12, "metadata_max_age_us", 12 * MS),
        ("fetch.max.wait.ms", 13, "fetch_max_wait_us", 13 * MS),
        ("client.id", "orders", "client_id", "orders"),
        ("client.rack", "a", "client_rack", "a"),
    ],
)
def test_every_modelled_consumer_key_reaches_its_field(key: str, value: Any, field: str, expected: object) -> None:
    changed = client_config.client_config(JAVA["4.4"], {key: value})
    assert getattr(changed, field) == expected
    assert getattr(ClientConfig(), field) != expected
    assert key in client_config.MODELLED


@pytest.mark.parametrize(
    ("key", "value", "field", "expected"),
    [
        ("group.initial.rebalance.delay.ms", 0, "initial_rebalance_delay_us", 0),
        ("group.min.session.timeout.ms", 1, "min_session_timeout_us", MS),
        ("group.max.session.timeout.ms", 2, "max_session_timeout_us", 2 * MS),
        ("group.max.size", 3, "max_size", 3),
        ("offsets.topic.num.partitions", 4, "offsets_topic_num_partitions", 4),
        ("offsets.retention.minutes", 5, "offsets_retention_us", 5 * MINUTE),
        ("offsets.retention.check.interval.ms", 6, "offsets_retention_check_interval_us", 6 * MS),
        ("group.consumer.session.timeout.ms", 7, "consumer_session_timeout_us", 7 * MS),
        ("group.consumer.min.session.timeout.ms", 8, "consumer_min_session_timeout_us", 8 * MS),
        ("group.consumer.max.session.timeout.ms", 9, "consumer_max_session_timeout_us", 9 * MS),
        ("group.consumer.heartbeat.interval.ms", 10, "consumer_heartbeat_interval_us", 10 * MS),
        ("group.consumer.min.heartbeat.interval.ms", 11, "consumer_min_heartbeat_interval_us", 11 * MS),
        ("group.consumer.max.heartbeat.interval.ms", 12, "consumer_max_heartbeat_interval_us", 12 * MS),
        ("group.consumer.assignment.interval.ms", 0, "consumer_assignment_interval_us", 0),
        ("group.consumer.min.assignment.interval.ms", 1, "consumer_min_assignment_interval_us", MS),
        ("group.consumer.max.assignment.interval.ms", 13, "consumer_max_assignment_interval_us", 13 * MS),
        ("group.consumer.max.size", 14, "consumer_max_size", 14),
        ("group.consumer.assignors", ["range"], "consumer_assignors", ("range",)),
        ("group.consumer.migration.policy", "upgrade", "consumer_migration_policy", "upgrade"),
        ("group.consumer.regex.refresh.interval.ms", 15, "consumer_regex_refresh_interval_us", 15 * MS),
    ],
)
def test_every_modelled_broker_key_reaches_its_field(key: str, value: Any, field: str, expected: object) -> None:
    changed = broker_config.coordinator_config("4.4", {key: value})
    assert getattr(changed, field) == expected != getattr(CoordinatorConfig(), field)
    assert key in broker_config.MODELLED_BROKER


@pytest.mark.parametrize(
    ("topic", "broker", "expected"),
    [
        ({}, {"log.retention.hours": 168}, FOREVER),
        ({}, {"log.retention.hours": 1}, 60 * MINUTE),
        ({}, {"log.retention.hours": 1, "log.retention.minutes": 2}, 2 * MINUTE),
        ({}, {"log.retention.hours": 1, "log.retention.minutes": 2, "log.retention.ms": 3}, 3 * MS),
        ({"retention.ms": 4}, {"log.retention.ms": 3}, 4 * MS),
        ({"retention.ms": -1}, {"log.retention.ms": 3}, FOREVER),
    ],
)
def test_retention_is_the_topics_or_else_the_brokers(topic: Any, broker: Any, expected: int) -> None:
    assert broker_config.retention_us(topic, broker, horizon_us=120 * MINUTE) == expected


def test_the_0_9_coordinator_has_no_delay_and_short_sessions() -> None:
    config = broker_config.coordinator_config("0.9", {"group.initial.rebalance.delay.ms": 3000})
    assert (config.version, config.initial_rebalance_delay_us) == ("0.9", 0)
    assert config.max_session_timeout_us == 30 * S
    assert config.offsets_retention_us == 1440 * MINUTE
    assert broker_config.unknown_to_coordinator("0.9", {"group.max.size": 3, "log.dirs": []}) == ["group.max.size"]


@pytest.mark.parametrize("version", ["4.0", "4.1", "4.2", "4.3"])
def test_brokers_before_4_4_know_the_keys_of_their_time(version: str) -> None:
    interval, refresh = "group.consumer.assignment.interval.ms", "group.consumer.regex.refresh.interval.ms"
    config = broker_config.coordinator_config(version, {interval: 7_000, refresh: 20_000})
    assert config.version == version
    assert config.consumer_assignment_interval_us == (7 * S if version == "4.3" else 0)
    assert config.consumer_regex_refresh_interval_us == (FOREVER if version == "4.0" else 20 * S)
    ignored = {"4.0": [interval, refresh], "4.1": [interval], "4.2": [interval], "4.3": []}
    assert broker_config.unknown_to_coordinator(version, {interval: 7_000, refresh: 20_000}) == ignored[version]


@pytest.mark.parametrize(
    ("layers", "kept"),
    [
        ([{"session.timeout.ms": 1}, {"max.poll.records": 2}], {"session.timeout.ms": 1, "max.poll.records": 2}),
        ([{"session.timeout.ms": 1}, {"group.protocol": "consumer"}], {"group.protocol": "consumer"}),
        ([{"session.timeout.ms": 1}, {"group.protocol": "consumer"}, {"group.protocol": "classic"}],
         {"session.timeout.ms": 1}),
        ([{}, {"group.protocol": "consumer", "session.timeout.ms": 1}], {"session.timeout.ms": 1}),
        ([{"session.timeout.ms": 1}, {"group.protocol": "consumer"}, {"session.timeout.ms": 3}],
         {"session.timeout.ms": 3}),
        ([{"group.protocol": "consumer", "group.remote.assignor": "range"}, {"group.protocol": "classic"}],
         {"session.timeout.ms": 45_000}),
    ],
)  # fmt: skip
def test_a_change_of_protocol_leaves_behind_what_it_forbids(layers: Any, kept: dict[str, Any]) -> None:
    found = client_config.layered(JAVA["4.4"], layers)
    assert {key: found.get(key) for key in kept} == kept
    assert "group.remote.assignor" not in found
    if found.get("group.protocol") == "consumer" and "session.timeout.ms" not in kept:
        assert "session.timeout.ms" not in found


# --- generations of clients -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("client", "key", "value"),
    [
        ("0.9", "session.timeout.ms", 30_000),
        ("0.9", "request.timeout.ms", 40_000),
        ("0.11", "session.timeout.ms", 10_000),
        ("0.11", "request.timeout.ms", 305_000),
        ("2.x", "session.timeout.ms", 10_000),
        ("2.x", "request.timeout.ms", 30_000),
        ("2.x", "partition.assignment.strategy", ["range"]),
        ("3.x", "session.timeout.ms", 45_000),
        ("3.x", "partition.assignment.strategy", ["range", "cooperative-sticky"]),
    ],
)
def test_older_clients_have_their_own_defaults(client: str, key: str, value: object) -> None:
    assert JAVA[client].defaults[key] == value


def test_the_0_9_client_beats_only_from_poll_and_has_one_timeout() -> None:
    config = client_config.client_config(JAVA["0.9"], {"session.timeout.ms": 20_000})
    assert not config.behaviour.background_heartbeat
    assert config.rebalance_timeout_us == 20 * S
    assert (config.max_poll_interval_us, config.max_poll_records) == (FOREVER, 2**31 - 1)
    assert config.retry_backoff_max_us == config.retry_backoff_us == 100 * MS


def test_before_2_7_the_kernel_bounds_a_connection_attempt() -> None:
    assert client_config.client_config(JAVA["0.11"], {}).connection_setup_timeout_us == 127 * S
    assert client_config.client_config(JAVA["2.x"], {}).connection_setup_timeout_us == 10 * S


@pytest.mark.parametrize(
    ("family", "newest", "strategy"),
    [
        ("java", "4.4", ["range", "cooperative-sticky"]),
        ("librdkafka", "2.15", ["range", "roundrobin"]),
        ("franz-go", "1.22", ["cooperative-sticky"]),
        ("kafka-python", "3.0", ["range", "roundrobin"]),
    ],
)
def test_families_have_versions_and_defaults_of_their_own(family: Any, newest: str, strategy: list[str]) -> None:
    assert newest_of(family) == newest
    assert PROFILES[family][newest].defaults["partition.assignment.strategy"] == strategy


def test_kafka_pythons_defaults_are_those_of_its_code() -> None:
    own = pytest.importorskip("kafka").KafkaConsumer.DEFAULT_CONFIG
    for key, value in PROFILES["kafka-python"]["3.0"].defaults.items():
        name = key.replace(".", "_")
        if name in own and isinstance(own[name], int | str) and key != "client.id":
            assert value == own[name], key


def test_what_a_client_does_not_know_has_no_effect_and_is_told() -> None:
    given = {"max.poll.interval.ms": 1, "retry.backoff.max.ms": 2}
    assert client_config.client_config(JAVA["0.9"], given) == client_config.client_config(JAVA["0.9"], {})
    assert client_config.unknown_to(JAVA["0.9"], given) == ["max.poll.interval.ms", "retry.backoff.max.ms"]
    assert client_config.unknown_to(JAVA["4.4"], given) == []
    protocol = {"group.protocol": "classic"}
    assert client_config.unknown_to(JAVA["3.x"], protocol) == ["group.protocol"]
    assert client_config.unknown_to(JAVA["4.0"], protocol) == []


def _differences(client: str, family: Any = "java") -> set[str]:
    newest, own = ClientBehaviour(), PROFILES[family][client].behaviour
    return {name for name in ClientBehaviour.__dataclass_fields__ if getattr(newest, name) != getattr(own, name)}


def test_behaviour_comes_generation_by_generation() -> None:
    since_4_3 = {"revokes_in_poll", "ignores_missing_group_after_leave"}
    since_4_2 = {"sound_heartbeat_jitter", "positions_before_listeners", "refers_to_poll_event", *since_4_3}
    since_4_1 = {"rack_in_heartbeat", "close_operations", *since_4_2}
    since_3_2 = {"bounded_join_prepare", "keep_id_on_illegal_generation", "skip_assignment",
                 "generation_in_subscription", "rack_in_subscription", "exponential_backoff",
                 "leader_in_fetch_response", "reason_in_request", *since_4_1}  # fmt: skip
    since_2_2 = {"member_id_required", "poll_returns_in_rebalance", "heartbeat_in_completing",
                 "repeats_deleted_commits"}  # fmt: skip
    since_0_10_1 = {"background_heartbeat", "rebalance_timeout_is_session"}
    assert _differences("4.4") == _differences("4.3") == set()
    assert _differences("4.2") == since_4_3
    assert _differences("4.1") == since_4_2
    assert _differences("4.0") == _differences("3.x") == since_4_1
    assert _differences("2.x") == since_3_2
    assert _differences("0.11") == since_3_2 | since_2_2
    assert _differences("0.9") == since_3_2 | since_2_2 | since_0_10_1


def test_librdkafka_before_2_15_differs_from_itself() -> None:
    since_2_15 = {"paces_polls", "looks_at_polls", "repeats_user_data", "repeats_deleted_commits", "reason_in_request"}
    assert _differences("2.15", "librdkafka") == since_2_15
    assert _differences("2.14", "librdkafka") == {*since_2_15, "ignores_missing_group", "says_all_after_expiry"}
