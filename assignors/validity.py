"""Whether an answer fits its question."""

from __future__ import annotations

import numpy as np

from assignors.errors import InvalidAssignment
from assignors.snapshot import Assignment, GroupSnapshot, Positions


def check_valid(snapshot: GroupSnapshot, assignment: Assignment) -> None:
    """See that an answer fits its question; partitions without an owner, or with several, are no matter here.

    Raises
    ------
    InvalidAssignment
        A list is missing, or holds a partition that does not exist, that its member does not subscribe to, or twice.
    """
    if assignment.n_members != snapshot.n_members:
        raise InvalidAssignment(f"lists for {assignment.n_members} members, there are {snapshot.n_members}")
    members, positions = assignment.pairs()
    if len(positions) and not (positions.min() >= 0 and positions.max() < snapshot.topics.n_partitions):
        raise InvalidAssignment(f"a position outside 0..{snapshot.topics.n_partitions - 1}")
    table = snapshot.subscriptions
    foreign = np.flatnonzero(~table.has[table.kind_of[members], snapshot.topics.topic_of[positions]])
    if len(foreign):
        member, position = snapshot.member_ids[members[foreign[0]]], int(positions[foreign[0]])
        raise InvalidAssignment(f"{member!r} got {snapshot.topics.label(position)} without subscribing to it")
    if len(np.unique(members.astype(np.int64) * snapshot.topics.n_partitions + positions)) < len(positions):
        raise InvalidAssignment("a member got a partition twice")


def without_owner(snapshot: GroupSnapshot, assignment: Assignment) -> Positions:
    """Positions whose topic has subscribers and that nobody got, ascending."""
    wanted = np.repeat(snapshot.subscriptions.has.any(axis=0), snapshot.topics.counts)
    wanted[assignment.within(snapshot.topics).flat] = False
    return np.flatnonzero(wanted).astype(np.int32)
