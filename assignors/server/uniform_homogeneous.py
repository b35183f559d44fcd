"""uniform where all members name the same topics: quotas, and as much as possible stays.

Every member is to get the quota, and as many members as the remainder of the division one more. Members are visited in
the order of the coordinator's hash table. One with too much gives up what is come upon last. Who holds more than the
quota keeps the extra; extras left over go to the members visited last. What is free then fills the members up that have
less than their share, one after the other.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from groupsim.assignors.core.assignment import Assignment
from groupsim.assignors.core.topics import Positions
from groupsim.assignors.java.hash_table import DEFAULT_CAPACITY
from groupsim.assignors.java.packed_order import spans
from groupsim.assignors.server.changed_targets import changed_targets
from groupsim.assignors.server.group_spec import GroupSpec
from groupsim.assignors.server.held_targets import held_targets
from groupsim.assignors.server.table_sizes import Sizes
from groupsim.assignors.server.target_changes import TargetChanges
from groupsim.assignors.server.topic_walks import Walk, topic_set_walk


def assign_homogeneous(spec: GroupSpec, *, java_order: bool) -> Assignment:
    """Assign the subscribed topics to members that all name the same ones.

    Parameters
    ----------
    spec : GroupSpec
        At least one member.
    java_order : bool

    Source: UniformHomogeneousAssignmentBuilder.build, Kafka 4.4.
    """
    order = spec.names.visiting_order(java_order=java_order)
    walk = topic_set_walk(spec, int(spec.subscriptions.kind_of[order[0]]), java_order=java_order)
    wanted = np.zeros(len(spec.topics.names), dtype=bool)
    wanted[walk] = True
    size, loses = _sizes(spec, wanted)
    size = size[order]
    share = _shares(size, int(np.diff(spec.topics.first)[wanted].sum()))
    concerned = (size != share) | loses[order]
    size, share = size[concerned], share[concerned]
    held = held_targets(spec, order[concerned], java_order=java_order)
    stays = wanted[spec.topics.topic_of[held.positions]]
    kept = stays & (np.cumsum(stays) - (np.cumsum(size) - size)[held.rank] <= share[held.rank])
    taken = np.concatenate([_free(spec, walk), held.positions[stays & ~kept]])
    taker = np.repeat(np.arange(len(size), dtype=np.int32), np.maximum(share - size, 0))
    capacity = np.full(len(wanted), DEFAULT_CAPACITY)
    return changed_targets(spec, TargetChanges(held, kept, taker, taken, capacity), java_order=java_order)


def _sizes(spec: GroupSpec, wanted: npt.NDArray[np.bool_]) -> tuple[Sizes, npt.NDArray[np.bool_]]:
    """How many partitions of wanted topics each member holds, and who holds others."""
    members, loses = spec.members, spec.gone > 0
    if not wanted.all():
        stays = wanted[spec.topics.topic_of[spec.positions]]
        loses[members[~stays]] = True
        members = members[stays]
    return np.bincount(members, minlength=spec.n_members), loses


def _shares(size: Sizes, n_partitions: int) -> Sizes:
    """How many partitions each member is to have; members in the order in which they are visited."""
    quota, extra = divmod(n_partitions, len(size))
    more = size > quota
    extras_left = extra - (np.cumsum(more) - more)
    more &= extras_left > 0
    # from the first member on that is as near to the end as there are extras left, everybody gets one
    members_left = np.arange(len(size), 0, -1)
    more[np.argmax(np.append(members_left <= extras_left, True)) :] = True
    return quota + more


def _free(spec: GroupSpec, walk: Walk) -> Positions:
    """Positions of those topics that nobody holds, topic after topic."""
    free = np.flatnonzero(spec.holder < 0).astype(np.int32)
    bounds = np.searchsorted(free, spec.topics.first)
    return free[spans(bounds[walk], bounds[walk + 1] - bounds[walk])]
