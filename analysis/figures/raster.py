"""Rows by the hundred or thousand: an image of who served, and how many partitions were unread for which cause."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from numpy.typing import NDArray

from groupsim.analysis.data.columns import floats, integers
from groupsim.analysis.figures import palette
from groupsim.analysis.figures.bars import clipped
from groupsim.analysis.figures.history import History
from groupsim.analysis.figures.sheet import bare
from groupsim.sim.tables import CAUSES

ONE_BY_ONE: Final = 60
"""More rows than this become an image."""
BARS: Final = 20_000
"""So do more stretches than this, however few the rows."""
DOTS_PER_IN: Final = 110
FAINTEST: Final = 0.45
"""Opacity of a gap of which only one partition of many in a line of the image has a share."""


def as_image(past: History, most: int) -> bool:
    """Whether a history has more rows than ``most``, or too many stretches, to be drawn bar by bar."""
    return len(past.rows) > most or len(past.stretches) + len(past.pieces) * (not past.shared) > BARS


def height_of(rows: int) -> float:
    """Inches that an image of so many rows deserves."""
    return min(5.0, max(2.4, rows * 0.03))


def lines_of(rows: int, height_in: float) -> int:
    """How many lines of an image ``height_in`` inches high can be told apart."""
    return min(rows, int(height_in * DOTS_PER_IN))


def draw(
    axes: Axes, past: History, colours: Mapping[str, str], window: tuple[float, float], size_in: tuple[float, float]
) -> None:
    """The rows of ``past`` within a window of seconds, as an image of ``size_in`` (width, height) inches."""
    rows = len(past.rows)
    columns, lines = max(int(size_in[0] * DOTS_PER_IN), 1), lines_of(rows, size_in[1])
    picture = image(past, colours, window, (lines, columns))
    axes.imshow(picture, extent=(*window, rows, 0), aspect="auto", interpolation="nearest", resample=False)
    bare(axes)
    step = next(one for one in (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 10**9) if rows / one <= 8)
    ticks = range(0, rows + 1, step)
    axes.set_yticks(list(ticks), [f"{tick:,}" for tick in ticks], fontsize=8)
    axes.set_ylabel("members" if past.shared else "partitions", fontsize=8.5)


def image(
    past: History, colours: Mapping[str, str], window: tuple[float, float], shape: tuple[int, int]
) -> NDArray[np.float64]:
    """RGB of each cell: the member that served, and over it the cause of unread time.

    A line stands for one or more rows: the member is the one of its middle row; the cause is the commonest in the line,
    the more opaque the more rows share it. A gap is at least one column wide. Rows of members have no causes.

    Returns
    -------
    ndarray of float, shape (lines, columns, 3)
    """
    lines, columns = shape
    rows = len(past.rows)
    middle = (np.arange(lines) * rows + rows // 2) // max(lines, 1)
    served = clipped(past.stretches[past.stretches["row"].isin(middle)], window)
    line = np.searchsorted(middle, integers(served, "row"))
    codes = _summed(line, *_columns(served, window, columns, 0), floats(served, "member") + 1, shape)
    member = np.rint(codes).astype(np.int64)
    paints = np.array([(1.0, 1.0, 1.0), *(to_rgb(colours[name]) for name in past.members)])
    if past.shared:
        return np.asarray(paints[member])
    share, cause = _unread(past, window, shape)
    opacity = np.where(share > 0, FAINTEST + (1 - FAINTEST) * share, 0.0)[..., None]
    causes = np.array([to_rgb(palette.CAUSES[cause]) for cause in CAUSES])
    return np.asarray(paints[member] * (1 - opacity) + causes[cause] * opacity)


def _unread(
    past: History, window: tuple[float, float], shape: tuple[int, int]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """For each cell the share of its partitions that are unread at some time in it, and the cause of most of that."""
    lines, columns = shape
    rows, width_s = max(len(past.partitions), 1), (window[1] - window[0]) / columns
    size = np.bincount(np.arange(rows) * lines // rows, minlength=lines)[:, None]
    gaps, pieces = clipped(past.gaps, window), clipped(past.pieces, window)
    first, end = _columns(gaps, window, columns, 1)
    unread = _summed(integers(gaps, "row") * lines // rows, first, end, np.ones(len(gaps)), shape)
    time_s = np.minimum(floats(pieces, "to_s") - floats(pieces, "from_s"), width_s)
    first, end = _columns(pieces, window, columns, 1)
    line, cause = integers(pieces, "row") * lines // rows, integers(pieces, "cause")
    per_cause = [
        _summed(line[cause == n], first[cause == n], end[cause == n], time_s[cause == n], shape)
        for n in range(len(CAUSES))
    ]
    return np.clip(unread / np.maximum(size, 1), 0, 1), np.stack(per_cause).argmax(axis=0)


def _columns(
    frame: pd.DataFrame, window: tuple[float, float], columns: int, least: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First column and end column (exclusive) of each stretch, at least ``least`` apart."""
    per_s = columns / (window[1] - window[0])
    first = np.minimum(((floats(frame, "from_s") - window[0]) * per_s).astype(np.int64), columns - least)
    end = ((floats(frame, "to_s") - window[0]) * per_s).astype(np.int64)
    return first, np.minimum(np.maximum(end, first + least), columns)


def _summed(
    line: NDArray[np.int64], first: NDArray[np.int64], end: NDArray[np.int64], value: NDArray[np.float64],
    shape: tuple[int, int],
) -> NDArray[np.float64]:  # fmt: skip
    """Sum over stretches of their values in the cells they cover, shape ``shape``."""
    change = np.zeros((shape[0], shape[1] + 1))
    np.add.at(change, (line, first), value)
    np.add.at(change, (line, end), -value)
    return change.cumsum(axis=1)[:, : shape[1]]


def draw_count(axes: Axes, past: History, window: tuple[float, float], width_in: float) -> None:
    """How many partitions are unread at a time, by cause, at the worst instant of each column."""
    edges, counts = _worst_per_column(past, window, max(int(width_in * DOTS_PER_IN), 1))
    axes.stackplot(
        edges, counts, colors=[palette.CAUSES[cause] for cause in CAUSES], step="post", linewidth=0, antialiased=False
    )
    bare(axes)
    axes.set_ylim(0, max(len(past.partitions), 1))
    axes.set_yticks([len(past.partitions)], [f"{len(past.partitions):,}"], fontsize=8)
    axes.set_ylabel("unread", fontsize=8.5)


def _worst_per_column(
    past: History, window: tuple[float, float], columns: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Left edges of columns and, for each, the counts by cause when most partitions were unread."""
    pieces = clipped(past.pieces, window)
    bounds = np.linspace(*window, columns + 1)
    times = np.concatenate([floats(pieces, "from_s"), floats(pieces, "to_s"), bounds])
    distinct, where = np.unique(times, return_inverse=True)
    change, cause, n = np.zeros((len(CAUSES), len(distinct)), dtype=np.int64), integers(pieces, "cause"), len(pieces)
    np.add.at(change, (cause, where[:n]), 1)
    np.add.at(change, (cause, where[n : 2 * n]), -1)
    counts = change.cumsum(axis=1)
    starts = np.searchsorted(distinct, bounds)
    total = counts.sum(axis=0)
    worst = [a + int(total[a:b].argmax()) for a, b in itertools.pairwise(starts)]
    return bounds, counts[:, [*worst, worst[-1]]]
