"""The most balanced numbers of partitions that members can have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from groupsim.assignors.own.flow_network import FlowNetwork

Mask = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class FairCounts:
    """What all most balanced assignments have in common.

    An assignment is most balanced if no member could have one more at the expense of another that has two more or
    beyond, however many others pass partitions on: then the sum of squared counts is the smallest, and the counts
    themselves, sorted, are the same in every such assignment.

    Parameters
    ----------
    low : ndarray of int64, shape (n_kinds,)
        Members of each kind of subscription have this many or one more.
    block : ndarray of int64, shape (n_kinds,)
        Kinds of one block share its extras.
    extras : ndarray of int64, shape (n_blocks,)
        How many members of each block have one more.
    may_take : ndarray of bool, shape (n_kinds, n_audiences)
        Whether partitions of an audience go to members of a kind in any most balanced assignment.
    """

    low: Counts
    block: Counts
    extras: Counts
    may_take: Mask


def fair_counts(subscribed: Mask, partitions: Counts, members: Counts) -> FairCounts:
    """The most balanced counts.

    With equal subscriptions there is one block, and counts differ by one at most. With unequal ones the kinds fall into
    blocks between which nothing can be evened out: whoever has less may not have what the others hold.

    Parameters
    ----------
    subscribed : ndarray of bool, shape (n_kinds, n_audiences)
        Which kinds make up an audience, the subscribers of some topics.
    partitions : ndarray of int64, shape (n_audiences,)
        Partitions of each audience's topics.
    members : ndarray of int64, shape (n_kinds,)
        Members of each kind, one at least.

    Source: the decomposition of A. Frank and K. Murota, "Decreasing minimization on M-convex sets", 2018-2022.
    """
    low, block = np.zeros(len(members), dtype=np.int64), np.zeros(len(members), dtype=np.int64)
    extras: list[int] = []
    may_take = np.zeros_like(subscribed)
    todo = [(np.arange(len(members)), np.flatnonzero(subscribed.any(axis=0)))] if len(members) else []
    while todo:
        kinds, audiences = todo.pop()
        inside = subscribed[np.ix_(kinds, audiences)]
        level, extra = divmod(int(partitions[audiences].sum()), int(members[kinds].sum()))
        parts = _apart(inside, partitions[audiences], members[kinds], level)
        if parts is None:
            low[kinds], block[kinds] = level, len(extras)
            extras.append(extra)
            may_take[np.ix_(kinds, audiences)] = inside
        else:
            some, theirs = parts
            todo += [(kinds[some], audiences[theirs]), (kinds[~some], audiences[~theirs])]
    return FairCounts(low, block, np.array(extras, dtype=np.int64), may_take)


def _apart(inside: Mask, partitions: Counts, members: Counts, level: int) -> tuple[Mask, Mask] | None:
    """Kinds that cannot reach the level or must exceed it by two, with their audiences; None if there are none."""
    short = _stuck(inside, members * level, partitions)
    if short is not None:
        return short
    crowded = _stuck(inside.T, partitions, members * (level + 1))
    return None if crowded is None else crowded[::-1]


def _stuck(joined: Mask, supply: Counts, room: Counts) -> tuple[Mask, Mask] | None:
    """Rows whose supply does not fit into the columns they are joined to, and those columns; None if all fits."""
    n_rows, n_columns = joined.shape
    source, sink = n_rows + n_columns, n_rows + n_columns + 1
    network, total = FlowNetwork(sink + 1), int(supply.sum())
    for row, amount in enumerate(supply.tolist()):
        network.add_edge(source, row, amount)
    for row, column in np.argwhere(joined).tolist():
        network.add_edge(row, n_rows + column, total)
    for column, amount in enumerate(room.tolist()):
        network.add_edge(n_rows + column, sink, amount)
    if network.push(source, sink) == total:
        return None
    reached = np.array(network.reachable(source))
    return reached[:n_rows], reached[n_rows : n_rows + n_columns]
