"""Rows by the hundred or thousand: an image of who served, and how many partitions were unread for which cause."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from numpy.typing import NDArray

from groupsim.analysis.data.columns import floats, integers
from groupsim.analysis.figures import palette, ticks
from groupsim.analysis.figures.bars import clipped, with_main_cause
from groupsim.analysis.figures.history import History
from groupsim.analysis.figures.sheet import bare
from groupsim.sim.tables import CAUSES

ONE_BY_ONE: Final = 60
"""More rows than this become an image."""
BARS: Final = 20_000
"""So do more stretches than this, however few the rows."""
DOTS_PER_IN: Final = 110


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
    labelled = range(0, rows + 1, step)
    axes.set_yticks(list(labelled), [f"{row:,}" for row in labelled], fontsize=8)
    axes.set_ylabel("members" if past.shared else "partitions", fontsize=8.5)


def image(
    past: History, colours: Mapping[str, str], window: tuple[float, float], shape: tuple[int, int]
) -> NDArray[np.float64]:
    """RGB of each cell: the member that served, and over it the cause of unread time.

    A line stands for one or more rows: the member is the one of its middle row. Areas are true: a cause is as opaque as
    the share of the cell's partition-time that was unread for it. Rows of members have no causes.

    Returns
    -------
    ndarray of float, shape (lines, columns, 3)
    """
    lines, columns = shape
    rows = len(past.rows)
    middle = (np.arange(lines) * rows + rows // 2) // max(lines, 1)
    served = clipped(past.stretches[past.stretches["row"].isin(middle)], window)
    line = np.searchsorted(middle, integers(served, "row"))
    codes = _summed(line, *_columns(served, window, columns), floats(served, "member") + 1, shape)
    member = _joined(np.rint(codes).astype(np.int64))
    paints = np.array([(1.0, 1.0, 1.0), *(to_rgb(colours[name]) for name in past.members)])
    if past.shared:
        return np.asarray(paints[member])
    shares = _unread(past, window, shape)
    causes = np.array([to_rgb(palette.CAUSES[cause]) for cause in CAUSES])
    read = np.clip(1 - shares.sum(axis=0), 0, 1)[..., None]
    return np.asarray(np.clip(paints[member] * read + np.tensordot(shares, causes, axes=(0, 0)), 0, 1))


def _unread(past: History, window: tuple[float, float], shape: tuple[int, int]) -> NDArray[np.float64]:
    """For each cause and cell the share of the cell's partition-time that was unread. Shape (causes, *shape)."""
    lines, columns = shape
    rows, per_s = max(len(past.partitions), 1), columns / (window[1] - window[0])
    size = np.bincount(np.arange(rows) * lines // rows, minlength=lines)[:, None]
    pieces = clipped(past.pieces, window)
    line, cause = integers(pieces, "row") * lines // rows, integers(pieces, "cause")
    begin, end = ((floats(pieces, one) - window[0]) * per_s for one in ("from_s", "to_s"))
    found = [covered(line[cause == n], begin[cause == n], end[cause == n], shape) for n in range(len(CAUSES))]
    return np.stack(found) / np.maximum(size, 1)


def covered(
    line: NDArray[np.int64], begin: NDArray[np.float64], end: NDArray[np.float64], shape: tuple[int, int]
) -> NDArray[np.float64]:
    """How much of each cell stretches cover together, their ends in fractions of columns; shape ``shape``."""
    change = np.zeros((shape[0], shape[1] + 2))
    for edges, sign in ((begin, 1.0), (end, -1.0)):
        column = edges.astype(np.int64)
        np.add.at(change, (line, column), sign * (column + 1 - edges))
        np.add.at(change, (line, column + 1), sign * (edges - column))
    return change.cumsum(axis=1)[:, : shape[1]]


def _joined(member: NDArray[np.int64]) -> NDArray[np.int64]:
    """Members by cell, where a single column without one between two with takes the earlier's."""
    between = (member[:, 1:-1] == 0) & (member[:, :-2] > 0) & (member[:, 2:] > 0)
    member[:, 1:-1] = np.where(between, member[:, :-2], member[:, 1:-1])
    return member


def _columns(
    frame: pd.DataFrame, window: tuple[float, float], columns: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First column and end column (exclusive) of those whose middle is within each stretch."""
    per_s = columns / (window[1] - window[0])
    edges = [(floats(frame, one) - window[0]) * per_s for one in ("from_s", "to_s")]
    first, end = (np.clip(np.ceil(one - 0.5).astype(np.int64), 0, columns) for one in edges)
    return first, end


def _summed(
    line: NDArray[np.int64], first: NDArray[np.int64], end: NDArray[np.int64], value: NDArray[np.float64],
    shape: tuple[int, int],
) -> NDArray[np.float64]:  # fmt: skip
    """Sum over stretches of their values in the cells they cover, shape ``shape``."""
    change = np.zeros((shape[0], shape[1] + 1))
    np.add.at(change, (line, first), value)
    np.add.at(change, (line, end), -value)
    return change.cumsum(axis=1)[:, : shape[1]]


def draw_count(axes: Axes, past: History, window: tuple[float, float], size_in: tuple[float, float], top: int) -> None:
    """How many partitions are unread at a time, by cause, up to ``top``; ticks for gaps that no area shows.

    The mean over each column of a strip of ``size_in`` (width, height) inches, so that areas are true.
    """
    width_in, height_in = size_in
    edges, counts = mean_counts(past, window, columns_in(width_in))
    axes.stackplot(
        edges, counts, colors=[palette.CAUSES[cause] for cause in CAUSES], step="post", linewidth=0, antialiased=False
    )
    bare(axes)
    axes.set_ylim(0, top)
    axes.set_yticks([top], [f"{top:,}"], fontsize=8)
    axes.set_ylabel("unread", fontsize=8.5)
    dot_s = ticks.DOT_IN * (window[1] - window[0]) / width_in
    gaps = with_main_cause(clipped(past.gaps, window), clipped(past.pieces, window))
    short = ticks.one_a_dot(ticks.too_short(gaps, dot_s), dot_s)
    ticks.below(axes, short, [palette.CAUSES[CAUSES[cause]] for cause in integers(short, "cause")], height_in)


def most_after_startup(past: History, width_in: float) -> int:
    """The highest of those columns that begin when every partition has been read once; 0 if there are none."""
    edges, counts = mean_counts(past, (0.0, past.horizon_s), columns_in(width_in))
    served_s = floats(past.gaps[past.gaps["startup"]], "to_s").max(initial=0.0)
    later = counts.sum(axis=0)[:-1][edges[:-1] >= max(served_s, past.measured[0])]
    return int(np.ceil(later.max(initial=0.0)))


def columns_in(width_in: float) -> int:
    """How many columns an image ``width_in`` inches wide has."""
    return max(int(width_in * DOTS_PER_IN), 1)


def mean_counts(
    past: History, window: tuple[float, float], columns: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Edges of columns, shape (columns + 1,), and the mean number of unread partitions by cause, the last twice."""
    shares = _unread(past, window, (1, columns))[:, 0, :] * len(past.partitions)
    return np.linspace(*window, columns + 1), np.concatenate([shares, shares[:, -1:]], axis=1)
