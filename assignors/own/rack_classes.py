"""Members and partitions sorted into classes that differ in nothing but what they own or who owns them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from groupsim.assignors.core.racks import rack_numbers
from groupsim.assignors.core.snapshot import GroupSnapshot, Positions
from groupsim.assignors.own.fair_counts import fair_counts


@dataclass(frozen=True, slots=True, eq=False)
class RackClasses:
    """A group as classes of partitions and classes of members.

    Parameters
    ----------
    class_of : ndarray of int32, shape (n_partitions,)
        Partitions of one class have the same subscribers and leaders in the same rack; -1: nobody subscribes.
    party_of : ndarray of int32, shape (n_members,)
        Members of one member class subscribe to the same topics and are in the same rack.
    local : ndarray of bool, shape (n_classes, n_member_classes)
        Whether the leaders are in the members' rack.
    may_take : ndarray of bool, shape (n_classes, n_member_classes)
        Whether such members get such partitions in a most balanced assignment.
    low, block : ndarray of int64, shape (n_member_classes,)
        Members have `low` partitions or one more; member classes of one block share the extras, -1: all have `low`.
    extras : ndarray of int64, shape (n_blocks,)
        How many members of a block have one more.
    """

    class_of: Positions
    member_class_of: Positions
    local: npt.NDArray[np.bool_]
    may_take: npt.NDArray[np.bool_]
    low: npt.NDArray[np.int64]
    block: npt.NDArray[np.int64]
    extras: npt.NDArray[np.int64]

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Partitions of each class, shape (n_classes,)."""
        return np.bincount(self.class_of[self.class_of >= 0], minlength=len(self.local))


def rack_classes(snapshot: GroupSnapshot) -> RackClasses:
    """Sort a group that has members and subscribed partitions.

    Parameters
    ----------
    snapshot : GroupSnapshot
    """
    table, topics = snapshot.subscriptions, snapshot.topics
    kinds, kind_of = np.unique(table.has, axis=0, return_inverse=True)
    audiences, audience_of = np.unique(kinds, axis=1, return_inverse=True)
    audience = audience_of.reshape(-1)[topics.topic_of]
    kind = kind_of.reshape(-1)[table.kind_of]
    fair = fair_counts(audiences, np.bincount(audience, minlength=len(audiences.T)), np.bincount(kind))
    member_rack, leader_rack, n_racks = _racks_in_common(snapshot)
    wanted = np.any(audiences, axis=0)[audience]
    classes, class_of_wanted = _numbered(audience[wanted] * n_racks + leader_rack[wanted])
    member_classes, member_class_of = _numbered(kind * n_racks + member_rack)
    class_of = np.full(topics.n_partitions, -1, dtype=np.int32)
    class_of[wanted] = class_of_wanted
    return RackClasses(
        class_of,
        member_class_of.astype(np.int32),
        local=(classes[:, None] % n_racks == member_classes % n_racks) & (member_classes % n_racks > 0),
        may_take=fair.may_take[member_classes // n_racks][:, classes // n_racks].T,
        low=fair.low[member_classes // n_racks],
        block=fair.block[member_classes // n_racks],
        extras=fair.extras,
    )


def _numbered(codes: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The codes that occur, ascending, and for each code its place among them."""
    occurs: npt.NDArray[np.bool_] = np.bincount(codes) > 0
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[codes]


def _racks_in_common(snapshot: GroupSnapshot) -> tuple[Positions, Positions, int]:
    """Racks of members and of leaders as numbers, 0 for one not known or not common to both, and how many numbers."""
    of_member, of_leader = rack_numbers(snapshot)
    n_racks = int(max(of_member.max(initial=-1), of_leader.max(initial=-1))) + 1
    common = np.zeros(n_racks + 1, dtype=np.int32)
    both = np.intersect1d(of_member[of_member >= 0], of_leader)
    common[both] = np.arange(1, len(both) + 1)  # a rack that is not known, -1, is the last, which stays 0
    return common[of_member], common[of_leader], len(both) + 1
