"""Strips of the cluster above a group's timeline: brokers, coordinators that are absent, and waits in their queues."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from groupsim.analysis.data.columns import floats, rows
from groupsim.analysis.data.metrics import duration
from groupsim.analysis.figures import palette, ticks
from groupsim.analysis.figures.bars import SIZE, clipped
from groupsim.analysis.figures.cluster_history import ClusterHistory
from groupsim.analysis.figures.raster import columns_in, covered
from groupsim.analysis.figures.sheet import Sheet, bare, text_width, time_axis

Window = tuple[float, float]

ONE_BY_ONE: Final = 12
"""More brokers than that are counted, and not drawn one by one."""
_ROW_IN: Final = 0.2
_COUNT_IN: Final = 0.42


def draw(sheet: Sheet, cluster: ClusterHistory, window: Window) -> list[Axes]:
    """The strips of a window of seconds, the uppermost first."""
    strips = [_brokers(sheet, cluster, window)] if not cluster.are_brokers_up else []
    if not cluster.absent.empty:
        strips.append(_count(sheet, cluster.absent, palette.COORDINATORS, cluster.shards, window, "absent"))
    if not cluster.waits.empty:
        strips.append(_draw_waits(sheet, cluster.waits, window))
    for strip in strips:
        time_axis(strip, *window, label=False)
    sheet.skip(0.08)
    return strips


def legends(sheet: Sheet, cluster: ClusterHistory) -> None:
    """What the strips show, by colour."""
    states = set(cluster.states["state"]) if not cluster.are_brokers_up else set()
    sheet.legend("broker", [(state, colour, "") for state, colour in palette.BROKERS.items() if state in states])
    absent = set(cluster.absent["state"])
    swatches = [(state, colour, "") for state, colour in palette.COORDINATORS.items() if state in absent]
    sheet.legend("coordinators", swatches)
    if not cluster.waits.empty:
        sheet.legend("queue wait", [(name, colour, "") for name, colour in palette.WAITS.items()])


def notes(cluster: ClusterHistory, window: Window, width_in: float) -> list[str]:
    """What a reader of the strips must know."""
    told = []
    if not cluster.are_brokers_up and len(cluster.brokers) <= ONE_BY_ONE:
        told.append("in brokers: data partitions that each leads")
    dot_s = ticks.DOT_IN * (window[1] - window[0]) / width_in
    short = [ticks.too_short(clipped(one, window), dot_s) for one in (cluster.states, cluster.absent)]
    if any(len(one) for one in short):
        told.append(f"ticks at brokers and coordinators: shorter than a dot ({duration(dot_s)})")
    return told


def _brokers(sheet: Sheet, cluster: ClusterHistory, window: Window) -> Axes:
    if len(cluster.brokers) > ONE_BY_ONE:
        away = cluster.states[cluster.states["state"] != "up"]
        return _count(sheet, away, palette.BROKERS, len(cluster.brokers), window, "brokers\nnot up")
    axes = sheet.strip(_ROW_IN * len(cluster.brokers), above_in=0.08)
    bare(axes)
    axes.set_ylim(len(cluster.brokers), 0)
    labels = [f"broker {node}" for node in cluster.brokers]
    axes.set_yticks(np.arange(len(labels)) + 0.5, labels, fontsize=8)
    states, inch_s = clipped(cluster.states, window), sheet.axes_in / (window[1] - window[0])
    for row, start, end, state, leaders in rows(states, "row", "from_s", "to_s", "state", "leaders"):
        _bar(axes, row, (start, end), state, str(leaders), inch_s)
    again = states[(states["row"] == states["row"].shift()) & (states["state"] == states["state"].shift())]
    row = floats(again, "row")
    axes.vlines(floats(again, "from_s"), row + 0.08, row + 0.92, colors="white", linewidth=1.0)
    dot_s = ticks.DOT_IN / inch_s
    short = ticks.one_a_dot(ticks.too_short(states[states["state"] != "up"], dot_s), dot_s, "row")
    ticks.above_rows(axes, short, [palette.BROKERS.get(state, palette.FAINT) for state in short["state"]], 0.1)
    return axes


def _bar(axes: Axes, row: int, span: Window, state: str, text: str, inch_s: float) -> None:
    start, end = span
    colour = palette.BROKERS.get(state, palette.FAINT)
    axes.add_patch(Rectangle((start, row + 0.08), end - start, 0.84, facecolor=colour, linewidth=0))
    if text_width(text, SIZE) + 0.06 <= (end - start) * inch_s:
        axes.text((start + end) / 2, row + 0.5, text, fontsize=SIZE, color=palette.on(colour), ha="center",
                  va="center_baseline", clip_on=True)  # fmt: skip


def _count(sheet: Sheet, absent: pd.DataFrame, colours: Any, all_: int, window: Window, label: str) -> Axes:
    """How many of ``all_`` are in each state, the mean over each dot, so that areas are true; ticks for the rest.

    All panels have one scale, up to the most at once in the whole run.
    """
    axes = sheet.strip(_COUNT_IN, above_in=0.14)
    here = clipped(absent, window)
    edges, counts = mean_counts(here, tuple(colours), window, columns_in(sheet.axes_in))
    axes.stackplot(edges, counts, colors=list(colours.values()), step="post", linewidth=0, antialiased=False)
    bare(axes)
    top = most_at_once(absent)
    axes.set_ylim(0, top)
    axes.set_yticks([top], [f"{top:,} of {all_:,}"], fontsize=8)
    axes.set_ylabel(label, fontsize=8)
    dot_s = ticks.DOT_IN * (window[1] - window[0]) / sheet.axes_in
    short = ticks.one_a_dot(ticks.too_short(here, dot_s), dot_s)
    ticks.below(axes, short, [colours.get(state, palette.FAINT) for state in short["state"]], _COUNT_IN)
    return axes


def most_at_once(stretches: pd.DataFrame) -> int:
    """How many of these overlap at most; of two that touch only one counts."""
    times = np.concatenate([floats(stretches, "to_s"), floats(stretches, "from_s")])
    steps = np.repeat([-1, 1], len(stretches))
    return int(steps[np.argsort(times, kind="stable")].cumsum().max(initial=1))


def mean_counts(
    stretches: pd.DataFrame, states: tuple[str, ...], window: Window, columns: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Edges of columns, shape (columns + 1,), and the mean number in each of the states, the last twice."""
    known = stretches[stretches["state"].isin(states)]
    line = np.array([states.index(state) for state in known["state"]], np.int64)
    per_s = columns / (window[1] - window[0])
    begin, end = ((floats(known, one) - window[0]) * per_s for one in ("from_s", "to_s"))
    counts = covered(line, begin, end, (len(states), columns))
    return np.linspace(*window, columns + 1), np.concatenate([counts, counts[:, -1:]], axis=1)


def _draw_waits(sheet: Sheet, waits: pd.DataFrame, window: Window) -> Axes:
    """The longest waits of each stretch, over all coordinators; one scale in all panels."""
    axes = sheet.strip(_COUNT_IN, above_in=0.14)
    bare(axes)
    here = clipped(waits, window)
    for name in ("max", "p99"):
        for start, end, wait in rows(here, "from_s", "to_s", f"{name}_s"):
            axes.add_patch(Rectangle((start, 0), end - start, wait, facecolor=palette.WAITS[name], linewidth=0,
                                     antialiased=False))  # fmt: skip
    top = max(float(waits["max_s"].max()), 1e-6)
    axes.set_ylim(0, top)
    axes.set_yticks([top], [duration(top)], fontsize=8)
    axes.set_ylabel("queue", fontsize=8)
    return axes
