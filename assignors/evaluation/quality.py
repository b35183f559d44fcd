"""How good an assignment is: what moved, what had to move, how even it is.

Owners are compared by name: the pod's, which a restart keeps, not the member id. Owner vectors that are compared must
count by one numbering of names and by the same topics; `by_name` brings an assignment's owners into it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from groupsim.assignors.core.racks import rack_numbers
from groupsim.assignors.core.snapshot import Assignment, GroupSnapshot, Positions


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


def minimal_moves(before: Positions, after: Positions, may_own: npt.NDArray[np.bool_] | None = None) -> int:
    """How many partitions must move where each owner is to have as many of the assigned ones as in `after`.

    Each owner can keep at most the smaller of its two numbers. What nobody owned before goes anywhere without moving.

    Parameters
    ----------
    before, after : ndarray of int32, shape (n_partitions,)
        Number of the owner's name for each position, -1 for nobody.
    may_own : ndarray of bool, shape (n_names, n_partitions), optional
        Which partitions each owner can have, as `ownable` tells; by default everybody everything. Given, the number is
        exact for unequal subscriptions too, for a linear program's time: meant for up to some thousands of partitions.
        Without it, it is exact for equal subscriptions and a lower bound for others.
    """
    had, has = before[after != -1], after[after != -1]
    n_names = int(max(had.max(initial=-1), has.max(initial=-1))) + 1
    if may_own is not None and not may_own[:n_names, after != -1].all():
        return int(np.count_nonzero(had != -1)) - _most_kept(had, has, may_own[:n_names, after != -1])
    gained = np.bincount(has, minlength=n_names) - np.bincount(had[had != -1], minlength=n_names)
    return int(gained[gained > 0].sum()) - int(np.count_nonzero(had == -1))


def ownable(snapshot: GroupSnapshot, numbers: Mapping[str, int]) -> npt.NDArray[np.bool_]:
    """Which partitions the members subscribe to.

    Parameters
    ----------
    snapshot : GroupSnapshot
    numbers : mapping of str to int
        Number of every name, from 0; names of nobody in the snapshot own nothing.

    Returns
    -------
    ndarray of bool, shape (len(numbers), n_partitions)
    """
    table = snapshot.subscriptions
    may_own = np.zeros((len(numbers), snapshot.topics.n_partitions), dtype=bool)
    rows = [numbers[member_id] for member_id in snapshot.member_ids]
    may_own[rows] = table.has[table.kind_of][:, snapshot.topics.topic_of]
    return may_own


def _most_kept(had: Positions, has: Positions, may_own: npt.NDArray[np.bool_]) -> int:
    """How many of these partitions can stay, by a flow from classes of partitions to owners.

    Partitions of a class can be owned by the same; one that stays is worth 1. The assignment at hand is possible even
    where somebody has what it may not own.
    """
    may_own = may_own.copy()
    may_own[has, np.arange(len(has))] = True
    classes, class_of = np.unique(may_own, axis=1, return_inverse=True)
    class_of = class_of.reshape(-1)
    owned = np.zeros((len(classes.T), len(classes)), dtype=np.int64)
    np.add.at(owned, (class_of[had != -1], had[had != -1]), 1)
    supply, demand = np.bincount(class_of, minlength=len(owned)), np.bincount(has, minlength=len(classes))
    return _best_flow(supply, demand, np.where(classes.T, owned, 0), classes.T)


def _best_flow(
    supply: npt.NDArray[np.int64],
    demand: npt.NDArray[np.int64],
    staying: npt.NDArray[np.int64],
    joined: npt.NDArray[np.bool_],
) -> int:
    """The most that can stay if all supply meets all demand; rows supply columns where they are joined."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    rows, columns = np.concatenate([np.argwhere(staying), np.argwhere(joined)]).T
    n_staying = np.count_nonzero(staying)
    edges = np.arange(len(rows))
    ends = (np.concatenate([rows, columns + len(supply)]), np.concatenate([edges, edges]))
    limits = np.concatenate([staying[rows[:n_staying], columns[:n_staying]], np.full(len(rows) - n_staying, np.inf)])
    found = linprog(
        -(edges < n_staying).astype(float),
        A_eq=coo_array((np.ones(2 * len(edges)), ends), shape=(len(supply) + len(demand), len(edges))).tocsr(),
        b_eq=np.concatenate([supply, demand]),
        bounds=np.column_stack([np.zeros(len(edges)), limits]),
    )
    assert found.success, found.message
    return round(-float(found.fun))


def imbalance(counts: npt.NDArray[np.int64]) -> int:
    """Largest minus smallest number of partitions of a member; 0 without members.

    Parameters
    ----------
    counts : ndarray of int64, shape (n_members,)
    """
    return int(counts.max() - counts.min()) if len(counts) else 0


def cross_rack_share(snapshot: GroupSnapshot, assignment: Assignment) -> float:
    """The share that is read from leaders in another rack than the member's: of rates if they are known, or partitions.

    A partition's leader is its first replica. What one of both racks is not known of is left out.

    Parameters
    ----------
    snapshot : GroupSnapshot
    assignment : Assignment
        Of the snapshot's members.

    Returns
    -------
    float
        From 0 to 1; nan if nothing that is read has known racks.
    """
    near, across = _nearby_and_across(snapshot, assignment)
    return across / (near + across) if near + across else float("nan")


def cross_rack_rate(snapshot: GroupSnapshot, assignment: Assignment) -> float:
    """What is read from leaders in another rack than the member's, in the unit of the rates: bytes a second of bytes.

    Parameters and what is left out as for `cross_rack_share`.

    Returns
    -------
    float
        nan if rates are not known, or nothing that is read has known racks.
    """
    near, across = _nearby_and_across(snapshot, assignment)
    return across if near + across and snapshot.topics.rates is not None else float("nan")


def _nearby_and_across(snapshot: GroupSnapshot, assignment: Assignment) -> tuple[float, float]:
    """What is read within a rack and from another one: rates, or partitions where rates are not known."""
    members, positions = assignment.within(snapshot.topics).pairs()
    of_member, of_leader = rack_numbers(snapshot)
    here, there = of_member[members], of_leader[positions]
    rates = snapshot.topics.rates or (1,) * snapshot.topics.n_partitions
    read = np.where((here >= 0) & (there >= 0), np.array(rates, dtype=float)[positions], 0.0)
    return float(read[here == there].sum()), float(read[here != there].sum())
