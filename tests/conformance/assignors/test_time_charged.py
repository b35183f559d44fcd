"""What assignors are charged (`sim.cluster.groups.assignor_costs`), beside measurements: the table of decision 0006.

An error is the factor between model and measurement, whichever is larger.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from groupsim.scenarios import assignors as trials
from groupsim.sim.cluster.groups.assignor_costs import _FIXED_US, Task, coordinator_cost_us, cost_us
from groupsim.sim.config import ClientFamily
from tests.conformance.assignors.kafka_calls import RECORDINGS

JAVA = json.loads(Path(trials.__file__).with_name("kafka-4.4.0-assignor-times.json").read_text(encoding="utf-8"))
KAFKA_PYTHON = json.loads((RECORDINGS / "kafka-python-times.json").read_text(encoding="utf-8"))


def charged_ms(name: str, family: ClientFamily, task: Task) -> float:
    """Without metadata, decoding and encoding, which the measurements leave out."""
    return (cost_us(name, family, task) - _FIXED_US) / 1000


def factors(pairs: Iterator[tuple[float, float]]) -> tuple[float, float]:
    """Median and worst error, and no more than two digits of them."""
    logs = np.array([abs(np.log(model / measured)) for model, measured in pairs])
    return round(float(np.exp(np.median(logs))), 2), round(float(np.exp(logs.max())), 2)


def java(name: str, modes: tuple[str, ...]) -> Iterator[tuple[float, float]]:
    for shape, times in JAVA[name]["equal"].items():
        members, ratio, topics = map(int, shape.split(" x "))
        partitions = topics * (members * ratio // topics)  # Kafka's benchmark has whole partitions in each topic
        for mode in modes:
            if partitions:
                task = Task(members, partitions, topics, owned=mode != "full")
                yield charged_ms(name, "java", task), times[mode]


def coordinator(name: str, subscriptions: str, modes: tuple[str, ...]) -> Iterator[tuple[float, float]]:
    for shape, times in JAVA[f"server:{name}"][subscriptions].items():
        members, ratio, topics = map(int, shape.split(" x "))
        partitions = topics * (members * ratio // topics)
        for mode in modes:
            task = Task(members, partitions, topics, equal=subscriptions == "equal", owned=mode != "full")
            if partitions:
                yield coordinator_cost_us(name, task) / 1000, times[mode]


def kafka_python(name: str) -> Iterator[tuple[float, float]]:
    for shape, measured in KAFKA_PYTHON[name].items():
        members, partitions, topics = map(int, shape.split(" x "))
        if members >= 100:
            yield charged_ms(name, "kafka-python", Task(members, partitions, topics)), measured


@pytest.mark.parametrize(
    ("name", "modes", "median", "worst"),
    [
        ("range", ("full",), 1.17, 1.56),
        ("cooperative-sticky", ("full",), 1.07, 1.47),
        ("cooperative-sticky", ("join", "leave"), 1.17, 3.96),
    ],
)
def test_java_equal_subscriptions(name: str, modes: tuple[str, ...], median: float, worst: float) -> None:
    assert factors(java(name, modes)) == (median, worst)


@pytest.mark.parametrize(
    ("name", "subscriptions", "modes", "median", "worst"),
    [
        ("range", "equal", ("full",), 1.13, 1.44),
        ("uniform", "equal", ("full",), 1.08, 2.07),
        ("uniform", "equal", ("join", "leave"), 1.21, 2.7),
        ("uniform", "unequal", ("full",), 1.11, 1.38),
        ("uniform", "unequal", ("join", "leave"), 1.12, 1.28),
    ],
)
def test_assignors_of_the_coordinator(
    name: str, subscriptions: str, modes: tuple[str, ...], median: float, worst: float
) -> None:
    assert factors(coordinator(name, subscriptions, modes)) == (median, worst)


def test_who_is_charged_as_whom_at_the_coordinator() -> None:
    task = Task(1_000, 10_000, 10, equal=False)
    assert coordinator_cost_us("somebody-s-own", task) == coordinator_cost_us("range", task)
    assert coordinator_cost_us("range", task) == coordinator_cost_us("range", Task(1_000, 10_000, 10))
    assert coordinator_cost_us("uniform", task) > coordinator_cost_us("uniform", Task(1_000, 10_000, 10))
    assert coordinator_cost_us("uniform", Task(0, 0, 0)) == 0


@pytest.mark.parametrize(
    ("name", "median", "worst"),
    [("range", 1.35, 2.45), ("roundrobin", 1.13, 1.9), ("sticky", 1.12, 1.3), ("cooperative-sticky", 1.14, 1.46)],
)
def test_kafka_python(name: str, median: float, worst: float) -> None:
    assert factors(kafka_python(name)) == (median, worst)


def test_java_unequal_subscriptions_goes_through_the_published_points() -> None:
    """Kafka PR 11578: general sticky, 1,000,000 partitions."""
    for members, seconds in ((1_000, 16), (2_000, 44)):
        task = Task(members, 1_000_000, 1_000, equal=False)
        assert charged_ms("sticky", "java", task) == pytest.approx(seconds * 1000, rel=0.001)


def test_java_round_robin_goes_through_its_two_points() -> None:
    assert charged_ms("roundrobin", "java", Task(100, 1_000, 1)) == pytest.approx(0.4, rel=0.02)
    assert charged_ms("roundrobin", "java", Task(2_000, 2_000, 2_000)) == pytest.approx(192, rel=0.01)


def librdkafka_s(members: int, partitions: int) -> float:
    return charged_ms("cooperative-sticky", "librdkafka", Task(members, partitions, 1)) / 1000


def test_librdkafka_goes_through_the_published_points() -> None:
    """PR 5085: what takes 30 s before it, and after it, which is not released."""
    assert librdkafka_s(2_125, 3_160) == pytest.approx(30, rel=0.001)
    assert librdkafka_s(530, 5_253) == pytest.approx(30, rel=0.001)
    after = [30 / librdkafka_s(3_625, 5_460), 30 / librdkafka_s(750, 7_503)]
    assert after == pytest.approx([0.54 / 1.14, 0.54 * 1.14], rel=0.01)


def test_librdkafka_fails_where_users_saw_it_fail() -> None:
    """Issue 4629: sessions of 3 s and 10 s (the number of consumers is not told: two), and 450 members with 15 s."""
    assert librdkafka_s(2, 3_000) < 3 < librdkafka_s(2, 6_000) < 10 < librdkafka_s(2, 15_000)
    assert librdkafka_s(450, 3_000) > 15


@pytest.mark.parametrize(
    ("name", "family", "owned", "us"),
    [
        ("range", "java", False, 250 + 540_000 + 79 + 144_000_000),
        ("roundrobin", "java", False, 250 + 400 + 48_000_000),
        ("sticky", "java", False, 250 + 314_000 + 32 + 19_000_000),
        ("sticky", "java", True, 250 + 23_000_000 + 329),
        ("range", "kafka-python", False, 250 + 2_326_000 + 868_000_000),
        ("roundrobin", "kafka-python", False, 250 + 2_213_000 + 731 + 54_000_000),
    ],
)
def test_what_a_large_group_is_charged(name: str, family: ClientFamily, owned: bool, us: int) -> None:
    """A million members, a thousand partitions and topics: no coefficient can change unnoticed."""
    assert cost_us(name, family, Task(1_000_000, 1_000, 1_000, owned=owned)) == us


def test_who_is_charged_as_whom() -> None:
    task = Task(100, 1_000, 1)
    assert (
        cost_us("somebody-s-own", "java", task)
        == cost_us("range", "java", task)
        == cost_us("range", "librdkafka", task)
    )
    assert cost_us("sticky", "java", task) == cost_us("cooperative-sticky", "java", task)
    assert cost_us("sticky", "java", Task(100, 1_000, 1, owned=True)) > cost_us("sticky", "java", task)
    assert cost_us("range", "java", Task(0, 0, 0)) == _FIXED_US
