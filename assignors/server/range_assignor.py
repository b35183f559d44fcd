"""The range of the group coordinator: each topic cut into contiguous ranges, one per member."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import ClassVar

import numpy as np

from groupsim.assignors.core.assignment import Assignment
from groupsim.assignors.core.interface import Promise
from groupsim.assignors.core.topics import NOTHING, Positions, sealed
from groupsim.assignors.java.packed_order import order_by, spans
from groupsim.assignors.server.group_spec import GroupSpec
from groupsim.assignors.server.server_assignor import ServerAssignor
from groupsim.assignors.server.table_sizes import Sizes
from groupsim.assignors.server.topic_walks import RangeWalk


class ServerRangeAssignor(ServerAssignor):
    """Gives each topic's subscribers, in order, contiguous ranges of its partitions; the first ones get one more.

    Static members come first, by instance id, then the others by member id. Neither racks nor former targets matter:
    who joins or leaves shifts the ranges of those after. Topics of equal partition counts and subscribers are
    co-partitioned.

    Source: org.apache.kafka.coordinator.group.assignor.RangeAssignor, Kafka 4.4.
    """

    name: ClassVar[str] = "range"
    promises: ClassVar[frozenset[Promise]] = frozenset(
        {Promise.EXCLUSIVE, Promise.COMPLETE, Promise.BALANCED_PER_TOPIC, Promise.STEADY, Promise.ANY_ORDER}
    )
    exceptions: ClassVar[Mapping[Promise, str]] = {
        Promise.BALANCED: "the first members get the excess of every topic",
        Promise.STICKY: "who joins or leaves shifts the ranges of those after",
    }

    def assign_group(self, spec: GroupSpec) -> Assignment:
        """Cut each topic into ranges; see `ServerAssignor.assign_group`."""
        if not spec.n_members:
            return spec.target
        members = spec.names.info_order()
        return _equal_ranges(spec, members) if spec.homogeneous else _ranges(spec, members)


def _equal_ranges(spec: GroupSpec, members: Positions) -> Assignment:
    """Ranges where everybody subscribes to everything.

    Between two members at which the excess of some topic ends, all have ranges of the same lengths. Each position of
    such a block is a multiple of its member's place, plus what depends on its place in the list alone.

    Source: RangeAssignor.assignHomogeneousGroup, Kafka 4.4.
    """
    told = RangeWalk(spec, int(spec.subscriptions.kind_of[members[0]]), homogeneous=True)
    walk = told.topics
    quota, extra = np.divmod(np.diff(spec.topics.first)[walk], spec.n_members)
    cuts = np.unique(np.concatenate([extra, [0, spec.n_members]])).tolist()
    sizes, blocks = np.zeros(spec.n_members, dtype=np.int64), [NOTHING]
    for start, end in pairwise(cuts):
        length = quota + (extra > start)
        first = (spec.topics.first[walk] + np.where(extra > start, 0, extra)).astype(np.int32)
        sizes[start:end] = length.sum()
        blocks.append(_block(np.arange(start, end, dtype=np.int32), length, first))
    ends = np.empty_like(sizes)
    ends[members] = np.cumsum(sizes)
    sizes[members] = sizes.copy()
    assignment = Assignment(spec.topics, sealed(np.concatenate(blocks)), ends - sizes, ends)
    return _told_anew(assignment, [told] * spec.n_members) if told.crowded else assignment


def _told_anew(assignment: Assignment, walks: Sequence[RangeWalk]) -> Assignment:
    """The same assignment with each member's list in the order of the walk that is the member's."""
    lists = [walk.sorted(positions) for walk, positions in zip(walks, assignment.lists(), strict=True)]
    return Assignment.of_lists(assignment.topics, lists)


def _block(places: Positions, length: Sizes, first: Positions) -> Positions:
    """Lists of the members at these places, who get `length` partitions of each topic; `first` is for place 0."""
    block: Positions = np.multiply.outer(places, np.repeat(length, length).astype(np.int32))
    block += spans(first, length)
    return block.ravel()


def _ranges(spec: GroupSpec, members: Positions) -> Assignment:
    """Ranges where subscriptions differ.

    Source: RangeAssignor.assignHeterogeneousGroup, Kafka 4.4.
    """
    topics, table = spec.topics, spec.subscriptions
    owners, positions = [NOTHING], [NOTHING]
    for topic in table.subscribed_topics:
        subscribers = table.subscribers(topic, members)
        quota, extra = divmod(topics.counts[topic], len(subscribers))
        owners.append(np.repeat(subscribers, quota + (np.arange(len(subscribers)) < extra)))
        positions.append(np.arange(topics.first[topic], topics.first[topic + 1], dtype=np.int32))
    place = np.zeros((len(table.kinds), len(topics.names)), dtype=np.int32)
    walks = [RangeWalk(spec, kind, homogeneous=False) for kind in range(len(table.kinds))]
    for kind, walk in enumerate(walks):
        place[kind, walk.topics] = np.arange(len(walk.topics))
    owner, position = np.concatenate(owners), np.concatenate(positions)
    order = order_by(owner, place[table.kind_of[owner], topics.topic_of[position]])
    assignment = Assignment.of_pairs(topics, spec.n_members, owner[order], position[order])
    if any(walk.crowded for walk in walks):
        return _told_anew(assignment, [walks[kind] for kind in table.kind_of.tolist()])
    return assignment
