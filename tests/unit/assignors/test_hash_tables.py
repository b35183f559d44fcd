"""Hash tables of numbers, and the sizes of many of them."""

from __future__ import annotations

import numpy as np
import pytest

from groupsim.assignors.java.hash_table import HashTable, buckets
from groupsim.assignors.server.table_sizes import (
    capacity_for,
    copied_size,
    crowded,
    default_size,
    grown_size,
    table_size,
)


def walk(numbers: list[int], capacity: int = 16) -> list[int]:
    table = HashTable[int](capacity)
    for number in numbers:
        table.put(number, number)
    return table.walk()


def test_small_numbers_come_modulo_the_size_of_the_table() -> None:
    assert walk([1, 16]) == [16, 1]
    assert walk([17, 1, 0]) == [0, 17, 1]


def test_a_table_doubles_when_three_quarters_are_used() -> None:
    assert walk([16, *range(11)])[:2] == [16, 0]
    assert walk([16, *range(12)])[:2] == [0, 1]


def test_a_number_is_in_a_table_once() -> None:
    assert walk([1, 17, 1]) == [1, 17]


def test_a_computed_key_comes_first_in_its_bucket() -> None:
    table = HashTable[int]()
    assert table.compute_if_absent(1, 1)
    assert table.compute_if_absent(17, 17)
    assert not table.compute_if_absent(1, 1)
    assert table.walk() == [17, 1]


def test_a_table_grows_before_a_computed_key_comes_in() -> None:
    """Kafka's copies of small maps start with a single bucket."""
    table = HashTable[int](0)
    for number in (4, 1, 2, 8):
        table.compute_if_absent(number, number)
    assert table.walk() == [8, 4, 1, 2]
    table.compute_if_absent(8, 8)
    assert table.walk() == [8, 1, 2, 4]


def test_removal_does_not_shrink_a_table() -> None:
    table = HashTable[int](2)
    for number in (4, 2, 1):
        table.put(number, number)
    table.remove(1)
    table.remove(2)
    table.put(1, 1)
    table.put(2, 2)
    assert table.walk() == [4, 1, 2]


def test_a_set_never_shrinks() -> None:
    table = HashTable[int]()
    for number in range(13):
        table.put(number, number + 16)
    for number in range(12):
        table.remove(number)
    table.put(20, 1)
    assert (len(table), table.first(), table.walk()) == (2, 20, [20, 12])


def test_tables_that_go_on_alike_are_in_one_state() -> None:
    one, other = HashTable[int](), HashTable[int]()
    for number in (1, 17, 2):
        one.put(number, number)
    for number in (2, 1, 17):
        other.put(number, number)
    assert one.state() == other.state()
    other.remove(1)
    other.put(1, 1)
    assert one.state() != other.state(), "it is the last of its bucket now"
    one.remove(2)
    one.put(2, 2)
    for table in (one, other):
        for number in (1, 17):
            table.remove(number)
    assert one.state() == other.state()


@pytest.mark.parametrize(("count", "first"), [(8, [0, 16, 32]), (9, [0, 32, 64]), (16, [0, 32, 64])])
def test_a_crowded_bucket_doubles_a_small_table(count: int, first: list[int]) -> None:
    assert walk([16 * number for number in range(count)])[:3] == first


def test_a_computed_key_crowds_a_bucket_one_sooner() -> None:
    table = HashTable[int]()
    for number in range(8):
        table.compute_if_absent(16 * number, 16 * number)
    assert table.walk()[:2] == [96, 64]


def test_sizes_of_many_tables_are_those_of_each() -> None:
    counts = np.arange(200)
    assert table_size(counts).tolist() == [buckets(int(count)) for count in counts]
    for count in counts.tolist():
        one = np.array([count])
        assert copied_size(one)[0] == max(16, buckets(capacity_for(count)))
        assert grown_size(one)[0] == len_after(count, capacity=0)
        assert default_size(one)[0] == len_after(count, capacity=16)


def len_after(count: int, capacity: int) -> int:
    """Buckets of a table after insertions, seen from where the largest numbers wrap."""
    size = buckets(capacity)
    for number in range(1, count + 1):
        size *= 2 if number > size * 3 // 4 else 1
        size *= 2 if number > size * 3 // 4 else 1
    return size


def test_sets_are_crowded_if_more_than_eight_numbers_are_in_one_bucket() -> None:
    stride = [np.arange(0, 16 * 9, 16), np.arange(0, 16 * 8, 16), np.arange(9), np.arange(0, 32 * 9, 32)]
    sizes = np.array([16, 16, 16, 64])
    assert crowded(np.array([9, 8, 9, 9]), np.concatenate(stride).astype(np.int32), sizes).tolist() == [
        True, False, False, False,
    ]  # fmt: skip
    assert crowded(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32), sizes[:0]).tolist() == []
