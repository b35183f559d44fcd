"""Groups and answers in the form in which examples are written: lists of `topic-number`."""

from __future__ import annotations

from collections.abc import Mapping

from groupsim.assignors import (
    NOTHING,
    Assignment,
    Assignor,
    GroupSnapshot,
    MemberSubscription,
    Positions,
    Topics,
    positions_of,
)


def group(topics: Topics, *members: MemberSubscription) -> GroupSnapshot:
    return GroupSnapshot(topics, members)


def equal_group(counts: Mapping[str, int], *member_ids: str) -> GroupSnapshot:
    topics = Topics.of(counts)
    return group(topics, *(MemberSubscription(member_id, topics.names) for member_id in member_ids))


def positions(topics: Topics, labels: str) -> Positions:
    """Positions of partitions written as `t-0 t-2`."""
    if not labels:
        return NOTHING
    pairs = [label.rsplit("-", 1) for label in labels.split()]
    return positions_of(topics.position(topic, int(number)) for topic, number in pairs)


def labels(assignment: Assignment) -> list[str]:
    """Each member's list, written as `t-0 t-2`."""
    return [" ".join(map(assignment.topics.label, each.tolist())) for each in assignment.lists()]


def assigned(assignor: Assignor, snapshot: GroupSnapshot) -> dict[str, str]:
    return dict(zip(snapshot.member_ids, labels(assignor.assign(snapshot)), strict=True))
