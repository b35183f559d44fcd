"""Whether an answer fits its question."""

from __future__ import annotations

import numpy as np

from assignors.errors import InvalidAssignment
from assignors.interface import Assignor, Promise, Protocol
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


def check_promised(assignor: Assignor, snapshot: GroupSnapshot, assignment: object) -> Assignment:
    """Hold an answer to what its assignor declares (`Assignor.promises`), beside `check_valid`.

    Under a cooperative protocol partitions may stay without an owner for a round: somebody else has to give them up.

    Returns
    -------
    Assignment
        The answer.

    Raises
    ------
    InvalidAssignment
        Naming the assignor, the rule, and the first member or partition that breaks it.
    """
    try:
        if not isinstance(assignment, Assignment):
            raise InvalidAssignment(f"the answer is a {type(assignment).__name__}, no Assignment")
        check_valid(snapshot, assignment)
        if Promise.EXCLUSIVE in assignor.promises:
            check_exclusive(assignment)
        if Promise.COMPLETE in assignor.promises and Protocol.COOPERATIVE not in assignor.protocols:
            check_complete(snapshot, assignment)
    except InvalidAssignment as error:
        raise InvalidAssignment(f"{assignor.name}: {error}") from None
    return assignment


def check_exclusive(assignment: Assignment) -> None:
    """See that no partition has two owners.

    Raises
    ------
    InvalidAssignment
        Naming the first that has.
    """
    if assignment.shared:
        positions = np.sort(assignment.pairs()[1])
        twice = int(positions[:-1][positions[1:] == positions[:-1]][0])
        raise InvalidAssignment(f"{assignment.topics.label(twice)} has two owners")


def check_complete(snapshot: GroupSnapshot, assignment: Assignment) -> None:
    """See that every partition with subscribers has an owner.

    Raises
    ------
    InvalidAssignment
        Naming the first that has none.
    """
    missing = without_owner(snapshot, assignment)
    if len(missing):
        raise InvalidAssignment(f"{snapshot.topics.label(int(missing[0]))} has subscribers and no owner")


def without_owner(snapshot: GroupSnapshot, assignment: Assignment) -> Positions:
    """Positions whose topic has subscribers and that nobody got, ascending."""
    wanted = np.repeat(snapshot.subscriptions.has.any(axis=0), snapshot.topics.counts)
    wanted[assignment.within(snapshot.topics).flat] = False
    return np.flatnonzero(wanted).astype(np.int32)
