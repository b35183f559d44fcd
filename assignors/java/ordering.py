"""Orders that Java code depends on: UTF-16 comparison and the iteration of hash tables.

Kafka's assignors walk `HashMap`s, and which member keeps a partition can depend on the walk. The tables are those of
OpenJDK 17: a bucket is the hash folded to 16 bits and cut to the table's size, new keys join the end of their bucket,
and doubling the table keeps the order inside both halves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from groupsim.assignors.java.hash_table import CROWDED, DEFAULT_CAPACITY, SMALLEST_TREE_TABLE, HashTable
from groupsim.assignors.java.sorting import stable_order

_MASK = 0xFFFFFFFF


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")


def java_sorted(texts: Iterable[str]) -> list[str]:
    """Texts in the order of `String.compareTo`, which compares UTF-16 units."""
    items = list(texts)
    return sorted(items) if all(map(str.isascii, items)) else sorted(items, key=_utf16)


def sort_order(texts: Sequence[str]) -> list[int]:
    """Indices that put texts into the order of `String.compareTo`; equal texts stay as they are."""
    if "".join(texts).isascii():
        return sorted(range(len(texts)), key=texts.__getitem__)
    return sorted(range(len(texts)), key=[_utf16(text) for text in texts].__getitem__)


@lru_cache(maxsize=1 << 17)
def string_hash(text: str) -> int:
    """`String.hashCode` as an unsigned 32-bit number."""
    units = text.encode("ascii") if text.isascii() else np.frombuffer(_utf16(text), dtype=">u2").tolist()
    code = 0
    for unit in units:
        code = (31 * code + unit) & _MASK
    return code


def partition_hash(topic: str, number: int) -> int:
    """`TopicPartition.hashCode` as an unsigned 32-bit number."""
    return (31 * (31 + number) + string_hash(topic)) & _MASK


def fold(code: int) -> int:
    """A hash code as hash tables use it, its upper half folded into the lower."""
    return code ^ (code >> 16)


def hash_order(codes: Sequence[int] | npt.NDArray[np.uint32]) -> npt.NDArray[np.intp]:
    """The order in which a `HashMap` yields keys that were put into it one after the other.

    Parameters
    ----------
    codes : sequence of int or ndarray of uint32
        Hash codes of the distinct keys in the order they were put.

    Returns
    -------
    ndarray of intp
        Indices into `codes`.

    Source: java.util.HashMap of OpenJDK 17, `putVal`, `resize`, `treeifyBin`.
    """
    folded = np.array(codes, dtype=np.uint32)
    folded ^= folded >> np.uint32(16)
    size = _table_size(folded)
    return stable_order(folded & np.uint32(size - 1), size)


def _table_size(folded: npt.NDArray[np.uint32]) -> int:
    # a bucket can only become crowded while the table has less than 64, so among the first 48 keys
    early = folded[:SMALLEST_TREE_TABLE].tolist()
    table = HashSet()
    if len(early) > CROWDED and np.bincount(np.array(early) & 15).max() > CROWDED:
        for at, code in enumerate(early):
            table.add(at, code)
    size = table.size
    while len(folded) > size * 3 // 4:
        size *= 2
    return size


def grouping_order(codes: Sequence[int], *, last_used_again: bool) -> list[int]:
    """The order of a `HashMap` filled by `computeIfAbsent`: new keys go to the head of their bucket.

    Parameters
    ----------
    codes : sequence of int
        Hash codes of the distinct keys in the order of their first use.
    last_used_again : bool
        Whether any key was used after the last one came in: the table grows at the next use, not at the insertion.

    Source: java.util.HashMap of OpenJDK 17, `computeIfAbsent`, `treeifyBin`.
    """
    folded = list(map(fold, codes))
    if len(codes) >= CROWDED and max(Counter(code & 15 for code in folded).values()) >= CROWDED:
        return _grouped(folded, last_used_again)  # a crowded bucket makes the table grow early, or becomes a tree
    size = DEFAULT_CAPACITY
    while len(codes) - (not last_used_again) > size * 3 // 4:
        size *= 2
    buckets = [code & (size - 1) for code in folded]
    return sorted(range(len(codes)), key=lambda at: (buckets[at], -at))


def _grouped(folded: Sequence[int], last_used_again: bool) -> list[int]:
    table = HashTable()
    for key, code in enumerate(folded):
        table.compute_if_absent(key, code)
    if last_used_again:
        table.compute_if_absent(len(folded) - 1, folded[-1])
    return table.walk()


class HashSet:
    """A `HashSet` of numbered elements as far as its iteration order goes. It grows and never shrinks.

    Attributes
    ----------
    size : int
        Buckets.

    Source: java.util.HashMap of OpenJDK 17, `putVal`, `resize`, `treeifyBin`, `removeNode`.
    """

    def __init__(self) -> None:
        self.size = 16
        self._folded: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._folded)

    def add(self, element: int, folded: int) -> None:
        """Put an element that is not in the set.

        Parameters
        ----------
        element : int
        folded : int
            Its hash code as `fold` gives it.
        """
        # a bucket that outgrows eight elements doubles a small table; only a larger one turns it into a tree
        if len(self._folded) >= CROWDED and self.size < SMALLEST_TREE_TABLE:
            mates = sum((code ^ folded) & (self.size - 1) == 0 for code in self._folded.values())
            self.size *= 2 if mates >= CROWDED else 1
        self._folded[element] = folded
        if len(self._folded) > self.size * 3 // 4:
            self.size *= 2

    def remove(self, element: int) -> None:
        """Take an element out."""
        del self._folded[element]

    def state(self) -> tuple[int, tuple[int, ...]]:
        """All that decides on what comes first from now on."""
        return self.size, tuple(self._folded)

    def first(self) -> int:
        """Return the element that iteration would yield first."""
        return min(self._folded, key=lambda element: self._folded[element] & (self.size - 1))
