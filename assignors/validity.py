"""Whether an answer fits its question."""

from __future__ import annotations

import numpy as np

from groupsim.assignors.core.errors import InvalidAssignment
from groupsim.assignors.core.interface import Assignor, Promise, Protocol
from groupsim.assignors.core.snapshot import NOTHING, Assignment, GroupSnapshot, Positions
from groupsim.assignors.own.past_owners import claims, told_by


def check_valid(snapshot: GroupSnapshot, assignment: Assignment) -> None:
    """See that an answer fits its question; partitions without an owner, or with several, are no matter here.

    Raises
    ------
    InvalidAssignment
        A list is missing, or holds a partition that does not exist, that its member does not subscribe to, or twice.
    """
    if assignment.n_members != snapshot.n_members:
        raise InvalidAssignment(f"lists for {assignment.n_members} members, the group has {snapshot.n_members}")
    members, positions = assignment.pairs()
    outside = np.flatnonzero((positions < 0) | (positions >= snapshot.topics.n_partitions))
    if len(outside):
        member, position = snapshot.member_ids[members[outside[0]]], int(positions[outside[0]])
        raise InvalidAssignment(f"{member!r} got position {position}, outside 0..{snapshot.topics.n_partitions - 1}")
    table = snapshot.subscriptions
    foreign = np.flatnonzero(~table.has[table.kind_of[members], snapshot.topics.topic_of[positions]])
    if len(foreign):
        member, position = snapshot.member_ids[members[foreign[0]]], int(positions[foreign[0]])
        raise InvalidAssignment(f"{member!r} got {snapshot.topics.label(position)} without subscribing to it")
    given = np.sort(members.astype(np.int64) * snapshot.topics.n_partitions + positions)
    twice = np.flatnonzero(given[1:] == given[:-1])
    if len(twice):
        member, position = divmod(int(given[twice[0]]), snapshot.topics.n_partitions)
        raise InvalidAssignment(f"{snapshot.member_ids[member]!r} got {snapshot.topics.label(position)} twice")


def check_promised(assignor: Assignor, snapshot: GroupSnapshot, assignment: object) -> Assignment:
    """Hold an answer to what its assignor declares (`Assignor.promises`), beside `check_valid`.

    Under a cooperative protocol what another member owns must be given up first: it is nobody's for a round.

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
        waiting = NOTHING
        if Protocol.COOPERATIVE in assignor.protocols:
            owners, waiting = claims(snapshot, [told_by(member, snapshot.topics) for member in snapshot.members])
            check_handover(snapshot, assignment, owners, waiting)
        if Promise.COMPLETE in assignor.promises:
            check_complete(snapshot, assignment, waiting)
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


def check_handover(snapshot: GroupSnapshot, assignment: Assignment, owners: Positions, owned: Positions) -> None:
    """See that nobody is given what another member owns (``ConsumerCoordinator.validateCooperativeAssignment``).

    Parameters
    ----------
    snapshot : GroupSnapshot
    assignment : Assignment
    owners, owned : arrays of int32, shape (n,)
        Members, by index, and positions that they own.

    Raises
    ------
    InvalidAssignment
        Naming the first such partition.
    """
    n = max(snapshot.topics.n_partitions, 1)
    members, positions = assignment.pairs()
    given, before = members.astype(np.int64) * n + positions, owners.astype(np.int64) * n + owned
    added, revoked = np.setdiff1d(given, before), np.setdiff1d(before, given)
    both = np.flatnonzero(np.isin(added % n, revoked % n))
    if len(both):
        member, position = divmod(int(added[both[0]]), n)
        owner = int(revoked[np.flatnonzero(revoked % n == position)[0]]) // n
        label, ids = snapshot.topics.label(position), snapshot.member_ids
        raise InvalidAssignment(f"{label} is given to {ids[member]!r} while {ids[owner]!r} owns it")


def check_complete(snapshot: GroupSnapshot, assignment: Assignment, waiting: Positions = NOTHING) -> None:
    """See that every partition with subscribers has an owner.

    Parameters
    ----------
    snapshot : GroupSnapshot
    assignment : Assignment
    waiting : ndarray of int32, positions
        These may stay without an owner, until somebody has given them up.

    Raises
    ------
    InvalidAssignment
        Naming the first that has none.
    """
    missing = np.setdiff1d(without_owner(snapshot, assignment), waiting)
    if len(missing):
        raise InvalidAssignment(f"{snapshot.topics.label(int(missing[0]))} has subscribers and no owner")


def without_owner(snapshot: GroupSnapshot, assignment: Assignment) -> Positions:
    """Positions whose topic has subscribers and that nobody got, ascending."""
    wanted = np.repeat(snapshot.subscriptions.has.any(axis=0), snapshot.topics.counts)
    wanted[assignment.within(snapshot.topics).flat] = False
    return np.flatnonzero(wanted).astype(np.int32)
