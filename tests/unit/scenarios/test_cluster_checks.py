"""Brokers, replicas and rolls in a scenario file: what is built, and what is refused in Kafka's words."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from groupsim.scenarios.build.loading import parse
from groupsim.scenarios.build.paths import set_path
from groupsim.scenarios.errors import ScenarioFileError
from groupsim.scenarios.schema.sizes import format_size
from groupsim.sim.config import BrokerConfig
from groupsim.sim.model import RollingRestart, Scenario, Target
from groupsim.sim.units import FOREVER, S

BASE = """
version: 1
question: What happens?
horizon: 10min
cluster: {brokers: 3}
topics:
  orders: {partitions: 6, rate: {per_partition: 5}}
groups:
  billing: {topics: [orders], members: {count: 4}}
timeline:
  - id: fault
    at: 1min
    kill: {target: broker:1}
"""


def _parse(**changes: Any) -> Scenario:
    document = yaml.safe_load(BASE)
    for path, value in changes.items():
        set_path(document, path.replace("__", "."), value)
    return parse(document, file="s.yaml", name="s")


def _told(**changes: Any) -> list[str]:
    with pytest.raises(ScenarioFileError) as caught:
        _parse(**changes)
    return [f"{one.path}: {one.message}" for one in caught.value.problems]


def _fault(verb: str, **body: Any) -> list[dict[str, Any]]:
    return [{"id": "fault", "at": "1min", verb: body}]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("broker:9", "there is no broker 9; brokers: 0, 1, 2"),
        ("broker:1-4", "there is no broker 3; brokers: 0, 1, 2"),
        ("broker:coordinator/nobody", "there is no group 'nobody'"),
        ("broker:leader/nothing/0", "there is no topic 'nothing'; topics: orders"),
        ("broker:leader/orders/6", "orders has 6 partitions, 0 to 5"),
    ],
)
def test_brokers_that_do_not_exist(target: str, message: str) -> None:
    told = _told(timeline=_fault("kill", target=target))
    assert len(told) == 1
    assert message in told[0]


def test_several_identical_groups_have_no_coordinator_in_common() -> None:
    whole, one = (_fault("kill", target=f"broker:coordinator/{name}") for name in ("billing", "billing-1"))
    assert "billing is 3 groups" in _told(groups__billing__count=3, timeline=whole)[0]
    assert _parse(groups__billing__count=3, timeline=one).timeline


def test_a_cut_names_brokers_that_exist() -> None:
    timeline = [{"at": "1min", "cut": {"between": ["billing", "broker:1-3"], "for": "1s"}}]
    assert "there is no broker 3; brokers: 0, 1, 2" in _told(timeline=timeline)[0]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"topic": "order", "partitions": 0, "replicas": [0]}, "there is no topic of that name; did you mean"),
        ({"topic": "orders", "partitions": "4-6", "replicas": [0]}, "orders has 6 partitions, 0 to 5"),
        ({"topic": "__consumer_offsets", "partitions": 50, "replicas": [0]}, "has 50 partitions, 0 to 49"),
        ({"topic": "orders", "partitions": 0, "replicas": [0, 7]}, "there is no broker 7; brokers: 0, 1, 2"),
        ({"topic": "orders", "partitions": 0, "replicas": [1, 1]}, "InvalidReplicaAssignmentException"),
        ({"topic": "orders", "partitions": 0, "replicas": [1], "throttle": "0B"}, "throttle must be more than nothing"),
    ],
)
def test_reassignments_that_cannot_be(body: dict[str, object], message: str) -> None:
    assert message in _told(timeline=[{"at": "1min", "reassign": body}])[0]


def test_leaders_of_topics_that_do_not_exist() -> None:
    timeline = [{"at": "1min", "elect_leaders": {"topics": ["orders", "nothing"]}}]
    assert "there is no topic of that name" in _told(timeline=timeline)[0]


@pytest.mark.parametrize(("value", "acks"), [(0, "0"), (1, "1"), ("all", "all"), (-1, "all")])
def test_acks_are_those_of_a_producer(value: object, acks: str) -> None:
    assert _parse(topics__orders__acks=value).topics[0].acks == acks


def test_acks_that_no_producer_knows() -> None:
    assert "must be 0, 1 or all" in _told(topics__orders__acks=2)[0]


@pytest.mark.parametrize("topic", [None, {"unclean.leader.election.enable": True}])
def test_unclean_elections_of_brokers_and_topics(topic: dict[str, bool] | None) -> None:
    broker = {"unclean.leader.election.enable": topic is None, "replica.lag.time.max.ms": 10_000}
    made = _parse(cluster__config=broker, **({"topics__orders__config": topic} if topic else {}))
    assert made.topics[0].unclean_leader_election
    assert made.cluster.broker_config.unclean_leader_election == (topic is None)
    assert made.cluster.broker_config.replica_lag_time_max_us == 10 * S


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("topics__orders__replication_factor", 4,
         "Unable to replicate the partition 4 time(s): The target replication factor of 4 cannot be reached because"),
        ("cluster__config", {"offsets.topic.replication.factor": 5},
         "The target replication factor of 5 cannot be reached because only 3 broker(s) are registered."),
        ("topics__orders__config", {"min.insync.replicas": 4},
         "current ISR 3 is insufficient to satisfy the min.isr requirement of 4 for partition orders-0"),
        ("cluster__config", {"min.insync.replicas": 2, "offsets.topic.replication.factor": 1},
         "insufficient to satisfy the min.isr requirement of 2 for partition __consumer_offsets-0"),
        ("cluster__config", {"replica.selector.class": "RackAwareReplicaSelector"},
         "java.lang.ClassNotFoundException: RackAwareReplicaSelector; did you mean "
         "'org.apache.kafka.common.replica.RackAwareReplicaSelector'?"),
        ("topics__orders__record_size", "0B", "must be more than nothing"),
        ("topics__orders__record_size", 1024, "must be an amount of bytes with its unit, such as 512B"),
        ("cluster__brokers", [{"id": 0, "bandwidth": "0B"}], "must be more than nothing"),
        ("cluster__brokers", [{"id": 0, "bandwidth": 100}], "must be an amount of bytes with its unit, such as 512B"),
        ("groups__billing__config", {"fetch.max.bytes": -1}, "must be at least 0"),
        ("cluster__network", {"cross_rack_price_per_gb": -1}, "greater than or equal to 0"),
    ],
)  # fmt: skip
def test_replicas_that_there_cannot_be(path: str, value: Any, message: str) -> None:
    assert any(message in one for one in _told(**{path: value}))


def test_a_rack_aware_selector_is_taken_over() -> None:
    name = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
    assert _parse(cluster__config={"replica.selector.class": name}).cluster.broker_config.is_rack_aware
    assert not _parse().cluster.broker_config.is_rack_aware


def test_everything_that_is_wrong_is_told_at_once() -> None:
    told = _told(topics__orders__replication_factor=9, timeline=_fault("kill", target="broker:7"))
    assert len(told) == 2


def test_rolls_of_brokers_wait_for_brokers_and_rolls_of_members_for_members() -> None:
    roll = _parse(timeline=_fault("rolling_restart", target="broker:all")).timeline[0].verb
    assert roll == RollingRestart(target=Target("broker", "all"), next_="in_sync")
    gap = _parse(timeline=_fault("rolling_restart", target="broker:all", next={"gap": "60s"})).timeline[0].verb
    assert isinstance(gap, RollingRestart)
    assert (gap.next_, gap.gap_us) == ("gap", 60 * S)
    told = _told(timeline=_fault("rolling_restart", target="broker:all", next="stable"))
    assert "of brokers it is in_sync or {gap: 60s}" in told[0]
    assert "in_sync is for brokers" in _told(timeline=_fault("rolling_restart", target="billing", next="in_sync"))[0]
    assert "one at a time" in _told(timeline=_fault("rolling_restart", target="broker:all", batch=2))[0]


def test_a_rack_is_rolled_but_not_with_a_surge() -> None:
    brokers = [{"id": node, "rack": "a"} for node in range(3)]
    body = {"target": "rack:a", "next": {"gap": "60s"}}
    roll = _parse(cluster__brokers=brokers, timeline=_fault("rolling_restart", **body)).timeline[0].verb
    assert isinstance(roll, RollingRestart)
    assert (roll.target, roll.next_) == (Target("rack", "a"), "gap")
    told = _told(cluster__brokers=brokers, timeline=_fault("rolling_restart", **body, surge=1))
    assert "surge is for members of one group" in told[0]


def test_the_brokers_configuration_reaches_the_cluster() -> None:
    config = {"broker.session.timeout.ms": 18_000, "auto.leader.rebalance.enable": False, "min.insync.replicas": 2}
    config |= {"log.cleaner.enable": False, "log.cleaner.min.cleanable.ratio": 0.1, "offsets.topic.segment.bytes": 5000}
    made = _parse(cluster={"brokers": 3, "config": config, "offsets_topic": {"size": "200GiB"}})
    expected = BrokerConfig(
        session_timeout_us=18 * S, leader_imbalance_check_us=FOREVER, min_insync_replicas=2,
        is_cleaned=False, min_cleanable_ratio=0.1, offsets_segment_bytes=5_000,
    )  # fmt: skip
    assert made.cluster.broker_config == expected
    assert made.cluster.offsets_log_bytes == 200 << 30
    assert made.topics[0].min_insync_replicas == 2


@pytest.mark.parametrize("text", ["512B", "64KiB", "2MiB", "200GiB", "1TiB", "0B"])
def test_sizes_read_back(text: str) -> None:
    made = _parse(cluster={"brokers": 3, "offsets_topic": {"size": text}})
    assert format_size(made.cluster.offsets_log_bytes) == text


@pytest.mark.parametrize("value", ["2MB", 5, "-1B", "1.5GiB"])
def test_what_is_no_size_is_refused(value: object) -> None:
    assert "must be an amount of bytes" in _told(cluster={"brokers": 3, "offsets_topic": {"size": value}})[0]


# --- records ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"topics__orders__rate": {"per_partition": 5000}},
            "follows each record: 18,000,000 are produced by the horizon, at most 10,000,000 fit for each group",
        ),
        (
            {"topics__orders__rate": {"total": 9000}, "groups__billing__count": 2},
            "follows each record: 5,400,000 are produced by the horizon, at most 5,000,000 fit for each group",
        ),
    ],
)
def test_more_records_than_can_be_followed_are_refused(changes: dict[str, Any], message: str) -> None:
    assert _told(data="exact", timeline=[], **changes) == [f"data: {message}; shorten it, or say fluid"]
    assert _parse(timeline=[], **changes).data == "fluid"


def test_records_that_fit_are_followed() -> None:
    assert _parse(data="exact").data == "exact"
    assert _told(data="exakt") == ["data: must be 'fluid' or 'exact'"]
