"""What files say of the consumer protocol reaches members and brokers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.oracle.cast import Cast
from tests.oracle.translation import Plan, plan, read

SCENARIOS = Path(__file__).with_name("scenarios")


def planned(name: str) -> Plan:
    return plan(read(SCENARIOS / f"{name}.yaml"), 1)


def test_the_broker_is_told_of_the_group() -> None:
    assert planned("consumer-kill").group_config == {"g": {"consumer.session.timeout.ms": "12000"}}


@pytest.mark.parametrize(
    ("name", "spoken"),
    [("join-range", ["classic"]), ("consumer-join", ["consumer"]), ("consumer-upgrade", ["classic", "consumer"])],
)
def test_members_rehearse_the_protocols_that_they_use(name: str, spoken: list[str]) -> None:
    assert planned(name).spoken == spoken


def config(name: str) -> dict[str, str]:
    one = planned(name)
    return Cast(one, "p", "127.0.0.1:9092", lambda *_: None)._config(one.members["g/1"])  # type: ignore[arg-type,return-value]


def test_a_client_of_the_consumer_protocol_gets_no_key_that_it_refuses() -> None:
    told = config("consumer-kill")
    assert told["group.protocol"] == "consumer"
    assert not {"session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy"} & {*told}


def test_clients_are_known_by_their_members_names() -> None:
    assert [config(name)["client.id"] for name in ("join-range", "consumer-kill")] == ["g-1", "g-1"]


def test_patterns_of_the_broker_are_passed_on_as_such() -> None:
    one = planned("consumer-re2")
    cast = Cast(one, "p", "127.0.0.1:9092", lambda *_: None)  # type: ignore[arg-type,return-value]
    assert cast.subscription(one.members["g/0"]) == {"re2": r"\Qp.\E(?:orders-.*)"}
