"""leader-rack by small examples; that nothing is better is tried out in the conformance tests."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupsim.assignors import (
    GroupSnapshot,
    InvalidSnapshot,
    LeaderRackAssignor,
    MemberSubscription,
    StickyAssignor,
    Topics,
)
from groupsim.assignors.evaluation.group_history import GroupHistory
from groupsim.assignors.evaluation.quality import cross_rack_share
from tests.unit.assignors.building import assigned, equal_group, group, labels, positions


def led_by(racks: str) -> Topics:
    """One topic whose partitions have leaders in these racks, `-` for one not known, and followers everywhere."""
    replicas = tuple((None if rack == "-" else rack, "a", "b", "c") for rack in racks)
    return Topics(("t",), (len(racks),), replicas)


def reader(member_id: str, rack: str | None, topics: Topics, owned: str = "") -> MemberSubscription:
    return MemberSubscription(member_id, topics.names, positions(topics, owned), rack=rack)


def test_everybody_reads_from_leaders_in_its_own_rack() -> None:
    topics = led_by("abcabc")
    snapshot = group(topics, *(reader(f"m-{rack}", rack, topics) for rack in "abc"))
    assert assigned(LeaderRackAssignor(), snapshot) == {"m-a": "t-0 t-3", "m-b": "t-1 t-4", "m-c": "t-2 t-5"}
    assert cross_rack_share(snapshot, LeaderRackAssignor().assign(snapshot)) == 0.0
    assert cross_rack_share(snapshot, StickyAssignor().assign(snapshot)) == 0.0  # dealt in turn, as the leaders are


def test_balance_outranks_racks() -> None:
    topics = led_by("aaaab")
    snapshot = group(topics, reader("m1", "a", topics), reader("m2", "b", topics))
    assert assigned(LeaderRackAssignor(), snapshot) == {"m1": "t-0 t-1 t-2", "m2": "t-3 t-4"}


def test_the_odd_partition_goes_where_its_leader_is() -> None:
    topics = led_by("bab")
    snapshot = group(topics, reader("m1", "a", topics), reader("m2", "b", topics))
    assert assigned(LeaderRackAssignor(), snapshot) == {"m1": "t-1", "m2": "t-0 t-2"}


def test_racks_outrank_what_is_owned() -> None:
    topics = led_by("aabb")
    snapshot = group(topics, reader("m1", "a", topics, "t-0 t-2"), reader("m2", "b", topics, "t-1 t-3"))
    assert assigned(LeaderRackAssignor(), snapshot) == {"m1": "t-0 t-1", "m2": "t-2 t-3"}


def test_what_is_owned_stays_where_racks_do_not_mind() -> None:
    topics = led_by("aaaa")
    snapshot = group(topics, reader("m1", "a", topics, "t-3 t-1"), reader("m2", "a", topics, "t-2 t-0"))
    assert assigned(LeaderRackAssignor(), snapshot) == {"m1": "t-1 t-3", "m2": "t-0 t-2"}


def test_foreign_partitions_stay_with_those_who_have_to_read_some() -> None:
    """Rack a leads five of six and may keep three: of the two that go, those that m3 has already are taken."""
    topics = led_by("aaaaab")
    snapshot = group(topics, reader("m1", "a", topics, "t-0 t-1 t-2"), reader("m3", "b", topics, "t-3 t-4 t-5"))
    assert assigned(LeaderRackAssignor(), snapshot) == {"m1": "t-0 t-1 t-2", "m3": "t-3 t-4 t-5"}


def test_members_and_leaders_without_a_rack_take_what_is_left() -> None:
    topics = led_by("a-a-")
    snapshot = group(topics, reader("m1", None, topics), reader("m2", "a", topics))
    assert assigned(LeaderRackAssignor(), snapshot) == {"m1": "t-1 t-3", "m2": "t-0 t-2"}


def test_without_racks_names_decide() -> None:
    snapshot = equal_group({"t": 5, "u": 2}, "m3", "m1", "m2")
    assert assigned(LeaderRackAssignor(), snapshot) == {"m3": "t-2 u-0", "m1": "t-0 t-3 u-1", "m2": "t-1 t-4"}


def test_unequal_subscriptions_are_as_balanced_as_they_can_be() -> None:
    """Only m1 may have the five of `big`; the others share `small` evenly, and their racks count."""
    plain = Topics.of({"big": 5, "small": 4})
    topics = replace(plain, racks=(("a",),) * 5 + (("a",), ("b",), ("b",), ("b",)))
    snapshot = group(
        topics,
        MemberSubscription("m1", ("big", "small"), rack="a"),
        MemberSubscription("m2", ("small",), rack="a"),
        MemberSubscription("m3", ("small",), rack="b"),
    )
    assert assigned(LeaderRackAssignor(), snapshot) == {
        "m1": "big-0 big-1 big-2 big-3 big-4",
        "m2": "small-0 small-1",
        "m3": "small-2 small-3",
    }


def test_a_newcomer_takes_what_its_rack_leads() -> None:
    topics = led_by("ababab")
    living = GroupHistory(LeaderRackAssignor, group(topics, reader("m1", "a", topics), reader("m2", "a", topics)))
    assert labels(living.rebalance()) == ["t-0 t-2 t-4", "t-1 t-3 t-5"]
    living.change(members=[*living.snapshot.members, reader("m3", "b", topics)])
    assert labels(living.rebalance()) == ["t-0 t-2", "t-1 t-4", "t-3 t-5"]


def test_claims_outside_the_topics_are_refused() -> None:
    topics = led_by("ab")
    wrong = replace(reader("m1", "a", topics), owned=positions(led_by("abc"), "t-2"))
    with pytest.raises(InvalidSnapshot, match=r"outside 0\.\.1: 'm1' claims 2"):
        LeaderRackAssignor().assign(group(topics, wrong))


def test_nobody_and_nothing_are_fine() -> None:
    assert assigned(LeaderRackAssignor(), equal_group({})) == {}
    assert assigned(LeaderRackAssignor(), equal_group({"t": 2})) == {}
    assert assigned(LeaderRackAssignor(), equal_group({"t": 0}, "m1")) == {"m1": ""}
    idle = GroupSnapshot(led_by("a"), (MemberSubscription("m1", ()), MemberSubscription("m2", ("t", "unknown"))))
    assert assigned(LeaderRackAssignor(), idle) == {"m1": "", "m2": "t-0"}
