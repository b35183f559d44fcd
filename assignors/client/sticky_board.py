"""Who has what while a sticky assignor balances members of unequal subscriptions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from groupsim.assignors.client.sticky_claims import Claims
from groupsim.assignors.client.subscriber_ranking import SubscriberRanking
from groupsim.assignors.core.racks import RackMap
from groupsim.assignors.core.snapshot import GroupSnapshot, Positions

NEVER = np.iinfo(np.int64).max


class Board:
    """Who has what, by member number: members count in id order.

    Parameters
    ----------
    claims : Claims
    snapshot : GroupSnapshot
    racks : RackMap, optional
        Where racks matter.
    by_id : ndarray of int32
        Members of the snapshot in id order.

    Attributes
    ----------
    own : list of list of int
        Positions of each member in the order it got them.
    owner : ndarray of int32
        Member number for each position, -1 for nobody.
    active : ndarray of bool
        Members that can still take part in an exchange.
    revoked : bool
        Whether a member had to lose a partition that it may not have.
    number_of : ndarray of int32
        Number of each member of the snapshot.
    """

    def __init__(self, claims: Claims, snapshot: GroupSnapshot, racks: RackMap | None, by_id: Positions) -> None:
        table, self.topics = snapshot.subscriptions, claims.topics
        self.racks, self.has, self.kind_of = racks, table.has, table.kind_of[by_id]
        self._member_of = by_id.tolist()
        self.number_of = np.empty_like(by_id)
        self.number_of[by_id] = np.arange(len(by_id), dtype=np.int32)
        self._visiting = self.number_of[claims.owners]
        everything = np.ones(self.topics.n_partitions, dtype=bool)
        self.assignable = everything if claims.assignable is None else claims.assignable
        self.n_subscribers = np.bincount(self.kind_of, minlength=len(self.has)) @ self.has
        self.most = self.has @ np.array(snapshot.topics.counts, dtype=np.int64)
        self.active = np.ones(len(by_id), dtype=bool)
        self.own: list[list[int]] = [[] for _ in by_id]
        self.owner = np.full(self.topics.n_partitions, -1, dtype=np.int32)
        self.revoked = self._take_over(claims)
        sizes = np.array([len(positions) for positions in self.own], dtype=np.int64)
        self.ranking = SubscriberRanking(self.has, self.kind_of, sizes)

    @property
    def size(self) -> npt.NDArray[np.int64]:
        """Partitions of each member, shape (n_members,)."""
        return self.ranking.size

    def _take_over(self, claims: Claims) -> bool:
        """Let members keep what they may have; tells whether there was anything else."""
        members, positions = claims.standing
        numbers = self.number_of[members]
        allowed = self.has[self.kind_of[numbers], self.topics.topic_of[positions]]
        if self.racks is not None:
            pairs = zip(members.tolist(), positions.tolist(), strict=True)
            allowed &= ~np.array([self.racks.mismatch(*pair) for pair in pairs], dtype=bool)
        for number, position in zip(numbers[allowed].tolist(), positions[allowed].tolist(), strict=True):
            self.own[number].append(position)
        self.owner[positions[allowed]] = numbers[allowed]
        return not allowed.all()

    def in_topic_order(self) -> Positions:
        """All assignable positions, those of topics with the fewest subscribers first."""
        order = np.argsort(self.n_subscribers[self.topics.topic_of], kind="stable").astype(np.int32)
        return order[self.assignable[order]]

    def free_positions(self) -> Positions:
        """What nobody has, in topic order; after a partition that does not exist, everything.

        Kafka compares all partitions with those in somebody's hands in one pass over two sorted lists, and waits
        forever for one that does not exist.
        """
        order = np.argsort(self.n_subscribers[self.topics.topic_of], kind="stable").astype(np.int32)
        free, assignable = self.owner[order] < 0, self.assignable[order]
        missing = np.flatnonzero(~free & ~assignable)
        if len(missing):
            free[missing[0] :] = True
        return order[free & assignable]

    def exchangeable(self, positions: Positions) -> Positions:
        """Those positions whose topics have more than one subscriber."""
        return positions[self.n_subscribers[self.topics.topic_of[positions]] > 1]

    def fill(self, free: Positions) -> None:
        """Give each position to the emptiest subscriber, first of all where one can read it in its rack."""
        left = free.tolist()
        if self.racks is not None:
            left = [position for position in left if not self._give_locally(position)]
        audience = self.ranking.audience_of[self.topics.topic_of[left]].tolist()
        for position, at in zip(left, audience, strict=True):
            number = self.ranking.smallest(at)
            assert number is not None
            self.give(position, number)

    def _give_locally(self, position: int) -> bool:
        assert self.racks is not None
        subscribers = np.flatnonzero(self.has[self.kind_of, self.topics.topic_of[position]]).tolist()
        local = [number for number in subscribers if not self.racks.mismatch(self._member_of[number], position)]
        if local:
            self.give(position, min(local, key=self.size.__getitem__))
        return bool(local)

    def give(self, position: int, number: int) -> None:
        """Add a position to the end of a member's list."""
        self.own[number].append(position)
        self.owner[position] = number
        self.ranking.grow(number)

    def take(self, position: int) -> int:
        """Take a position from its owner; returns whose it was."""
        number = int(self.owner[position])
        self.own[number].remove(position)
        self.ranking.shrink(number)
        return number

    def retire_settled(self) -> None:
        """Leave out members that can get nothing more and have nothing another could take."""
        shared = self.n_subscribers[self.topics.topic_of] > 1
        for number in np.flatnonzero(self.size >= self.most[self.kind_of]).tolist():
            if not shared[self.own[number]].any():
                self.active[number] = False
                self.ranking.retire(number)

    def score(self) -> int:
        """Sum over all pairs of active members of the difference in size."""
        ordered = np.sort(self.size[self.active])
        return int((ordered * (2 * np.arange(len(ordered)) - len(ordered) + 1)).sum())

    def balanced(self) -> bool:
        """Whether no subscriber, unless it has all it can get, has two partitions less than an owner.

        Source: AbstractStickyAssignor.GeneralAssignmentBuilder.isBalanced, Kafka 4.4.
        """
        sizes = self.size[self.active]
        if not len(sizes) or sizes.min() >= sizes.max() - 1:
            return True
        waiting = self.active & (self.size != self.most[self.kind_of])
        least = np.full(len(self.has), NEVER)
        np.minimum.at(least, self.kind_of[waiting], self.size[waiting])
        least_of_topic = np.where(self.has, least[:, None], NEVER).min(axis=0)
        holder = self._holders()
        held = np.flatnonzero(self.assignable & (holder >= 0))
        wanted = held[self.size[holder[held]] - 1 > least_of_topic[self.topics.topic_of[held]]]
        return not any(
            self._somebody_waits_for(position, int(holder[position]), waiting) for position in wanted.tolist()
        )

    def _holders(self) -> Positions:
        """Active owner of each position; of several, the last one in the order of the leader's map."""
        holder = np.full(len(self.owner), -1, dtype=np.int32)
        for number in self._visiting[self.active[self._visiting]].tolist():
            holder[self.own[number]] = number
        return holder

    def _somebody_waits_for(self, position: int, holder: int, waiting: npt.NDArray[np.bool_]) -> bool:
        waiting = waiting & self.has[self.kind_of, self.topics.topic_of[position]] & (self.size < self.size[holder] - 1)
        return any(position not in self.own[number] for number in np.flatnonzero(waiting).tolist())
