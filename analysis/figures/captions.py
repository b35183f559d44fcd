"""What a timeline says in words: title, headline, notes and legends."""

from __future__ import annotations

from typing import Final

import numpy as np

from groupsim.analysis.data.columns import floats, integers
from groupsim.analysis.data.metrics import PARTITION_SECONDS, duration, number, scale
from groupsim.analysis.figures import bars, cluster, palette, raster, ticks
from groupsim.analysis.figures.history import History
from groupsim.analysis.figures.sheet import Sheet
from groupsim.sim.tables import CAUSES

NO_BREAK: Final = "\u00a0"
"""Between a number and what it counts, so that no line of a caption begins with the latter."""


def title(past: History) -> str:
    """Scenario, group and how large it is."""
    what = f"{_counted(len(past.partitions), 'partition')}, {_counted(len(past.members), 'member')}"
    which = f"group {past.group} (of {past.groups})" if past.groups > 1 else f"group {past.group}"
    return " · ".join(one for one in (past.scenario, which, what) if one) if past.group else "no group in this result"


def _counted(n: int, noun: str) -> str:
    return f"{n:,}{NO_BREAK}{noun}" if n == 1 else f"{n:,}{NO_BREAK}{noun}s"


def headline(past: History) -> str:
    """The longest gap, and why how much was unread."""
    if past.gaps.empty:
        return "no partition was unread"
    length = floats(past.gaps, "to_s") - floats(past.gaps, "from_s")
    where = past.partitions[integers(past.gaps, "row")[length.argmax()]]
    seconds, cause = floats(past.pieces, "to_s") - floats(past.pieces, "from_s"), integers(past.pieces, "cause")
    parts = np.bincount(cause, weights=seconds, minlength=len(CAUSES))
    measure = scale([float(length.sum())], PARTITION_SECONDS)
    shares = [f"{one} {_percent(part / parts.sum())}" for one, part in zip(CAUSES, parts, strict=True) if part]
    return (
        f"{_since(past)}longest gap {duration(float(length.max()))} ({where}) · "
        f"{_counted(round(past.counted['rebalances']), 'rebalance')} · "
        f"all stopped {duration(past.counted['stop_the_world_s'])} · "
        f"{number(float(length.sum()) * measure.factor)} {measure.unit} unread: {', '.join(shares)}"
    )


def _since(past: History) -> str:
    """The window in which everything is counted, where that is not the whole run."""
    begin, end = past.measured
    if begin > 0 and end >= past.horizon_s:
        return f"from {duration(begin)} on: "
    return f"from {duration(begin)} to {duration(end)}: " if begin > 0 or end < past.horizon_s else ""


def _percent(share: float) -> str:
    return f"<1{NO_BREAK}%" if 0 < share < 0.005 else f"{100 * share:.0f}{NO_BREAK}%"


def notes(past: History, window: tuple[float, float], width_in: float, as_image: bool) -> list[str]:
    """What a reader of one panel, ``width_in`` inches wide, must know."""
    told = _image_notes(past) if as_image else _mixed_notes(past, window)
    dot_s = (window[1] - window[0]) / width_in * ticks.DOT_IN
    if short := len(ticks.too_short(bars.clipped(past.gaps, window), dot_s)):
        told.append(f"ticks: {_counted(short, 'gap')} shorter than a dot ({duration(dot_s)})")
    if past.measured != (0.0, past.horizon_s):
        told.append("dotted: outside measure, not counted")
    if len(past.zombies) and raster.as_image(past, raster.ONE_BY_ONE):
        told.append("what zombies read is not shown")
    if past.shared:
        told.append("every member reads every partition: a row shows when a member did; unread is what nobody reads")
    return told


def _mixed_notes(past: History, window: tuple[float, float]) -> list[str]:
    """What a duration means that is written in one part of a gap."""
    gaps = bars.with_main_cause(bars.clipped(past.gaps, window), bars.clipped(past.pieces, window))
    mixed = (gaps["main_to_s"] - gaps["main_from_s"] < gaps["to_s"] - gaps["from_s"]).any()
    return ["durations are those of whole gaps, in the longest part of each"] if mixed and not past.shared else []


def _image_notes(past: History) -> list[str]:
    share = len(past.rows) / raster.lines_of(len(past.rows), raster.height_of(len(past.rows)))
    if past.shared:
        return [f"a line stands for {share:.1f} members and shows one of them"] if share > 1 else []
    notes = ["rows sorted by the first member that served them"]
    if share > 1:
        notes.append(f"a line stands for {share:.1f} partitions: the more of them unread, the stronger the colour")
    return notes


def legends(sheet: Sheet, past: History, colours: dict[str, str]) -> None:
    """Members, causes and states that the figure shows, by colour."""
    if past.cluster is not None:
        cluster.legends(sheet, past.cluster)
    if past.members and not past.shared:
        sheet.legend("served by", _served_by(past, colours), above_in=0.04)
    present = set(past.pieces["cause"])
    sheet.legend("unread because of", [(c, palette.CAUSES[c], "") for i, c in enumerate(CAUSES) if i in present])
    states = [state for state in palette.STATES if state in set(past.states["state"])]
    sheet.legend("group state", [(state, palette.STATES[state], "") for state in states])
    if len(past.zombies) and not raster.as_image(past, raster.ONE_BY_ONE):
        sheet.legend("zombie", [("still read by a member that no longer owns it", "#ffffff", "//////")])


def _served_by(past: History, colours: dict[str, str]) -> list[tuple[str, str, str]]:
    """A swatch for each member, or for each block of those that share a colour."""
    if len(set(colours.values())) == len(past.members):
        return [(name, colours[name], "") for name in past.members]
    blocks = (
        (f"{some[0]} to {past.short(some[-1])}" if len(some) > 1 else some[0], colour)
        for some, colour in palette.blocks(past.members)
    )
    return [(label, colour, "") for label, colour in blocks]
