"""Nine topics in one bucket of a small hash table: Java lets the table grow early, and Kafka's answers show it.

Calls and answers in the form of the recordings; the answers are those of Kafka 4.4.0 on OpenJDK 17.
"""

from __future__ import annotations

import base64
from typing import Any

import pytest

from groupsim.assignors import create
from groupsim.assignors.java.ordering import fold, string_hash
from tests.conformance.assignors.kafka_calls import answer, snapshot
from tests.conformance.assignors.server_calls import spec
from tests.conformance.assignors.test_server_calls import written

NAMES = ["0.19", "1.70", "10.6", "11.5", "13.3", "2.50", "3.40", "6.8", "7.7"]


def topic_id(last: int) -> str:
    return base64.urlsafe_b64encode(bytes(15) + bytes([last])).decode().rstrip("=")


def one_of_each(*names: str) -> list[list[Any]]:
    return [[name, [0]] for name in names]


def test_the_names_are_in_one_bucket() -> None:
    assert {fold(string_hash(name)) & 15 for name in NAMES} == {0}


def test_a_sticky_member_remembers_its_topics_as_a_table_that_grew_early_yields_them() -> None:
    remembers = {"received": one_of_each(*NAMES), "generation": 1}
    old = {"id": "a", "topics": NAMES, "owned": [], "generation": 1, "user_data": remembers}
    new = {"id": "b", "topics": NAMES[:1], "owned": [], "generation": None}
    topics = [{"name": name, "partitions": 1} for name in NAMES]
    group = snapshot({"assignor": "sticky", "topics": topics, "members": [old, new]})
    assert answer(group, create("sticky").assign(group)) == {
        "a": one_of_each("7.7", "6.8", "3.40", "2.50", "1.70", "13.3", "11.5", "10.6"),
        "b": one_of_each("0.19"),
    }


@pytest.mark.parametrize(
    ("assignor", "last_bytes", "order"),
    [
        (
            "range",
            [16 * number for number in range(1, 10)],
            ["1.70", "2.50", "6.8", "11.5", "3.40", "7.7", "0.19", "10.6", "13.3"],
        ),
        (
            "range",
            [16 * number + number % 3 for number in range(9)],
            ["3.40", "0.19", "11.5", "1.70", "6.8", "13.3", "2.50", "7.7", "10.6"],
        ),
        (
            "uniform",
            [16 * number + number % 3 for number in range(9)],
            ["11.5", "0.19", "3.40", "13.3", "6.8", "1.70", "10.6", "7.7", "2.50"],
        ),
    ],
    ids=["ids", "names", "names-uniform"],
)
def test_the_coordinator_walks_topics_as_tables_that_grew_early_yield_them(
    assignor: str, last_bytes: list[int], order: list[str]
) -> None:
    topics = [
        {"name": name, "partitions": 1, "id": topic_id(last)} for name, last in zip(NAMES, last_bytes, strict=True)
    ]
    call = {"topics": topics, "members": [{"id": "a", "topics": NAMES}]}
    assert written(assignor, spec(call)) == {"a": one_of_each(*order)}
