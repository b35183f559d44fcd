"""Events of the timeline as vertical lines with labels that cover neither one another nor each other's lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import pandas as pd
from matplotlib.axes import Axes

from groupsim.analysis.data.columns import rows
from groupsim.analysis.figures.palette import FAINT, INK
from groupsim.analysis.figures.sheet import text_width

SIZE: Final = 7.5
LEVELS: Final = 8
LEVEL_IN: Final = 0.15
FREQUENT: Final = 15
"""An entry with more marks than this has ticks only, and one label that counts them."""
NEAR_IN: Final = 0.03


@dataclass(frozen=True, slots=True)
class Mark:
    """An event, or several of one entry too close to tell apart.

    ``level`` counts from the bottom, None for a mark without a label; ``flipped`` labels stand left of their line.
    """

    time_s: float
    label: str
    frequent: bool = False
    level: int | None = None
    flipped: bool = False


class Place(NamedTuple):
    """Where a label is, in inches: its line, its left and right end, its level."""

    line: float
    left: float
    right: float
    level: int


def marks(events: pd.DataFrame, group: str, from_s: float, to_s: float, width_in: float) -> list[Mark]:
    """The events of a window, those of an entry closer than a few dots joined, labels placed on a few levels.

    Where not all labels have room, the first event of each entry gets its own before others do.
    """
    inch_s = width_in / max(to_s - from_s, 1e-9)
    within = events[(events["time_s"] >= from_s) & (events["time_s"] <= to_s)].sort_values("time_s", kind="stable")
    joined = _joined(within, NEAR_IN / inch_s)
    counts = Counter(entry for _, entry, _ in joined)
    firsts = {entry: i for i, (_, entry, _) in reversed(list(enumerate(joined)))}
    found: list[Mark] = []
    for i, (time_s, entry, targets) in enumerate(joined):
        frequent = counts[entry] > FREQUENT
        label = "" if frequent and firsts[entry] != i else _label(entry, targets, group)
        if frequent and firsts[entry] == i:
            label = f"{entry} ({int((within['entry'] == entry).sum()):,} events)"
        found.append(Mark(time_s, label, frequent))
    from_right = range(len(found) - 1, -1, -1)
    all_placed = _placed(found, from_right, inch_s, from_s, width_in)
    if not unlabelled(all_placed):
        return all_placed
    firsts_first = sorted(from_right, key=lambda i: i not in firsts.values())
    return _placed(found, firsts_first, inch_s, from_s, width_in)


def _joined(events: pd.DataFrame, near_s: float) -> list[tuple[float, str, list[str]]]:
    joined: list[tuple[float, str, list[str]]] = []
    latest: dict[str, int] = {}
    for time_s, entry, target in rows(events, "time_s", "entry", "target"):
        at = latest.get(entry)
        if at is not None and time_s - joined[at][0] < near_s:
            joined[at][2].append(target)
        else:
            latest[entry] = len(joined)
            joined.append((time_s, entry, [target]))
    return joined


def _label(entry: str, targets: Sequence[str], group: str) -> str:
    distinct = set(targets)
    if len(distinct) > 1:
        return f"{entry} ×{len(distinct)}"
    target = targets[0].removeprefix(f"{group}/")
    return entry if target in ("", entry, group) else f"{entry}: {target}"


def _placed(some: list[Mark], order: Sequence[int], inch_s: float, from_s: float, width_in: float) -> list[Mark]:
    """The marks with levels: from the right, since a label reaches to the right of its line."""
    places: list[Place] = []
    placed = list(some)
    for i in order:
        mark, line = some[i], (some[i].time_s - from_s) * inch_s
        length = text_width(mark.label, SIZE) + 0.12
        flipped = line + length > width_in + 0.2
        left, right = (line - length, line) if flipped else (line, line + length)
        levels = (n for n in range(LEVELS) if not any(_clash(Place(line, left, right, n), one) for one in places))
        level = next(levels, None) if mark.label else None
        if level is not None:
            places.append(Place(line, left, right, level))
            placed[i] = Mark(mark.time_s, mark.label, mark.frequent, level, flipped)
    return placed


def _clash(one: Place, other: Place) -> bool:
    """Whether two labels overlap, or the line up to one crosses the other."""
    if one.level == other.level:
        return one.left < other.right and other.left < one.right
    upper, lower = (one, other) if one.level > other.level else (other, one)
    return lower.left < upper.line < lower.right


def height(some: Sequence[Mark]) -> float:
    """Inches that a strip of these marks needs."""
    return LEVEL_IN * (1 + max((mark.level for mark in some if mark.level is not None), default=-1)) + 0.08


def draw(axes: Axes, some: Sequence[Mark], below: Sequence[Axes], height_in: float) -> None:
    """Labels on ``axes``, lines from each through ``below``; frequent marks are ticks."""
    axes.set_axis_off()
    axes.set_ylim(0, height_in)
    for mark in some:
        top = 0.05 if mark.level is None else 0.16 + LEVEL_IN * mark.level
        axes.plot([mark.time_s] * 2, [0, top], color=FAINT if mark.frequent else INK, linewidth=0.7)
        if mark.level is not None:
            shift, side = (-3, "right") if mark.flipped else (3, "left")
            axes.annotate(mark.label, (mark.time_s, 0.08 + LEVEL_IN * mark.level), (shift, 0), ha=side,
                          textcoords="offset points", fontsize=SIZE, color=INK)  # fmt: skip
        for strip in () if mark.frequent else below:
            strip.axvline(mark.time_s, color=INK, linewidth=0.6, linestyle=(0, (1, 2)), zorder=5)


def unlabelled(some: Sequence[Mark]) -> str:
    """What a caption should say about labels that found no room."""
    missing = sum(mark.level is None and mark.label != "" for mark in some)
    return f"{missing} of {len(some)} events without a label for want of room" if missing else ""
