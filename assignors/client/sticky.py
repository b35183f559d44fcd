"""sticky: balanced assignments that keep what they can; what all sticky assignors share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from groupsim.assignors.client import sticky_constrained, sticky_general
from groupsim.assignors.client.sticky_claims import NO_GENERATION, Claims, Past, gather
from groupsim.assignors.core.input_types import are_positions, is_generation, require
from groupsim.assignors.core.interface import Assignor, Promise
from groupsim.assignors.core.member_order import visiting_orders
from groupsim.assignors.core.racks import rack_map
from groupsim.assignors.core.snapshot import NOTHING, Assignment, GroupSnapshot, Positions, Topics
from groupsim.assignors.java.ordering import text_codes, text_places
from groupsim.assignors.java.table_order import grouping_order


class Path(Enum):
    """Which of its two algorithms a sticky assignor used."""

    CONSTRAINED = "constrained"
    GENERAL = "general"


@dataclass(frozen=True, slots=True, eq=False)
class StickySolution:
    """A balanced assignment and how it came about.

    Parameters
    ----------
    path : Path or None
        None for a group without members.
    claims : Claims
        What the members claimed.
    n_members : int
    members, positions : ndarray of int32
        The assignment as pairs, each member's in the order of its list.
    changes_hands : ndarray of bool or None
        Which pairs give a partition to a member that another has to give up first; None where Kafka does not tell.
    """

    path: Path | None
    claims: Claims
    n_members: int
    members: Positions
    positions: Positions
    changes_hands: npt.NDArray[np.bool_] | None

    def assignment(self) -> Assignment:
        """All of it."""
        return Assignment.of_pairs(self.claims.topics, self.n_members, self.members, self.positions)

    def held_back(self) -> Assignment:
        """Without what another member has to give up first."""
        stays = ~(self.lost_and_found() if self.changes_hands is None else self.changes_hands)
        if stays.all():
            return self.assignment()
        return Assignment.of_pairs(self.claims.topics, self.n_members, self.members[stays], self.positions[stays])

    def lost_and_found(self) -> npt.NDArray[np.bool_]:
        """Which pairs give a partition to a member that did not claim it, while one that did loses it.

        Source: CooperativeStickyAssignor.computePartitionsTransferringOwnership, Kafka 4.4.
        """
        width = self.claims.topics.n_partitions
        had = self.claims.said_by.astype(np.int64) * width + self.claims.said
        has = self.members.astype(np.int64) * width + self.positions
        lost = np.zeros(width, dtype=bool)
        lost[self.claims.said[~np.isin(had, has)]] = True
        return ~np.isin(has, had) & lost[self.positions]


class AbstractStickyAssignor(Assignor):
    """Balanced, and of all balanced assignments one that moves little.

    Parameters
    ----------
    java_order : bool
        Whether members are visited as Kafka's hash tables yield them, which decides who keeps one more and how lists
        are ordered, or by id.

    Attributes
    ----------
    max_generation : int
        The youngest generation seen in any call; claims of older ones count less.

    Source: org.apache.kafka.clients.consumer.internals.AbstractStickyAssignor, Kafka 4.4.
    """

    promises: ClassVar[frozenset[Promise]] = frozenset(
        {Promise.EXCLUSIVE, Promise.COMPLETE, Promise.BALANCED, Promise.STICKY, Promise.ANY_ORDER}
    )
    exceptions: ClassVar[Mapping[Promise, str]] = {
        Promise.BALANCED_PER_TOPIC: "counts are evened out over all topics together",
        Promise.STEADY: "partitions without a replica in their owner's rack are given out anew every time",
    }

    def __init__(self, *, java_order: bool = True) -> None:
        self.java_order = java_order
        self.max_generation = NO_GENERATION

    @abstractmethod
    def past(self, snapshot: GroupSnapshot) -> Past:
        """What the members of a group claim."""

    def solve(self, snapshot: GroupSnapshot) -> StickySolution:
        """Assign, and tell how; see `Assignor.assign`."""
        (order, owners), past = visiting_orders(snapshot, self.java_order), self.past(snapshot)
        claims = gather(snapshot, order, owners, past)
        told = {self.max_generation, *past.generations}
        self.max_generation = max(generation for generation in told if generation is not None)
        if not snapshot.members:
            return StickySolution(None, claims, 0, NOTHING, NOTHING, np.zeros(0, dtype=bool))
        solve = self._constrained if subscribe_equally(snapshot, order) else self._general
        return solve(snapshot, claims)

    def _constrained(self, snapshot: GroupSnapshot, claims: Claims) -> StickySolution:
        placed = sticky_constrained.place(claims, snapshot.member_ids, rack_map(snapshot, claims.topics))
        return StickySolution(
            Path.CONSTRAINED,
            claims,
            snapshot.n_members,
            np.concatenate([placed.kept_by, placed.given_to]),
            np.concatenate([placed.kept, placed.given]),
            np.concatenate([np.zeros(len(placed.kept), dtype=bool), placed.changes_hands]),
        )

    def _general(self, snapshot: GroupSnapshot, claims: Claims) -> StickySolution:
        racks = rack_map(snapshot, claims.topics)
        assignment = sticky_general.balance(claims, snapshot, racks, self.max_generation, java_order=self.java_order)
        return StickySolution(Path.GENERAL, claims, snapshot.n_members, *assignment.pairs(), None)


def subscribe_equally(snapshot: GroupSnapshot, order: Positions) -> bool:
    """Whether Kafka takes all subscriptions for equal.

    Members without topics are not noticed if they come before all others.

    Parameters
    ----------
    snapshot : GroupSnapshot
    order : ndarray of int32
        Members in the order in which the leader visits them.

    Source: AbstractStickyAssignor.allSubscriptionsEqual, Kafka 4.4.
    """
    kinds, kind_of = snapshot.subscriptions.kinds, snapshot.subscriptions.kind_of[order]
    named = np.array([bool(names) for names in kinds], dtype=bool)
    later = kind_of[int(np.argmax(named[kind_of])) :] if named.any() else kind_of[:0]
    if not len(later):
        return True
    reference = set(kinds[later[0]])
    equal = np.array([len(names) == len(reference) and reference.issuperset(names) for names in kinds])
    return bool(equal[later[1:]].all())


@dataclass(frozen=True, slots=True, eq=False)
class StickyUserData:
    """What a sticky member remembers and tells the leader when it joins.

    Parameters
    ----------
    layout : Topics
        What the positions mean.
    owned : ndarray of int32
        Its last assignment.
    generation : int, optional
        When it got it; None from clients that do not tell (schema V0).
    as_sent : bool
        Whether `owned` is in the order of the wire already, or in the order in which it was assigned.

    Raises
    ------
    InvalidSnapshot
        Something is of another type, or a generation that 32 bits do not hold.

    Source: StickyAssignor, `MemberData`, user data schemas V0 and V1, Kafka 4.4.
    """

    layout: Topics
    owned: Positions
    generation: int | None
    as_sent: bool = False

    def __post_init__(self) -> None:
        require(isinstance(self.layout, Topics), "the layout of user data", "Topics", self.layout)
        require(are_positions(self.owned), "what user data owns", "a vector of whole numbers", self.owned)
        require(is_generation(self.generation), "the generation of user data", "of 32 bits", self.generation)

    def in_wire_order(self) -> Positions:
        """Positions by topic, topics as the hash table yields them that the sender groups them in.

        Source: StickyAssignor.serializeTopicPartitionAssignment, CollectionUtils.groupPartitionsByTopic, Kafka 4.4. The
        sender has received its assignment by topic, in the order in which topics first come up in it.
        """
        if self.as_sent or not len(self.owned) or self.owned.min() < 0 or self.owned.max() >= self.layout.n_partitions:
            return self.owned  # what is outside the layout is refused where the member's name is known
        topic_of = self.layout.topic_of[self.owned]
        topics = list(dict.fromkeys(topic_of.tolist()))
        runs = [self.owned[topic_of == topic] for topic in topics]
        names = [self.layout.names[topic] for topic in topics]
        order = grouping_order(text_codes(names), partial(text_places, names), last_used_again=len(runs[-1]) > 1)
        return np.concatenate([runs[at] for at in order.tolist()])


class StickyAssignor(AbstractStickyAssignor):
    """The eager sticky assignor: a member has given everything up when it joins, and reminds the leader of what it had.

    Source: org.apache.kafka.clients.consumer.StickyAssignor, Kafka 4.4.
    """

    name: ClassVar[str] = "sticky"

    def __init__(self, *, java_order: bool = True) -> None:
        super().__init__(java_order=java_order)
        self._memory: StickyUserData | None = None

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        """Balance, keeping what members remember where possible; see `Assignor.assign`."""
        return self.solve(snapshot).assignment()

    def subscription_user_data(self) -> StickyUserData | None:
        """Return this consumer's last assignment, None before the first."""
        return self._memory

    def on_assignment(self, topics: Topics, positions: Positions, generation: int) -> None:
        """Remember the assignment; see `Assignor.on_assignment`."""
        self._memory = StickyUserData(topics, positions, generation)

    def past(self, snapshot: GroupSnapshot) -> Past:
        """What the members remember; user data that is no sticky assignor's counts as unreadable."""
        data = [member.user_data for member in snapshot.members]
        if not snapshot.subscriptions.equal:
            owned = [each.in_wire_order() if isinstance(each, StickyUserData) else NOTHING for each in data]
        else:
            owned = [each.owned if isinstance(each, StickyUserData) else NOTHING for each in data]
        return Past(
            owned,
            [each.layout if isinstance(each, StickyUserData) else None for each in data],
            [_generation(each) for each in data],
        )


def _generation(user_data: object | None) -> int | None:
    if isinstance(user_data, StickyUserData):
        return user_data.generation
    return None if user_data is None else NO_GENERATION
