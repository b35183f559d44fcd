"""cooperative-sticky, by the examples of Kafka's CooperativeStickyAssignorTest (4.4)."""

from __future__ import annotations

from groupsim.assignors import (
    CooperativeStickyAssignor,
    CooperativeStickyUserData,
    MemberSubscription,
    Protocol,
    Topics,
)
from groupsim.assignors.evaluation.group_history import GroupHistory
from tests.unit.assignors.building import assigned, equal_group, group, labels, positions


def member(member_id: str, topics: Topics, owned: str = "", generation: int | None = 1) -> MemberSubscription:
    return MemberSubscription(member_id, topics.names, positions(topics, owned), generation)


def test_cooperation_is_preferred_and_eagerness_supported() -> None:
    assert CooperativeStickyAssignor.protocols == (Protocol.COOPERATIVE, Protocol.EAGER)


def test_what_changes_hands_is_nobodys_for_one_round() -> None:
    topics = Topics.of({"t": 3})
    first = group(topics, member("c1", topics, "t-0 t-1 t-2"), member("c2", topics))
    assert assigned(CooperativeStickyAssignor(), first) == {"c1": "t-0 t-1", "c2": ""}
    second = group(topics, member("c1", topics, "t-0 t-1"), member("c2", topics))
    assert assigned(CooperativeStickyAssignor(), second) == {"c1": "t-0 t-1", "c2": "t-2"}


def test_what_nobody_had_is_given_at_once() -> None:
    topics = Topics.of({"t": 4})
    snapshot = group(topics, member("c1", topics, "t-0"), member("c2", topics, "t-1"))
    assert assigned(CooperativeStickyAssignor(), snapshot) == {"c1": "t-0 t-2", "c2": "t-1 t-3"}


def test_a_partition_claimed_twice_is_held_back_too() -> None:
    topics = Topics.of({"t": 3})
    snapshot = group(topics, member("c1", topics, "t-0 t-1"), member("c2", topics, "t-0 t-2"), member("c3", topics))
    assert assigned(CooperativeStickyAssignor(), snapshot) == {"c1": "t-1", "c2": "t-2", "c3": ""}


def test_unequal_subscriptions_hold_back_too() -> None:
    topics = Topics.of({"t": 4, "u": 1})
    snapshot = group(
        topics,
        member("c1", topics, "t-0 t-1 t-2 t-3 u-0"),
        MemberSubscription("c2", ("t",), generation=1),
    )
    first = assigned(CooperativeStickyAssignor(), snapshot)
    assert first["c2"] == ""
    assert len(first["c1"].split()) == 3


def test_two_rounds_settle_a_join() -> None:
    living = GroupHistory(CooperativeStickyAssignor, equal_group({"t": 9}, *(f"consumer-{at}" for at in range(1, 6))))
    living.rebalance()
    living.change(members=[*living.snapshot.members, MemberSubscription("consumer-6", ("t",))])
    assert sorted(len(each.split()) for each in labels(living.rebalance())) == [1, 1, 1, 2, 2, 2]


def test_a_generation_missing_from_the_subscription_is_taken_from_the_user_data() -> None:
    topics = Topics.of({"t": 2})
    old = MemberSubscription("c1", topics.names, positions(topics, "t-0"), None, user_data=CooperativeStickyUserData(4))
    leader = CooperativeStickyAssignor()
    leader.assign(group(topics, old))
    assert leader.max_generation == 4


def test_a_member_tells_the_generation_of_its_last_assignment() -> None:
    consumer = CooperativeStickyAssignor()
    assert consumer.subscription_user_data() == CooperativeStickyUserData(-1)
    consumer.on_assignment(Topics.of({"t": 1}), positions(Topics.of({"t": 1}), "t-0"), 3)
    assert consumer.subscription_user_data() == CooperativeStickyUserData(3)
