"""Assignors in trials: a small panel per event, a bar per assignor for what moved, and a mark for what had to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from analysis.figures import palette
from analysis.figures.sheet import Sheet, text_width
from analysis.metrics import number
from analysis.text import shortened

Record = Mapping[str, Any]
ROW_IN: Final = 0.2
SIZE: Final = 8.0
PER_LINE: Final = 3
BESIDE_IN: Final = 0.75
"""Room for the numbers beside the bars."""


def trials(records: Sequence[Record], title: str) -> Figure:
    """Partitions moved in every event but the first assignment.

    Parameters
    ----------
    records : sequence of mapping
        One assignor's outcome of one event each: assignor, event, moved, least (None where there is none).
    title : str
    """
    labels = list(dict.fromkeys(one["assignor"] for one in records))
    events = list(dict.fromkeys(one["event"] for one in records if one["event"] != "full"))
    cells = {(one["event"], one["assignor"]): one for one in records}
    sheet = Sheet(left_in=max([text_width(shortened(label), SIZE) for label in labels] + [0.5]) + 0.25)
    sheet.text(title, 12, weight="bold")
    pitch = sheet.axes_in / PER_LINE
    most = max([one["moved"] for one in records if one["moved"]] + [1])
    for start in range(0, len(events), PER_LINE):
        some = events[start : start + PER_LINE]
        places = [(sheet.left_in + n * pitch, pitch - BESIDE_IN) for n in range(len(some))]
        height = max(ROW_IN * len(labels), 0.4)
        for event, axes in zip(some, sheet.cells(height, places, above_in=0.42), strict=True):
            _panel(axes, event, [cells.get((event, label)) for label in labels], most)
            named = [shortened(label) for label in labels] if event == some[0] else []
            axes.set_yticks(range(len(named)), named, fontsize=SIZE)
        sheet.skip(0.25)
    sheet.text("bars: partitions that moved · marks: how many had to for the same balance", 7.5, 0.08, palette.FAINT)
    return sheet.close()


def _panel(axes: Axes, event: str, cells: Sequence[Record | None], most: float) -> None:
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    for y, one in enumerate(cells):
        moved, least = (None, None) if one is None else (one["moved"], one["least"])
        if moved is not None:
            axes.barh(y, moved, 0.7, color=palette.SERIES[0])
        if least is not None:
            axes.plot([least, least], [y - 0.45, y + 0.45], color=palette.SERIES[1], linewidth=1.8, zorder=3)
        told = "-" if moved is None else number(moved)
        axes.annotate(told, (1.03, y), xycoords=axes.get_yaxis_transform(), fontsize=SIZE - 0.5, va="center")
    axes.set_ylim(len(cells) - 0.4, -0.6)
    axes.set_xlim(0, most)
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=7.5, length=2)
    axes.set_title(event, fontsize=9, loc="left", pad=4)
