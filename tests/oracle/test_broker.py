"""What brokers are started with."""

from __future__ import annotations

from pathlib import Path

from tests.oracle.broker import properties


def told(node: int) -> dict[str, str]:
    text = properties(
        {"group.initial.rebalance.delay.ms": "0"}, Path("/folder"), controller=1, port=10 + node, node=node
    )
    return dict(line.split("=", 1) for line in text.splitlines())


def test_the_first_node_is_the_controller_of_all() -> None:
    first, second = told(1), told(2)
    assert (first["process.roles"], second["process.roles"]) == ("broker,controller", "broker")
    assert first["controller.quorum.voters"] == second["controller.quorum.voters"] == "1@127.0.0.1:1"
    assert (first["node.id"], second["node.id"]) == ("1", "2")
    assert first["listeners"] == "BROKER://127.0.0.1:11,CONTROLLER://127.0.0.1:1"
    assert second["listeners"] == "BROKER://127.0.0.1:12"


def test_a_scenarios_keys_hold_for_every_node() -> None:
    assert told(1)["group.initial.rebalance.delay.ms"] == told(2)["group.initial.rebalance.delay.ms"] == "0"
