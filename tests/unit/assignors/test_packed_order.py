"""Sorting by several keys at once, and texts as Java compares them."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupsim.assignors.java.ordering import sort_order
from groupsim.assignors.java.packed_order import order_by, spans
from groupsim.assignors.java.text_order import text_order

ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 2)), max_size=40)


@given(rows=ROWS, far=st.sampled_from([0, 2**40]))
def test_rows_are_sorted_by_their_keys_and_stay_in_place_where_equal(
    rows: list[tuple[int, int, int]], far: int
) -> None:
    """With keys too wide to be packed into one number, too."""
    keys = [np.array([row[at] + far * (row[at] > 0) for row in rows], dtype=np.int64) for at in range(3)]
    assert order_by(*keys).tolist() == sorted(range(len(rows)), key=rows.__getitem__)


def test_spans_are_counted_out_in_the_type_of_their_starts() -> None:
    found = spans(np.array([7, 3, 5], dtype=np.int32), np.array([2, 0, 3]))
    assert found.tolist() == [7, 8, 5, 6, 7]
    assert found.dtype == np.int32
    assert spans(np.array([], dtype=np.int32), np.array([], dtype=np.int64)).tolist() == []


@given(texts=st.lists(st.text(st.sampled_from("ab\0é\uffff\U00010000"), max_size=12), max_size=30))
def test_texts_are_ordered_as_java_orders_them(texts: list[str]) -> None:
    assert text_order(texts).tolist() == sort_order(texts)


@pytest.mark.parametrize(
    "texts", [[], [""], ["", ""], ["b"], ["consumer-10", "consumer-9", "consumer-10-x", "consumer-1"]]
)
def test_short_lists_and_common_beginnings(texts: list[str]) -> None:
    assert text_order(texts).tolist() == sort_order(texts)


def test_a_very_long_text_does_not_take_all_memory() -> None:
    texts = ["b", "x" * 100_000, *(f"a{number}" for number in range(1_000))]
    tracemalloc.start()
    assert text_order(texts).tolist() == sort_order(texts)
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()
