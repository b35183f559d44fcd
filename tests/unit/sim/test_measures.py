"""The definitions of the metrics as functions of what was written down."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupsim.sim.books.causes import UNOWNED
from groupsim.sim.output.measures import (
    clip,
    gaps,
    longest_gaps_us,
    merge_touching,
    quantile,
    stop_the_world_us,
    unavailable_us,
)
from groupsim.sim.tables import CAUSES

SPAN = 30


def table(*rows: tuple[int, int, int, int]) -> Any:
    return np.array(rows, np.int64).reshape(-1, 4)


@st.composite
def unavailable(draw: st.DrawFn) -> Any:
    """Causes of three partitions at each of thirty instants (0: served), and the same as shuffled rows."""
    grid = np.array(
        draw(st.lists(st.lists(st.integers(0, len(CAUSES)), min_size=SPAN, max_size=SPAN), min_size=3, max_size=3))
    )
    cells = [(p, t, t + 1, grid[p, t]) for p in range(3) for t in range(SPAN) if grid[p, t]]
    return grid, table(*draw(st.permutations(cells)))


@given(unavailable())
def test_rows_say_what_each_instant_was(drawn: Any) -> None:
    grid, rows = drawn
    merged = merge_touching(rows)
    found = np.zeros_like(grid)
    for position, begin, end, cause in merged:
        assert not found[position, begin:end].any()
        found[position, begin:end] = cause
    assert (found == grid).all()
    touching = (merged[1:, 0] == merged[:-1, 0]) & (merged[1:, 1] == merged[:-1, 2]) & (merged[1:, 3] == merged[:-1, 3])
    assert not touching.any()
    expected = [[0, *((row == cause).sum() for cause in range(1, len(CAUSES) + 1))] for row in grid]
    assert unavailable_us(merged, 3).tolist() == expected


@given(unavailable())
def test_a_gap_is_a_longest_stretch_whatever_its_causes(drawn: Any) -> None:
    grid, rows = drawn
    down = np.pad(grid > 0, ((0, 0), (1, 1)))
    expected = []
    for position in range(3):
        edges = np.flatnonzero(np.diff(down[position].astype(int)))
        expected += [(position, int(begin), int(end)) for begin, end in zip(edges[::2], edges[1::2], strict=True)]
    found = gaps(merge_touching(rows))
    assert [tuple(map(int, one)) for one in found] == expected
    for position, longest in enumerate(longest_gaps_us(found, 3)):
        assert longest == max((end - begin for one, begin, end in expected if one == position), default=0)


@given(unavailable(), st.integers(0, SPAN), st.integers(0, SPAN))
def test_clipping_keeps_what_is_inside(drawn: Any, low: int, high: int) -> None:
    grid, rows = drawn
    inside = clip(merge_touching(rows), low, high, 1, 2)
    assert (inside[:, 2] - inside[:, 1]).sum() == (grid[:, low:high] > 0).sum()
    assert (inside[:, 1] < inside[:, 2]).all()


LIVES = st.tuples(st.integers(0, SPAN), st.integers(0, SPAN)).map(sorted)


@given(unavailable(), st.lists(LIVES, min_size=3, max_size=3), st.integers(0, SPAN))
def test_the_world_stops_when_all_is_down_and_somebody_is_there(drawn: Any, lives: list[list[int]], first: int) -> None:
    grid, _ = drawn
    for position, (clock, end) in enumerate(lives):
        grid[position, :clock] = grid[position, end:] = 0
    rows = merge_touching(table(*((p, t, t + 1, grid[p, t]) for p in range(3) for t in range(SPAN) if grid[p, t])))
    expected = 0
    for instant in range(first, SPAN):
        there = [position for position, (clock, end) in enumerate(lives) if clock <= instant < end]
        causes = [grid[position, instant] for position in there]
        expected += bool(causes) and all(causes) and any(cause != UNOWNED for cause in causes)
    assert stop_the_world_us(rows, gaps(rows), *np.array(lives).T, first) == expected


def test_nothing_is_nothing() -> None:
    none = table()
    assert merge_touching(none).shape == (0, 4)
    assert gaps(none).shape == (0, 3)
    assert unavailable_us(none, 2).tolist() == [[0] * (len(CAUSES) + 1)] * 2
    assert longest_gaps_us(gaps(none), 2).tolist() == [0, 0]
    assert stop_the_world_us(none, gaps(none), np.array([0]), np.array([SPAN]), 0) == 0
    assert quantile(np.empty(0, np.int64), 0.99) == 0


@pytest.mark.parametrize("q", [0.0, 0.25, 0.5, 0.99, 1.0])
def test_a_quantile_is_numpys_to_the_bit(q: float) -> None:
    values = np.cumsum(np.arange(1, 40) ** 3)[::-1]
    sizes = range(1, len(values) + 1)
    assert [quantile(values[:size], q) for size in sizes] == [float(np.quantile(values[:size], q)) for size in sizes]


def test_a_quantile_lies_between_order_statistics() -> None:
    assert quantile(np.arange(101), 0.99) == 99
    assert quantile(np.array([0, 10]), 0.99) == pytest.approx(9.9)
