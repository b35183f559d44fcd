"""range, by the examples of books and of Kafka's RangeAssignorTest (4.4)."""

from __future__ import annotations

import pytest

from groupsim.assignors import GroupSnapshot, MemberSubscription, RangeAssignor, Topics
from tests.unit.assignors.building import assigned, equal_group, group


def replicas(counts: dict[str, int], brokers: str, factor: int) -> Topics:
    """Topics whose partition i has replicas on brokers i, i + 1, ..., counting on through all topics."""
    plain = Topics.of(counts)
    rows = range(plain.n_partitions)
    racks = tuple(tuple(brokers[(at + replica) % len(brokers)] for replica in range(factor)) for at in rows)
    return Topics(plain.names, plain.counts, racks)


def rack_group(topics: Topics, racks: str, subscriptions: list[tuple[str, ...]] | None = None) -> GroupSnapshot:
    named = subscriptions or [topics.names] * len(racks)
    members = [
        MemberSubscription(f"c{at}", names, rack=rack)
        for at, (rack, names) in enumerate(zip(racks, named, strict=True))
    ]
    return group(topics, *members)


def test_two_members_share_two_topics_of_three() -> None:
    snapshot = equal_group({"t0": 3, "t1": 3}, "C0", "C1")
    assert assigned(RangeAssignor(), snapshot) == {"C0": "t0-0 t0-1 t1-0 t1-1", "C1": "t0-2 t1-2"}


def test_four_partitions_are_cut_in_the_middle() -> None:
    assert assigned(RangeAssignor(), equal_group({"t": 4}, "a", "b")) == {"a": "t-0 t-1", "b": "t-2 t-3"}


def test_small_topics_all_go_to_the_first_member() -> None:
    snapshot = equal_group({"a": 1, "b": 1, "c": 1}, "m1", "m2")
    assert assigned(RangeAssignor(java_order=False), snapshot) == {"m1": "a-0 b-0 c-0", "m2": ""}


def test_each_topic_is_shared_by_its_subscribers() -> None:
    snapshot = group(
        Topics.of({"t1": 3, "t2": 2}),
        MemberSubscription("c1", ("t1",)),
        MemberSubscription("c2", ("t1", "t2")),
        MemberSubscription("c3", ("t1",)),
    )
    assert assigned(RangeAssignor(), snapshot) == {"c1": "t1-0", "c2": "t1-1 t2-0 t2-1", "c3": "t1-2"}


def test_static_members_come_first_in_the_order_of_their_instance_ids() -> None:
    topics = Topics.of({"t": 3})
    snapshot = group(
        topics,
        MemberSubscription("a-dynamic", topics.names),
        MemberSubscription("z", topics.names, instance_id="instance-1"),
        MemberSubscription("y", topics.names, instance_id="instance-2"),
    )
    assert assigned(RangeAssignor(), snapshot) == {"a-dynamic": "t-2", "z": "t-0", "y": "t-1"}


def test_topics_without_metadata_are_nobodys() -> None:
    topics = Topics.of({"empty": 0, "t": 1})
    snapshot = group(topics, MemberSubscription("a", ("empty", "missing")), MemberSubscription("b", ("missing",)))
    assert assigned(RangeAssignor(), snapshot) == {"a": "", "b": ""}


def test_lists_have_topics_in_the_order_of_kafkas_hash_table() -> None:
    names = {f"topic{number}": 1 for number in range(8, 12)}
    in_java = assigned(RangeAssignor(), equal_group(names, "a"))["a"].split()
    by_name = assigned(RangeAssignor(java_order=False), equal_group(names, "a"))["a"].split()
    assert by_name == ["topic10-0", "topic11-0", "topic8-0", "topic9-0"]
    assert in_java != by_name
    assert sorted(in_java) == by_name


@pytest.mark.parametrize(
    ("factor", "expected"),
    [
        (1, ["t1-0 t1-3 t2-0 t2-3 t2-6", "t1-1 t1-4 t2-1 t2-4 t3-0", "t1-2 t1-5 t2-2 t2-5 t3-1"]),
        (2, ["t1-0 t1-2 t2-0 t2-2 t2-3 t3-1", "t1-1 t1-3 t2-1 t2-4 t3-0", "t1-4 t1-5 t2-5 t2-6"]),
    ],
)
def test_members_prefer_partitions_with_a_replica_in_their_rack(factor: int, expected: list[str]) -> None:
    topics = replicas({"t1": 6, "t2": 7, "t3": 2}, "abc", factor)
    assert list(assigned(RangeAssignor(), rack_group(topics, "abc")).values()) == expected


def test_a_rack_without_replicas_switches_racks_off_only_if_all_are_alike() -> None:
    topics = replicas({"t1": 6, "t2": 7, "t3": 2}, "ab", 2)
    told = list(assigned(RangeAssignor(java_order=False), rack_group(topics, "abc")).values())
    assert told == ["t1-0 t1-1 t2-0 t2-1 t2-2 t3-0", "t1-2 t1-3 t2-3 t2-4 t3-1", "t1-4 t1-5 t2-5 t2-6"]


def test_co_partitioned_topics_stay_together_across_racks() -> None:
    topics = replicas({"t1": 6, "t2": 6, "t3": 2, "t4": 2}, "ab", 1)
    snapshot = rack_group(topics, "abba", [("t1", "t2")] * 2 + [("t3", "t4")] * 2)
    assert list(assigned(RangeAssignor(), snapshot).values()) == [
        "t1-0 t1-2 t1-4 t2-0 t2-2 t2-4",
        "t1-1 t1-3 t1-5 t2-1 t2-3 t2-5",
        "t3-1 t4-1",
        "t3-0 t4-0",
    ]


def test_co_partitioning_outranks_racks() -> None:
    topics = replicas({"t1": 5, "t2": 5, "t3": 5}, "abc", 1)
    told = list(assigned(RangeAssignor(), rack_group(topics, "abc")).values())
    assert told[2] == "t1-4 t2-4 t3-4"
    assert told[0] == "t1-0 t1-1 t2-0 t2-1 t3-0 t3-1"
