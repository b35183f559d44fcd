"""Orders measured on OpenJDK 17."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupsim.assignors.java.hash_table import HashTable
from groupsim.assignors.java.ordering import (
    fold,
    java_sorted,
    partition_hash,
    sort_order,
    string_hash,
    text_codes,
    text_places,
)
from groupsim.assignors.java.table_order import grouping_order, hash_order, hash_orders, may_crowd


def walked(keys: list[str], capacity: int = 16) -> list[str]:
    return [keys[at] for at in hash_order(text_codes(keys), lambda: text_places(keys), capacity)]


def order_of(codes: list[int]) -> list[int]:
    return hash_order(fold(np.array(codes)), lambda: [0] * len(codes)).tolist()


def grouped(codes: list[int], *, last_used_again: bool) -> list[int]:
    folded = fold(np.array(codes))
    return grouping_order(folded, lambda: [0] * len(codes), last_used_again=last_used_again).tolist()


@pytest.mark.parametrize(
    ("text", "code"),
    [("", 0), ("a", 97), ("hello", 99162322), ("polygenelubricants", 0x80000000), ("AaAa", 2031744), ("BBBB", 2031744)],
)
def test_hash_codes_of_texts(text: str, code: int) -> None:
    assert string_hash(text) == code


def test_hash_codes_count_utf_16_units() -> None:
    assert string_hash("\U00010000") == (31 * 0xD800 + 0xDC00) & 0xFFFFFFFF


def test_hash_code_of_a_partition() -> None:
    assert partition_hash("t", 3) == 31 * (31 + 3) + ord("t")


@pytest.mark.parametrize(
    ("name", "numbers", "order"),
    [
        ("consumer-{}", range(1, 14), [11, 10, 6, 5, 4, 3, 2, 13, 1, 12, 9, 8, 7]),
        ("consumer{}", range(1, 14), [12, 11, 10, 9, 8, 7, 6, 13, 5, 4, 3, 2, 1]),
        ("member{}", range(13), [8, 11, 9, 12, 6, 7, 10, 4, 5, 2, 3, 0, 1]),
    ],
)
def test_hash_maps_yield_their_keys_in_this_order(name: str, numbers: range, order: list[int]) -> None:
    keys = [name.format(number) for number in numbers]
    assert walked(keys) == [name.format(number) for number in order]


def test_keys_of_one_bucket_stay_in_the_order_they_came() -> None:
    assert walked(["BBBB", "AaAa", "AaBB"]) == ["BBBB", "AaAa", "AaBB"]


def test_grouping_puts_new_keys_of_a_bucket_first() -> None:
    codes = [string_hash(key) for key in ("BBBB", "AaAa", "AaBB")]
    assert grouped(codes, last_used_again=True) == [2, 1, 0]


def test_a_grouping_table_grows_at_the_use_after_it_is_full() -> None:
    codes = [16, *range(12)]
    assert grouped(codes, last_used_again=False)[:2] == [1, 0]
    assert grouped(codes, last_used_again=True)[:2] == [1, 2]


def test_a_grouping_table_grows_when_an_eighth_key_comes_into_a_bucket() -> None:
    same_bucket = [number * 16 for number in range(8)]
    assert grouped(same_bucket[:7], last_used_again=False) == [6, 5, 4, 3, 2, 1, 0]
    assert grouped(same_bucket, last_used_again=False) == [6, 4, 2, 0, 7, 5, 3, 1]


def test_a_table_grows_when_it_is_three_quarters_full() -> None:
    assert order_of(list(range(16, 0, -1))[:12])[:2] == [0, 11]
    assert order_of(list(range(16, 0, -1))[:13])[-1] == 0


def test_a_crowded_bucket_grows_a_small_table() -> None:
    same_bucket = [number * 16 for number in range(9)]
    assert order_of([*same_bucket[:8], 1]) == list(range(9))
    assert order_of([*same_bucket, 1]) == [0, 2, 4, 6, 8, 9, 1, 3, 5, 7]


TWINS = ["".join(parts) for parts in product(("Aa", "BB"), repeat=5)]
"""Texts of one hash code."""


def test_more_than_eight_texts_of_one_code_are_a_tree_by_name() -> None:
    """The first growths to 64 buckets part nothing; then the root comes first, and others after their parents."""
    order = [3, 0, 1, 2, 4, 5, 6, 7, 8, 9, 10]
    assert walked(TWINS[:11]) == [TWINS[at] for at in order]
    assert walked(TWINS[:9]) == TWINS[:9]
    assert walked(TWINS[10::-1]) == [TWINS[at] for at in (7, 10, 9, 8, 6, 5, 4, 3, 2, 1, 0)]


def test_a_table_filled_from_another_with_a_tree_has_a_tree_of_its_own() -> None:
    codes, places = text_codes(TWINS), text_places(TWINS)
    first, second = hash_orders(codes, lambda: places, 2)
    assert first.tolist() == [7, 3, 0, 1, 2, 4, 5, 6, *range(8, 32)]
    assert second.tolist() == [9, 5, 7, 3, 0, 1, 2, 4, 6, 8, *range(10, 32)]


def test_where_no_bucket_is_crowded_the_second_table_is_like_the_first() -> None:
    first, second = hash_orders(text_codes(["a", "b", "q"]), lambda: pytest.fail("not to be asked"), 2)
    assert first is second


@pytest.mark.parametrize(
    ("codes", "size", "crowded"),
    [
        ([0] * 8, 64, False),
        ([0] * 9, 64, True),
        (list(range(0, 32 * 9, 32)), 64, False),
        (list(range(0, 64 * 9, 64)), 128, True),
        (list(range(1, 42)) + list(range(0, 64 * 9, 64)), 128, False),
    ],
)
def test_a_table_may_be_crowded_at_its_end_or_while_it_was_smaller(codes: list[int], size: int, crowded: bool) -> None:
    """In the last row the ninth of a bucket comes in when the table has doubled."""
    assert may_crowd(np.array(codes), size) is crowded


@given(
    codes=st.lists(st.sampled_from([*range(0, 64 * 40, 64), *range(0, 16 * 20, 16), *range(200)]), max_size=120),
    capacity=st.sampled_from([1, 16, 64, 200]),
)
def test_the_fast_way_to_an_order_is_the_tables_own(codes: list[int], capacity: int) -> None:
    table = HashTable[int](capacity, range(len(codes)).__getitem__)
    for key, code in enumerate(codes):
        table.put(key, code)
    folded = np.array(codes, dtype=np.int64)
    assert hash_order(folded, lambda: range(len(codes)), capacity).tolist() == table.walk()


@given(
    codes=st.lists(st.sampled_from([*range(0, 64 * 40, 64), *range(60)]), min_size=1, max_size=120), again=st.booleans()
)
def test_the_fast_way_to_a_groupings_order_is_the_tables_own(codes: list[int], again: bool) -> None:
    table = HashTable[int](ties=range(len(codes)).__getitem__)
    for key, code in enumerate([*codes, codes[-1]] if again else codes):
        table.compute_if_absent(min(key, len(codes) - 1), code)
    folded = np.array(codes, dtype=np.int64)
    assert grouping_order(folded, lambda: range(len(codes)), last_used_again=again).tolist() == table.walk()


def test_texts_are_compared_by_utf_16_units() -> None:
    astral, private = "\U0001f600", "\uffe5"
    assert sorted([astral, private]) == [private, astral]
    assert java_sorted([private, astral]) == [astral, private]
    assert sort_order([private, astral, "a"]) == [2, 1, 0]
