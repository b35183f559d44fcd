"""sticky, by the examples of Kafka's AbstractStickyAssignorTest and StickyAssignorTest (4.4)."""

from __future__ import annotations

import pytest

from groupsim.assignors import (
    GroupSnapshot,
    InvalidSnapshot,
    KafkaAssignorFailure,
    MemberSubscription,
    StickyAssignor,
    StickyUserData,
    Topics,
    positions_of,
)
from groupsim.assignors.client.sticky import Path
from groupsim.assignors.evaluation.group_history import GroupHistory
from tests.unit.assignors.building import assigned, equal_group, group, labels, positions

THREE_AND_FOUR = Topics.of({"t1": 3, "t2": 4})


def member(
    member_id: str, topics: Topics, owned: str = "", generation: int | None = 1, subscription: str | None = None
) -> MemberSubscription:
    """A member that remembers what it owned."""
    memory = StickyUserData(topics, positions(topics, owned), generation)
    names = topics.names if subscription is None else tuple(subscription.split())
    return MemberSubscription(member_id, names, generation=generation, user_data=memory)


def test_two_members_share_two_topics_of_three() -> None:
    snapshot = equal_group({"t1": 3, "t2": 3}, "c1", "c2")
    assert assigned(StickyAssignor(), snapshot) == {"c1": "t1-0 t1-2 t2-1", "c2": "t1-1 t2-0 t2-2"}


def test_members_join_and_leave_over_topics_of_three_and_four() -> None:
    living = GroupHistory(StickyAssignor, equal_group({"t1": 3, "t2": 4}, "c1", "c2"))
    assert labels(living.rebalance()) == ["t1-0 t1-2 t2-1 t2-3", "t1-1 t2-0 t2-2"]
    joiners = [MemberSubscription(each, THREE_AND_FOUR.names) for each in ("c3", "c4")]
    living.change(members=[*living.snapshot.members, *joiners])
    assert labels(living.rebalance()) == ["t1-0 t2-1", "t2-0 t1-1", "t1-2 t2-3", "t2-2"]
    living.change(members=living.snapshot.members[2:])
    assert labels(living.rebalance()) == ["t1-2 t2-3 t1-0 t2-1", "t2-2 t1-1 t2-0"]


def test_kept_partitions_are_chosen_by_number_before_topic() -> None:
    topics = Topics.of({"a": 4, "b": 4})
    snapshot = group(topics, member("c1", topics, "a-0 a-1 a-2 a-3 b-0 b-1 b-2 b-3"), member("c2", topics))
    assert assigned(StickyAssignor(), snapshot)["c1"] == "a-0 b-0 a-1 b-1"


def test_who_keeps_one_more_is_decided_by_kafkas_hash_table() -> None:
    topics = Topics.of({"t1": 2, "t2": 2})
    first, second = member("consumer1", topics, "t1-0 t2-0"), member("consumer2", topics, "t1-1 t2-1")
    snapshot = group(topics, first, second, member("consumer3", topics))
    in_java, by_id = StickyAssignor(), StickyAssignor(java_order=False)
    assert list(assigned(in_java, snapshot).values()) == ["t1-0", "t1-1 t2-1", "t2-0"]
    assert list(assigned(by_id, snapshot).values()) == ["t1-0 t2-0", "t1-1", "t2-1"]


def test_a_claim_of_an_older_generation_gives_way() -> None:
    topics = Topics.of({"t": 3, "t2": 3})
    snapshot = group(
        topics, member("c1", topics, "t-0 t-2 t2-1", generation=10), member("c2", topics, "t-0 t-2 t2-1", generation=9)
    )
    assert assigned(StickyAssignor(), snapshot) == {"c1": "t-0 t2-1 t-2", "c2": "t-1 t2-0 t2-2"}


def test_a_partition_claimed_twice_in_one_generation_goes_to_neither() -> None:
    topics = Topics.of({"t": 3})
    snapshot = group(topics, member("c1", topics, "t-0 t-1"), member("c2", topics, "t-0 t-2"), member("c3", topics))
    assert assigned(StickyAssignor(), snapshot) == {"c1": "t-1", "c2": "t-2", "c3": "t-0"}


def test_user_data_counts_and_the_owned_partitions_of_the_subscription_do_not() -> None:
    topics = Topics.of({"t": 2})
    snapshot = group(
        topics,
        MemberSubscription(
            "c1", topics.names, owned=positions(topics, "t-0"), user_data=member("x", topics, "t-1").user_data
        ),
        MemberSubscription("c2", topics.names, owned=positions(topics, "t-1")),
    )
    assert assigned(StickyAssignor(), snapshot) == {"c1": "t-1", "c2": "t-0"}


def test_user_data_of_another_assignor_counts_as_unreadable() -> None:
    topics = Topics.of({"t": 2})
    snapshot = group(topics, MemberSubscription("c1", topics.names, user_data=b"\x00"), member("c2", topics, "t-0"))
    assert assigned(StickyAssignor(), snapshot) == {"c1": "t-1", "c2": "t-0"}


def test_a_member_remembers_its_last_assignment() -> None:
    consumer = StickyAssignor()
    assert consumer.subscription_user_data() is None
    consumer.on_assignment(THREE_AND_FOUR, positions(THREE_AND_FOUR, "t2-3 t1-0"), 7)
    memory = consumer.subscription_user_data()
    assert memory is not None
    assert memory.generation == 7
    assert [memory.layout.label(at) for at in memory.owned.tolist()] == ["t2-3", "t1-0"]


def test_memories_survive_topics_that_grow_before_them() -> None:
    old, new = Topics.of({"a": 1, "b": 2}), Topics.of({"a": 3, "b": 2, "c": 0})
    snapshot = group(
        new, member("c1", old, "b-0 b-1", subscription="a b"), member("c2", old, "a-0", subscription="a b")
    )
    assert assigned(StickyAssignor(), snapshot) == {"c1": "b-0 b-1 a-2", "c2": "a-0 a-1"}


def test_partitions_that_are_gone_make_kafka_fail() -> None:
    large, small = Topics.of({"t": 9}), Topics.of({"t": 3})
    snapshot = group(small, member("c1", large, "t-1 t-5"), member("c2", large, "t-2 t-7"))
    with pytest.raises(KafkaAssignorFailure, match="No more unfilled consumers to be assigned"):
        StickyAssignor().assign(snapshot)


def test_partitions_that_are_gone_stay_in_the_lists() -> None:
    large, small = Topics.of({"t": 5}), Topics.of({"t": 4})
    snapshot = group(small, member("c1", large, "t-0 t-4"), member("c2", large, "t-1"))
    assignment = StickyAssignor().assign(snapshot)
    assert labels(assignment) == ["t-0 t-4", "t-1 t-2 t-3"]
    assert labels(assignment.within(small)) == ["t-0", "t-1 t-2 t-3"]


def test_after_a_partition_that_is_gone_kept_ones_are_given_out_again() -> None:
    large, small = Topics.of({"a": 2, "b": 5}), Topics.of({"a": 1, "b": 5})
    snapshot = group(small, member("c1", large, "a-1 b-0"), member("c2", large), member("c3", large))
    assignment = StickyAssignor().assign(snapshot)
    assert labels(assignment) == ["b-0 a-1", "a-0 b-1 b-3", "b-0 b-2 b-4"]
    assert assignment.owner is None


def test_members_without_topics_that_come_first_go_unnoticed() -> None:
    topics = Topics.of({"t": 2})
    first = group(topics, MemberSubscription("a", ()), MemberSubscription("b", topics.names))
    last = group(topics, MemberSubscription("b", ()), MemberSubscription("a", topics.names))
    assert assigned(StickyAssignor(), first) == {"a": "t-0", "b": "t-1"}
    assert assigned(StickyAssignor(), last) == {"b": "", "a": "t-0 t-1"}


def test_the_path_follows_the_subscriptions() -> None:
    equal = equal_group({"t": 2}, "a", "b")
    unequal = group(equal.topics, *equal.members, MemberSubscription("c", ("t", "unknown")))
    assert StickyAssignor().solve(equal).path is Path.CONSTRAINED
    assert StickyAssignor().solve(unequal).path is Path.GENERAL


def test_unequal_subscriptions_are_balanced_as_far_as_they_allow() -> None:
    snapshot = group(
        Topics.of({"t1": 3, "t2": 2}),
        MemberSubscription("c1", ("t1",)),
        MemberSubscription("c2", ("t1", "t2")),
        MemberSubscription("c3", ("t1",)),
    )
    assert assigned(StickyAssignor(), snapshot) == {"c1": "t1-0 t1-2", "c2": "t2-0 t2-1", "c3": "t1-1"}


def mixed_generations() -> GroupSnapshot:
    topics = Topics.of({"t0": 2, "t2": 1})
    return group(
        topics,
        member("c0", topics, "t0-0 t0-1", generation=5),
        member("c1", topics, "", generation=4, subscription="t0"),
        member("c2", topics, "", generation=5),
        member("c3", topics, "t0-0", generation=4, subscription="t2"),
    )


def test_an_older_owner_gets_a_topic_it_no_longer_subscribes_to() -> None:
    """A defect of Kafka's, found by reading `performReassignments` and seen on 4.4.0."""
    told = assigned(StickyAssignor(), mixed_generations())
    assert told == {"c0": "t0-1", "c1": "", "c2": "t2-0", "c3": "t0-0"}


def test_the_youngest_generation_ever_seen_decides_who_is_old() -> None:
    topics = Topics.of({"t": 2})
    leader = StickyAssignor()
    leader.assign(group(topics, member("c1", topics, "t-0", generation=9)))
    leader.assign(group(topics, member("c1", topics, "t-0", generation=3)))
    assert leader.max_generation == 9


def test_positions_outside_the_topics_are_refused() -> None:
    topics = Topics.of({"t": 2})
    wrong = MemberSubscription("c1", topics.names, user_data=StickyUserData(topics, positions_of([2]), 1))
    with pytest.raises(InvalidSnapshot, match=r"outside 0\.\.1"):
        StickyAssignor().assign(group(topics, wrong))


def test_racks_decide_before_turns() -> None:
    topics = Topics(("t",), (3,), (("a",), ("b",), ("c",)))
    snapshot = group(topics, *(MemberSubscription(f"c{rack}", ("t",), rack=rack) for rack in "cba"))
    assert assigned(StickyAssignor(), snapshot) == {"cc": "t-2", "cb": "t-1", "ca": "t-0"}
