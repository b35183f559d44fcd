"""Every recorded call of Kafka 4.4.0's assignors is answered as Kafka answered it: members, list order, exceptions."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.assignors import Assignor, KafkaAssignorFailure, StickyUserData, create
from groupsim.assignors.client.sticky import AbstractStickyAssignor, Path
from tests.conformance.assignors.kafka_calls import LargeChain, answer, counted, digest, recorded, runs, snapshot

ASSIGNORS = ["range", "roundrobin", "sticky", "cooperative-sticky"]
STICKY = ["sticky", "cooperative-sticky"]


def calls_of(name: str) -> list[dict[str, Any]]:
    others = recorded("client-edges") + recorded("client-crowded")
    return recorded(f"client-{name}") + [call for call in others if call["assignor"] == name]


def ids_of_wrong_answers(name: str, is_right: Any) -> list[str]:
    leaders: dict[str, Assignor] = {}
    wrong = []
    for call in calls_of(name):
        leader = leaders.setdefault(call.get("reuse", call["id"]), create(name))
        if not is_right(leader, call):
            wrong.append(call["id"])
    return wrong


def outcome(leader: Assignor, call: dict[str, Any]) -> dict[str, Any]:
    group = snapshot(call)
    try:
        return {"assignment": answer(group, leader.assign(group))}
    except KafkaAssignorFailure as failure:
        return {"error": failure.java_class, "error_message": failure.java_message}


@pytest.mark.parametrize("name", ASSIGNORS)
def test_lists_and_exceptions_are_kafkas(name: str) -> None:
    def is_right(leader: Assignor, call: dict[str, Any]) -> bool:
        told = outcome(leader, call)
        return told == {key: call["result"].get(key) for key in told}

    assert len(calls_of(name)) > 100
    assert ids_of_wrong_answers(name, is_right) == []


@pytest.mark.parametrize("name", STICKY)
def test_the_youngest_generation_seen_is_kafkas(name: str) -> None:
    def is_right(leader: Assignor, call: dict[str, Any]) -> bool:
        outcome(leader, call)
        assert isinstance(leader, AbstractStickyAssignor)
        return leader.max_generation == call["result"].get("max_generation", leader.max_generation)

    assert ids_of_wrong_answers(name, is_right) == []


@pytest.mark.parametrize("name", STICKY)
def test_path_and_partitions_that_change_hands_are_kafkas(name: str) -> None:
    def is_right(leader: Assignor, call: dict[str, Any]) -> bool:
        result, group = call["result"], snapshot(call)
        if "path" not in result:
            return True
        assert isinstance(leader, AbstractStickyAssignor)
        solution = leader.solve(group)
        if solution.path is not Path(result["path"]) or "transferring" not in result:
            return solution.path is Path(result["path"])
        assert solution.changes_hands is not None
        moving = zip(
            solution.positions[solution.changes_hands].tolist(),
            solution.members[solution.changes_hands].tolist(),
            strict=True,
        )
        names, topics = solution.claims.topics.names, solution.claims.topics
        found = [[names[topics.topic_of[p]], int(topics.number_of[p]), group.member_ids[m]] for p, m in moving]
        return sorted(found) == sorted(result["transferring"])

    assert ids_of_wrong_answers(name, is_right) == []


def test_members_send_what_they_remember_in_kafkas_order() -> None:
    calls = {(call.get("chain"), call.get("step")): call for call in recorded("client-sticky")}
    compared = 0
    for call in recorded("client-sticky"):
        before = calls.get((call.get("chain"), call.get("step", 0) - 1))
        if before is None or "assignment" not in before["result"]:
            continue
        for member in call["members"]:
            told, held = member.get("user_data"), before["result"]["assignment"].get(member["id"])
            if told is None or held is None or told.get("generation") != before["step"] + 1:
                continue
            memory = StickyUserData(*counted(held, snapshot(before).topics), before["step"] + 1)
            assert runs(memory.layout, memory.in_wire_order()) == told["owned"], (call["id"], member["id"])
            compared += len(held) > 1
    assert compared > 300


def large_chains() -> dict[str, list[dict[str, Any]]]:
    chains: dict[str, list[dict[str, Any]]] = {}
    for call in recorded("large"):
        if call["side"] == "client":
            chains.setdefault(call["chain"], []).append(call)
    return chains


@pytest.mark.parametrize("chain", sorted(large_chains()))
def test_large_groups_are_assigned_as_by_kafka(chain: str) -> None:
    replay = LargeChain()
    for call in large_chains()[chain]:
        group = replay.snapshot(call)
        assignment = create(call["assignor"]).assign(group)
        expected = call["result"]
        assert digest(group, assignment, ordered=False) == expected["sha256"], call["id"]
        assert digest(group, assignment, ordered=True) == expected["sha256_ordered"], call["id"]
        replay.remember(call, group, assignment)
