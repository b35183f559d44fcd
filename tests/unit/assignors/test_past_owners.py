"""Who owned what before."""

from __future__ import annotations

import pytest

from groupsim.assignors import (
    InvalidSnapshot,
    MemberSubscription,
    StickyUserData,
    Topics,
    WeightedAssignor,
    positions_of,
)
from groupsim.assignors.own.past_owners import past_owners
from tests.unit.assignors.building import group, positions

TOPICS = Topics.of({"t": 3, "u": 2})


def member(member_id: str, owned: str, generation: int | None = 1, names: str = "t u") -> MemberSubscription:
    return MemberSubscription(member_id, tuple(names.split()), positions(TOPICS, owned), generation)


def test_what_members_own_is_theirs() -> None:
    assert past_owners(group(TOPICS, member("a", "t-0 u-1"), member("b", "t-2"))).tolist() == [0, -1, 1, -1, 0]


def test_the_memory_of_sticky_members_counts_more_than_what_they_own() -> None:
    memory = StickyUserData(TOPICS, positions(TOPICS, "t-1"), 1)
    told = MemberSubscription("a", TOPICS.names, positions(TOPICS, "t-0"), 1, user_data=memory)
    assert past_owners(group(TOPICS, told)).tolist() == [-1, 0, -1, -1, -1]


@pytest.mark.parametrize("turned", [False, True])
def test_the_youngest_claim_counts(turned: bool) -> None:
    members = [member("a", "t-0 t-1", 2), member("b", "t-0 t-1", 5), member("c", "t-0 t-2", None)]
    snapshot = group(TOPICS, *(members[::-1] if turned else members))
    owner = past_owners(snapshot).tolist()
    assert [snapshot.member_ids[at] for at in owner[:3]] == ["b", "b", "c"]


def test_of_two_claims_in_one_generation_none_counts() -> None:
    snapshot = group(TOPICS, member("a", "t-0"), member("b", "t-0 t-1"), member("c", "t-0", generation=0))
    assert past_owners(snapshot).tolist() == [-1, 1, -1, -1, -1]


def test_a_partition_claimed_twice_by_one_member_is_its_own() -> None:
    snapshot = group(TOPICS, MemberSubscription("a", TOPICS.names, positions_of([1, 1]), 1))
    assert past_owners(snapshot).tolist() == [-1, 0, -1, -1, -1]


def test_what_is_gone_or_no_longer_wanted_is_nobodys() -> None:
    older = Topics.of({"gone": 1, "t": 9, "u": 2})
    memory = StickyUserData(older, positions(older, "gone-0 t-1 t-8 u-0"), 1)
    snapshot = group(TOPICS, MemberSubscription("a", ("t",), user_data=memory))
    assert past_owners(snapshot).tolist() == [-1, 0, -1, -1, -1]


def test_a_claim_outside_its_layout_is_refused_by_name() -> None:
    small = Topics.of({"t": 1})
    wrong = MemberSubscription("b", ("t",), positions_of([0, 1]), layout=small)
    with pytest.raises(InvalidSnapshot, match=r"outside 0\.\.0: 'b' claims 1"):
        past_owners(group(TOPICS, member("a", "t-0"), wrong))


def test_a_consumer_remembers_its_last_assignment() -> None:
    consumer = WeightedAssignor()
    assert consumer.subscription_user_data() is None
    consumer.on_assignment(TOPICS, positions(TOPICS, "u-1 t-0"), 4)
    memory = consumer.subscription_user_data()
    assert memory is not None
    assert (memory.generation, [TOPICS.label(at) for at in memory.owned]) == (4, ["u-1", "t-0"])
