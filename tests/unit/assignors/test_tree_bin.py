"""Buckets that Java turns into trees. The examples are what a `HashSet` of OpenJDK 17 yields."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from groupsim.assignors.java.hash_table import HashTable
from groupsim.assignors.java.tree_bin import Rank, TreeBin, TreeNode

LEAST, MOST = (-1, 0), (1000, 0)


def black_height(node: TreeNode[int] | None, low: Rank = LEAST, high: Rank = MOST) -> int:
    """Black nodes on every way down from here; fails where the tree is none, or no red-black one."""
    if node is None:
        return 1
    assert low < node.rank < high
    for child in (node.left, node.right):
        assert child is None or (child.parent is node and not (node.red and child.red))
    left, right = black_height(node.left, low, node.rank), black_height(node.right, node.rank, high)
    assert left == right
    return left + (not node.red)


def rank(key: int) -> Rank:
    """Some have the hash code of others."""
    return key // 3, key % 3


@given(keys=st.lists(st.integers(0, 99), unique=True, min_size=1, max_size=40), data=st.data())
def test_a_tree_stays_red_and_black_and_its_root_comes_first(keys: list[int], data: st.DataObject) -> None:
    start = data.draw(st.integers(1, len(keys)))
    tree, there = TreeBin[int]((key, rank(key)) for key in keys[:start]), keys[:start]
    for key in keys[start:]:
        tree.add(key, rank(key))
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
    table = HashTable[int](64)
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
    table = HashTable[int](64)
    for number in range(9):
        table.put(64 * number, 64 * number)
    for number in (8, 7, 6, 5, 4, 2):
        table.remove(64 * number)
    table.put(64 * 9, 64 * 9)
    assert [key // 64 for key in table.walk()] == [1, 3, 0, 9]


def test_a_large_half_of_a_tree_is_a_tree_again_and_a_small_one_a_chain() -> None:
    """Nine even and five odd multiples of 64 part when the table doubles."""
    table = HashTable[int](64)
    for number in (*range(0, 18, 2), *range(1, 11, 2)):
        table.put(64 * number, 64 * number)
    for number in range(1, 36):
        table.put(number, number)
    walk = [key // 64 for key in table.walk() if key % 64 == 0]
    assert walk == [6, 0, 2, 4, 8, 10, 12, 14, 16, 1, 5, 3, 9, 7]


def test_codes_are_signed_in_a_tree() -> None:
    """Of nine keys with ascending codes from the largest negative one on, as of any, the fourth is the root."""
    table = HashTable[int](64)
    for key, code in enumerate([*range(1 << 31, (1 << 31) + 4 * 64, 64), *range(0, 5 * 64, 64)]):
        table.put(key, code)
    assert table.walk() == [3, 0, 1, 2, 4, 5, 6, 7, 8]


def test_trees_that_yield_the_same_may_go_on_differently() -> None:
    one, other = TreeBin[int]((key, (key, 0)) for key in range(9)), TreeBin[int]((key, (key, 0)) for key in range(10))
    other.remove(9)
    assert one.keys() == other.keys()
    assert one.state() != other.state()
