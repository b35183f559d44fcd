"""How good an assignment is: what moved, what had to move, how even it is.

Owners are compared by name: the pod's, which a restart keeps, not the member id. Owner vectors that are compared must
count by one numbering of names and by the same topics; `by_name` brings an assignment's owners into it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from assignors.topics import Positions


def by_name(owner: Positions, names: Sequence[str], numbers: Mapping[str, int]) -> Positions:
    """Owners as numbers of names.

    Parameters
    ----------
    owner : ndarray of int32, shape (n_partitions,)
        Index into `names` for each position, -1 for nobody.
    names : sequence of str
        Name of each member.
    numbers : mapping of str to int
        Number of every name.

    Returns
    -------
    ndarray of int32, shape (n_partitions,)
    """
    return np.array([*(numbers[name] for name in names), -1], dtype=np.int32)[owner]


def moved_mask(before: Positions, after: Positions) -> npt.NDArray[np.bool_]:
    """Which partitions had an owner and now have another one.

    Parameters
    ----------
    before, after : ndarray of int32, shape (n_partitions,)
        Number of the owner's name for each position, -1 for nobody.

    Returns
    -------
    ndarray of bool, shape (n_partitions,)
    """
    mask: npt.NDArray[np.bool_] = (before != -1) & (after != -1) & (before != after)
    return mask


def moved(before: Positions, after: Positions) -> int:
    """How many partitions had an owner and now have another one; parameters as for `moved_mask`."""
    return int(np.count_nonzero(moved_mask(before, after)))


def minimal_moves(before: Positions, after: Positions) -> int:
    """How many partitions must move where each owner is to have as many of the assigned ones as in `after`.

    Each owner can keep at most the smaller of its two numbers. What nobody owned before goes anywhere without moving.
    Exact where everybody may own everything, a lower bound otherwise. Parameters as for `moved_mask`.
    """
    had, has = before[after != -1], after[after != -1]
    n_names = int(max(had.max(initial=-1), has.max(initial=-1))) + 1
    gained = np.bincount(has, minlength=n_names) - np.bincount(had[had != -1], minlength=n_names)
    return int(gained[gained > 0].sum()) - int(np.count_nonzero(had == -1))


def imbalance(counts: npt.NDArray[np.int64]) -> int:
    """Largest minus smallest number of partitions of a member; 0 without members.

    Parameters
    ----------
    counts : ndarray of int64, shape (n_members,)
    """
    return int(counts.max() - counts.min()) if len(counts) else 0
