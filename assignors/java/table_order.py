"""The orders in which hash tables yield keys that went in one after the other.

A bucket is the hash code, its upper half folded into the lower, cut to the table's size. New keys join the end of their
bucket, and doubling the table keeps the order inside both halves, so that one sort gives the order of a whole table, as
long as no bucket gets crowded. Where one does, the table is filled key by key.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from groupsim.assignors.java.hash_table import CROWDED, DEFAULT_CAPACITY, SMALLEST_TREE_TABLE, HashTable, buckets
from groupsim.assignors.java.sorting import stable_order

Codes: TypeAlias = npt.NDArray[np.int64]
Walk: TypeAlias = npt.NDArray[np.intp]
Ties: TypeAlias = Callable[[], Sequence[int]]
"""Tells for each key its place by `compareTo` among those of equal hash codes."""


def hash_order(folded: Codes, ties: Ties, capacity: int = DEFAULT_CAPACITY) -> Walk:
    """The order in which a `HashMap` yields keys that were put into it one after the other.

    Parameters
    ----------
    folded : ndarray of int64
        Folded hash codes of the distinct keys in the order they were put.
    ties : callable
        Only called if a bucket gets crowded.
    capacity : int
        As given to the map's constructor.

    Returns
    -------
    ndarray of intp
        Indices into `folded`.

    Source: java.util.HashMap of OpenJDK 17, `putVal`, `resize`, `treeifyBin`.
    """
    return hash_orders(folded, ties, 1, capacity)[0]


def hash_orders(folded: Codes, ties: Ties, n_maps: int, capacity: int = DEFAULT_CAPACITY) -> list[Walk]:
    """The orders of several maps, each filled as the one before yields its keys; parameters as for `hash_order`."""
    size = _size(len(folded), capacity)
    if not may_crowd(folded, size, smallest=buckets(capacity)):
        return [stable_order(folded & (size - 1), size)] * n_maps
    codes, places = folded.tolist(), ties()
    walks = [np.arange(len(folded), dtype=np.intp)]
    for _ in range(n_maps):
        table = HashTable[int](capacity, places.__getitem__)
        for key in walks[-1].tolist():
            table.put(key, codes[key])
        walks.append(np.array(table.walk(), dtype=np.intp))
    return walks[1:]


def grouping_order(folded: Codes, ties: Ties, *, last_used_again: bool) -> Walk:
    """The order of a `HashMap` filled by `computeIfAbsent`: new keys go to the head of their bucket.

    Parameters
    ----------
    folded : ndarray of int64
        Folded hash codes of the distinct keys in the order of their first use.
    ties : callable
        Only called if a bucket gets crowded.
    last_used_again : bool
        Whether any key was used after the last one came in: the table grows at the next use, not at the insertion.

    Source: java.util.HashMap of OpenJDK 17, `computeIfAbsent`, `treeifyBin`.
    """
    size = _size(len(folded) - (not last_used_again), DEFAULT_CAPACITY)
    if may_crowd(folded, size, CROWDED - 1):
        return _grouped(folded.tolist(), ties(), last_used_again)
    backwards = folded[::-1] & (size - 1)
    return len(folded) - 1 - stable_order(backwards, size)


def may_crowd(folded: Codes, size: int, most: int = CROWDED, *, smallest: int = DEFAULT_CAPACITY) -> bool:
    """Whether some bucket may ever have been crowded in a table that has grown to this size.

    Where the table has less than 64 buckets all that a crowded one does is double them: then they are as many as at the
    end, or one of those at the end is crowded.

    Parameters
    ----------
    folded : ndarray of int64
        Folded hash codes in the order in which keys came in.
    size : int
        Buckets at the end.
    most : int
        Keys of a bucket that is not crowded.
    smallest : int
        Buckets at the beginning.
    """
    stage = max(min(size, SMALLEST_TREE_TABLE), smallest)
    while len(folded) > most and stage <= size:
        there = folded if stage == size else folded[: stage * 3 // 4 + 1]
        if np.bincount(there & (stage - 1)).max() > most:
            return True
        stage *= 2
    return False


def _size(n_keys: int, capacity: int) -> int:
    """Buckets of a table that has grown with its content."""
    size = buckets(capacity)
    while n_keys > size * 3 // 4:
        size *= 2
    return size


def _grouped(folded: Sequence[int], places: Sequence[int], last_used_again: bool) -> Walk:
    table = HashTable[int](ties=places.__getitem__)
    for key, code in enumerate(folded):
        table.compute_if_absent(key, code)
    if last_used_again:
        table.compute_if_absent(len(folded) - 1, folded[-1])
    return np.array(table.walk(), dtype=np.intp)
