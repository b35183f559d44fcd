"""What brokers are started with."""

from __future__ import annotations

from pathlib import Path

from tests.oracle.broker import Layout, properties

LEFT_ALONE = Layout(controllers=(1,), clients=(10, 11))
FAILING = Layout(controllers=(1, 2, 3), clients=(10, 11, 12))


def told(node: int, ports: Layout = LEFT_ALONE) -> dict[str, str]:
    text = properties({"group.initial.rebalance.delay.ms": "0"}, Path("/folder"), ports, node)
    return dict(line.split("=", 1) for line in text.splitlines())


def test_the_first_node_is_the_controller_of_all() -> None:
    first, second = told(0), told(1)
    assert (first["process.roles"], second["process.roles"]) == ("broker,controller", "broker")
    assert first["controller.quorum.voters"] == second["controller.quorum.voters"] == "0@127.0.0.1:1"
    assert (first["node.id"], second["node.id"]) == ("0", "1")
    assert first["listeners"] == "BROKER://127.0.0.1:10,CONTROLLER://127.0.0.1:1"
    assert second["listeners"] == "BROKER://127.0.0.1:11"
    assert first["default.replication.factor"] == first["offsets.topic.replication.factor"] == "1"


def test_all_nodes_that_are_to_fail_are_voters_and_have_a_replica_of_everything() -> None:
    nodes = [told(node, FAILING) for node in range(3)]
    assert {one["process.roles"] for one in nodes} == {"broker,controller"}
    assert {one["controller.quorum.voters"] for one in nodes} == {"0@127.0.0.1:1,1@127.0.0.1:2,2@127.0.0.1:3"}
    assert {one["default.replication.factor"] for one in nodes} == {"3"}
    assert nodes[2]["listeners"] == "BROKER://127.0.0.1:12,CONTROLLER://127.0.0.1:3"


def test_a_scenarios_keys_hold_for_every_node() -> None:
    assert told(0)["group.initial.rebalance.delay.ms"] == told(1)["group.initial.rebalance.delay.ms"] == "0"
