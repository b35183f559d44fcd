"""A hash table of Java's, one key after the other."""

from __future__ import annotations

from typing import TypeAlias

from groupsim.assignors.java.tree_bin import TreeBin

Chain: TypeAlias = list[int]

DEFAULT_CAPACITY = 16
CROWDED = 8
"""Keys of a bucket that one more makes a tree, or doubles a table of less than `SMALLEST_TREE_TABLE` buckets."""
SMALLEST_TREE_TABLE = 64


def buckets(capacity: int) -> int:
    """Buckets of `new HashMap<>(capacity)`.

    Source: java.util.HashMap.tableSizeFor, OpenJDK 17.
    """
    return 1 << max(capacity - 1, 0).bit_length()


class HashTable:
    """A `HashMap` of numbered keys as far as its iteration order goes. It grows and never shrinks.

    Parameters
    ----------
    capacity : int
        As given to its constructor.

    Source: java.util.HashMap of OpenJDK 17, `putVal`, `computeIfAbsent`, `resize`, `treeifyBin`, `TreeNode.split`,
    `removeNode`.
    """

    def __init__(self, capacity: int = DEFAULT_CAPACITY) -> None:
        self._size = buckets(capacity)
        self._bins: dict[int, Chain | TreeBin] = {}
        self._code: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._code)

    def put(self, key: int, code: int) -> None:
        """Append a key to its bucket, unless it is in the table.

        Parameters
        ----------
        key : int
        code : int
            Its hash code, folded.
        """
        if key in self._code:
            return
        self._enter(key, code, first=False)
        if len(self._code) > self._size * 3 // 4:
            self._grow()

    def compute_if_absent(self, key: int, code: int) -> bool:
        """Put a key at the head of its bucket; whether it was absent. Either way the table grows first."""
        if len(self._code) > self._size * 3 // 4:
            self._grow()
        if key in self._code:
            return False
        self._enter(key, code, first=True)
        return True

    def remove(self, key: int) -> None:
        """Take a key out."""
        at = self._code[key] & (self._size - 1)
        mates = self._bins[at]
        if isinstance(mates, TreeBin):
            if not mates.remove(key):
                self._bins[at] = mates.keys()
        else:
            mates.remove(key)
        del self._code[key]

    def walk(self) -> list[int]:
        """All keys as iteration yields them."""
        return [key for at in sorted(self._bins) for key in _chain(self._bins[at])]

    def _enter(self, key: int, code: int, *, first: bool) -> None:
        self._code[key] = code
        at = code & (self._size - 1)
        mates = self._bins.setdefault(at, [])
        if isinstance(mates, TreeBin):
            mates.add(key, code)
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
            halves: tuple[Chain, Chain] = ([], [])
            for key in _chain(mates):
                halves[bool(self._code[key] & size)].append(key)
            for half, place in zip(halves, (at, at + size), strict=True):
                if half:
                    self._bins[place] = self._half(mates, half)

    def _half(self, mates: Chain | TreeBin, half: Chain) -> Chain | TreeBin:
        """What becomes of one half of a bucket: of a tree's, a chain if it is small, or a tree of its own."""
        if not isinstance(mates, TreeBin) or len(half) <= CROWDED - 2:
            return half
        return mates if len(half) == len(mates.keys()) else self._tree(half)

    def _tree(self, chain: Chain) -> TreeBin:
        return TreeBin((key, self._code[key]) for key in chain)


def _chain(mates: Chain | TreeBin) -> Chain:
    return mates.keys() if isinstance(mates, TreeBin) else mates
