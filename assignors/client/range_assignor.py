"""range: each topic cut into contiguous ranges, one per member."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from groupsim.assignors.client.range_racks import assign_by_racks, racks_matter
from groupsim.assignors.core.interface import Assignor, Promise
from groupsim.assignors.core.member_order import member_info_order, topic_order
from groupsim.assignors.core.snapshot import NOTHING, Assignment, GroupSnapshot, Positions


class RangeAssignor(Assignor):
    """Gives each topic's subscribers, in order, contiguous ranges of its partitions; the first ones get one more.

    The excess goes to the same members for every topic: with many small topics they get it all. Topics of equal
    partition counts and subscribers are co-partitioned. Where racks are known and differ between partitions, members
    prefer partitions with a replica in their rack. What members own is ignored.

    Parameters
    ----------
    java_order : bool
        Whether each member's list has its topics in the order of Kafka's hash table, or by name.

    Source: org.apache.kafka.clients.consumer.RangeAssignor, `assignPartitions`, Kafka 4.4; racks: KIP-881.
    """

    name: ClassVar[str] = "range"
    promises: ClassVar[frozenset[Promise]] = frozenset(
        {Promise.EXCLUSIVE, Promise.COMPLETE, Promise.BALANCED_PER_TOPIC, Promise.STEADY, Promise.ANY_ORDER}
    )
    exceptions: ClassVar[Mapping[Promise, str]] = {
        Promise.BALANCED: "the first members get the excess of every topic",
        Promise.STICKY: "who joins or leaves shifts the ranges of those after",
    }

    def __init__(self, *, java_order: bool = True) -> None:
        self.java_order = java_order

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        """Cut each topic into ranges; see `Assignor.assign`."""
        topics, members = snapshot.topics, member_info_order(snapshot)
        if racks_matter(snapshot):
            return assign_by_racks(snapshot, members)
        owners, positions = [NOTHING], [NOTHING]
        for topic in topic_order(snapshot, self.java_order):
            subscribers = snapshot.subscriptions.subscribers(topic, members)
            owners.append(_ranges(subscribers, topics.counts[topic]))
            positions.append(np.arange(topics.first[topic], topics.first[topic + 1], dtype=np.int32))
        return Assignment.of_pairs(topics, snapshot.n_members, np.concatenate(owners), np.concatenate(positions))


def _ranges(subscribers: Positions, count: int) -> Positions:
    """Owner of each of `count` partitions."""
    quota, extra = divmod(count, len(subscribers))
    if quota == 0:
        return subscribers[:extra]
    return np.concatenate([np.repeat(subscribers[:extra], quota + 1), np.repeat(subscribers[extra:], quota)])
