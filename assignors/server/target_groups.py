"""Partitions of many members grouped by member and topic, and the order in which tables yield them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from groupsim.assignors.core.topics import NOTHING, Positions
from groupsim.assignors.java.hash_table import SMALLEST_TREE_TABLE
from groupsim.assignors.java.packed_order import order_by, spans
from groupsim.assignors.java.table_order import may_crowd
from groupsim.assignors.server.group_spec import GroupSpec
from groupsim.assignors.server.table_sizes import Sizes, crowded

Order: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]
_NO_GHOSTS: Final = (NOTHING, np.zeros(0, dtype=np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class TargetGroups:
    """Partitions grouped by member and topic.

    Parameters
    ----------
    rank, topic : ndarray of int32, shape (n_groups,)
        Member and topic of each group.
    count : ndarray of int64, shape (n_groups,)
        Partitions of each.
    arrival : ndarray of int64, shape (n_groups,)
        How many partitions came before its first one.
    first : ndarray of int32, shape (n_groups,)
        Position of its first one.
    number : ndarray of int32, shape (n_groups,)
        Partition number of its first one.
    scattered : (ndarray of int64, ndarray of int32) or None
        Arrival and partition number of every partition, group after group; None where the positions of each group are
        consecutive, as they are when much is handed out at once.
    """

    rank: Positions
    topic: Positions
    count: Sizes
    arrival: Sizes
    first: Positions
    number: Positions
    scattered: tuple[Order, Positions] | None

    @classmethod
    def of(cls, spec: GroupSpec, rank: Positions, positions: Positions) -> TargetGroups:
        """Group partitions.

        Parameters
        ----------
        spec : GroupSpec
        rank : ndarray of int32
            Number of each partition's member.
        positions : ndarray of int32
            In the order of arrival.
        """
        number, topic_of, n_topics = spec.topics.number_of.take(positions), spec.topics.topic_of, len(spec.topics.names)
        breaks = (np.diff(positions) != 1) | (np.diff(rank) != 0) | (number[1:] == 0)
        starts = np.flatnonzero(np.append(len(positions) > 0, breaks))
        arrival, scattered = starts, None
        runs = np.sort(rank[starts].astype(np.int64) * n_topics + topic_of[positions[starts]])
        if (runs[1:] == runs[:-1]).any():
            key = rank.astype(np.int64) * n_topics + topic_of[positions]
            order = order_by(key)
            starts = np.flatnonzero(np.append(True, np.diff(key[order]) != 0))
            arrival, scattered = order[starts], (order, number[order])
        count, first = np.diff(np.append(starts, len(positions))), positions[arrival]
        return cls(rank[arrival], topic_of[first], count, arrival, first, number[arrival], scattered)

    @property
    def _starts(self) -> Sizes:
        """Where each group starts among all partitions, group after group."""
        return np.cumsum(self.count) - self.count

    def walk(
        self, positions: Positions, codes: Sizes, map_sizes: Sizes, set_sizes: Sizes, chain: Sizes
    ) -> tuple[Positions, Order]:
        """The order in which maps of topics to sets of numbers yield all this.

        Parameters
        ----------
        positions : ndarray of int32
            In the order of arrival.
        codes : ndarray of int64, shape (n_topics,)
            Folded hash code of each topic's id.
        map_sizes : ndarray of int64, shape (n_members,)
            Buckets of each member's map.
        set_sizes, chain : ndarray of int64, shape (n_groups,)
            Buckets of each topic's set, and the topic's place among those in its bucket.

        Returns
        -------
        positions : ndarray of int32
        groups : ndarray of int64, shape (n_groups,)
            Indices of the groups.

        Source: java.util.HashMap of OpenJDK 17.
        """
        groups = order_by(self.rank, codes[self.topic] & (map_sizes[self.rank] - 1), chain)
        if self.scattered is not None:
            order, numbers = self.scattered
            return positions[order[self._sorted(groups, numbers & (np.repeat(set_sizes, self.count) - 1))]], groups
        # a run starts somewhere in the table, and may go on at the beginning of it
        turn = np.minimum(-self.number & (set_sizes - 1), self.count).astype(np.int32)
        parts = np.stack([self.first + turn, self.first], axis=1).take(groups, axis=0)
        lengths = np.stack([self.count - turn, turn], axis=1).take(groups, axis=0)
        return spans(parts.ravel(), lengths.ravel()), groups

    def walk_by_position(self, positions: Positions) -> tuple[Positions, Order]:
        """The order by member, topic and number; as `walk`."""
        groups = order_by(self.rank, self.topic)
        if self.scattered is not None:
            order, numbers = self.scattered
            return positions[order[self._sorted(groups, numbers)]], groups
        return spans(self.first[groups], self.count[groups]), groups

    def crowded_members(self, first_sizes: Sizes, set_sizes: Sizes, n_members: int) -> Flags:
        """Which members have a set that at some time had very many numbers in one bucket, shape (n_members,).

        Parameters
        ----------
        first_sizes, set_sizes : ndarray of int64, shape (n_groups,)
            Buckets of each topic's set when the first number came in, and now.
        n_members : int
        """
        odd = np.zeros(n_members, dtype=bool)
        if self.scattered is None or not len(self.count):
            return odd
        numbers = self.scattered[1]
        odd[self.rank[crowded(self.count, numbers, set_sizes)]] = True
        size = SMALLEST_TREE_TABLE
        while size < set_sizes.max():
            usable = np.where((first_sizes <= size) & (set_sizes > size), size * 3 // 4, 0)
            early = np.arange(len(numbers)) < np.repeat(self._starts + usable, self.count)
            counts = np.minimum(usable, self.count)
            odd[self.rank[crowded(counts, numbers[early], np.full_like(counts, size))]] = True
            size *= 2
        return odd

    def crowded_maps(
        self, codes: Sizes, map_sizes: Sizes, most: int, ghosts: tuple[Positions, Sizes] = _NO_GHOSTS
    ) -> Flags:
        """Which members' maps may have had more than so many topics in one bucket at some time, shape (n_members,).

        Parameters
        ----------
        codes : ndarray of int64, shape (n_topics,)
            Folded hash code of each topic's id.
        map_sizes : ndarray of int64, shape (n_members,)
            Buckets of each map at the end.
        most : int
        ghosts : (ndarray of int32, ndarray of int64)
            Members that have topics besides, which are gone, and the codes of these.
        """
        rank, code = np.append(self.rank, ghosts[0]), np.append(codes[self.topic], ghosts[1])
        odd = np.zeros(len(map_sizes), dtype=bool)
        if not len(rank) or np.bincount(rank).max() <= most:
            return odd
        # what larger tables part is parted later: first it is looked at together
        sizes = np.minimum(map_sizes, SMALLEST_TREE_TABLE)
        place = (np.cumsum(sizes) - sizes)[rank] + (code & (sizes[rank] - 1))
        odd[rank[(np.bincount(place) > most)[place]]] = True
        large = odd & (map_sizes > SMALLEST_TREE_TABLE)
        large[ghosts[0]] = False
        for member, mine in self._in_arrival_order(large):
            odd[member] = may_crowd(codes[self.topic[mine]], int(map_sizes[member]), most)
        return odd

    def _in_arrival_order(self, members: Flags) -> Iterator[tuple[int, Order]]:
        """Groups of each of these members, by arrival."""
        some = np.flatnonzero(members[self.rank])
        some = some[order_by(self.rank[some], self.arrival[some])]
        starts = np.flatnonzero(np.diff(self.rank[some], prepend=-1))
        for mine in np.split(some, starts[1:]) if len(some) else ():
            yield int(self.rank[mine[0]]), mine

    def _sorted(self, groups: Order, keys: npt.NDArray[np.integer]) -> Order:
        """Places of scattered partitions, by group and within a group by key."""
        place = np.empty_like(groups)
        place[groups] = np.arange(len(groups))
        return order_by(np.repeat(place, self.count), keys)
