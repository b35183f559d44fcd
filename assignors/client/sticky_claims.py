"""What the members of a sticky group say they own, with contradictions settled.

Two members can claim one partition: one of them slept through a rebalance, or both did. The younger generation wins;
within one generation nobody does. Claims can also name partitions that are gone, because a topic was made anew with
fewer of them: Kafka does not notice, so they stay, as positions beyond the topic's end in a layout stretched to hold
them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from groupsim.assignors.core.errors import InvalidSnapshot
from groupsim.assignors.core.snapshot import NOTHING, GroupSnapshot, Positions, Topics

NO_GENERATION = -1


@dataclass(frozen=True, slots=True)
class Past:
    """What each member of a snapshot says of the past, in parallel lists.

    Parameters
    ----------
    owned : list of ndarray of int32
        Positions claimed.
    layouts : list of (Topics or None)
        What they mean, None for the snapshot's topics.
    generations : list of (int or None)
        Generation of the claim.
    """

    owned: list[Positions]
    layouts: list[Topics | None]
    generations: list[int | None]


@dataclass(frozen=True, slots=True, eq=False)
class Claims:
    """Claims of a whole group as parallel vectors, member after member in the order of the leader's map.

    Parameters
    ----------
    topics : Topics
        What positions mean; the snapshot's topics unless some claimed partition does not exist.
    assignable : ndarray of bool or None, shape (topics.n_partitions,)
        Whether a partition exists and its topic has subscribers; None where all are so.
    owners : ndarray of int32, shape (n_members,)
        Members in the order of the map of what they own.
    generations : list of (int or None)
        Generation each member claims from.
    said_by, said : ndarray of int32
        All claims on topics somebody subscribes to: member and position.
    kept : ndarray of bool
        Which of them stand.
    tied : ndarray of int32
        Positions that several members claimed in one generation.
    """

    topics: Topics
    assignable: npt.NDArray[np.bool_] | None
    owners: Positions
    generations: list[int | None]
    said_by: Positions
    said: Positions
    kept: npt.NDArray[np.bool_]
    tied: Positions

    @property
    def standing(self) -> tuple[Positions, Positions]:
        """Member and position of the claims that stand."""
        if self.kept.all():
            return self.said_by, self.said
        return self.said_by[self.kept], self.said[self.kept]


def gather(snapshot: GroupSnapshot, order: Positions, owners: Positions, past: Past) -> Claims:
    """Collect and settle the claims of a group.

    Parameters
    ----------
    snapshot : GroupSnapshot
    order : ndarray of int32
        Members in the order in which the leader visits them.
    owners : ndarray of int32
        Members in the order of the map of what they own, which the leader fills as it visits them.
    past : Past
        By member index.

    Raises
    ------
    InvalidSnapshot
        A claimed position is outside its layout.

    Source: AbstractStickyAssignor.allSubscriptionsEqual, Kafka 4.4.
    """
    said_by, said = _said(order, past.owned)
    topics, said = _common_positions(snapshot, past.layouts, said_by, said)
    known = _on_subscribed_topics(snapshot, topics, said)
    if known is not None:
        said_by, said = said_by[known], said[known]
    kept, tied = _settle(snapshot, past.generations, said_by, said, topics.n_partitions)
    return Claims(topics, _assignable(snapshot, topics), owners, past.generations, said_by, said, kept, tied)


def _said(order: Positions, owned: list[Positions]) -> tuple[Positions, Positions]:
    """All claims, member after member: who, and which position."""
    sizes = np.fromiter(map(len, owned), dtype=np.int64, count=len(owned))
    if not sizes.any():
        return NOTHING, NOTHING
    return np.repeat(order, sizes[order]), np.concatenate(list(map(owned.__getitem__, order.tolist())))


def _assignable(snapshot: GroupSnapshot, topics: Topics) -> npt.NDArray[np.bool_] | None:
    exists = None if topics is snapshot.topics else snapshot.topics.translation_from(topics) >= 0
    subscribed = snapshot.subscriptions.has.any(axis=0)
    if subscribed.all():
        return exists
    assignable = np.repeat(subscribed, topics.counts)
    return assignable if exists is None else assignable & exists


def _common_positions(
    snapshot: GroupSnapshot, layouts: list[Topics | None], said_by: Positions, said: Positions
) -> tuple[Topics, Positions]:
    """Claims in one layout that holds them all; -1 for those on topics that are gone."""
    topics = snapshot.topics
    foreign = {id(layout): layout for layout in layouts if layout is not None and layout is not topics}
    if not foreign:
        return topics, in_range(said, topics, snapshot, said_by)
    known = {topics: 0}
    number = {identity: known.setdefault(layout, len(known)) for identity, layout in foreign.items()}
    layout_of = np.array([number.get(id(layout), 0) for layout in layouts], dtype=np.int32)[said_by]
    parts = [(layout, layout_of == at) for layout, at in known.items()]
    claims = [(layout, in_range(said[mine], layout, snapshot, said_by[mine])) for layout, mine in parts]
    stretched = _stretched(topics, claims)
    common = np.empty_like(said)
    for layout, mine in parts:
        common[mine] = stretched.translation_from(layout)[said[mine]]
    return stretched, common


def in_range(positions: Positions, layout: Topics, snapshot: GroupSnapshot, said_by: Positions) -> Positions:
    """The same positions, all of them inside their layout.

    Raises
    ------
    InvalidSnapshot
        Naming the first of the members, by `said_by`, with a position that is not.
    """
    if len(positions) and not (positions.min() >= 0 and positions.max() < layout.n_partitions):
        at = int(np.flatnonzero((positions < 0) | (positions >= layout.n_partitions))[0])
        owner, last = snapshot.member_ids[said_by[at]], layout.n_partitions - 1
        raise InvalidSnapshot(f"an owned position is outside 0..{last}: {owner!r} claims {positions[at]}")
    return positions


def _stretched(topics: Topics, claims: list[tuple[Topics, Positions]]) -> Topics:
    """The topics, long enough for every claimed partition of those that exist."""
    counts = list(topics.counts)
    for layout, positions in claims:
        highest = np.full(len(layout.names), -1)
        np.maximum.at(highest, layout.topic_of[positions], layout.number_of[positions])
        for at in np.flatnonzero(highest >= 0).tolist():
            mine = topics.index(layout.names[at])
            if mine is not None and topics.counts[mine] > 0:
                counts[mine] = max(counts[mine], int(highest[at]) + 1)
    if tuple(counts) == topics.counts:
        return topics
    racks: list[tuple[str | None, ...]] = []
    for at, count in enumerate(counts) if topics.racks is not None else ():
        assert topics.racks is not None
        racks += topics.racks[topics.first[at] : topics.first[at + 1]]
        racks += [()] * (count - topics.counts[at])
    return Topics(topics.names, tuple(counts), None if topics.racks is None else tuple(racks))


def _on_subscribed_topics(snapshot: GroupSnapshot, topics: Topics, said: Positions) -> npt.NDArray[np.bool_] | None:
    """Which claims are on topics with partitions and subscribers, -1 being on none; None for all of them."""
    subscribed = snapshot.subscriptions.has.any(axis=0)
    if subscribed.all() and (not len(said) or said.min() >= 0):
        return None
    wanted: npt.NDArray[np.bool_] = np.append(np.repeat(subscribed, topics.counts), np.False_)[said]
    return wanted


def _settle(
    snapshot: GroupSnapshot, generations: list[int | None], said_by: Positions, said: Positions, n_partitions: int
) -> tuple[npt.NDArray[np.bool_], Positions]:
    """Which claims stand, and the positions claimed by several members in one generation.

    A later claimant's generation is compared with the one in the earlier claimant's subscription, even where the
    assignor keeps generations elsewhere: so does Kafka.
    """
    kept = np.ones(len(said), dtype=bool)
    contested = np.bincount(said, minlength=n_partitions)[said] > 1
    claimant: dict[int, int] = {}
    standing: dict[int, int] = {}
    tied: list[int] = []
    for claim in np.flatnonzero(contested).tolist():
        member, position = int(said_by[claim]), int(said[claim])
        holder = claimant.get(position)
        if holder is not None:
            mine, theirs = _number(generations[member]), _number(snapshot.members[holder].generation)
            kept[claim] = mine > theirs
            if mine < theirs:
                continue
            if mine == theirs:
                tied.append(position)
            if position in standing:
                kept[standing.pop(position)] = False
        claimant[position] = member
        if kept[claim]:
            standing[position] = claim
    return kept, np.array(sorted(set(tied)), dtype=np.int32)


def _number(generation: int | None) -> int:
    return NO_GENERATION if generation is None else generation
