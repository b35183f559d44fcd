"""A bucket that Java has turned into a tree, as far as the order of its keys goes.

Java keeps the keys of such a bucket in a red-black tree and in a list besides, and iterates over the list. A new key
comes after its parent in the tree, and the root comes first.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any, Generic, TypeAlias, TypeVar

Key = TypeVar("Key", bound=Hashable)
Rank: TypeAlias = tuple[int, Any]
"""Of a key in its tree: its hash code, which Java takes for signed there, and what compares it with its like."""


class TreeNode(Generic[Key]):
    """A key in a tree."""

    __slots__ = ("key", "left", "parent", "rank", "red", "right")

    def __init__(self, key: Key, rank: Rank) -> None:
        self.key = key
        self.rank = rank
        self.red = True
        self.parent: TreeNode[Key] | None = None
        self.left: TreeNode[Key] | None = None
        self.right: TreeNode[Key] | None = None


class TreeBin(Generic[Key]):
    """A bucket as a tree.

    Parameters
    ----------
    keys : iterable of (Key, Rank)
        Keys in the order of the chain they were in. No two ranks are equal: keys of Kafka's maps are `Comparable`, or
        of different codes.

    Source: java.util.HashMap.TreeNode of OpenJDK 17, `treeify`, `putTreeVal`, `removeTreeNode`, `balanceInsertion`,
    `balanceDeletion`, `moveRootToFront`.
    """

    def __init__(self, keys: Iterable[tuple[Key, Rank]]) -> None:
        self._root: TreeNode[Key] | None = None
        self._list = [TreeNode(key, rank) for key, rank in keys]
        for node in self._list:
            self._insert(node)
        self._root_first()

    def keys(self) -> list[Key]:
        """Keys as iteration yields them."""
        return [node.key for node in self._list]

    def state(self) -> Hashable:
        """All that decides on what iteration yields from now on."""
        return tuple(self.keys()), tuple(_preorder(self._root))

    def add(self, key: Key, rank: Rank) -> None:
        """Put a key that is not in the tree."""
        node = TreeNode(key, rank)
        parent = self._insert(node)
        assert parent is not None
        self._list.insert(self._list.index(parent) + 1, node)
        self._root_first()

    def remove(self, key: Key) -> bool:
        """Take a key out; whether the bucket stays a tree. It does not if the tree was small already."""
        node = next(each for each in self._list if each.key == key)
        self._list.remove(node)
        root = self._root
        assert root is not None
        if root.right is None or root.left is None or root.left.left is None:
            return False
        self._delete(node)
        self._root_first()
        return True

    def _root_first(self) -> None:
        assert self._root is not None
        self._list.remove(self._root)
        self._list.insert(0, self._root)

    def _insert(self, node: TreeNode[Key]) -> TreeNode[Key] | None:
        """Add a leaf; returns its parent."""
        parent, at = None, self._root
        while at is not None:
            parent, at = at, at.left if node.rank < at.rank else at.right
        node.parent = parent
        if parent is None:
            self._root = node
        elif node.rank < parent.rank:
            parent.left = node
        else:
            parent.right = node
        self._balance_insertion(node)
        return parent

    def _balance_insertion(self, node: TreeNode[Key]) -> None:
        while (parent := node.parent) is not None and parent.red:
            grandparent = parent.parent
            assert grandparent is not None
            is_left = parent is grandparent.left
            uncle = grandparent.right if is_left else grandparent.left
            if uncle is not None and uncle.red:
                parent.red = uncle.red = False
                grandparent.red = True
                node = grandparent
                continue
            if node is (parent.right if is_left else parent.left):
                self._rotate(parent, to_left=is_left)
                node, parent = parent, node
            parent.red, grandparent.red = False, True
            self._rotate(grandparent, to_left=not is_left)
        assert self._root is not None
        self._root.red = False

    def _rotate(self, node: TreeNode[Key], *, to_left: bool) -> None:
        """Let a child take a node's place, which becomes that child's own child on the side given."""
        child = node.right if to_left else node.left
        assert child is not None
        inner = child.left if to_left else child.right
        if to_left:
            node.right, child.left = inner, node
        else:
            node.left, child.right = inner, node
        if inner is not None:
            inner.parent = node
        self._replace(node, child)
        node.parent = child

    def _replace(self, node: TreeNode[Key], other: TreeNode[Key] | None) -> None:
        """Hang another node, or none, where a node hangs."""
        parent = node.parent
        if parent is None:
            self._root = other
        elif parent.left is node:
            parent.left = other
        else:
            parent.right = other
        if other is not None:
            other.parent = parent

    def _delete(self, node: TreeNode[Key]) -> None:
        if node.left is not None and node.right is not None:
            self._swap_with_successor(node)
        child = node.left if node.left is not None else node.right
        if child is not None:
            self._replace(node, child)
            if not node.red:
                self._balance_deletion(child)
            return
        if not node.red:
            self._balance_deletion(node)
        self._replace(node, None)

    def _swap_with_successor(self, node: TreeNode[Key]) -> None:
        """Exchange a node's place and colour with those of the next larger one."""
        successor = node.right
        assert successor is not None
        while successor.left is not None:
            successor = successor.left
        node.red, successor.red = successor.red, node.red
        left, right, inner, above = node.left, node.right, successor.right, successor.parent
        self._replace(node, successor)
        successor.left = left
        assert left is not None
        left.parent = successor
        if above is node:
            successor.right, node.parent = node, successor
        else:
            assert above is not None
            assert right is not None
            successor.right, right.parent = right, successor
            above.left, node.parent = node, above
        node.left, node.right = None, inner
        if inner is not None:
            inner.parent = node

    def _balance_deletion(self, node: TreeNode[Key]) -> None:
        while node is not self._root:
            if node.red:
                break
            parent = node.parent
            assert parent is not None
            is_left = parent.left is node
            sibling = parent.right if is_left else parent.left
            if sibling is not None and sibling.red:
                sibling.red, parent.red = False, True
                self._rotate(parent, to_left=is_left)
                sibling = parent.right if is_left else parent.left
            if sibling is None:
                node = parent
                continue
            near, far = (sibling.left, sibling.right) if is_left else (sibling.right, sibling.left)
            if not (near is not None and near.red) and not (far is not None and far.red):
                sibling.red = True
                node = parent
                continue
            if far is None or not far.red:
                assert near is not None
                near.red, sibling.red = False, True
                self._rotate(sibling, to_left=not is_left)
                sibling, far = near, sibling
            sibling.red, parent.red = parent.red, False
            assert far is not None
            far.red = False
            self._rotate(parent, to_left=is_left)
            return
        node.red = False


def _preorder(node: TreeNode[Key] | None) -> Iterator[tuple[Key, bool] | None]:
    """Keys and colours from the root down, None where there is no child."""
    if node is None:
        yield None
        return
    yield node.key, node.red
    yield from _preorder(node.left)
    yield from _preorder(node.right)
