"""The orders in which the group coordinator's assignors walk the topics of a subscription."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache, partial

import numpy as np
import numpy.typing as npt

from groupsim.assignors.core.topics import Positions
from groupsim.assignors.java.hash_table import DEFAULT_CAPACITY, buckets
from groupsim.assignors.java.ordering import text_codes, text_places
from groupsim.assignors.java.table_order import hash_order, may_crowd
from groupsim.assignors.server.group_spec import GroupSpec
from groupsim.assignors.server.table_sizes import capacity_for

Walk = npt.NDArray[np.intp]


def subscription_walk(spec: GroupSpec, kind: int, *, java_order: bool = True) -> Walk:
    """Indices of the known topics of a subscription, as Kafka's set of its names yields them, or by name.

    Parameters
    ----------
    spec : GroupSpec
    kind : int
        Which of `spec.subscriptions.kinds`.
    java_order : bool

    Source: TopicIds, ConsumerGroupMember.Builder.setSubscribedTopicNames, Kafka 4.4.
    """
    names = spec.subscriptions.kinds[kind]
    known = np.array([-1 if at is None else at for at in map(spec.topics.index, names)], dtype=np.intp)
    if not java_order:
        return np.sort(known[known >= 0])
    known = known[list(_name_walk(names))]
    return known[known >= 0]


@lru_cache(maxsize=64)
def _name_walk(names: tuple[str, ...]) -> tuple[int, ...]:
    """Places of names in the order in which a set yields them that is made of a list of them."""
    return tuple(hash_order(text_codes(names), partial(text_places, names), _set_capacity(len(names))).tolist())


def topic_set_walk(spec: GroupSpec, kind: int, *, java_order: bool = True) -> Walk:
    """Indices of the known topics of a subscription, as a set of their ids yields them, or by name.

    Source: UniformHomogeneousAssignmentBuilder (constructor), Kafka 4.4. The set is large enough for unknown names too.
    """
    walk = subscription_walk(spec, kind, java_order=java_order)
    if not java_order:
        return walk
    return walk[_id_walk(spec, walk, _set_capacity(len(spec.subscriptions.kinds[kind])))]


@dataclass(frozen=True, slots=True, eq=False)
class RangeWalk:
    """The order of the topics of a subscription in the map of a member's ranges.

    Only where subscriptions differ is the map made large enough for unknown names.

    Parameters
    ----------
    spec : GroupSpec
    kind : int
        Which of `spec.subscriptions.kinds`.
    homogeneous : bool
        Whether all members name the same topics.

    Attributes
    ----------
    topics : ndarray of intp
        Indices of all known topics of the subscription in that order.
    crowded : bool
        Whether a bucket may be crowded: the order of some of these topics then can be another one.

    Source: RangeAssignor (group coordinator), Kafka 4.4.
    """

    spec: GroupSpec
    kind: int
    homogeneous: bool
    topics: Walk = field(init=False)
    crowded: bool = field(init=False)
    _put: Walk = field(init=False, repr=False)
    _capacity: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        put, names = subscription_walk(self.spec, self.kind), self.spec.subscriptions.kinds[self.kind]
        capacity = capacity_for(len(put) if self.homogeneous else len(names))
        size = buckets(capacity)
        object.__setattr__(self, "_put", put)
        object.__setattr__(self, "_capacity", capacity)
        object.__setattr__(self, "topics", put[_id_walk(self.spec, put, capacity)])
        object.__setattr__(self, "crowded", may_crowd(self.spec.topic_ids.codes[put], size, smallest=size))

    def sorted(self, positions: Positions) -> Positions:
        """One member's partitions, each topic's ascending, as its map yields them."""
        topic = self.spec.topics.topic_of[positions]
        there = self._put[np.isin(self._put, topic)]
        place = np.zeros(len(self.spec.topics.names), dtype=np.intp)
        place[there[_id_walk(self.spec, there, self._capacity)]] = np.arange(len(there))
        return positions[np.lexsort((positions, place[topic]))]


def _set_capacity(n_names: int) -> int:
    """Capacity of a set made of a collection of that size."""
    return max(DEFAULT_CAPACITY, capacity_for(n_names))


def _id_walk(spec: GroupSpec, topics: Walk, capacity: int) -> Walk:
    """Places of topics as a table of that capacity yields them into which their ids were put."""
    return hash_order(spec.topic_ids.codes[topics], lambda: spec.topic_ids.ranks[topics].tolist(), capacity)
