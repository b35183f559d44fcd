"""What a server-side assignor is given."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupsim.assignors import (
    SERVER_ASSIGNORS,
    Assignment,
    GroupSnapshot,
    GroupSpec,
    InvalidSnapshot,
    MemberNames,
    MemberSubscription,
    TopicIds,
    Topics,
    create_server,
    positions_of,
)
from groupsim.assignors.server.group_spec import carried_over
from tests.unit.assignors.building import labels
from tests.unit.assignors.server.specs import spec


def test_targets_become_vectors_and_their_inverse() -> None:
    group = spec({"t": 2, "u": 2}, {"a": ("t u", "u-1 t-0"), "b": ("t u", "u-0")})
    assert group.members.tolist() == [0, 0, 1]
    assert group.positions.tolist() == [3, 0, 2]
    assert group.holder.tolist() == [0, -1, 1, 0]
    assert group.gone.tolist() == [0, 0]


def test_targets_of_older_topics_are_translated_and_gone_topics_counted() -> None:
    older = Topics.of({"t": 2, "old": 3, "older": 1})
    members = {"a": ("t", "old-2 t-1 old-0"), "b": ("t", "t-0"), "c": ("t", "older-0 old-1")}
    group = spec({"n": 1, "t": 3}, members, older)
    assert group.members.tolist() == [0, 1]
    assert [group.topics.label(position) for position in group.positions.tolist()] == ["t-1", "t-0"]
    assert group.gone.tolist() == [1, 0, 2]
    assert labels(group.target) == ["t-1", "t-0", ""]


def test_a_snapshots_members_own_their_targets() -> None:
    older, topics = Topics.of({"gone": 1, "t": 1}), Topics.of({"t": 2})
    members = (
        MemberSubscription("a", ("t",), owned=positions_of([1])),
        MemberSubscription("b", ("t",), owned=positions_of([1, 0]), layout=older, instance_id="i"),
    )
    group = GroupSpec.of(GroupSnapshot(topics, members))
    assert labels(group.target) == ["t-1", "t-0"]
    assert group.gone.tolist() == [0, 1]
    assert group.names.instance_ids == (None, "i")


@pytest.mark.parametrize(
    ("counts", "older", "targets", "reason"),
    [
        ({"t": 2}, None, ("t-0", "t-1 t-0"), "t-0 is in the targets more than once"),
        ({"t": 2}, None, ("", "t-1 t-1"), "t-1 is in the targets more than once"),
        ({"t": 2}, {"t": 4}, ("t-0 t-2", ""), "t-2 is in a target, t-1 is the last"),
    ],
)
def test_targets_that_cannot_be_are_refused(
    counts: dict[str, int], older: dict[str, int] | None, targets: tuple[str, str], reason: str
) -> None:
    members = {name: ("t", target) for name, target in zip("ab", targets, strict=True)}
    with pytest.raises(InvalidSnapshot, match=reason):
        spec(counts, members, Topics.of(older) if older else None)


@pytest.mark.parametrize("position", [2, -1])
@pytest.mark.parametrize("older", [None, Topics.of({"t": 1, "u": 1})])
def test_positions_outside_the_layout_are_refused_with_their_member(position: int, older: Topics | None) -> None:
    wrong = MemberSubscription("b", ("t",), owned=positions_of([position]), layout=older)
    members = (MemberSubscription("a", ("t",), owned=positions_of([0])), wrong)
    with pytest.raises(InvalidSnapshot, match=f"the target of 'b' has position {position}, there are 2"):
        GroupSpec.of(GroupSnapshot(Topics.of({"t": 2}), members))


def test_a_world_without_topics_or_members_is_a_group_too() -> None:
    assert GroupSpec.of(GroupSnapshot(Topics.of({}), ())).n_members == 0
    alone = GroupSnapshot(Topics.of({}), (MemberSubscription("a", ("unknown",)),))
    for name in SERVER_ASSIGNORS:
        assert [each.tolist() for each in create_server(name).assign(alone).lists()] == [[]]


def test_parts_of_different_sizes_are_refused() -> None:
    group = spec({"t": 1}, {"a": ("t", "")})
    two = MemberNames(("a", "b"))
    with pytest.raises(InvalidSnapshot, match="different numbers of members"):
        GroupSpec(group.topics, group.topic_ids, two, group.subscriptions, group.target)
    with pytest.raises(InvalidSnapshot, match="2 topic ids for 1 topics"):
        GroupSpec(group.topics, TopicIds.derived(("t", "u")), group.names, group.subscriptions, group.target)


@pytest.mark.parametrize(
    ("subscriptions", "homogeneous"),
    [(["t u", "u t"], True), (["t", "t u"], False), (["t", ""], False), (["", ""], True), (["t x", "t y"], False)],
)
def test_a_group_is_homogeneous_if_all_name_the_same_topics(subscriptions: list[str], homogeneous: bool) -> None:
    members = {str(at): (names, "") for at, names in enumerate(subscriptions)}
    assert spec({"t": 1, "u": 1}, members).homogeneous is homogeneous


def test_a_group_that_mixes_patterns_is_not_homogeneous_and_shares_the_same_topics_all_the_same() -> None:
    group = replace(spec({"t": 3}, {"a": ("t", ""), "b": ("t", "")}), mixes_patterns=True)
    assert not group.homogeneous
    for name in SERVER_ASSIGNORS:
        shares = create_server(name).assign_group(group).lists()
        assert sorted(len(each) for each in shares) == [1, 2]


def test_heirs_take_targets_over_and_newcomers_have_none() -> None:
    topics = Topics.of({"t": 4})
    before = Assignment.of_lists(topics, [[0], [3, 1], [2]])
    assert labels(carried_over(before, positions_of([2, -1, 1]))) == ["t-2", "", "t-3 t-1"]
    assert labels(carried_over(Assignment.of_lists(topics, []), positions_of([-1]))) == [""]
