"""What a server-side assignor is given: a group in vectors, as the coordinator keeps it between rebalances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from groupsim.assignors.core.assignment import Assignment
from groupsim.assignors.core.errors import InvalidSnapshot
from groupsim.assignors.core.snapshot import GroupSnapshot, SubscriptionTable
from groupsim.assignors.core.topics import NOTHING, Positions, Topics, sealed
from groupsim.assignors.server.member_names import MemberNames
from groupsim.assignors.server.topic_ids import TopicIds


@dataclass(frozen=True, slots=True, eq=False)
class GroupSpec:
    """A group of the consumer protocol at the moment of an assignment.

    Parameters
    ----------
    topics : Topics
        May contain topics nobody subscribes to.
    topic_ids : TopicIds
        Their ids.
    names : MemberNames
    subscriptions : SubscriptionTable
        Every one of its kinds has a member.
    target : Assignment
        The members' target assignment so far, each list in the order of its record. It may be given by older topics; a
        topic that was deleted and made anew must have another name there.
    target_ids : TopicIds, optional
        Ids of the topics of `target`, where those are older ones; derived from their names by default. Only those of
        topics that are gone matter.
    mixes_patterns : bool
        Some members subscribe by a regular expression, and not all by the same one alone.

    Attributes
    ----------
    members, positions : ndarray of int32
        The target as parallel vectors, member after member, without topics that are gone.
    gone : ndarray of int64, shape (n_members,)
        How many topics of each member's target are gone.
    record : Assignment
        The target as it was given.
    holder : ndarray of int32, shape (n_partitions,)
        Index of the member whose target has the partition, -1 for nobody: Kafka's inverted target assignment.

    Raises
    ------
    InvalidSnapshot
        Parts of different sizes; a partition that does not exist, or in two targets.

    Source: GroupSpec, SubscribedTopicDescriber (coordinator.group.api.assignor), TargetAssignmentBuilder, Kafka 4.4.
    """

    topics: Topics
    topic_ids: TopicIds
    names: MemberNames
    subscriptions: SubscriptionTable
    target: Assignment
    target_ids: TopicIds | None = None
    mixes_patterns: bool = False
    record: Assignment = field(init=False, repr=False)
    members: Positions = field(init=False, repr=False)
    positions: Positions = field(init=False, repr=False)
    gone: npt.NDArray[np.int64] = field(init=False, repr=False)
    holder: Positions = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not len(self.names) == len(self.subscriptions.kind_of) == self.target.n_members:
            raise InvalidSnapshot("names, subscriptions and targets are of different numbers of members")
        if len(self.topic_ids.halves) != len(self.topics.names):
            raise InvalidSnapshot(f"{len(self.topic_ids.halves)} topic ids for {len(self.topics.names)} topics")
        object.__setattr__(self, "record", self.target)
        members, positions = self.target.pairs()
        _check_range(positions, self.target.topics, self.names.member_ids, members)
        object.__setattr__(self, "gone", np.zeros(self.n_members, dtype=np.int64))
        if self.target.topics is not self.topics:
            members, positions = self._translated(members, positions)
        object.__setattr__(self, "members", members)
        object.__setattr__(self, "positions", positions)
        object.__setattr__(self, "holder", self._inverted())

    @classmethod
    def of(cls, snapshot: GroupSnapshot, topic_ids: TopicIds | None = None) -> GroupSpec:
        """The same group from a snapshot whose members own their targets.

        Parameters
        ----------
        snapshot : GroupSnapshot
            `owned` of each member is its target, in the order of its record.
        topic_ids : TopicIds, optional
            Ids of the snapshot's topics; derived from their names by default.
        """
        ids = TopicIds.derived(snapshot.topics.names) if topic_ids is None else topic_ids
        names = MemberNames(snapshot.member_ids, tuple(member.instance_id for member in snapshot.members))
        return cls(snapshot.topics, ids, names, snapshot.subscriptions, _targets(snapshot))

    @property
    def n_members(self) -> int:
        """Number of members."""
        return self.target.n_members

    @property
    def homogeneous(self) -> bool:
        """Whether all members name the same topics, or the same regular expression; what others match does not count.

        Source: ConsumerGroup.subscriptionType, Kafka 4.4.
        """
        kinds = self.subscriptions.kinds
        return not self.mixes_patterns and (len(kinds) <= 1 or len({frozenset(names) for names in kinds}) == 1)

    @property
    def gone_topics(self) -> tuple[Positions, npt.NDArray[np.int64]]:
        """Members that hold topics that are gone, and the folded hash codes of these topics' ids."""
        if not self.gone.any():
            return NOTHING, np.zeros(0, dtype=np.int64)
        members, positions = self.record.pairs()
        older = self.record.topics
        lost = self.topics.translation_from(older)[positions] < 0
        pairs = np.unique(members[lost].astype(np.int64) * len(older.names) + older.topic_of[positions[lost]])
        member, topic = np.divmod(pairs, len(older.names))
        return member.astype(np.int32), self.record_ids.codes[topic]

    @property
    def record_ids(self) -> TopicIds:
        """Ids of the topics of `record`."""
        if self.record.topics is self.topics:
            return self.topic_ids
        return TopicIds.derived(self.record.topics.names) if self.target_ids is None else self.target_ids

    def _translated(self, members: Positions, positions: Positions) -> tuple[Positions, Positions]:
        """The target by the topics of the day."""
        there = self.topics.translation_from(self.target.topics)[positions]
        lost = there < 0
        if lost.any():
            self._check_gone(members[lost], positions[lost])
        members, positions = members[~lost], sealed(there[~lost])
        ends = np.cumsum(np.bincount(members, minlength=self.n_members))
        starts = np.append(0, ends[:-1]) if len(ends) else ends
        object.__setattr__(self, "target", Assignment(self.topics, positions, starts, ends))
        return members, positions

    def _check_gone(self, members: Positions, positions: Positions) -> None:
        """Count the topics that are gone; a topic that is still there has not shrunk."""
        older = self.target.topics
        topic = older.topic_of[positions]
        for at in np.unique(topic).tolist():
            known = self.topics.index(older.names[at])
            if known is not None and self.topics.counts[known] > 0:
                last = f"{older.names[at]}-{self.topics.counts[known] - 1}"
                raise InvalidSnapshot(
                    f"{older.label(int(positions[topic == at][0]))} is in a target, {last} is the last"
                )
        pairs = np.unique(members.astype(np.int64) * len(older.names) + topic)
        gone = np.bincount(pairs // len(older.names), minlength=self.n_members)
        object.__setattr__(self, "gone", gone)

    def _inverted(self) -> Positions:
        holder = np.full(self.topics.n_partitions, -1, dtype=np.int32)
        holder[self.positions] = self.members
        if np.count_nonzero(holder >= 0) < len(self.positions):
            twice = int(np.argmax(np.bincount(self.positions)))
            raise InvalidSnapshot(f"{self.topics.label(twice)} is in the targets more than once")
        return sealed(holder)


def _check_range(positions: Positions, layout: Topics, member_ids: Sequence[str], members: Positions) -> None:
    """See that positions of members, by index, are in their layout."""
    known = layout.n_partitions
    if len(positions) and not (positions.min() >= 0 and positions.max() < known):
        at = int(np.flatnonzero((positions < 0) | (positions >= known))[0])
        raise InvalidSnapshot(
            f"the target of {member_ids[members[at]]!r} has position {positions[at]}, there are {known}"
        )


def _targets(snapshot: GroupSnapshot) -> Assignment:
    """What the members own, by one layout that has all of it."""
    layouts = [snapshot.topics if member.layout is None else member.layout for member in snapshot.members]
    distinct = list({id(layout): layout for layout in layouts}.values())
    owned = [member.owned for member in snapshot.members]
    if len(distinct) <= 1:
        return _listed(distinct[0] if distinct else snapshot.topics, owned)
    counts: dict[str, int] = {}
    for layout in distinct:
        for name, count in zip(layout.names, layout.counts, strict=True):
            counts[name] = max(count, counts.get(name, 0))
    union = Topics.of(counts)
    there = {id(layout): union.translation_from(layout) for layout in distinct}
    for at, (positions, layout) in enumerate(zip(owned, layouts, strict=True)):
        _check_range(positions, layout, snapshot.member_ids, np.full(len(positions), at, dtype=np.int32))
        owned[at] = there[id(layout)][positions]
    return _listed(union, owned)


def _listed(topics: Topics, lists: list[Positions]) -> Assignment:
    sizes = np.array([len(each) for each in lists], dtype=np.int64)
    ends = np.cumsum(sizes)
    flat = np.concatenate([NOTHING, *lists]).astype(np.int32, copy=False)
    return Assignment(topics, sealed(flat), ends - sizes, ends)


def carried_over(target: Assignment, heirs: Positions) -> Assignment:
    """Targets of a group whose members have changed.

    Parameters
    ----------
    target : Assignment
    heirs : ndarray of int32, shape (n_members,)
        For each member of the group as it is now, the index of the one whose target it takes over: its own former index
        or, for a static member that is back under another id, that id's; -1 for a newcomer.
    """
    new = heirs < 0
    starts = np.where(new, 0, target.starts[heirs]) if target.n_members else np.zeros(len(heirs), dtype=np.int64)
    ends = np.where(new, 0, target.ends[heirs]) if target.n_members else starts
    return Assignment(target.topics, target.flat, starts, ends)
