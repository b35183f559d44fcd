"""A hash table of Java's, one key after the other."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Generic

from groupsim.assignors.java.tree_bin import Key, Rank, TreeBin

DEFAULT_CAPACITY = 16
CROWDED = 8
"""Keys of a bucket that one more makes a tree, or doubles a table of less than `SMALLEST_TREE_TABLE` buckets."""
SMALLEST_TREE_TABLE = 64
_SIGN = 1 << 31
"""Turned over, signed numbers are in the order of unsigned ones."""


def buckets(capacity: int) -> int:
    """Buckets of `new HashMap<>(capacity)`.

    Source: java.util.HashMap.tableSizeFor, OpenJDK 17.
    """
    return 1 << max(capacity - 1, 0).bit_length()


class HashTable(Generic[Key]):
    """A `HashMap` as far as its iteration order goes. It grows and never shrinks.

    Parameters
    ----------
    capacity : int
        As given to its constructor.
    ties : callable, optional
        Gives for a key what compares it, as its `compareTo` does, with others of its hash code; None where no two have
        equal ones.

    Source: java.util.HashMap of OpenJDK 17, `putVal`, `computeIfAbsent`, `resize`, `treeifyBin`, `TreeNode.split`,
    `removeNode`.
    """

    def __init__(self, capacity: int = DEFAULT_CAPACITY, ties: Callable[[Key], Any] | None = None) -> None:
        self._size = buckets(capacity)
        self._ties = ties
        self._bins: dict[int, list[Key] | TreeBin[Key]] = {}
        self._code: dict[Key, int] = {}

    def __len__(self) -> int:
        return len(self._code)

    def put(self, key: Key, code: int) -> None:
        """Append a key to its bucket, unless it is in the table.

        Parameters
        ----------
        key : Key
        code : int
            Its hash code, folded, from 0 to 2 ** 32 - 1.
        """
        if key in self._code:
            return
        self._enter(key, code, first=False)
        if len(self._code) > self._size * 3 // 4:
            self._grow()

    def compute_if_absent(self, key: Key, code: int) -> bool:
        """Put a key at the head of its bucket; whether it was absent. Either way the table grows first."""
        if len(self._code) > self._size * 3 // 4:
            self._grow()
        if key in self._code:
            return False
        self._enter(key, code, first=True)
        return True

    def remove(self, key: Key) -> None:
        """Take a key out."""
        at = self._code[key] & (self._size - 1)
        mates = self._bins[at]
        if isinstance(mates, TreeBin):
            if not mates.remove(key):
                self._bins[at] = mates.keys()
        else:
            mates.remove(key)
        if not self._bins[at]:
            del self._bins[at]
        del self._code[key]

    def first(self) -> Key:
        """The key that iteration yields first."""
        return _chain(self._bins[min(self._bins)])[0]

    def walk(self) -> list[Key]:
        """All keys as iteration yields them."""
        return [key for at in sorted(self._bins) for key in _chain(self._bins[at])]

    def state(self) -> Hashable:
        """All that decides on what iteration yields from now on."""
        bins = [(at, tuple(mates) if isinstance(mates, list) else mates.state()) for at, mates in self._bins.items()]
        return self._size, frozenset(bins)

    def _enter(self, key: Key, code: int, *, first: bool) -> None:
        self._code[key] = code
        at = code & (self._size - 1)
        mates = self._bins.setdefault(at, [])
        if isinstance(mates, TreeBin):
            mates.add(key, self._rank(key))
            return
        crowd = len(mates) >= CROWDED - first
        mates.insert(0 if first else len(mates), key)
        if crowd and self._size < SMALLEST_TREE_TABLE:
            self._grow()
        elif crowd:
            self._bins[at] = self._tree(mates)

    def _grow(self) -> None:
        """Double the buckets; each is split in two, and its halves keep their order."""
        size, bins = self._size, self._bins
        self._size, self._bins = 2 * size, {}
        for at, mates in bins.items():
            halves: tuple[list[Key], list[Key]] = ([], [])
            for key in _chain(mates):
                halves[bool(self._code[key] & size)].append(key)
            for half, place in zip(halves, (at, at + size), strict=True):
                if half:
                    self._bins[place] = self._half(mates, half)

    def _half(self, mates: list[Key] | TreeBin[Key], half: list[Key]) -> list[Key] | TreeBin[Key]:
        """What becomes of one half of a bucket: of a tree's, a chain if it is small, or a tree of its own."""
        if not isinstance(mates, TreeBin) or len(half) <= CROWDED - 2:
            return half
        return mates if len(half) == len(mates.keys()) else self._tree(half)

    def _tree(self, chain: list[Key]) -> TreeBin[Key]:
        return TreeBin((key, self._rank(key)) for key in chain)

    def _rank(self, key: Key) -> Rank:
        return self._code[key] ^ _SIGN, 0 if self._ties is None else self._ties(key)


def _chain(mates: list[Key] | TreeBin[Key]) -> list[Key]:
    return mates.keys() if isinstance(mates, TreeBin) else mates
