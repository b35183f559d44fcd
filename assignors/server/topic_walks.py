"""The orders in which the group coordinator's assignors walk the topics of a subscription."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from groupsim.assignors.java.hash_table import CROWDED, DEFAULT_CAPACITY, SMALLEST_TREE_TABLE, HashTable, buckets
from groupsim.assignors.java.ordering import fold, string_hash
from groupsim.assignors.java.sorting import stable_order
from groupsim.assignors.server.group_spec import GroupSpec
from groupsim.assignors.server.table_sizes import Sizes, capacity_for

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
    codes = np.array([fold(string_hash(name)) for name in names], dtype=np.int64)
    return tuple(_walk(codes, _set_size(len(names))).tolist())


def topic_set_walk(spec: GroupSpec, kind: int, *, java_order: bool = True) -> Walk:
    """Indices of the known topics of a subscription, as a set of their ids yields them, or by name.

    Source: UniformHomogeneousAssignmentBuilder (constructor), Kafka 4.4. The set is large enough for unknown names too.
    """
    walk = subscription_walk(spec, kind, java_order=java_order)
    if not java_order:
        return walk
    size = _set_size(len(spec.subscriptions.kinds[kind]))
    return walk[_walk(spec.topic_ids.codes[walk], size)]


def range_walk(spec: GroupSpec, kind: int, *, homogeneous: bool) -> Walk:
    """Indices of the known topics of a subscription, as the map of a member's ranges yields them.

    Source: RangeAssignor (group coordinator), Kafka 4.4. Only where subscriptions differ is the map made large enough
    for unknown names.
    """
    walk = subscription_walk(spec, kind)
    n_names = len(walk) if homogeneous else len(spec.subscriptions.kinds[kind])
    return walk[_walk(spec.topic_ids.codes[walk], buckets(capacity_for(n_names)))]


def _set_size(n_names: int) -> int:
    """Buckets of a set made of a collection of that size."""
    return max(DEFAULT_CAPACITY, buckets(capacity_for(n_names)))


def _walk(codes: Sizes, size: int) -> Walk:
    """Places in the order in which a table of that size yields keys of these folded codes.

    A table with less than 64 buckets that has more than eight keys in one of them has grown beyond that size.
    """
    if len(codes) > CROWDED and size < SMALLEST_TREE_TABLE and np.bincount(codes & (size - 1)).max() > CROWDED:
        table = HashTable(size)
        for at, code in enumerate(codes.tolist()):
            table.put(at, code)
        return np.array(table.walk(), dtype=np.intp)
    return stable_order(codes & (size - 1), size)
