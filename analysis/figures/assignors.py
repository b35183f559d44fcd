"""Assignors in trials: a block per measure, in it a row per assignor and a bar per event, the number beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from groupsim.analysis.data.metrics import number
from groupsim.analysis.figures import palette
from groupsim.analysis.figures.sheet import Sheet, text_width
from groupsim.analysis.text.tables import shortened

Record = Mapping[str, Any]
ROW_IN: Final = 0.2
SIZE: Final = 8.0
BAR: Final = 0.5
"""Of a cell; the rest is for the number."""


def _short(value: float) -> str:
    """A number that leaves room for its bar."""
    for size, letter in ((1e9, "G"), (1e6, "M")):
        if value >= size:
            return f"{value / size:.3g} {letter}"
    return number(value)


def _percent(share: float) -> str:
    return f"{share:.0%}"


def _milliseconds(seconds: float) -> str:
    return number(seconds * 1e3, 2 if seconds < 1e-3 else 1 if seconds < 1e-2 else 0)


@dataclass(frozen=True, slots=True)
class Measure:
    """A number of each record, what it is called, how it is written, and the name of the mark that belongs to it."""

    name: str
    heading: str
    told: Callable[[float], str] = _short
    least: str = ""


MEASURES: Final = (
    Measure("moved", "partitions moved; marks: how many had to for the same balance", least="least"),
    Measure("rounds", "rebalances until the group was settled"),
    Measure("imbalance_partitions", "imbalance: partitions of the largest minus the smallest share"),
    Measure("imbalance_rate", "imbalance: rates of the largest minus the smallest share"),
    Measure("cross_rack_share", "share that is read from a leader in another rack", _percent),
    Measure("cross_rack_rate", "rates that are read from a leader in another rack"),
    Measure("seconds", "time of one answer, ms", _milliseconds),
)


def trials(records: Sequence[Record], title: str) -> Figure:
    """Every measure that is known, for every event; longer bars are worse.

    Parameters
    ----------
    records : sequence of mapping
        One assignor's outcome of one event each: assignor, event, and the names of `MEASURES`, None for unknown.
    title : str
    """
    labels = list(dict.fromkeys(one["assignor"] for one in records))
    sheet = Sheet(left_in=max([text_width(shortened(label), SIZE) for label in labels] + [0.5]) + 0.25)
    sheet.text(title, 12, weight="bold")
    for measure in MEASURES:
        if any(one[measure.name] is not None for one in records):
            _block(sheet, measure, records, labels)
    return sheet.close()


def _block(sheet: Sheet, measure: Measure, records: Sequence[Record], labels: Sequence[str]) -> None:
    """A panel per event, all to one scale."""
    events = list(dict.fromkeys(one["event"] for one in records))
    cells = {(one["event"], one["assignor"]): one for one in records}
    most = max(one[measure.name] or 0.0 for one in records) or 1.0
    sheet.text(measure.heading, 9.5, 0.16)
    pitch = sheet.axes_in / len(events)
    places = [(sheet.left_in + at * pitch, pitch) for at in range(len(events))]
    panels = sheet.cells(max(ROW_IN * len(labels), 0.4), places, above_in=0.26)
    for event, axes in zip(events, panels, strict=True):
        for y, label in enumerate(labels):
            _cell(axes, y, measure, cells.get((event, label)), most)
        _frame(axes, event.removeprefix("partitions ").replace("leave one, ", "leave: "), len(labels))
    panels[0].set_yticks(range(len(labels)), [shortened(label) for label in labels], fontsize=SIZE)


def _cell(axes: Axes, y: int, measure: Measure, one: Record | None, most: float) -> None:
    """A bar, its number, and a mark for what is possible."""
    value = None if one is None else one[measure.name]
    length = (value or 0.0) / most * BAR
    if value is not None:
        axes.barh(y, length, 0.7, color=palette.SERIES[0])
    least = one[measure.least] if one is not None and measure.least else None
    if least is not None:
        axes.plot([least / most * BAR] * 2, [y - 0.42, y + 0.42], color=palette.SERIES[1], linewidth=1.6, zorder=3)
    told = "-" if value is None else measure.told(value)
    axes.annotate(told, (length + 0.04, y), fontsize=SIZE - 0.5, va="center")


def _frame(axes: Axes, heading: str, rows: int) -> None:
    for side in ("top", "right", "bottom"):
        axes.spines[side].set_visible(False)
    axes.spines["left"].set(color=palette.FAINT, linewidth=0.6)
    axes.set_xlim(0, 1)
    axes.set_ylim(rows - 0.4, -0.6)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.tick_params(axis="y", length=0)
    axes.set_title(heading, fontsize=8, loc="left", pad=3, color=palette.FAINT)
