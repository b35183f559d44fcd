"""Every recorded call of Kafka 4.4.0's coordinator assignors is answered as Kafka answered it, down to the records."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.assignors import GroupSpec, create_server
from groupsim.assignors.server.target_records import needs_record, written_targets
from tests.conformance.assignors.kafka_calls import Runs, digest, recorded, runs
from tests.conformance.assignors.server_calls import LargeTargets, spec

every_assignor = pytest.mark.parametrize("name", ["range", "uniform"])


def calls_of(name: str) -> list[dict[str, Any]]:
    others = recorded("server-edges") + recorded("server-crowded")
    return recorded(f"server-{name}") + [call for call in others if call["assignor"] == name]


def written(name: str, group: GroupSpec) -> dict[str, Runs]:
    """The members' records after an assignment, those included that stay as they were."""
    targets = written_targets(group, create_server(name).assign_group(group))
    lists = zip(group.names.member_ids, targets.lists(), strict=True)
    return {member: runs(targets.topics, positions) for member, positions in lists}


@every_assignor
def test_targets_are_kafkas_in_the_order_of_the_record(name: str) -> None:
    wrong = [call["id"] for call in calls_of(name) if written(name, spec(call)) != call["result"]["assignment"]]
    assert len(calls_of(name)) > 100
    assert wrong == []


@every_assignor
def test_records_are_written_for_those_for_whom_kafka_writes_one(name: str) -> None:
    def unchanged(call: dict[str, Any]) -> list[str]:
        group = spec(call)
        changed = needs_record(group, create_server(name).assign_group(group)).tolist()
        members = zip(call["members"], changed, strict=True)
        return sorted(member["id"] for member, record in members if "target" in member and not record)

    told = [call for call in calls_of(name) if "unchanged" in call["result"]]
    assert len(told) > 100
    assert [call["id"] for call in told if unchanged(call) != sorted(call["result"]["unchanged"])] == []


@every_assignor
def test_chains_can_be_replayed_with_ones_own_targets(name: str) -> None:
    own: dict[tuple[str, int], dict[str, Runs]] = {}
    for call in calls_of(name):
        if "chain" not in call:
            continue
        before = own.get((call["chain"], call["step"] - 1), {})
        for member in call["members"]:
            if member["id"] in before and _still_there(call, before[member["id"]]):
                member["target"] = before[member["id"]]
        own[call["chain"], call["step"]] = written(name, spec(call))
        assert own[call["chain"], call["step"]] == call["result"]["assignment"], call["id"]
    assert len(own) > 50


def _still_there(call: dict[str, Any], target: Runs) -> bool:
    """Whether no topic of a target was deleted since; the recording then calls it by another name."""
    names = {topic["name"] for topic in call["topics"] if topic.get("deleted")}
    return not any(f"{topic}#{at}" in names for topic, _ in target for at in range(10))


def test_kafka_chooses_the_builder_by_the_names_of_topics() -> None:
    def kind(call: dict[str, Any]) -> str:
        return "homogeneous" if spec(call).homogeneous else "heterogeneous"

    calls = [call for call in calls_of("range") + calls_of("uniform") if "subscription_type" in call["result"]]
    assert len(calls) > 300
    assert [call["id"] for call in calls if kind(call) != call["result"]["subscription_type"]] == []


def large_chains() -> dict[str, list[dict[str, Any]]]:
    chains: dict[str, list[dict[str, Any]]] = {}
    for call in recorded("large"):
        if call["side"] == "server" and call["assignor"] != "simple":
            chains.setdefault(call["chain"], []).append(call)
    return chains


@pytest.mark.parametrize("chain", sorted(large_chains()))
def test_large_groups_are_assigned_as_by_kafka(chain: str) -> None:
    replay = LargeTargets()
    for call in large_chains()[chain]:
        snapshot = replay.snapshot(call)
        group = GroupSpec.of(snapshot)
        targets = written_targets(group, create_server(call["assignor"]).assign_group(group))
        assert digest(snapshot, targets, ordered=False) == call["result"]["sha256"], call["id"]
        replay.remember(call, snapshot, targets)
