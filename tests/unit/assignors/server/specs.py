"""Groups of the consumer protocol in the form in which examples are written."""

from __future__ import annotations

from collections.abc import Mapping

from groupsim.assignors import (
    Assignment,
    GroupSnapshot,
    GroupSpec,
    MemberNames,
    MemberSubscription,
    ServerAssignor,
    TopicIds,
    Topics,
)
from tests.unit.assignors.building import labels, positions


def spec(counts: Mapping[str, int], members: Mapping[str, tuple[str, str]], layout: Topics | None = None) -> GroupSpec:
    """A group whose members are given by what they subscribe to and by their targets, `t-0 t-2`."""
    topics = Topics.of(counts)
    subscribed = tuple(MemberSubscription(name, tuple(names.split())) for name, (names, _) in members.items())
    targets = [positions(layout or topics, target).tolist() for _, target in members.values()]
    return GroupSpec(
        topics,
        TopicIds.derived(topics.names),
        MemberNames(tuple(members)),
        GroupSnapshot(topics, subscribed).subscriptions,
        Assignment.of_lists(layout or topics, targets),
    )


def assigned(assignor: ServerAssignor, group: GroupSpec) -> dict[str, str]:
    """Each member's target, written as `t-0 t-2`, in the order of positions."""
    found = labels(assignor.assign_group(group))
    return {member: " ".join(sorted(each.split())) for member, each in zip(group.names.member_ids, found, strict=True)}
