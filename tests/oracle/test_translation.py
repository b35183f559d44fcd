"""Scenario files as plans for real members, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.oracle.failures import CannotPlay
from tests.oracle.translation import Plan, plan, read

GROUP = """
    topics: [orders]
    config: {partition.assignment.strategy: [range, cooperative-sticky], session.timeout.ms: 10000}
    processing: {per_record: 1ms, poll_timeout: 50ms}
    members: {count: 3, boot: 0s, start: {every: 1s}}
"""


def written(folder: Path, *, group: str = GROUP, cluster: str = "{brokers: 1}", timeline: str = "[]") -> Path:
    path = folder / "mine.yaml"
    path.write_text(
        "version: 1\nquestion: What is played?\nhorizon: 60s\n"
        f"cluster: {cluster}\n"
        "topics: {orders: {partitions: 12, rate: {per_partition: 10}}}\n"
        f"groups:\n  g:{group}\n"
        f"timeline: {timeline}\n"
    )
    return path


def planned(folder: Path, repetition: int = 1, **parts: str) -> Plan:
    return plan(read(written(folder, **parts)), repetition)


def refusal(folder: Path, **parts: str) -> str:
    with pytest.raises(CannotPlay) as refused:
        read(written(folder, **parts))
    return str(refused.value)


# --- plans ------------------------------------------------------------------------------------------------------------


def test_members_get_kafkas_keys(tmp_path: Path) -> None:
    config = planned(tmp_path).members["g/1"].config
    assert config["session.timeout.ms"] == "10000"
    assert config["heartbeat.interval.ms"] == "3000"
    assert config["enable.auto.commit"] == "true"
    assert config["partition.assignment.strategy"] == (
        "org.apache.kafka.clients.consumer.RangeAssignor,org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
    )


def test_overrides_hold_for_their_members(tmp_path: Path) -> None:
    group = GROUP + "    overrides: [{members: 2, config: {max.poll.records: 7}, processing: {per_record: 9ms}}]\n"
    members = planned(tmp_path, group=group).members
    assert [members[f"g/{index}"].config["max.poll.records"] for index in range(3)] == ["500", "500", "7"]
    assert [members[f"g/{index}"].processing.per_record.values for index in (1, 2)] == [(1_000,), (9_000,)]


def test_static_members_have_an_instance_id_of_their_own_or_one_that_the_file_gives(tmp_path: Path) -> None:
    group = GROUP.replace("count: 3", "count: 3, static: true") + "    overrides: [{members: 2, instance: twin}]\n"
    members = planned(tmp_path, group=group).members
    assert [members[f"g/{index}"].instance_id for index in range(3)] == ["g-0", "g-1", "twin"]
    assert planned(tmp_path).members["g/0"].instance_id is None


def test_brokers_get_what_the_file_says_of_groups(tmp_path: Path) -> None:
    source = read(written(tmp_path, cluster="{brokers: 1, config: {group.initial.rebalance.delay.ms: 0}}"))
    assert source.broker_config["group.initial.rebalance.delay.ms"] == "0"
    assert source.broker_config["group.min.session.timeout.ms"] == "6000"


def test_members_start_when_the_file_says(tmp_path: Path) -> None:
    assert planned(tmp_path).starts == ((0, "g/0"), (1_000_000, "g/1"), (2_000_000, "g/2"))


def test_each_repetition_has_another_phase_and_always_the_same(tmp_path: Path) -> None:
    timeline = "[{every: {uniform: [20s, 23s]}, until: 24s, kill: {target: g/random}}]"
    instants = [planned(tmp_path, number, timeline=timeline).firings[0].at_us for number in (1, 2, 3, 1)]
    assert len(set(instants)) == 3
    assert instants[0] == instants[3]
    assert all(20_000_000 <= one <= 23_000_000 for one in instants)


def test_a_drawn_target_is_the_simulators(tmp_path: Path) -> None:
    timeline = "[{id: kill, every: {uniform: [20s, 23s]}, until: 24s, kill: {target: g/random}}]"
    hit = {planned(tmp_path, number, timeline=timeline).firings[0].targets for number in range(1, 9)}
    assert all(len(one) == 1 for one in hit)
    assert len(hit) > 1


def test_who_is_frozen_or_killed_has_a_jvm_of_its_own(tmp_path: Path) -> None:
    timeline = (
        "[{at: 20s, kill: {target: g/0}}, {at: 30s, gc_pause: {target: g/1, for: 2s}}, "
        "{at: 40s, restart: {target: g/1, stop: kill, down: 1s}}, {at: 50s, close: {target: g/2}}]"
    )
    assert planned(tmp_path, timeline=timeline).spares == {"g-process-0": 0, "g-process-1": 1}


def test_members_that_come_later_are_planned_too(tmp_path: Path) -> None:
    assert "g/4" in planned(tmp_path, timeline="[{at: 20s, scale: {target: g, to: 5}}]").members


def test_another_configuration_goes_on_top_of_the_one_before(tmp_path: Path) -> None:
    timeline = (
        "[{id: one, at: 10s, set_config: {target: g, config: {max.poll.records: 7}}}, "
        "{id: two, at: 20s, set_config: {target: g, config: {partition.assignment.strategy: [range]}}}]"
    )
    changes = planned(tmp_path, timeline=timeline).changes
    assert changes["two"]["max.poll.records"] == "7"
    assert changes["two"]["partition.assignment.strategy"].endswith("RangeAssignor")


# --- refusals ---------------------------------------------------------------------------------------------------------


def test_a_refusal_names_the_file_the_place_and_the_line(tmp_path: Path) -> None:
    told = refusal(tmp_path, timeline="[{id: split, at: 5s, cut: {between: [g/0, 'broker:0'], for: 5s}}]")
    assert told.startswith(f"{tmp_path / 'mine.yaml'}: timeline[split].cut (line 13): cut is not played: ")


@pytest.mark.parametrize(
    ("timeline", "place"),
    [
        ("[{at: 5s, slow_host: {target: g, factor: 2, for: 5s}}]", "slow_host"),
        ("[{at: 5s, kill: {target: g/leader}}]", "target"),
        ("[{every: 20s, per_member: true, stuck: {target: g, for: 1s}}]", "per_member"),
        ("[{at: 5s, set_config: {target: g, client: 2.x}}]", "client"),
        ("[{at: 5s, subscribe: {target: g, topics: {assign: {orders: 0-3}}}}]", "assign"),
    ],
)
def test_verbs_that_are_refused(tmp_path: Path, timeline: str, place: str) -> None:
    assert f".{place}" in refusal(tmp_path, timeline=timeline)


@pytest.mark.parametrize(
    ("cluster", "place"),
    [
        ("{brokers: 1, version: 0.9}", "cluster.version"),
        ("{brokers: [{id: 0, rack: a}]}", "cluster.brokers"),
        ("{brokers: 1, network: {loss: 0.1}}", "cluster.network.loss"),
        ("{brokers: 1, config: {listeners: 'PLAINTEXT://:9092'}}", "cluster.config.listeners"),
    ],
)
def test_clusters_that_are_refused(tmp_path: Path, cluster: str, place: str) -> None:
    assert place in refusal(tmp_path, cluster=cluster)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (("per_record: 1ms", "per_record: {uniform: [1ms, 2ms]}"), "processing.per_record"),
        (("poll_timeout: 50ms", "commit: before_processing"), "processing.commit"),
        (("session.timeout.ms: 10000", "client.rack: a"), "config[client.rack]"),
        (("    topics: [orders]", "    topics: [orders]\n    client: 3.x"), "client"),
        (("    topics: [orders]", "    topics: [orders]\n    count: 2"), "count"),
        (("    topics: [orders]", "    topics: [orders]\n    client_family: librdkafka"), "client_family"),
    ],
)
def test_groups_that_are_refused(tmp_path: Path, change: tuple[str, str], place: str) -> None:
    assert f"groups.g.{place}" in refusal(tmp_path, group=GROUP.replace(*change))


def test_records_that_would_be_deleted_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path)
    path.write_text(path.read_text().replace("partitions: 12,", "partitions: 12, config: {retention.ms: 1000},"))
    with pytest.raises(CannotPlay, match="records are not deleted"):
        read(path)


def test_everything_that_is_refused_is_named_at_once(tmp_path: Path) -> None:
    told = refusal(
        tmp_path, cluster="{brokers: 1, network: {loss: 0.1}}", timeline="[{at: 5s, kill: {target: g/leader}}]"
    )
    assert "loss" in told
    assert "leader" in told
