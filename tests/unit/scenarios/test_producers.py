"""``producers`` in a scenario file: what Kafka refuses, in its words, and what is not modelled."""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.scenarios import parse
from groupsim.scenarios.build.notes import warnings_of
from groupsim.scenarios.errors import ScenarioFileError
from groupsim.sim.model import Scenario
from groupsim.sim.units import MS, S

BASE: dict[str, Any] = {
    "version": 1, "question": "?", "horizon": "1min",
    "topics": {"t": {"partitions": 4, "rate": {"per_partition": 1}}, "u": {"partitions": 1}},
    "groups": {"g": {"topics": ["t"], "members": {"count": 1}}},
    "producers": {"shop": {"topics": ["t"]}},
}  # fmt: skip


def load(**changes: Any) -> Scenario:
    return parse({**BASE, **changes}, file="s.yaml", name="s")


def shop(topics: list[str] | None = None, **config: Any) -> dict[str, Any]:
    return {"shop": {"topics": topics or ["t"], "config": config}}


def refusal(**changes: Any) -> str:
    with pytest.raises(ScenarioFileError) as caught:
        load(**changes)
    return " ".join(str(caught.value).split())


def test_a_configuration_becomes_a_producer_s() -> None:
    config = {"acks": "all", "linger.ms": 20, "batch.size": 1000, "delivery.timeout.ms": 40_000, "retries": 3}
    (one,) = load(producers={"shop": {"topics": ["t"], "count": 3, "record_size": "2KiB", "config": config}}).producers
    assert (one.name, one.topics, one.count, one.record_bytes) == ("shop", ("t",), 3, 2048)
    got = one.config
    assert (got.acks, got.linger_us, got.batch_bytes, got.retries) == (-1, 20 * MS, 1000, 3)
    assert (got.delivery_timeout_us, got.enable_idempotence) == (40 * S, True)


@pytest.mark.parametrize(("config", "acks"), [({"acks": "1"}, "1"), ({"acks": "0"}, "0"), ({"retries": 0}, "all")])
def test_idempotence_is_given_up_silently_and_topics_have_the_acks_of_their_producers(
    config: dict[str, Any], acks: str
) -> None:
    made = load(producers=shop(**config))
    assert made.topics[0].acks == acks
    assert not made.producers[0].config.enable_idempotence


def test_delivery_timeout_is_raised_if_nobody_gives_it() -> None:
    """``KafkaProducer.configureDeliveryTimeout``."""
    (one,) = load(producers=shop(**{"request.timeout.ms": 200_000, "linger.ms": 7})).producers
    assert one.config.delivery_timeout_us == 200_007 * MS


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"acks": "1", "enable.idempotence": True}, "Must set acks to all in order to use the idempotent producer"),
        ({"retries": 0, "enable.idempotence": True}, "Must set retries to non-zero"),
        ({"max.in.flight.requests.per.connection": 6}, "to at most 5 to use the idempotent producer"),
        ({"delivery.timeout.ms": 30_004}, "should be equal to or larger than linger.ms + request.timeout.ms"),
        ({"transactional.id": "x"}, "only groups with produces have them"),
        ({"linger": 5}, "linger.ms"),
    ],
)
def test_what_a_producer_refuses_is_refused_in_its_words(config: dict[str, Any], reason: str) -> None:
    assert reason in refusal(producers=shop(**config))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"producers": shop(["x"])}, "there is no topic of this name"),
        ({"producers": shop(["t", "u"])}, "would send nothing: give topics.u a rate, such as {per_partition: 50}"),
        ({"producers": {**shop(), "other": {"topics": ["t"]}}}, "other send to this topic too"),
        ({"producers": shop(["t", "t"])}, "must not name a topic twice"),
        ({"topics": {"t": {"partitions": 1, "acks": 1}}}, "here their config does, and says all"),
        ({"topics": {"t": {"partitions": 1, "rate": {"steps": [["0s", 1], ["9s", 2]]}}}}, "constant rate"),
        ({"topics": {"t": {"partitions": 100, "rate": {"per_partition": 2000}}}}, "more than 10,000,000"),
        (
            {"timeline": [{"at": "1s", "set_rate": {"topic": "t", "rate": {"per_partition": 2}}}]},
            "set_rate of a topic that producers send to",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(changes: dict[str, Any], reason: str) -> None:
    assert reason in refusal(**changes)


def test_whoever_reads_a_flow_is_told_so_and_why() -> None:
    unclean = {"partitions": 1, "config": {"unclean.leader.election.enable": True}}
    sentence = "producers.shop: t is read (g) at its rate, since an unclean election takes back"
    assert any(one.startswith(sentence) for one in warnings_of(load(topics={"t": unclean | RATE})))
    assert not any("at its rate" in one for one in warnings_of(load()))
    assert not any("at its rate" in one for one in warnings_of(load(topics={**BASE["topics"], "u": unclean})))


RATE = {"rate": {"per_partition": 1}}


def test_a_resolved_document_loads_again() -> None:
    made = load(producers=shop(acks="1"))
    assert parse(dict(made.document), file="s.yaml", name="s").producers == made.producers
