"""Sizes of the hash tables that the group coordinator keeps targets in.

Kafka maps each member to topics and each topic to a set of partition numbers. The order in which Java yields them
decides which partitions a member with too many gives up.
"""

from __future__ import annotations

from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from groupsim.assignors.java.hash_table import CROWDED, DEFAULT_CAPACITY

Sizes: TypeAlias = npt.NDArray[np.int64]
N = TypeVar("N", int, npt.NDArray[np.int64])


def table_size(capacity: Sizes) -> Sizes:
    """Buckets of `new HashMap<>(capacity)` for many tables at once (`assignors.java.hash_table.buckets`)."""
    return np.left_shift(1, np.frexp(np.maximum(capacity, 1) - 1.0)[1].astype(np.int64))


def capacity_for(n_elements: N) -> N:
    """What Kafka and the JDK ask for where a table is to hold so many elements: `(int) (n / 0.75f + 1)`."""
    return 4 * n_elements // 3 + 1


def grown_size(n_elements: Sizes) -> Sizes:
    """Buckets of a table that was small when its last element came in: three quarters of them may be used."""
    return table_size(-(-4 * n_elements // 3))


def copied_size(n_elements: Sizes) -> Sizes:
    """Buckets of `new HashSet<>(collection)`."""
    return np.maximum(table_size(capacity_for(n_elements)), DEFAULT_CAPACITY)


def default_size(n_elements: Sizes) -> Sizes:
    """Buckets of `new HashMap<>()` after so many insertions."""
    return np.maximum(grown_size(n_elements), DEFAULT_CAPACITY)


def crowded(count: Sizes, numbers: npt.NDArray[np.int32], size: Sizes) -> npt.NDArray[np.bool_]:
    """Which sets of numbers have more than eight in one bucket: such a set grows early, or makes the bucket a tree.

    Parameters
    ----------
    count : ndarray of int64, shape (n_sets,)
        Numbers of each set.
    numbers : ndarray of int32
        Set after set.
    size : ndarray of int64, shape (n_sets,)
        Buckets of each.
    """
    suspect: npt.NDArray[np.bool_] = count > CROWDED
    if suspect.any():
        starts = np.cumsum(count) - count
        some = count > 0
        reach = np.maximum.reduceat(numbers, starts[some]) - np.minimum.reduceat(numbers, starts[some])
        suspect[some] &= reach >= CROWDED * size[some]
    at = np.flatnonzero(suspect)
    places = numbers[np.repeat(suspect, count)] & (np.repeat(size[at], count[at]) - 1)
    key = np.repeat(at << 32, count[at]) | places
    key.sort()
    suspect[at] = False
    suspect[key[CROWDED:][key[CROWDED:] == key[:-CROWDED]] >> 32] = True
    return suspect
