"""roundrobin, by the examples of Kafka's RoundRobinAssignorTest (4.4); those of books are in `test_book_examples`."""

from __future__ import annotations

from groupsim.assignors import MemberSubscription, RoundRobinAssignor, Topics
from tests.unit.assignors.building import assigned, equal_group, group


def test_two_members_take_turns_over_two_topics_of_three() -> None:
    snapshot = equal_group({"t0": 3, "t1": 3}, "C0", "C1")
    assert assigned(RoundRobinAssignor(), snapshot) == {"C0": "t0-0 t0-2 t1-1", "C1": "t0-1 t1-0 t1-2"}


def test_mixed_subscriptions() -> None:
    snapshot = group(
        Topics.of({"t1": 3, "t2": 2}),
        MemberSubscription("c1", ("t1",)),
        MemberSubscription("c2", ("t1", "t2")),
        MemberSubscription("c3", ("t1",)),
    )
    assert assigned(RoundRobinAssignor(), snapshot) == {"c1": "t1-0", "c2": "t1-1 t2-0 t2-1", "c3": "t1-2"}


def test_static_members_keep_their_places_under_new_member_ids() -> None:
    topics = Topics.of({"t1": 5, "t2": 5})

    def with_ids(*member_ids: str) -> list[str]:
        named = enumerate(member_ids)
        members = [MemberSubscription(each, topics.names, instance_id=f"instance-{at}") for at, each in named]
        return list(assigned(RoundRobinAssignor(), group(topics, *members)).values())

    expected = ["t1-0 t1-3 t2-1 t2-4", "t1-1 t1-4 t2-2", "t1-2 t2-0 t2-3"]
    assert with_ids("a", "b", "c") == with_ids("z", "y", "x") == expected


def test_a_group_without_members_or_topics_is_fine() -> None:
    assert assigned(RoundRobinAssignor(), equal_group({})) == {}
    assert assigned(RoundRobinAssignor(), equal_group({}, "a")) == {"a": ""}
    assert assigned(RoundRobinAssignor(), equal_group({"t": 2})) == {}
