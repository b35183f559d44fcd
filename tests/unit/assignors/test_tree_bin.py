"""Buckets that Java turns into trees. The examples are what a `HashSet` of OpenJDK 17 yields."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from groupsim.assignors.java.hash_table import HashTable
from groupsim.assignors.java.tree_bin import TreeBin, TreeNode


def black_height(node: TreeNode | None, low: float = float("-inf"), high: float = float("inf")) -> int:
    """Black nodes on every way down from here; fails where the tree is none, or no red-black one."""
    if node is None:
        return 1
    assert low < node.code < high
    for child in (node.left, node.right):
        assert child is None or (child.parent is node and not (node.red and child.red))
    left, right = black_height(node.left, low, node.code), black_height(node.right, node.code, high)
    assert left == right
    return left + (not node.red)


@given(keys=st.lists(st.integers(0, 99), unique=True, min_size=1, max_size=40), data=st.data())
def test_a_tree_stays_red_and_black_and_its_root_comes_first(keys: list[int], data: st.DataObject) -> None:
    start = data.draw(st.integers(1, len(keys)))
    tree, there = TreeBin((key, key) for key in keys[:start]), keys[:start]
    for key in keys[start:]:
        tree.add(key, key)
        there.append(key)
    for key in data.draw(st.permutations(there)):
        root = tree._root
        assert root is not None
        assert not root.red
        black_height(root)
        assert tree.keys()[0] == root.key
        assert sorted(tree.keys()) == sorted(there)
        if not tree.remove(key):
            break
        there.remove(key)


def crowd(*numbers: int) -> list[int]:
    """A table of 64 buckets after these multiples of 64 came in."""
    table = HashTable(64)
    for number in numbers:
        table.put(64 * number, 64 * number)
    return [key // 64 for key in table.walk()]


def test_eight_keys_are_a_chain_and_nine_a_tree() -> None:
    """The root of nine ascending keys is the fourth of them; a tenth comes after its parent in the tree."""
    assert crowd(*range(8)) == [0, 1, 2, 3, 4, 5, 6, 7]
    assert crowd(*range(9)) == [3, 0, 1, 2, 4, 5, 6, 7, 8]
    assert crowd(*range(10)) == [3, 0, 1, 2, 4, 5, 6, 7, 8, 9]
    assert crowd(0, 2, 4, 6, 8, 10, 12, 14, 16, 5) == [6, 0, 2, 4, 5, 8, 10, 12, 14, 16]


def test_a_tree_falls_apart_when_it_is_small() -> None:
    table = HashTable(64)
    for number in range(9):
        table.put(64 * number, 64 * number)
    for number in (8, 7, 6, 5, 4, 2):
        table.remove(64 * number)
    table.put(64 * 9, 64 * 9)
    assert [key // 64 for key in table.walk()] == [1, 3, 0, 9]


def test_a_large_half_of_a_tree_is_a_tree_again_and_a_small_one_a_chain() -> None:
    """Nine even and five odd multiples of 64 part when the table doubles."""
    table = HashTable(64)
    for number in (*range(0, 18, 2), *range(1, 11, 2)):
        table.put(64 * number, 64 * number)
    for number in range(1, 36):
        table.put(number, number)
    walk = [key // 64 for key in table.walk() if key % 64 == 0]
    assert walk == [6, 0, 2, 4, 8, 10, 12, 14, 16, 1, 5, 3, 9, 7]
