"""Two parameters at once: each metric as a map of colours, one for each bundle of variants."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Normalize, to_hex
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from groupsim.analysis.data.columns import floats, names
from groupsim.analysis.data.design import Design
from groupsim.analysis.data.metrics import HEADLINE, Metric, metric, number, scale
from groupsim.analysis.data.parameters import Parameter, parameters
from groupsim.analysis.errors import ResultError
from groupsim.analysis.figures import palette
from groupsim.analysis.figures.parameter_axes import APART_IN, SIZE, cut, decades, name_categories, ninths
from groupsim.analysis.figures.sheet import RIGHT_IN, Sheet, text_width
from groupsim.analysis.stats.responses import by_bundle
from groupsim.analysis.stats.statistics import has_spread

LEAST: Final = 3
"""Values that each parameter needs: with two, curves say as much."""
PER_LINE: Final = 4
HEIGHT_IN: Final = 1.7
TITLE: Final = 8.5
BAR_IN: Final = 0.7
"""Room for the scale right of a map."""
WIDTH_IN: Final = 2.0
"""About as wide is a map."""
MAPS: Final = 8
"""More combinations of values of further parameters are too many maps."""
NAME_IN: Final = 1.2
"""The most room for what stands beside a map."""
COLOURS: Final = colormaps["cividis"]
PER_CELL: Final = 4
"""Points of a sample that a cell should have."""


def is_two_dimensional(summary: pd.DataFrame, design: Design) -> bool:
    """Whether a heat map says something: two parameters vary, each over enough values, and others over few."""
    axes, others = _roles(parameters(design, names(summary["variant"])))
    if design.kind == "list" or len(axes) < 2:
        return False
    return not others if design.is_sample else math.prod(len(one.levels) for one in others) <= MAPS


def _roles(varied: Sequence[Parameter]) -> tuple[list[Parameter], list[Parameter]]:
    """The two parameters with the most values, of which each has enough, and the others: each value has its own map."""
    axes = sorted((one for one in varied if len(one.levels) >= LEAST), key=lambda one: -len(one.levels))[:2]
    return [one for one in varied if one in axes], [one for one in varied if one not in axes]


def heat_map(summary: pd.DataFrame, design: Design, metrics: Sequence[str] = HEADLINE) -> Figure:
    """Each metric's mean over the values of two parameters; a sample from ranges is put into cells of equal size.

    There is a map for each bundle, and for each combination of values of further parameters: none are put together.

    Parameters
    ----------
    summary : DataFrame
        The summary of one sweep, or a part of it.

    Raises
    ------
    ResultError
        Not two parameters vary over enough values, others over too many, or a metric is unknown.
    """
    wanted = [metric(name) for name in metrics]
    if not is_two_dimensional(summary, design):
        raise ResultError(f"no heat map: it needs two parameters that vary, each with at least {LEAST} values")
    axes, others = _roles(parameters(design, names(summary["variant"])))
    axes.sort(key=lambda one: bool(one.labels))  # names have more room beside a map than below
    across, up = (_cells(one, design.is_sample) for one in axes)
    bundles = by_bundle(summary, design, others)
    sheet = Sheet(left_in=max(text_width(cut(text, NAME_IN), SIZE) for _, text in up.ticks) + 0.45)
    each = f", for each {' and '.join(one.name for one in others)}" if others else ""
    over = f"{across.along.name} and {up.along.name}{each}"
    sheet.text(f"{', '.join(names(summary['scenario']))} over {over}", 12, weight="bold")
    maps = [[_map(rows, one, name, across, up) for name, rows in bundles.items()] for one in wanted]
    together = max(1, PER_LINE // len(bundles))
    for start in range(0, len(maps), together):
        _block(sheet, [one for some in maps[start : start + together] for one in some], across, up)
    sheet.text(_caption(is_sample=design.is_sample, several=len(bundles) > 1), 7.5, 0.02, palette.FAINT)
    return sheet.close()


@dataclass(frozen=True, slots=True)
class Cells:
    """A parameter cut into cells of equal size: in which one each variant is, and what stands at their ticks."""

    along: Parameter
    count: int
    of_variant: Mapping[str, int]
    ticks: tuple[tuple[float, str], ...]
    minor: tuple[float, ...] = ()


def _cells(along: Parameter, is_sample: bool) -> Cells:
    levels = along.levels
    if along.labels or not is_sample:
        labels = [along.labels[int(one)] if along.labels else number(one) for one in levels]
        of_variant = {one: levels.index(at) for one, at in along.positions.items()}
        return Cells(along, len(levels), of_variant, tuple((float(i), text) for i, text in enumerate(labels)))
    count = int(np.clip(round((len(along.positions) / PER_CELL) ** 0.5), 2, 12))
    space, back = (np.log, np.exp) if along.is_logarithmic else (np.asarray, np.asarray)
    first, last = float(space(levels[0])), float(space(levels[-1]))
    edges = np.linspace(first, last, count + 1)
    at = {one: int(np.searchsorted(edges[1:-1], space(value), side="right")) for one, value in along.positions.items()}
    if along.is_logarithmic:  # round numbers, where they are
        round_ones = decades(levels[0], levels[-1], WIDTH_IN)
        places = [((math.log(one) - first) / (last - first) * count - 0.5, number(one)) for one in round_ones]
        minor = tuple((math.log(one) - first) / (last - first) * count - 0.5 for one in ninths(levels[0], levels[-1]))
        return Cells(along, count, at, tuple(places), minor)
    return Cells(along, count, at, tuple((i - 0.5, number(float(back(edge)))) for i, edge in enumerate(edges)))


@dataclass(frozen=True, slots=True)
class Map:
    """One panel: means by cell, shape (cells up, cells across), NaN where nothing is known."""

    title: str
    metric: Metric
    means: NDArray[np.float64]


def _map(rows: pd.DataFrame, one: Metric, bundle: str, across: Cells, up: Cells) -> Map:
    places = [rows["variant"].map(cells.of_variant).to_numpy() for cells in (up, across)]
    means = np.full((up.count, across.count), np.nan)
    found = pd.Series(floats(rows, one.name)).groupby(places).mean()
    y, x = (found.index.get_level_values(level).to_numpy(dtype=np.int64) for level in (0, 1))
    means[y, x] = found.to_numpy(dtype=np.float64)
    return Map(", ".join(filter(None, (one.label, bundle))), one, means)


def _block(sheet: Sheet, maps: Sequence[Map], across: Cells, up: Cells) -> None:
    """Panels beside one another; those of the same metric share a scale."""
    pitch = (sheet.axes_in + RIGHT_IN) / PER_LINE
    width_in = pitch - BAR_IN
    for start in range(0, len(maps), PER_LINE):
        row = maps[start : start + PER_LINE]
        places = [(sheet.left_in + n * pitch, width_in) for n in range(len(row))]
        bars = [(left + width + 0.06, 0.09) for left, width in places]
        cells = sheet.cells(HEIGHT_IN, [*places, *bars], above_in=0.34)
        for n, (one, axes, bar) in enumerate(zip(row, cells, cells[len(row) :], strict=False)):
            known = np.concatenate([same.means.ravel() for same in maps if same.metric == one.metric])
            cell_in = (width_in / across.count, HEIGHT_IN / up.count)
            _panel(axes, bar, one, known[~np.isnan(known)], cell_in, room_in=pitch - 0.1)
            _frame(axes, across, up, width_in, is_first=n == 0)
        sheet.skip(0.42)


def _panel(
    axes: Axes, bar: Axes, one: Map, known: NDArray[np.float64], cell_in: tuple[float, float], room_in: float
) -> None:
    """A map and the scale of its colours, which spans all that is ``known`` of the metric."""
    measure = scale([float(value) for value in known], one.metric.unit)
    values = np.ma.masked_invalid(one.means * measure.factor)
    unit = f" [{measure.unit}]" if measure.unit else ""
    title = cut(one.title, room_in - text_width(unit, TITLE), TITLE)
    axes.set_title(title + unit, fontsize=TITLE, loc="left", pad=4)
    axes.set_facecolor("#f1f1f1")
    axes.set_xlim(-0.5, values.shape[1] - 0.5)
    axes.set_ylim(-0.5, values.shape[0] - 0.5)
    if not len(known) or not has_spread(known):
        bar.set_axis_off()
        told = f"{number(float(known[0]) * measure.factor)} everywhere" if len(known) else "nothing known"
        axes.text(0.5, 0.5, told, transform=axes.transAxes, fontsize=SIZE, color=palette.FAINT, ha="center")
        return
    span = float(known.min()) * measure.factor, float(known.max()) * measure.factor
    norm = Normalize(*span)
    axes.imshow(values, cmap=COLOURS, norm=norm, aspect="auto", origin="lower", interpolation="nearest")
    _numbers(axes, values, norm, cell_in)
    _bar(bar, span)


def _numbers(axes: Axes, values: Any, norm: Normalize, cell_in: tuple[float, float]) -> None:
    """The number in each cell, if all have room."""
    texts = {at: number(float(value)) for at, value in np.ndenumerate(values.filled(np.nan)) if not np.isnan(value)}
    if cell_in[1] < 0.15 or max(text_width(text, 6.5) for text in texts.values()) > 0.9 * cell_in[0]:
        return
    for (y, x), text in texts.items():
        ink = palette.on(to_hex(COLOURS(float(norm(values[y, x])))))
        axes.text(x, y, text, fontsize=6.5, color=ink, ha="center", va="center")


def _frame(axes: Axes, across: Cells, up: Cells, width_in: float, *, is_first: bool) -> None:
    for side in axes.spines.values():
        side.set_visible(False)
    if across.along.labels:
        name_categories(axes.xaxis, across.along.labels, width_in)
    else:
        widest_in = max(text_width(text, SIZE) for _, text in across.ticks) + APART_IN
        every = 1 if across.minor else max(1, int(np.ceil(widest_in * across.count / width_in)))
        axes.set_xticks(*zip(*across.ticks[::every], strict=True), fontsize=SIZE)
    every = max(1, int(np.ceil(0.14 * up.count / HEIGHT_IN)))
    shown = [(at, cut(text, NAME_IN) if is_first else "") for at, text in up.ticks[::every]]
    axes.set_yticks(*zip(*shown, strict=True), fontsize=SIZE)
    axes.tick_params(length=2)
    axes.set_xticks(across.minor, minor=True)
    axes.set_yticks(up.minor, minor=True)
    axes.tick_params(which="minor", length=1.2)
    axes.set_xlabel(across.along.title, fontsize=SIZE, labelpad=1)
    axes.set_ylabel(cut(up.along.title, HEIGHT_IN) if is_first else "", fontsize=SIZE, labelpad=3)


def _bar(axes: Axes, span: tuple[float, float]) -> None:
    """The scale of a map's colours, from the lowest value to the highest."""
    extent = (0.0, 1.0, *span)
    axes.imshow(np.linspace(0, 1, 64)[:, None], cmap=COLOURS, aspect="auto", origin="lower", extent=extent)
    axes.set_xticks([])
    axes.yaxis.tick_right()
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axes.tick_params(axis="y", labelsize=SIZE - 0.5, length=2)
    for side in axes.spines.values():
        side.set_visible(False)


def _caption(*, is_sample: bool, several: bool) -> str:
    what = "mean of the points in a cell" if is_sample else "mean at each pair of values"
    return f"{what}; grey: nothing known" + ("; maps of one metric share a scale" if several else "")
