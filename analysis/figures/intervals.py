"""Variants side by side: each metric's mean with its 95 % interval, and every run as a dot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from groupsim.analysis.data.columns import floats, names
from groupsim.analysis.data.load import RUN
from groupsim.analysis.data.metrics import HEADLINE, Metric, Scale, metric, plus_minus, scale
from groupsim.analysis.data.schema import conform
from groupsim.analysis.errors import ResultError
from groupsim.analysis.figures import palette
from groupsim.analysis.figures.sheet import Sheet, text_width
from groupsim.analysis.stats.statistics import Estimate, estimate
from groupsim.analysis.text.tables import shortened

SIZE: Final = 8.0
ROW_IN: Final = 0.24
"""Height of a variant's row."""
SINGLE: Final = 500
"""More runs than this are not drawn one by one."""
LEAST_IN: Final = 1.7
"""Width below which a panel's dots say little."""


def compare(summary: pd.DataFrame, metrics: Sequence[str] = HEADLINE) -> Figure:
    """A small panel per metric, a row per variant (and group), sorted by the first metric's mean.

    Parameters
    ----------
    summary : DataFrame
        Summaries of one sweep or of several folders (``analysis.data.load``); replications are the sample.
    metrics : sequence of str
        Columns of ``summary``.

    Raises
    ------
    SchemaMismatch
        The table is not a summary.
    ResultError
        A metric is unknown, or none is given.
    """
    wanted = [metric(name) for name in metrics]
    summary = conform(summary, "summary", columns=[*RUN, *metrics])
    if not wanted:
        raise ResultError("no metric to compare")
    samples = _samples(summary, wanted)
    labels = _order(samples, wanted[0])
    sheet = Sheet(left_in=max([text_width(shortened(label), SIZE) for label in labels] + [0.5]) + 0.25)
    sheet.text(_title(summary), 12, weight="bold")
    _panels(sheet, samples, labels, wanted)
    sheet.text(_caption(samples), 7.5, 0.1, palette.FAINT)
    return sheet.close()


Samples = dict[str, list[tuple[NDArray[np.float64], Estimate]]]


def _samples(summary: pd.DataFrame, wanted: Sequence[Metric]) -> Samples:
    """For each row of the figure, values and estimate of each metric."""
    groups, variants = summary["group"].nunique(), summary["variant"].nunique()
    samples: Samples = {}
    for (variant, group), rows in summary.groupby(["variant", "group"], sort=False):
        label = str(variant or "-") if groups == 1 else str(group) if variants == 1 else f"{variant}, {group}"
        values = [floats(rows, one.name) for one in wanted]
        samples[label] = [(some, estimate(some)) for some in values]
    return samples


def _order(samples: Samples, first: Metric) -> list[str]:
    """Labels by the first metric's mean, the best on top; those without a value last."""
    sign = -1 if first.lower_is_better is False else 1
    means = {label: cells[0][1].mean for label, cells in samples.items()}
    return sorted(samples, key=lambda label: (np.isnan(means[label]), sign * means[label]))


def _panels(sheet: Sheet, samples: Samples, labels: Sequence[str], wanted: Sequence[Metric]) -> None:
    scales = [scale(_ends([samples[label][i] for label in labels]), one.unit) for i, one in enumerate(wanted)]
    texts = [[_text(samples[label][i][1], measure) for label in labels] for i, measure in enumerate(scales)]
    beside = max([text_width(text, SIZE - 0.5) for some in texts for text in some] + [0.3]) + 0.3
    per_line = max(1, min(len(wanted), 4, int(sheet.axes_in // (LEAST_IN + beside))))
    pitch = sheet.axes_in / per_line
    height = max(ROW_IN * len(labels), 0.4)
    for start in range(0, len(wanted), per_line):
        places = [(sheet.left_in + n * pitch, pitch - beside) for n in range(min(per_line, len(wanted) - start))]
        for n, axes in enumerate(sheet.cells(height, places, above_in=0.42)):
            i = start + n
            _panel(axes, [samples[label][i] for label in labels], scales[i], wanted[i])
            _values(axes, texts[i])
            shown = [shortened(label) for label in labels] if n == 0 else []
            axes.set_yticks(range(len(shown)), shown, fontsize=SIZE)
        sheet.skip(0.3)


def _ends(cells: Sequence[tuple[NDArray[np.float64], Estimate]]) -> list[float]:
    """The least and the greatest value of each row that has any."""
    known = (values[~np.isnan(values)] for values, _ in cells)
    return [float(end) for values in known if len(values) for end in (values.min(), values.max())]


def _text(one: Estimate, measure: Scale) -> str:
    return plus_minus(one.mean, one.half_width, measure)


def _panel(axes: Axes, cells: Sequence[tuple[NDArray[np.float64], Estimate]], measure: Scale, one: Metric) -> None:
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    for y, (values, mean) in enumerate(cells):
        single = values if len(values) <= SINGLE else values[:0]
        axes.plot(single * measure.factor, np.full(len(single), y), "|", color="#a8c4d8", markersize=6, zorder=2)
        if mean.half_width:
            ends = np.array([mean.mean - mean.half_width, mean.mean + mean.half_width]) * measure.factor
            axes.plot(ends, [y, y], color=palette.SERIES[0], linewidth=2.2, solid_capstyle="butt", zorder=3)
        filled = palette.SERIES[0] if mean.half_width is not None else "white"
        axes.plot([mean.mean * measure.factor], [y], "o", color=palette.SERIES[0], markerfacecolor=filled,
                  markersize=5.5, zorder=4)  # fmt: skip
    axes.set_ylim(len(cells) - 0.4, -0.6)
    axes.grid(axis="x", color="#e4e4e4", linewidth=0.6)
    axes.hlines(range(len(cells)), 0, 1, transform=axes.get_yaxis_transform(), color="#f1f1f1", linewidth=0.8, zorder=1)
    axes.set_axisbelow(True)
    reached = [end for _, mean in cells for end in (mean.low, mean.high) if end is not None]
    _value_axis(axes, [value * measure.factor for value in (*reached, *_ends(cells))], measure)
    axes.set_title(one.label, fontsize=9, loc="left", pad=4)


def _value_axis(axes: Axes, values: Sequence[float], measure: Scale) -> None:
    """From zero, unless all values lie in the upper half of that."""
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    low = 0.0 if 0 <= low < high / 2 or low == high >= 0 else low
    high = high if high > low else low + 1
    margin = 0.06 * (high - low)
    axes.set_xlim(low - margin, high + margin)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axes.tick_params(axis="x", labelsize=SIZE, length=2)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(measure.unit or "count", fontsize=SIZE, labelpad=1)


def _values(axes: Axes, texts: Sequence[str]) -> None:
    for y, text in enumerate(texts):
        axes.annotate(text, (1, y), xycoords=("axes fraction", "data"), xytext=(5, 0), textcoords="offset points",
                      fontsize=SIZE - 0.5, color=palette.INK, va="center", annotation_clip=False)  # fmt: skip


def _title(summary: pd.DataFrame) -> str:
    scenarios = ", ".join(names(summary["scenario"]))
    variants = summary["variant"].nunique()
    return f"{scenarios} · {variants} variants" if variants > 1 else scenarios or "no runs"


def _caption(samples: Samples) -> str:
    sizes = {len(values) for cells in samples.values() for values, _ in cells}
    if not sizes:
        return "no runs"
    runs = f"{min(sizes)} to {max(sizes)}" if len(sizes) > 1 else str(max(sizes))
    if max(sizes) == 1:
        return "one run each (open dots): no interval"
    lost = any(one.missing for cells in samples.values() for _, one in cells)
    few = f", in rows of at most {SINGLE}" if max(sizes) > SINGLE else ""
    return f"dot: mean of {runs} runs; bar: 95 % interval; ticks: single runs{few}" + (
        "; runs without a value are left out" if lost else ""
    )
