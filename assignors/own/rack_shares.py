"""How many partitions of each class every member gets so that racks count most, and then what it has already."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from groupsim.assignors.own.rack_classes import RackClasses
from groupsim.assignors.own.share_network import ShareNetwork

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class RackShares:
    """What every member gets, in numbers.

    Parameters
    ----------
    kept : ndarray of int64, shape (n_members, n_classes)
        Partitions of each class that a member keeps.
    new : ndarray of int64, shape (n_members,)
        Partitions that it gets beside them, of whatever class.
    given : ndarray of int64, shape (n_classes, n_member_classes)
        Where the partitions of each class go that nobody keeps.
    """

    kept: Counts
    new: Counts
    given: Counts


def rack_shares(classes: RackClasses, owned: Counts) -> RackShares:
    """Shares as balanced as can be, of these with the most local partitions, of these with the fewest moves.

    Two flows: the first, of member classes alone, tells what all assignments with the most local partitions share;
    the second keeps as much as it can within that. Members of a class that own equally much of every class are alike.

    Parameters
    ----------
    classes : RackClasses
    owned : ndarray of int64, shape (n_members, n_classes)
        Partitions that each member owned before.
    """
    nearest = _nearest(classes)
    member_class, high = classes.member_class_of, nearest.low + (nearest.block >= 0)
    useful = np.where(nearest.may_take.T[member_class], np.minimum(owned, high[member_class][:, None]), 0)
    rows, first, row_of = np.unique(
        np.column_stack([member_class, useful]), axis=0, return_index=True, return_inverse=True
    )
    by_name = np.argsort(first)  # groups in the order of their first members
    group_of = np.argsort(by_name)[row_of.reshape(-1)]
    moving = np.ones(classes.local.shape, dtype=np.int64)
    network = ShareNetwork(nearest, rows[by_name], np.bincount(group_of), moving)
    shares = _dealt(network.shares(), group_of)
    return RackShares(shares[:, :-1], shares[:, -1], network.given())


def _nearest(classes: RackClasses) -> RackClasses:
    """The member classes, held to the most partitions read from a leader in the member's rack."""
    members = np.bincount(classes.member_class_of)
    rows = np.column_stack([np.arange(len(members)), np.zeros((len(members), len(classes.local)), dtype=np.int64)])
    return ShareNetwork(classes, rows, members, (~classes.local).astype(np.int64)).cheapest()


def _dealt(shares: Counts, group_of: npt.NDArray[np.intp]) -> Counts:
    """Shares of groups dealt out among their members in turn, one column after the other."""
    order = np.argsort(group_of, kind="stable")
    size = np.bincount(group_of)
    turn = np.empty_like(group_of)
    turn[order] = np.arange(len(group_of)) - np.repeat(np.cumsum(size) - size, size)
    until = np.cumsum(shares, axis=1)[group_of]
    return np.diff((until - turn[:, None] + size[group_of][:, None] - 1) // size[group_of][:, None], axis=1, prepend=0)
