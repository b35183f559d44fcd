"""A group over which Kafka 4.4.0's sticky assignors never end: found by lot, and made as small as it still is so.

Kafka's own was stopped after 60 s in `AbstractStickyAssignor.GeneralAssignmentBuilder.performReassignments`.
"""

from __future__ import annotations

from typing import Any

import pytest

from groupsim.assignors import KafkaAssignorEndless, create
from tests.conformance.assignors.kafka_calls import snapshot

CALL: dict[str, Any] = {
    "assignor": "cooperative-sticky",
    "topics": [
        {"name": "topic-10", "partitions": 3},
        {"name": "topic-9", "partitions": 1},
        {"name": "topic-5", "partitions": 11},
        {"name": "topic-3", "partitions": 5, "racks": [["rack-a"]] * 5},
    ],
    "members": [
        {"id": "c1", "topics": ["topic-10", "topic-3"], "owned": [["topic-3", [1, 3, 4]]], "generation": 4},
        {"id": "c3", "topics": ["topic-10", "topic-3", "topic-9"], "owned": [["topic-3", [0, 2]]], "generation": 2},
        {"id": "c2", "topics": ["topic-5"], "owned": [], "generation": None},
        {"id": "c0", "topics": ["topic-5"], "owned": [["topic-10", [1]]], "generation": 3, "rack": "rack-a"},
    ],
}


def test_moves_that_come_round_in_a_circle_are_told_instead_of_followed_for_ever() -> None:
    with pytest.raises(KafkaAssignorEndless, match="round for ever"):
        create("cooperative-sticky").assign(snapshot(CALL))
