"""Tables of small histories, and what is drawn in a timeline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from groupsim.analysis.figures.captions import NO_BREAK

S = 1_000_000
Maker = Callable[..., pd.DataFrame]
Tables = dict[str, pd.DataFrame]


def texts(figure: Figure) -> list[str]:
    """All texts, with spaces at which lines may end or not."""
    return [text.get_text().replace(NO_BREAK, " ") for axes in figure.axes for text in axes.texts]


def row_panels(figure: Figure) -> list[Axes]:
    """The axes with bars of partitions, the whole first."""
    return [axes for axes in figure.axes if any(isinstance(one, PolyCollection) for one in axes.collections)]


def row_labels(axes: Axes) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()]


def bars(axes: Axes) -> list[tuple[str, int, float, float]]:
    """(colour, row, from, to) of each rectangle, as drawn."""
    found = []
    for collection in axes.collections:
        if not isinstance(collection, PolyCollection):
            continue  # marks of what is too short
        colours = np.asarray(collection.get_facecolor())
        for path, colour in zip(collection.get_paths(), colours, strict=True):
            x, y = path.vertices[:, 0], path.vertices[:, 1]  # type: ignore[index]
            found.append((to_hex(colour), int(y.min()), float(x.min()), float(x.max())))
    return found


def result(make_table: Maker, horizon_s: float = 60, **rows: list[dict[str, Any]]) -> Tables:
    names = ("rebalances", "ownership", "unavailability", "states", "events")
    summary = make_table("summary", [{"scenario": "case", "group": "g", "horizon_s": float(horizon_s)}])
    return {
        name: make_table(name, [{"group": "g", "topic": "t"} | row for row in rows.get(name, [])]) for name in names
    } | {"summary": summary}


def stretch(partition: int, member: str, start: float, end: float) -> dict[str, Any]:
    return {"partition": partition, "member": member, "from_us": int(start * S), "to_us": int(end * S)}


def gap(partition: int, cause: str, start: float, end: float) -> dict[str, Any]:
    return {"partition": partition, "cause": cause, "from_us": int(start * S), "to_us": int(end * S)}
