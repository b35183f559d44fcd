"""Orders measured on OpenJDK 17."""

from __future__ import annotations

import pytest

from groupsim.assignors.java.ordering import (
    HashSet,
    fold,
    grouping_order,
    hash_order,
    java_sorted,
    partition_hash,
    sort_order,
    string_hash,
)


def walked(keys: list[str]) -> list[str]:
    return [keys[at] for at in hash_order([string_hash(key) for key in keys])]


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
    assert grouping_order([string_hash(key) for key in ("BBBB", "AaAa", "AaBB")], last_used_again=True) == [2, 1, 0]


def test_a_grouping_table_grows_at_the_use_after_it_is_full() -> None:
    codes = [16, *range(12)]
    assert grouping_order(codes, last_used_again=False)[:2] == [1, 0]
    assert grouping_order(codes, last_used_again=True)[:2] == [1, 2]


def test_a_grouping_table_grows_when_an_eighth_key_comes_into_a_bucket() -> None:
    same_bucket = [number * 16 for number in range(8)]
    assert grouping_order(same_bucket[:7], last_used_again=False) == [6, 5, 4, 3, 2, 1, 0]
    assert grouping_order(same_bucket, last_used_again=False) == [6, 4, 2, 0, 7, 5, 3, 1]


def test_a_table_grows_when_it_is_three_quarters_full() -> None:
    assert hash_order(list(range(16, 0, -1))[:12]).tolist()[:2] == [0, 11]
    assert hash_order(list(range(16, 0, -1))[:13]).tolist()[-1] == 0


def test_a_crowded_bucket_grows_a_small_table() -> None:
    same_bucket = [number * 16 for number in range(9)]
    assert hash_order([*same_bucket[:8], 1]).tolist() == list(range(9))
    assert hash_order([*same_bucket, 1]).tolist() == [0, 2, 4, 6, 8, 9, 1, 3, 5, 7]


def test_a_set_never_shrinks() -> None:
    numbers = HashSet()
    for number in range(13):
        numbers.add(number, fold(number + 16))
    for number in range(12):
        numbers.remove(number)
    numbers.add(20, fold(1))
    assert (len(numbers), numbers.size, numbers.first()) == (2, 32, 20)


def test_texts_are_compared_by_utf_16_units() -> None:
    astral, private = "\U0001f600", "\uffe5"
    assert sorted([astral, private]) == [private, astral]
    assert java_sorted([private, astral]) == [astral, private]
    assert sort_order([private, astral, "a"]) == [2, 1, 0]
