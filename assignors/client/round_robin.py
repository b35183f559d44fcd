"""roundrobin: all partitions dealt out around a ring of members."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from groupsim.assignors.core.interface import Assignor, Promise
from groupsim.assignors.core.member_order import member_info_order
from groupsim.assignors.core.snapshot import NOTHING, Assignment, GroupSnapshot


class RoundRobinAssignor(Assignor):
    """Deals the partitions of all topics, in name order, around the ring of members.

    A member not subscribed to the topic at hand is passed over for good, not only for that partition: unequal
    subscriptions give unequal shares. What members own is ignored.

    Source: org.apache.kafka.clients.consumer.RoundRobinAssignor.assign, Kafka 4.4.
    """

    name: ClassVar[str] = "roundrobin"
    promises: ClassVar[frozenset[Promise]] = frozenset(
        {Promise.EXCLUSIVE, Promise.COMPLETE, Promise.BALANCED, Promise.STEADY, Promise.ANY_ORDER}
    )
    exceptions: ClassVar[Mapping[Promise, str]] = {
        Promise.BALANCED_PER_TOPIC: "with unequal subscriptions who is passed over has lost its turn",
        Promise.STICKY: "who joins or leaves shifts everybody's turn",
    }

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        """Deal the partitions out; see `Assignor.assign`."""
        topics, ring = snapshot.topics, member_info_order(snapshot)
        places = np.arange(len(ring), dtype=np.int32)
        has = snapshot.subscriptions.has[snapshot.subscriptions.kind_of[ring]]
        owners, positions, at = [NOTHING], [NOTHING], 0
        for topic in snapshot.subscriptions.subscribed_topics:
            takers = places if has[:, topic].all() else np.flatnonzero(has[:, topic])
            turn = int(np.searchsorted(takers, at)) + np.arange(topics.counts[topic])
            dealt = takers[turn % len(takers)]
            owners.append(ring[dealt])
            positions.append(np.arange(topics.first[topic], topics.first[topic + 1], dtype=np.int32))
            at = (int(dealt[-1]) + 1) % len(ring)
        return Assignment.of_pairs(topics, snapshot.n_members, np.concatenate(owners), np.concatenate(positions))
