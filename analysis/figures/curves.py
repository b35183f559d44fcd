"""Response curves: each metric against each parameter that a sweep varies, a line per bundle of variants.

Where values are named (grid, list) a line joins the means at them. Where they are a sample from ranges every point is a
dot, and the line joins means over bins that hold equally many of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from groupsim.analysis.data.columns import floats, names
from groupsim.analysis.data.design import Design
from groupsim.analysis.data.metrics import COUNT, HEADLINE, RECORDS, Metric, Scale, metric, scale
from groupsim.analysis.data.parameters import Parameter, parameters
from groupsim.analysis.errors import ResultError
from groupsim.analysis.figures import palette
from groupsim.analysis.figures.intervals import LEFT_OUT
from groupsim.analysis.figures.parameter_axes import lay_out
from groupsim.analysis.figures.sheet import Sheet, bare
from groupsim.analysis.stats.responses import Response, at_values, in_bins, lines, points, told_apart_by
from groupsim.analysis.text.tables import shortened

PER_LINE: Final = 4
HEIGHT_IN: Final = 1.6
NUMBERS_IN: Final = 0.55
"""Room for the numbers left of a panel."""
GREY: Final = "#c8c8c8"
"""The colour of all lines after the first few."""


def response_curves(summary: pd.DataFrame, design: Design, metrics: Sequence[str] = HEADLINE) -> Figure:
    """For each parameter that varies, a panel per metric.

    Parameters
    ----------
    summary : DataFrame
        The summary of one sweep, or a part of it.

    Raises
    ------
    ResultError
        Nothing varies, or a metric is unknown.
    """
    wanted = [metric(name) for name in metrics]
    varied = parameters(design, names(summary["variant"]))
    if not varied:
        raise ResultError("no response curves: nothing varies")
    sheet = Sheet(left_in=NUMBERS_IN)
    sheet.text(
        f"{', '.join(names(summary['scenario']))} against {', '.join(one.name for one in varied)}", 12, weight="bold"
    )
    for along in varied:
        other = told_apart_by(summary, design, varied, along)
        found = lines(summary, design, other)
        if len(varied) > 1:
            sheet.text(_heading(along, varied, other), 9.5, 0.16)
        _block(sheet, found, along, wanted, is_sample=design.is_sample)
        _legend(sheet, other.name if other else "lines", list(found))
    lost = any(np.isnan(floats(summary, one.name)).any() for one in wanted)
    told = _caption(summary, is_sample=design.is_sample) + (LEFT_OUT if lost else "")
    sheet.text(told, 7.5, 0.08, palette.FAINT)
    return sheet.close()


def _heading(along: Parameter, varied: Sequence[Parameter], other: Parameter | None) -> str:
    together = [one.name for one in varied if one not in (along, other)]
    return f"against {along.name}" + (f"; all values of {', '.join(together)} together" if together else "")


def _block(
    sheet: Sheet, found: Mapping[str, pd.DataFrame], along: Parameter, wanted: Sequence[Metric], *, is_sample: bool
) -> None:
    per_line = min(PER_LINE, len(wanted))
    pitch = (sheet.axes_in + NUMBERS_IN) / per_line
    width_in = pitch - NUMBERS_IN
    for start in range(0, len(wanted), per_line):
        row = wanted[start : start + per_line]
        places = [(sheet.left_in + n * pitch, width_in) for n in range(len(row))]
        for one, axes in zip(row, sheet.cells(HEIGHT_IN, places, above_in=0.34), strict=True):
            _panel(axes, found, along, one, is_sample=is_sample)
            lay_out(axes, along, width_in)
        sheet.skip(0.36)


def _panel(axes: Axes, found: Mapping[str, pd.DataFrame], along: Parameter, one: Metric, *, is_sample: bool) -> None:
    measure = scale([float(np.fmax.reduce(floats(rows, one.name), initial=0)) for rows in found.values()], one.unit)
    colours = _colours(list(found))
    for name, rows in reversed(list(found.items())):
        if is_sample:
            at, values = points(rows, one.name, along)
            axes.plot(at, values * measure.factor, ".", color=colours[name], markersize=3.5, alpha=0.45, zorder=2,
                      markeredgewidth=0)  # fmt: skip
            response = in_bins(at, values)
        else:
            response = at_values(rows, one.name, along)
        _curve(axes, response, colours[name], measure, dotted=not is_sample)
    bare(axes)
    axes.grid(axis="y", color="#e4e4e4", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=measure.unit in (COUNT, RECORDS)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axes.tick_params(axis="y", labelsize=7.5)
    # Panels stand beside one another: all from zero, with room for the highest dot.
    axes.set_ylim(0.0, 1.06 * axes.dataLim.y1 if axes.dataLim.y1 > 0 else 1.0)
    axes.set_title(f"{one.label} [{measure.unit}]" if measure.unit else one.label, fontsize=8.5, loc="left", pad=4)


def _curve(axes: Axes, response: Response, colour: str, measure: Scale, *, dotted: bool) -> None:
    """Means joined by a line, with a band as wide as their intervals."""
    means = np.array([one.mean for one in response.means]) * measure.factor
    widths = np.array([one.half_width or 0.0 for one in response.means]) * measure.factor
    low = np.maximum(means - widths, 0.0)  # no metric is below
    axes.fill_between(response.positions, low, means + widths, color=colour, alpha=0.2, linewidth=0, zorder=3)
    axes.plot(response.positions, means, "o-" if dotted else "-", color=colour, linewidth=1.4, markersize=3.2, zorder=4)


def _colours(labels: Sequence[str]) -> dict[str, str]:
    return {name: palette.SERIES[i] if i < len(palette.SERIES) else GREY for i, name in enumerate(labels)}


def _legend(sheet: Sheet, heading: str, labels: Sequence[str]) -> None:
    if len(labels) < 2:
        return
    colours = _colours(labels)
    shown = [(shortened(name), colours[name], "") for name in labels[: len(palette.SERIES)]]
    rest = len(labels) - len(shown)
    sheet.legend(shortened(heading, 22), [*shown, *([(f"{rest} more", GREY, "")] if rest else [])], above_in=0.06)


def _caption(summary: pd.DataFrame, *, is_sample: bool) -> str:
    sizes = summary.groupby(["variant", "group"]).size()
    runs = f"{sizes.min()} to {sizes.max()}" if sizes.min() < sizes.max() else f"{sizes.max()}"
    of = f"{runs} run{'s' if sizes.max() > 1 else ''}"
    if is_sample:
        return f"dot: mean of {of} at a point; line: mean of bins with equally many points; band: its 95 % interval"
    return f"dot: mean of {of} at each point; band: 95 % interval" + ("; one run has none" if sizes.max() == 1 else "")
