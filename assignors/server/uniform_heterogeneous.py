"""uniform where subscriptions differ: what is held stays, who has least gets what is free, then topics are evened out.

Topics with many partitions for a subscriber come first. A topic is evened out by giving partitions of those with most
to those with least, the highest number first; all topics again and again until none of them moves any more, sixteen
times at most.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from groupsim.assignors.core.assignment import Assignment
from groupsim.assignors.core.topics import NOTHING, Positions
from groupsim.assignors.server.changed_targets import changed_targets
from groupsim.assignors.server.group_spec import GroupSpec
from groupsim.assignors.server.held_targets import held_targets
from groupsim.assignors.server.member_balancer import NOBODY, MemberBalancer, least_loaded, ranked_by_load
from groupsim.assignors.server.table_sizes import capacity_for
from groupsim.assignors.server.target_changes import Move, TargetChanges

MAX_SWEEPS = 16


def assign_heterogeneous(spec: GroupSpec, *, java_order: bool) -> Assignment:
    """Assign the subscribed topics to members that name different ones.

    Parameters
    ----------
    spec : GroupSpec
        At least one member.
    java_order : bool

    Source: UniformHeterogeneousAssignmentBuilder.build, Kafka 4.4.
    """
    order = spec.names.visiting_order(java_order=java_order)
    draft = _Draft(spec, order)
    taker, taken = draft.fill()
    moves = draft.even_out()
    concerned = draft.loses | (spec.gone > 0)[order]
    concerned[taker] = True
    concerned[[member for move in moves for member in move[1:]]] = True
    place = np.cumsum(concerned, dtype=np.int32) - 1
    held = held_targets(spec, order[concerned], java_order=java_order)
    kept = spec.subscriptions.has[draft.kind_of[concerned][held.rank], spec.topics.topic_of[held.positions]]
    moves = [(position, int(place[giver]), int(place[to])) for position, giver, to in moves]
    capacity = capacity_for(-(-np.diff(spec.topics.first) // np.maximum(draft.n_subscribers, 1)))
    return changed_targets(spec, TargetChanges(held, kept, place[taker], taken, capacity, moves), java_order=java_order)


class _Draft:
    """Who has what while partitions are assigned. Members are numbered as they are visited.

    Parameters
    ----------
    spec : GroupSpec
    order : ndarray of int32
        Members in the order in which they are visited.

    Attributes
    ----------
    kind_of : ndarray of int32, shape (n_members,)
        Subscription of each member.
    loses : ndarray of bool, shape (n_members,)
        Who holds partitions of topics that it does not subscribe to.
    n_subscribers : ndarray of int64, shape (n_topics,)
    """

    def __init__(self, spec: GroupSpec, order: Positions) -> None:
        self._topics, self._has = spec.topics, spec.subscriptions.has
        self.kind_of = spec.subscriptions.kind_of[order]
        stays = self._has[spec.subscriptions.kind_of[spec.members], spec.topics.topic_of[spec.positions]]
        number = np.empty(len(order), dtype=np.int32)
        number[order] = np.arange(len(order), dtype=np.int32)
        holder = number[spec.members]
        self.loses = np.zeros(len(order), dtype=bool)
        self.loses[holder[~stays]] = True
        self._size = np.bincount(holder[stays], minlength=len(order))
        self._owner = np.full(spec.topics.n_partitions, NOBODY, dtype=np.int32)
        self._owner[spec.positions[stays]] = holder[stays]
        self.n_subscribers = np.bincount(self.kind_of, minlength=len(self._has)) @ self._has
        self._audiences: dict[bytes, Positions] = {}
        self._order = self._topic_order(spec.topic_ids.ranks)

    def _topic_order(self, ranks: npt.NDArray[np.int64]) -> list[int]:
        """Subscribed topics: many partitions for a subscriber first, then few subscribers, then by id.

        Source: UniformHeterogeneousAssignmentBuilder, `topicComparator`, Kafka 4.4.
        """
        subscribed = np.flatnonzero(self._has.any(axis=0))
        subscribers = self.n_subscribers[subscribed]
        crowding = np.diff(self._topics.first)[subscribed] / subscribers
        order: list[int] = subscribed[np.lexsort((ranks[subscribed], subscribers, -crowding))].tolist()
        return order

    def _subscribers(self, topic: int) -> Positions:
        column = self._has[:, topic]
        key = column.tobytes()
        if key not in self._audiences:
            self._audiences[key] = np.flatnonzero(column[self.kind_of]).astype(np.int32)
        return self._audiences[key]

    def _partitions(self, topic: int) -> slice:
        return slice(int(self._topics.first[topic]), int(self._topics.first[topic + 1]))

    def fill(self) -> tuple[Positions, Positions]:
        """Give away what is free; takers and positions in that order.

        Source: UniformHeterogeneousAssignmentBuilder.assignRemainingPartitions, Kafka 4.4.
        """
        takers, taken = [NOTHING], [NOTHING]
        for topic in self._order:
            those = self._partitions(topic)
            free = np.flatnonzero(self._owner[those] == NOBODY).astype(np.int32)
            if len(free):
                free += those.start
                least = least_loaded(self._subscribers(topic), self._size, len(free))
                self._owner[free] = least
                self._size += np.bincount(least, minlength=len(self._size))
                takers.append(least)
                taken.append(free)
        return np.concatenate(takers), np.concatenate(taken)

    def even_out(self) -> list[Move]:
        """Move partitions between subscribers until all topics are even; returns what moved, from whom to whom.

        Source: UniformHeterogeneousAssignmentBuilder.balanceTopics, Kafka 4.4. The first topic is where it stops if no
        other moves, whether it moved itself or not.
        """
        shared = [topic for topic in self._order if self.n_subscribers[topic] > 1]
        moves: list[Move] = []
        last = None
        for _ in range(MAX_SWEEPS):
            for topic in shared:
                if topic == last:
                    return moves
                moved = self._even_out(topic)
                moves += moved
                if moved or last is None:
                    last = topic
        return moves

    def _even_out(self, topic: int) -> list[Move]:
        """Even one topic out.

        Source: UniformHeterogeneousAssignmentBuilder.balanceTopic, Kafka 4.4.
        """
        subscribers, those = self._subscribers(topic), self._partitions(topic)
        load = self._size[subscribers]
        if load.max() - load.min() <= 1:
            return []
        ranked, load = ranked_by_load(subscribers, self._size)
        balancer = MemberBalancer(load.tolist(), self._stacks(ranked, those))
        moved = balancer.moves()
        self._size[ranked] = balancer.loads
        members = ranked.tolist()
        moves = [(those.start + number, members[giver], members[taker]) for number, giver, taker in moved]
        self._owner[[position for position, _, _ in moves]] = [taker for _, _, taker in moves]
        return moves

    def _stacks(self, ranked: Positions, those: slice) -> list[list[int]]:
        """Numbers of these partitions that each of the ranked members has, ascending."""
        rank = np.empty(len(self._size), dtype=np.int32)
        rank[ranked] = np.arange(len(ranked), dtype=np.int32)
        owner = rank[self._owner[those]]
        stacks: list[list[int]] = [[] for _ in range(len(ranked))]
        for number, at in enumerate(owner.tolist()):
            stacks[at].append(number)
        return stacks
