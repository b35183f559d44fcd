"""Rows one by one: a bar per stretch, gaps with their durations, members by name where they fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from numpy.typing import NDArray

from groupsim.analysis.data.columns import floats, integers, rows
from groupsim.analysis.data.metrics import duration
from groupsim.analysis.figures import palette, ticks
from groupsim.analysis.figures.history import History
from groupsim.analysis.figures.sheet import bare, text_width
from groupsim.analysis.text.tables import shortened
from groupsim.sim.tables import CAUSES

SIZE: Final = 7.0
TEXTS: Final = 600
"""More durations than this in one picture are noise: the longest keep theirs."""


def row_height(n_rows: int) -> float:
    """Inches a row deserves."""
    return 0.3 if n_rows <= 12 else 0.22 if n_rows <= 30 else 0.15


def draw(axes: Axes, past: History, colours: Mapping[str, str], window: tuple[float, float], width_in: float) -> None:
    """The rows of ``past`` within a window of seconds, on an axes ``width_in`` inches wide."""
    inch_s = width_in / (window[1] - window[0])
    stretches, served = clipped(past.stretches, window), np.array([colours[name] for name in past.members], dtype=str)
    axes.add_collection(_rectangles(stretches, served[integers(stretches, "member")], 0.1, 0.8))
    _scaffold(axes, past.rows)
    if past.shared:
        return  # rows are members: they bear their names already, and what is unread is no row's
    gaps, zombies = _draw_gaps(axes, past, window, inch_s), clipped(past.zombies, window)
    ghosts = _rectangles(zombies, served[integers(zombies, "member")], 0.72, 0.2)
    ghosts.set(hatch="//////", edgecolor=palette.INK, linewidth=0.4)
    axes.add_collection(ghosts)
    used = {(row, start): end for row, start, end in rows(zombies, "row", "from_s", "to_s")}
    room = stretches[np.array([place not in used for place in rows(stretches, "row", "from_s")], dtype=bool)]
    used |= _label_gaps(axes, gaps, room, list(served), inch_s)
    _label_members(axes, past, colours, stretches, used, inch_s)


def _draw_gaps(axes: Axes, past: History, window: tuple[float, float], inch_s: float) -> pd.DataFrame:
    """What was unread, by cause; hands back the gaps with their main causes."""
    pieces = clipped(past.pieces, window)
    gaps = with_main_cause(clipped(past.gaps, window), pieces)
    causes = np.array([palette.CAUSES[cause] for cause in CAUSES])
    axes.add_collection(_rectangles(pieces, causes[integers(pieces, "cause")], 0.1, 0.8))
    short = ticks.one_a_dot(ticks.too_short(gaps, ticks.DOT_IN / inch_s), ticks.DOT_IN / inch_s, "row")
    ticks.above_rows(axes, short, list(causes[integers(short, "cause")]), 0.06)
    return gaps


def clipped(frame: pd.DataFrame, window: tuple[float, float]) -> pd.DataFrame:
    """The part of each stretch within the window."""
    inside = frame[(frame["to_s"] > window[0]) & (frame["from_s"] < window[1])]
    return inside.assign(from_s=inside["from_s"].clip(lower=window[0]), to_s=inside["to_s"].clip(upper=window[1]))


def with_main_cause(gaps: pd.DataFrame, pieces: pd.DataFrame) -> pd.DataFrame:
    """The gaps with ``cause``, ``main_from_s`` and ``main_to_s``: those of the longest piece of each."""
    parts = pieces.assign(length=pieces["to_s"] - pieces["from_s"]).sort_values("from_s", kind="stable")
    whole = gaps[["row", "from_s"]].assign(gap=gaps.index).sort_values("from_s", kind="stable")
    parts = pd.merge_asof(parts, whole, on="from_s", by="row").sort_values("length", kind="stable", ascending=False)
    main = parts.drop_duplicates("gap").set_index("gap")
    return gaps.assign(cause=main["cause"], main_from_s=main["from_s"], main_to_s=main["to_s"])


def _scaffold(axes: Axes, labels: Sequence[str]) -> None:
    bare(axes)
    axes.set_ylim(max(len(labels), 1), 0)
    size = 8.0 if len(labels) <= 30 else 6.5
    axes.set_yticks(np.arange(len(labels)) + 0.5, [shortened(label) for label in labels], fontsize=size)


def _rectangles(frame: pd.DataFrame, colours: NDArray[np.str_], top: float, height: float) -> PolyCollection:
    left, right, low = floats(frame, "from_s"), floats(frame, "to_s"), floats(frame, "row") + top
    corners = np.stack([left, low, left, low + height, right, low + height, right, low], axis=1).reshape(-1, 4, 2)
    return PolyCollection(list(corners), facecolors=list(colours), linewidths=0, antialiased=False)


def _label_gaps(
    axes: Axes, gaps: pd.DataFrame, following: pd.DataFrame, served: Sequence[str], inch_s: float
) -> dict[tuple[int, float], float]:
    """Print durations in the longest piece of gaps, so that no text is over two colours, or after the longest of a row.

    Hands back how far these reach into what follows.
    """
    used: dict[tuple[int, float], float] = {}
    room = {(row, start): (end, who) for row, start, end, who in rows(following, "row", "from_s", "to_s", "member")}
    ordered = gaps.assign(length=gaps["to_s"] - gaps["from_s"]).sort_values("length", ascending=False, kind="stable")
    ordered["beside"] = ~ordered.duplicated("row")
    columns = ("row", "from_s", "to_s", "cause", "main_from_s", "main_to_s", "beside")
    for row, start, end, cause, main_from, main_to, beside in rows(ordered.head(TEXTS), *columns):
        text = duration(end - start)
        width = (text_width(text, SIZE) + 0.06) / inch_s
        if width <= main_to - main_from:
            colour = palette.CAUSES[CAUSES[cause]]
            axes.text((main_from + main_to) / 2, row + 0.5, text, **_style(palette.on(colour), "center"),
                      path_effects=[patheffects.withStroke(linewidth=1.8, foreground=colour)])  # fmt: skip
        elif beside and (row, end) in room and width + 0.1 / inch_s <= room[(row, end)][0] - end:
            colour = palette.on(served[room[(row, end)][1]])
            axes.text(end + 0.03 / inch_s, row + 0.5, f"◂ {text}", **_style(colour, "left"))
            used[(row, end)] = end + width + 0.1 / inch_s
    return used


def _label_members(
    axes: Axes, past: History, colours: Mapping[str, str], stretches: pd.DataFrame,
    used: Mapping[tuple[int, float], float], inch_s: float,
) -> None:  # fmt: skip
    """Name the member in its bars, once per row and member, where there is room."""
    named: dict[tuple[int, int], float] = {}
    for row, start, end, member in rows(stretches, "row", "from_s", "to_s", "member"):
        text, colour = past.short(past.members[member]), colours[past.members[member]]
        begin = used.get((row, start), start)
        width = (text_width(text, SIZE) + 0.12) / inch_s
        if width <= end - begin and begin >= named.get((row, member), -np.inf):
            axes.text(begin + 0.05 / inch_s, row + 0.5, text, **_style(palette.on(colour), "left"), alpha=0.75)
            named[(row, member)] = begin + 2.5 / inch_s


def _style(colour: str, align: str) -> dict[str, Any]:
    return {"fontsize": SIZE, "color": colour, "ha": align, "va": "center_baseline", "clip_on": True, "zorder": 6}
