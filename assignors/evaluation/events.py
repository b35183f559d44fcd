"""What can happen to a group between two rebalances, and a group to which it can happen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from groupsim.assignors.core.snapshot import GroupSnapshot, MemberSubscription, Topics
from groupsim.assignors.java.ordering import java_sorted

T = TypeVar("T")

LEAVERS_MAX: Final = 100
"""The mean over all members who could leave is taken over so many, at equal distances, if there are more."""


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """One thing that happens to a group.

    Parameters
    ----------
    name : str
    leave : frozenset of str
        Ids of members that leave.
    join : tuple of MemberSubscription
        Members that join.
    topics : Topics, optional
        The topics from now on.
    """

    name: str
    leave: frozenset[str] = frozenset()
    join: tuple[MemberSubscription, ...] = ()
    topics: Topics | None = None


def group_of(members: int, topics: int, partitions: int) -> GroupSnapshot:
    """A group of equal members, none of which owns anything.

    Parameters
    ----------
    members, topics : int
    partitions : int
        In all; the first topics have one more where they do not divide evenly.
    """
    size, more = divmod(partitions, topics)
    counts = {name: size + (at < more) for at, name in enumerate(_numbered("topic", topics))}
    known = Topics.of(counts)
    ids = _numbered("consumer", members)
    return GroupSnapshot(known, tuple(MemberSubscription(member_id, known.names) for member_id in ids))


def _numbered(noun: str, count: int) -> list[str]:
    return [f"{noun}-{number:0{len(str(count))}}" for number in range(1, count + 1)]


def usual_events(group: GroupSnapshot, many: int) -> list[Event]:
    """Nothing, joining, leaving and growing; leaving only where somebody stays.

    Newcomers come last in the order of ids and are like the members from the first on. Who leaves alone is the first,
    the middle and the last by id; of many, those at equal distances. Every topic gets a quarter more partitions.

    Parameters
    ----------
    group : GroupSnapshot
    many : int
        How many join or leave at a time.
    """
    ids = java_sorted(group.member_ids)
    events = [
        Event("stable"),
        Event("join one", join=newcomers(group, 1)),
        Event("join many", join=newcomers(group, many)),
    ]
    if len(ids) > 1:
        places = {"first": 0, "middle": len(ids) // 2, "last": len(ids) - 1}
        events += [Event(f"leave one, {where}", leave=frozenset({ids[at]})) for where, at in places.items()]
        events.append(Event("leave many", leave=frozenset(_spread(ids, min(many, len(ids) - 1)))))
    return [*events, Event("partitions added", topics=grown(group.topics))]


def leavers(group: GroupSnapshot) -> list[Event]:
    """Every member leaving alone, or so many of them at equal distances."""
    ids = java_sorted(group.member_ids)
    chosen = _spread(ids, min(len(ids), LEAVERS_MAX)) if len(ids) > 1 else []
    return [Event("leave one", leave=frozenset({member_id})) for member_id in chosen]


def _spread(ids: Sequence[str], count: int) -> list[str]:
    return [ids[at * len(ids) // count] for at in range(count)]


def newcomers(group: GroupSnapshot, count: int) -> tuple[MemberSubscription, ...]:
    """Members that come after all others in the order of ids, like those from the first on in all else.

    Parameters
    ----------
    group : GroupSnapshot
        With at least one member.
    count : int
    """
    last = java_sorted(group.member_ids)[-1]
    like = [group.members[at % group.n_members] for at in range(count)]
    return tuple(
        MemberSubscription(f"{last}-new-{number}", model.topics, rack=model.rack, capacity=model.capacity)
        for number, model in enumerate(like, start=1)
    )


def grown(topics: Topics) -> Topics:
    """The topics with a quarter more partitions each, at least one, with racks and rates like the first ones'."""
    counts = tuple(count + max(count // 4, 1) for count in topics.counts)
    racks = None if topics.racks is None else _grown(topics, counts, topics.racks, ())
    rates = None if topics.rates is None else _grown(topics, counts, topics.rates, 0)
    return Topics(topics.names, counts, racks, rates)


def _grown(topics: Topics, counts: Sequence[int], values: Sequence[T], blank: T) -> tuple[T, ...]:
    """Values of each topic's partitions, going on with those of its first ones."""
    found: list[T] = []
    for first, old, new in zip(topics.first.tolist(), topics.counts, counts, strict=False):
        mine = values[first : first + old] or (blank,)
        found += [mine[number % len(mine)] for number in range(new)]
    return tuple(found)
