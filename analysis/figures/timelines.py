"""The timeline of a group: its state, who served each partition when, what was unread, for how long and why."""

from __future__ import annotations

from typing import Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from groupsim.analysis.data.columns import floats, names, rows
from groupsim.analysis.data.load import Source
from groupsim.analysis.errors import ResultError
from groupsim.analysis.figures import bars, captions, cluster, marks, palette, raster, ticks
from groupsim.analysis.figures.history import History, history
from groupsim.analysis.figures.sheet import Sheet, bare, text_width, time_axis
from groupsim.analysis.text.tables import shortened

OVERVIEW_ROWS: Final = 24
"""With more rows than this, the whole run is an image where a second panel shows its worst part row by row."""
BAND_IN: Final = 0.22
COUNT_IN: Final = 0.6
CALM: Final = ("Stable", "Empty")
"""States that need no tick where they are short."""
ZOOM: Final = 20
"""A run longer than this many times its longest gap gets a second panel."""

Window = tuple[float, float]


def timeline(source: Source, group: str | None = None, around: float | str | Window | None = None) -> Figure:
    """The timeline of a group as a figure.

    Above, if anything happened to it, the cluster: brokers and how many partitions each leads, coordinators that are
    nowhere or loading, and waits in their queues. Then the group's state; below, a row for each partition: who served
    it when, and what was unread, in a colour per cause, with the duration where it fits. Events of the timeline are
    vertical lines. More than 60 partitions become an image with a count of unread partitions above it. A broadcast
    group, where every member reads every partition, has a row for each member instead, and the count. By default the
    whole run is shown, and below it the longest gap after start-up if the run is more than 20 times as long.

    Parameters
    ----------
    source : result object, mapping of tables, or result folder
        Tables summary, rebalances, ownership, unavailability, states, events; brokers, shards, queues if it has them.
    group : str, optional
        By default the group that was unread longest.
    around : float, str or (float, float), optional
        Show only this part: the disturbance at an instant in seconds, that of a timeline entry by its id, or from one
        second to another.

    Raises
    ------
    MissingTable, SchemaMismatch
        A table is missing, or is not what ``sim.tables`` declares.
    ResultError
        There is no such group or timeline entry, or the part to show lies outside the run.
    """
    past = history(source, group)
    whole = (0.0, past.horizon_s)
    worst = _worst(past) if around is None else None
    sheet = Sheet(_left_margin(past))
    sheet.text(captions.title(past), 12, weight="bold")
    sheet.text(captions.headline(past), 9, above_in=0.04)
    colours = palette.member_colours(past.members)
    if around is not None:
        whole = _window(past, around)
    if worst is None:
        notes = _panel(sheet, past, colours, whole, raster.as_image(past, raster.ONE_BY_ONE))
    else:
        notes = _panel(sheet, past, colours, whole, raster.as_image(past, OVERVIEW_ROWS), worst)
        sheet.text("the longest gap after start-up, framed above", 9, above_in=0.12)
        notes += _panel(sheet, past, colours, worst, raster.as_image(past, raster.ONE_BY_ONE))
    captions.legends(sheet, past, colours)
    sheet.text(" · ".join(dict.fromkeys(note for note in notes if note)), 7.5, 0.06, palette.FAINT)
    return sheet.close()


def _panel(
    sheet: Sheet, past: History, colours: dict[str, str], window: Window, as_image: bool, frame: Window | None = None
) -> list[str]:
    """Events, state, rows and time axis for a window; hands back what the caption should say."""
    some = marks.marks(past.events, past.group, *window, sheet.axes_in)
    labels = sheet.strip(marks.height(some), above_in=0.08)
    above = cluster.draw(sheet, past.cluster, window) if past.cluster is not None else []
    band = sheet.strip(BAND_IN)
    strips = [*above, band]
    _states(band, past, window, sheet.axes_in)
    if as_image or past.shared:
        count = sheet.strip(COUNT_IN, above_in=0.14)
        raster.draw_count(count, past, window, (sheet.axes_in, COUNT_IN), max(len(past.partitions), 1))
        time_axis(count, *window, label=False)
        strips.append(count)
    if as_image:
        height = raster.height_of(len(past.rows))
        main = sheet.strip(height, above_in=0.12)
        raster.draw(main, past, colours, window, (sheet.axes_in, height))
    else:
        main = sheet.strip(bars.row_height(len(past.rows)) * max(len(past.rows), 1), above_in=0.08)
        bars.draw(main, past, colours, window, sheet.axes_in)
    strips.append(main)
    for strip in strips[len(above) + 1 :]:
        _veil(strip, past)
    time_axis(main, *window)
    time_axis(band, *window, label=False)
    labels.set_xlim(window)
    marks.draw(labels, some, strips, marks.height(some))
    if frame is not None:
        _frame(main, frame, sheet.axes_in / (window[1] - window[0]))
    sheet.skip(0.38)
    told = cluster.notes(past.cluster, window, sheet.axes_in) if past.cluster is not None else []
    return [*captions.notes(past, window, sheet.axes_in, as_image), *told, marks.unlabelled(some)]


def _states(axes: Axes, past: History, window: Window, width_in: float) -> None:
    inch_s = width_in / (window[1] - window[0])
    bare(axes)
    axes.spines["bottom"].set_visible(False)
    axes.set_ylim(0, 1)
    axes.set_yticks([0.5], ["group state"], fontsize=8)
    columns = ("from_s", "to_s", "state", "generation")
    states = bars.clipped(past.states, window)
    for start, end, state, generation in rows(states, *columns):
        colour, width = palette.STATES.get(state, palette.FAINT), end - start
        frame = {"edgecolor": palette.FAINT, "linewidth": 0.3} if colour == "#ffffff" else {"linewidth": 0}
        axes.add_patch(Rectangle((start, 0), width, 1, facecolor=colour, **frame))
        numbered = f"{past.generation} {generation}"
        stable = (f"Stable, {numbered}", numbered, f"{generation}")
        texts = stable if state == "Stable" else (state,)
        fitting = next((text for text in texts if text_width(text, 7) + 0.08 <= width * inch_s), "")
        axes.text(start + width / 2, 0.46, fitting, fontsize=7, color=palette.on(colour), ha="center", va="center",
                  clip_on=True)  # fmt: skip
    dot_s = ticks.DOT_IN / inch_s
    short = ticks.one_a_dot(ticks.too_short(states[~states["state"].isin(CALM)], dot_s), dot_s)
    ticks.below(axes, short, [palette.STATES.get(state, palette.FAINT) for state in short["state"]], BAND_IN)


def _veil(axes: Axes, past: History) -> None:
    """What lies outside the window in which metrics count is hatched: nothing unread is told there."""
    for begin, end in ((0.0, past.measured[0]), (past.measured[1], past.horizon_s)):
        if begin < end:
            axes.axvspan(begin, end, facecolor="none", edgecolor=palette.FAINT, hatch="....", linewidth=0, alpha=0.5,
                         zorder=4)  # fmt: skip


def _frame(axes: Axes, window: Window, inch_s: float) -> None:
    """A frame around the part that the next panel shows."""
    width = max(window[1] - window[0], 0.05 / inch_s)
    bottom, top = axes.get_ylim()
    axes.add_patch(
        Rectangle((window[0], top), width, bottom - top, fill=False, edgecolor=palette.INK, linewidth=1.3, zorder=7)
    )


def _worst(past: History) -> Window | None:
    """The window of the longest gap after start-up, where the whole run is too long to show it."""
    later = past.gaps[~past.gaps["startup"]] if not past.gaps["startup"].all() else past.gaps
    if later.empty:
        return None
    start, end = floats(later, "from_s"), floats(later, "to_s")
    longest = int((end - start).argmax())
    if past.horizon_s <= ZOOM * (end[longest] - start[longest]):
        return None
    return _disturbance(past, float(start[longest]), float(end[longest]))


def _disturbance(past: History, from_s: float, to_s: float) -> Window:
    """A window with what overlaps (gaps and rebalances, once), and some calm on either side."""
    spans = pd.concat([past.gaps[["from_s", "to_s"]], past.rebalances])
    touching = spans[(spans["from_s"] <= to_s) & (spans["to_s"] >= from_s)]
    start = min(from_s, float(touching["from_s"].min())) if len(touching) else from_s
    end = max(to_s, float(touching["to_s"].max())) if len(touching) else to_s
    margin = max(0.2 * (end - start), 0.5)
    return max(0.0, start - margin), min(past.horizon_s, end + margin)


def _window(past: History, around: float | str | Window) -> Window:
    if isinstance(around, str):
        times = past.events.loc[past.events["entry"] == around, "time_s"]
        if times.empty:
            known = ", ".join(names(past.events["entry"])) or "none"
            raise ResultError(f"no timeline entry {around!r} had an effect on {past.group}; those that had: {known}")
        return _disturbance(past, float(times.min()), float(times.max()))
    if isinstance(around, tuple):
        start, end = max(0.0, around[0]), min(past.horizon_s, around[1])
    else:
        start, end = _disturbance(past, around, around)
    if not start < end or (not isinstance(around, tuple) and not 0 <= around <= past.horizon_s):
        raise ResultError(f"nothing to show at {around}: the run lasts from 0 to {past.horizon_s:g} s")
    return start, end


def _left_margin(past: History) -> float:
    if len(past.rows) > raster.ONE_BY_ONE:
        return 0.95
    return max([text_width(shortened(label), 8) for label in past.rows] + [0.7]) + 0.25
