"""The timeline of a group: its state, who served each partition when, what was unread, for how long and why."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from analysis.columns import floats, integers, names, rows
from analysis.errors import ResultError
from analysis.figures import bars, marks, palette, raster
from analysis.figures.history import History, history
from analysis.figures.sheet import Sheet, bare, text_width, time_axis
from analysis.load import Source
from analysis.metrics import PARTITION_SECONDS, duration, number, scale
from sim.tables import CAUSES

ONE_BY_ONE: Final = 60
"""More partitions than this become an image."""
BARS: Final = 20_000
"""So do more stretches than this, however few the partitions."""
OVERVIEW_ROWS: Final = 24
"""With more partitions than this, the whole run is an image where a second panel shows its worst part row by row."""
LEGEND: Final = 12
"""More members than this have no legend."""
ZOOM: Final = 20
"""A run longer than this many times its longest gap gets a second panel."""

Window = tuple[float, float]


def timeline(source: Source, group: str | None = None, around: float | str | Window | None = None) -> Figure:
    """The timeline of a group as a figure.

    Above, the coordinator's state; below, a row for each partition: who served it when, and what was unread, in a
    colour per cause, with the duration where it fits. Events of the timeline are vertical lines. More than
    60 partitions become an image with a count of unread partitions above it. By default the whole run is shown, and
    below it the longest gap after start-up if the run is more than 20 times as long.

    Parameters
    ----------
    source : result object, mapping of tables, or result folder
        Tables summary, rebalances, ownership, unavailability, states, events.
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
    sheet.text(_title(past), 12, weight="bold")
    sheet.text(_headline(past), 9, above_in=0.04)
    colours = palette.member_colours(past.members)
    if around is not None:
        whole = _window(past, around)
    if worst is None:
        notes = _panel(sheet, past, colours, whole, _as_image(past, ONE_BY_ONE))
    else:
        notes = _panel(sheet, past, colours, whole, _as_image(past, OVERVIEW_ROWS), worst)
        sheet.text("the longest gap after start-up, framed above", 9, above_in=0.12)
        notes += _panel(sheet, past, colours, worst, _as_image(past, ONE_BY_ONE))
    _legends(sheet, past, colours)
    sheet.text(" · ".join(dict.fromkeys(note for note in notes if note)), 7.5, 0.06, palette.FAINT)
    return sheet.close()


def _panel(
    sheet: Sheet, past: History, colours: dict[str, str], window: Window, as_image: bool, frame: Window | None = None
) -> list[str]:
    """Events, state, rows and time axis for a window; hands back what the caption should say."""
    some = marks.marks(past.events, past.group, *window, sheet.axes_in)
    labels = sheet.strip(marks.height(some), above_in=0.08)
    band = sheet.strip(0.22)
    strips = [band]
    _states(band, past, window, sheet.axes_in)
    if as_image:
        count = sheet.strip(0.6, above_in=0.1)
        raster.draw_count(count, past, window, sheet.axes_in)
        height = _image_height(len(past.partitions))
        main = sheet.strip(height, above_in=0.12)
        raster.draw(main, past, colours, window, (sheet.axes_in, height))
        strips += [count, main]
        time_axis(count, *window, label=False)
    else:
        main = sheet.strip(bars.row_height(len(past.partitions)) * max(len(past.partitions), 1), above_in=0.08)
        bars.draw(main, past, colours, window, sheet.axes_in)
        strips.append(main)
    time_axis(main, *window)
    time_axis(band, *window, label=False)
    labels.set_xlim(window)
    marks.draw(labels, some, strips, marks.height(some))
    if frame is not None:
        _frame(main, frame, sheet.axes_in / (window[1] - window[0]))
    sheet.skip(0.38)
    return [*_notes(past, window, sheet.axes_in, as_image), marks.unlabelled(some)]


def _states(axes: Axes, past: History, window: Window, width_in: float) -> None:
    inch_s = width_in / (window[1] - window[0])
    bare(axes)
    axes.spines["bottom"].set_visible(False)
    axes.set_ylim(0, 1)
    axes.set_yticks([0.5], ["group state"], fontsize=8)
    columns = ("from_s", "to_s", "state", "generation")
    for start, end, state, generation in rows(bars.clipped(past.states, window), *columns):
        colour = palette.STATES.get(state, palette.FAINT)
        width = max(end - start, bars.LEAST_IN / inch_s)
        edge = palette.FAINT if colour == "#ffffff" else colour
        axes.add_patch(Rectangle((start, 0), width, 1, facecolor=colour, edgecolor=edge, linewidth=0.3))
        stable = (f"Stable, generation {generation}", f"generation {generation}", f"{generation}")
        texts = stable if state == "Stable" else (state,)
        fitting = next((text for text in texts if text_width(text, 7) + 0.08 <= width * inch_s), "")
        axes.text(start + width / 2, 0.46, fitting, fontsize=7, color=palette.on(colour), ha="center", va="center",
                  clip_on=True)  # fmt: skip


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


def _as_image(past: History, most: int) -> bool:
    return len(past.partitions) > most or len(past.stretches) + len(past.pieces) > BARS


def _image_height(rows: int) -> float:
    return min(5.0, max(2.4, rows * 0.03))


def _left_margin(past: History) -> float:
    if len(past.partitions) > ONE_BY_ONE:
        return 0.95
    return max([text_width(bars.shortened(label), 8) for label in past.partitions] + [0.7]) + 0.25


def _title(past: History) -> str:
    what = f"{_counted(len(past.partitions), 'partition')}, {_counted(len(past.members), 'member')}"
    which = f"group {past.group} (of {past.groups})" if past.groups > 1 else f"group {past.group}"
    return " · ".join(one for one in (past.scenario, which, what) if one) if past.group else "no group in this result"


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def _headline(past: History) -> str:
    if past.gaps.empty:
        return "no partition was unread"
    length = floats(past.gaps, "to_s") - floats(past.gaps, "from_s")
    where = past.partitions[integers(past.gaps, "row")[length.argmax()]]
    seconds, cause = floats(past.pieces, "to_s") - floats(past.pieces, "from_s"), integers(past.pieces, "cause")
    parts = np.bincount(cause, weights=seconds, minlength=len(CAUSES))
    measure = scale([float(length.sum())], PARTITION_SECONDS)
    shares = [f"{one} {_percent(part / parts.sum())}" for one, part in zip(CAUSES, parts, strict=True) if part]
    return (
        f"longest gap {duration(float(length.max()))} ({where}) · {_counted(len(past.rebalances), 'rebalance')} · "
        f"{number(float(length.sum()) * measure.factor)} {measure.unit} unread: {', '.join(shares)}"
    )


def _percent(share: float) -> str:
    return "<1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"


def _notes(past: History, window: Window, width_in: float, as_image: bool) -> list[str]:
    notes: list[str] = []
    least_in = 1 / raster.DOTS_PER_IN if as_image else bars.LEAST_IN
    least_s = (window[1] - window[0]) / width_in * least_in
    if as_image:
        notes = ["rows sorted by the first member that served them"]
        lines = raster.lines_of(len(past.partitions), _image_height(len(past.partitions)))
        if lines < len(past.partitions):
            share = len(past.partitions) / lines
            notes.append(f"a line stands for {share:.1f} partitions: the more of them unread, the stronger the colour")
    if (past.gaps["to_s"] - past.gaps["from_s"] < least_s).any():
        notes.append("gaps too short to be seen are drawn wider than they are")
    if len(past.zombies) and _as_image(past, ONE_BY_ONE):
        notes.append("what zombies read is not shown")
    if past.shared:
        notes.append("several members read a partition at a time: the last to begin is shown")
    if len(past.members) > LEGEND:
        notes.append(f"{len(past.members)} members: a colour each, which may repeat")
    return notes


def _legends(sheet: Sheet, past: History, colours: dict[str, str]) -> None:
    if past.members and len(past.members) <= LEGEND:
        sheet.legend("served by", [(name, colours[name], "") for name in past.members], above_in=0.04)
    present = set(past.pieces["cause"])
    sheet.legend("unread because of", [(c, palette.CAUSES[c], "") for i, c in enumerate(CAUSES) if i in present])
    states = [state for state in palette.STATES if state in set(past.states["state"])]
    sheet.legend("group state", [(state, palette.STATES[state], "") for state in states])
    if len(past.zombies) and not _as_image(past, ONE_BY_ONE):
        sheet.legend("zombie", [("still read by a member that no longer owns it", "#ffffff", "//////")])
