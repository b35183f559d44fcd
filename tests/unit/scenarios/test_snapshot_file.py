"""Files of groups to try assignors on: what they mean, and what is refused with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from groupsim.assignors import GroupSnapshot
from groupsim.scenarios.assignors.snapshot_file import load_snapshot
from groupsim.scenarios.errors import ScenarioFileError

GROUP = """
topics:
  stock: {partitions: 3, rate: [5, 6, 7], replicas: [[b], [a, b]]}
  orders: {partitions: 2, rate: 100, replicas: [[a, b]]}
members:
  consumer: {count: 3, rack: [a, b], capacity: 500}
  slow: {topics: [orders], rack: c, capacity: 50}
"""


def load(folder: Path, text: str) -> GroupSnapshot:
    (folder / "group.yaml").write_text(text)
    return load_snapshot(folder / "group.yaml")


def test_topics_and_members_are_as_the_file_says(tmp_path: Path) -> None:
    group = load(tmp_path, GROUP)
    assert (group.topics.names, group.topics.counts) == (("orders", "stock"), (2, 3))
    assert group.topics.rates == (100, 100, 5, 6, 7)
    assert group.topics.racks == (("a", "b"), ("a", "b"), ("b",), ("a", "b"), ("b",))
    told = [(one.member_id, one.topics, one.rack, one.capacity) for one in group.members]
    assert told == [
        ("consumer-1", ("orders", "stock"), "a", 500),
        ("consumer-2", ("orders", "stock"), "b", 500),
        ("consumer-3", ("orders", "stock"), "a", 500),
        ("slow", ("orders",), "c", 50),
    ]


def test_little_is_enough(tmp_path: Path) -> None:
    group = load(tmp_path, "topics: {orders: 4}\nmembers: {a: {}, b: {}}")
    assert (group.topics.counts, group.topics.rates, group.topics.racks) == ((4,), None, None)
    assert [(one.topics, one.rack, len(one.owned)) for one in group.members] == [(("orders",), None, 0)] * 2


@pytest.mark.parametrize(
    ("old", "new", "place", "says"),
    [
        ("partitions: 2", "partitions: -2", "topics.orders.partitions", "greater than or equal to 1"),
        ("partitions: 2", "partitions: 2.5", "topics.orders.partitions", "whole number"),
        ("partitions: 2", "partitions: 999999999", "topics.orders.partitions", "less than or equal to"),
        ("rate: 100", "rate: -1", "topics.orders.rate[0]", "greater than or equal to 0"),
        ("rate: 100", "rate: [1, 2, 3]", "topics.orders", "one for each of the 2 partitions"),
        ("rate: 100, ", "", "topics.orders", "has no rate, and stock has"),
        (", replicas: [[a, b]]", "", "topics.orders", "has no replicas, and stock has"),
        ("[orders]", "[ordres]", "members.slow.topics[0]", "did you mean 'orders'?"),
        ("[orders]", "[orders, orders]", "members.slow.topics", "twice"),
        ("[orders]", "[]", "members.slow.topics", "at least 1 item"),
        ("  slow:", "  consumer-2:", "members.consumer-2", "gives a member the id consumer-2"),
        ("  slow:", "  consumer:", "members.consumer", "is given twice"),
        ("count: 3", "count: 0", "members.consumer.count", "greater than or equal to 1"),
        ("count: 3", "cuont: 3", "members.consumer.cuont", "did you mean 'count'?"),
        ("rack: c", "rack: 'a b'", "members.slow.rack[0]", "letters, digits"),
        (
            ", capacity: 50}",
            "}",
            "members.slow",
            "has no capacity, and consumer has: give it to all members, or to none",
        ),
        ("rack: [a, b]", "rack: [a, b, c, a]", "members.consumer", "those of 4 members, there are 3"),
        ("replicas: [[a, b]]", "replicas: [[a], [b], [a]]", "topics.orders", "those of 3 partitions, there are 2"),
        ("  orders:", "  ..:", "topics[..]", "must not be '.' or '..' (Kafka: InvalidTopicException"),
        ("capacity: 500", "capacity: 0", "members.consumer.capacity", "greater than or equal to 1"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(tmp_path: Path, old: str, new: str, place: str, says: str) -> None:
    assert GROUP.count(old) == 1
    with pytest.raises(ScenarioFileError) as refused:
        load(tmp_path, GROUP.replace(old, new))
    assert [problem.path for problem in refused.value.problems] == [place]
    assert says in refused.value.problems[0].message


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "must be a mapping of topics and members"),
        ("[1]", "must be a mapping of topics and members"),
        ("topics: {a: 600000, b: 600000}\nmembers: {x: {}}", "at most 1000000 partitions in all"),
        ("topics: {a: 1}\nmembers: {x: {count: 60000}, y: {count: 60000}}", "at most 100000"),
        ("topics: {a: 1}", "is required"),
    ],
)
def test_what_is_no_group_is_refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ScenarioFileError, match=says):
        load(tmp_path, text)
