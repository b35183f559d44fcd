"""The ZooKeeper protocol in scenario files: keys of the consumer of 0.8.2, ZooKeeper's servers, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.scenarios import warnings_of
from groupsim.scenarios.build.notes import not_modelled
from groupsim.scenarios.kafka.keys import known_keys
from groupsim.sim.config import ClientConfig, ZookeeperConsumerConfig
from groupsim.sim.model import Distribution, Target, Zookeeper
from groupsim.sim.units import FOREVER, MS, S
from tests.support.command_line import CommandLine
from tests.support.scenario_documents import ScenarioDocument

BASE = """
version: 1
question: What happens?
horizon: 10min
topics:
  orders: {partitions: 6}
groups:
  billing:
    protocol: zookeeper
    topics: [orders]
    members: {count: 4}
"""
GROUP = "groups.billing"
CONFIG = "groups.billing.config"


_FILE = ScenarioDocument(BASE)
_document, _loaded, _problems, _only = _FILE.changed, _FILE.loaded, _FILE.problems, _FILE.only


def _client(changes: dict[str, Any]) -> ClientConfig:
    return _loaded(changes).groups[0].client


def _timeline(verb: str, body: dict[str, Any]) -> dict[str, Any]:
    return {"timeline": [{"id": "it", "at": "1min", verb: body}]}


# --- keys -------------------------------------------------------------------------------------------------------------


def test_defaults_are_those_of_0_8_2() -> None:
    found = _client({})
    assert found.group_protocol == "zookeeper"
    assert found.zookeeper == ZookeeperConsumerConfig()
    assert found.zookeeper.session_timeout_us == 6 * S
    assert (found.zookeeper.rebalance_max_retries, found.zookeeper.rebalance_backoff_us) == (4, 2 * S)
    assert (found.enable_auto_commit, found.auto_commit_interval_us) == (True, 60 * S)
    assert (found.auto_offset_reset, found.partition_assignment_strategy) == ("latest", ("range",))
    assert found.max_poll_interval_us == FOREVER


def test_each_key_reaches_its_field() -> None:
    given = {
        "zookeeper.session.timeout.ms": 30_000, "zookeeper.connection.timeout.ms": 9_000, "rebalance.max.retries": 10,
        "rebalance.backoff.ms": 5_000, "offsets.storage": "KAFKA", "dual.commit.enabled": False,
        "offsets.channel.backoff.ms": 700, "auto.commit.enable": False, "auto.commit.interval.ms": 1_000,
        "auto.offset.reset": "smallest", "partition.assignment.strategy": "roundrobin", "fetch.wait.max.ms": 50,
        "socket.timeout.ms": 20_000,
    }  # fmt: skip
    found = _client({CONFIG: given})
    assert found.zookeeper == ZookeeperConsumerConfig(
        session_timeout_us=30 * S, connection_timeout_us=9 * S, rebalance_max_retries=10, rebalance_backoff_us=5 * S,
        offsets_storage="kafka", dual_commit=False, offsets_backoff_us=700 * MS,
    )  # fmt: skip
    assert (found.enable_auto_commit, found.auto_commit_interval_us, found.auto_offset_reset) == (False, S, "earliest")
    assert (found.partition_assignment_strategy, found.fetch_max_wait_us) == (("roundrobin",), 50 * MS)
    assert found.request_timeout_us == 20 * S


def test_defaults_that_follow_another_key() -> None:
    found = _client({CONFIG: {"zookeeper.session.timeout.ms": 20_000, "zookeeper.sync.time.ms": 500}}).zookeeper
    assert (found.connection_timeout_us, found.rebalance_backoff_us) == (20 * S, 500 * MS)
    assert _client({CONFIG: {"offsets.storage": "kafka"}}).zookeeper.dual_commit, "unless it is switched off"
    assert not _client({CONFIG: {"dual.commit.enabled": True}}).zookeeper.dual_commit, "not without a broker"


def test_every_default_of_the_key_list_is_one_that_its_type_takes() -> None:
    keys = known_keys("old consumer")
    assert len(keys) == 28
    assert all(one.parse(one.default) == one.default for one in keys.values() if one.default is not None)


def test_overrides_have_these_keys_too() -> None:
    override = {"members": "1", "config": {"zookeeper.session.timeout.ms": 12_000}}
    scenario = _loaded({f"{GROUP}.overrides": [override], CONFIG: {"rebalance.max.retries": 7}})
    found = scenario.groups[0].override_of(1).client
    assert found is not None
    assert (found.zookeeper.session_timeout_us, found.zookeeper.rebalance_max_retries) == (12 * S, 7)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("rebalance.retries", 3, "did you mean 'rebalance.max.retries'"),
        (
            "session.timeout.ms",
            10_000,
            "is no consumer key of Kafka 0.8.2; did you mean 'zookeeper.session.timeout.ms'",
        ),
        ("heartbeat.interval.ms", 3_000, "is no consumer key of Kafka 0.8.2"),
        ("group.remote.assignor", "uniform", "is no consumer key of Kafka 0.8.2"),
        ("group.instance.id", "a", "is no consumer key of Kafka 0.8.2"),
        ("auto.offset.reset", "latest", "must be one of smallest, largest"),
        ("partition.assignment.strategy", "sticky", "must be one of range, roundrobin"),
        ("offsets.storage", "s3", "must be one of zookeeper, kafka"),
        ("rebalance.max.retries", 0, "must be at least 1"),
        ("zookeeper.session.timeout.ms", "6s", "must be a whole number"),
    ],
)
def test_a_wrong_key_or_value_is_told_at_its_place(key: str, value: object, said: str) -> None:
    problem = _only({CONFIG: {key: value}})
    assert problem.path == f"{CONFIG}[{key}]"
    assert said in problem.message


def test_these_keys_are_nobody_elses() -> None:
    problem = _only({f"{GROUP}.protocol": "classic", CONFIG: {"rebalance.max.retries": 4}})
    assert "is no consumer key of Kafka 4.4" in problem.message


def test_keys_that_have_no_effect_are_listed_once() -> None:
    document = dict(_loaded({CONFIG: {"consumer.id": "me", "rebalance.max.retries": 5}}).document)
    assert not_modelled(document) == {"old consumer": ("consumer.id",)}


def test_what_the_consumer_would_refuse_is_refused_with_its_words() -> None:
    problem = _only({CONFIG: {"fetch.wait.max.ms": 50_000}})
    assert "socket.timeout.ms (30000) should always be at least fetch.wait.max.ms (50000)" in problem.message
    problem = _only({CONFIG: {"partition.assignment.strategy": ["range", "roundrobin"]}})
    assert "one of range and roundrobin, not a list" in problem.message


def test_too_little_patience_is_advised_against() -> None:
    assert warnings_of(_loaded({})) == ()
    (warning,) = warnings_of(_loaded({CONFIG: {"zookeeper.session.timeout.ms": 30_000}}))
    assert "rebalance.max.retries (4) x rebalance.backoff.ms (2000) should be more than" in warning
    (warning,) = warnings_of(_loaded({CONFIG: {"dual.commit.enabled": True}}))
    assert "no effect while offsets.storage is zookeeper" in warning


# --- what does not go with it -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "path", "said"),
    [
        ({f"{GROUP}.members.static": True}, CONFIG, "knows no static membership"),
        ({f"{GROUP}.client": "4.4"}, f"{GROUP}.client", "leave client out"),
        (
            {f"{GROUP}.client_family": "librdkafka"},
            f"{GROUP}.client_family",
            "has no consumer of the ZooKeeper protocol",
        ),
        (
            {f"{GROUP}.group_config": {"consumer.session.timeout.ms": 50_000}},
            f"{GROUP}.group_config[consumer.session.timeout.ms]",
            "no broker knows of a group of protocol: zookeeper",
        ),
        ({f"{GROUP}.topics": {"pattern": "ord.*"}}, f"{GROUP}.topics.pattern", "reads topics by name"),
        ({f"{GROUP}.topics": {"assign": {"orders": "0"}}}, f"{GROUP}.topics.assign", "reads topics by name"),
        ({f"{GROUP}.framework": "spring-batch"}, f"{GROUP}.framework", "this group has that of 0.8.2"),
        (_timeline("delete_group", {"target": "billing"}), "timeline[it].delete_group.target", "no broker knows"),
        ({f"{GROUP}.processing.commit": {"async": "5s"}}, f"{GROUP}.processing.commit", "auto or none"),
        ({f"{GROUP}.processing.commit": "after_batch"}, f"{GROUP}.processing.commit", "auto or none"),
        ({f"{GROUP}.processing.on_revoked": "1s"}, f"{GROUP}.processing.on_revoked", "no rebalance listeners"),
        (
            _timeline("subscribe", {"target": "billing", "topics": ["orders"]}),
            "timeline[it].subscribe.target",
            "names its topics once",
        ),
        (_timeline("unsubscribe", {"target": "billing"}), "timeline[it].unsubscribe.target", "names its topics once"),
        (
            _timeline("set_config", {"target": "billing", "config": {"client.id": "a"}}),
            "timeline[it].set_config.target",
            "not modelled with protocol: zookeeper",
        ),
        (
            _timeline("kill", {"target": "billing/leader"}),
            "timeline[it].kill.target",
            "a group of the zookeeper protocol has no leader: each member assigns for itself",
        ),
    ],
)
def test_what_that_consumer_does_not_have_is_refused(changes: dict[str, Any], path: str, said: str) -> None:
    problem = _only(changes)
    assert problem.path == path
    assert said in problem.message


def test_all_problems_are_told_at_once() -> None:
    found = _problems({f"{GROUP}.members.static": True, f"{GROUP}.processing.commit": "after_batch",
                       **_timeline("kill", {"target": "zookeeper:7"})})  # fmt: skip
    assert len(found) == 3


# --- servers ----------------------------------------------------------------------------------------------------------


def test_the_ensemble_is_as_the_file_says() -> None:
    assert _loaded({}).cluster.zookeeper == Zookeeper()
    given = {"nodes": 5, "follower_lag": "20ms", "read": "50us", "write": "1ms", "sync": "0s", "tick": "3s",
             "election": "1s"}  # fmt: skip
    assert _loaded({"cluster": {"zookeeper": given}}).cluster.zookeeper == Zookeeper(
        nodes=5, follower_lag=Distribution.constant(20 * MS), read_us=50, write_us=MS, sync_us=0, tick_us=3 * S,
        election_us=S,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("target", "meant"),
    [
        ("zookeeper:0", Target("zookeeper", "0", "index", (0,))),
        ("zookeeper:0-2", Target("zookeeper", "0-2", "index", (0, 1, 2))),
        ("zookeeper:leader", Target("zookeeper", "leader", "leader")),
    ],
)
def test_servers_are_targets(target: str, meant: Target) -> None:
    scenario = _loaded(_timeline("kill", {"target": target, "down": "5s"}))
    assert scenario.timeline[0].verb.target == meant  # type: ignore[union-attr]
    assert str(meant) == target


@pytest.mark.parametrize(
    ("verb", "body", "said"),
    [
        ("kill", {"target": "zookeeper:3"}, "cluster.zookeeper has servers 0 to 2"),
        ("kill", {"target": "zookeeper:one"}, "names no ZooKeeper servers"),
        ("close", {"target": "zookeeper:0"}, "targets of kill, start and cut only"),
        ("gc_pause", {"target": "zookeeper:0", "for": "1s"}, "targets of kill, start and cut only"),
        ("start", {"target": "zookeeper:leader"}, "who is down does not lead"),
        ("scale", {"target": "zookeeper:0", "to": 3}, ""),
    ],
)
def test_a_target_that_makes_no_sense_is_refused(verb: str, body: dict[str, Any], said: str) -> None:
    assert any(said in problem.message for problem in _problems(_timeline(verb, body)))


def test_servers_without_a_group_are_no_target_and_their_settings_have_no_effect() -> None:
    plain = {f"{GROUP}.protocol": "classic"}
    problem = _only({**plain, **_timeline("cut", {"between": ["billing", "zookeeper:0"], "for": "5s"})})
    assert problem.path == "timeline[it].cut.between[1]"
    assert "nobody asks ZooKeeper: none of the groups has protocol: zookeeper" in problem.message
    (warning,) = warnings_of(_loaded({**plain, "cluster": {"zookeeper": {"nodes": 5}}}))
    assert "cluster.zookeeper: has no effect" in warning


@pytest.mark.parametrize(
    ("value", "said"), [({"nodes": 0}, "greater than or equal to 1"), ({"tick": "0s"}, "more than nothing"),
                        ({"lag": "1s"}, "is no key of this mapping")],
)  # fmt: skip
def test_a_wrong_ensemble_is_told(value: dict[str, Any], said: str) -> None:
    problem = _only({"cluster": {"zookeeper": value}})
    assert problem.path.startswith("cluster.zookeeper")
    assert said in problem.message


# --- the command line -------------------------------------------------------------------------------------------------


def test_a_run_ends_with_its_tables_and_a_wrong_file_with_exit_code_2(groupsim: CommandLine, tmp_path: Any) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(BASE.replace("10min", "30s"), encoding="utf-8")
    bad.write_text(BASE.replace("count: 4", "count: 4, static: true"), encoding="utf-8")
    told = groupsim("run", good, "--out", tmp_path / "out")
    assert told.code == 0, told.err
    assert (tmp_path / "out" / "zookeeper.parquet").exists()
    told = groupsim("run", bad)
    assert told.code == 2
    assert "static membership" in told.err
    assert "Traceback" not in told.err
