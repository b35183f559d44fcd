"""Variants side by side: each metric's mean with its 95 % interval, and every run as a dot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from groupsim.analysis.data.columns import floats, names
from groupsim.analysis.data.design import Design
from groupsim.analysis.data.labels import Labels, heading, labels
from groupsim.analysis.data.load import RUN
from groupsim.analysis.data.metrics import COUNT, HEADLINE, RECORDS, Metric, Scale, metric, plus_minus, scale
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
GAP_IN: Final = 0.14
"""Between two columns of labels."""
CUT: Final = ", cut at zero: no metric is below"
LEFT_OUT: Final = "; runs without a value are left out"
LEAST_SPAN: Final = 0.01
"""An axis shows at least this share of its greatest value."""
LEAST_IN: Final = 1.7
"""Width below which a panel's dots say little."""


def compare(summary: pd.DataFrame, metrics: Sequence[str] = HEADLINE, design: Design | None = None) -> Figure:
    """A small panel per metric, a row per variant (and group), sorted by the first metric's mean.

    Parameters
    ----------
    summary : DataFrame
        Summaries of one sweep or of several folders (``analysis.data.load``); replications are the sample.
    metrics : sequence of str
        Columns of ``summary``.
    design : Design, optional
        Of the sweep: rows have a column for each thing that tells variants apart, and the caption what they share.

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
    apart = labels(names(summary["variant"]), design)
    samples = _samples(summary, wanted, apart)
    rows = _order(samples, wanted[0])
    columns = _columns(rows, _headings(summary, apart, design))
    sheet = Sheet(left_in=max(sum(columns.values()), 0.5) + 0.25)
    sheet.text(_title(summary), 12, weight="bold")
    _panels(sheet, samples, rows, columns, wanted)
    sheet.text(" · ".join(filter(None, (apart.note, _caption(samples)))), 7.5, 0.1, palette.FAINT)
    return sheet.close()


Label: TypeAlias = tuple[str, ...]
"""What a row is called, column by column."""
Samples: TypeAlias = dict[Label, list[tuple[NDArray[np.float64], Estimate]]]


def _samples(summary: pd.DataFrame, wanted: Sequence[Metric], apart: Labels) -> Samples:
    """For each row of the figure, values and estimate of each metric."""
    groups, variants = summary["group"].nunique(), summary["variant"].nunique()
    samples: Samples = {}
    for (variant, group), rows in summary.groupby(["variant", "group"], sort=False):
        label = () if variants == 1 and groups > 1 else tuple(text or "-" for text in apart.of(str(variant)))
        label = (*label, str(group)) if groups > 1 or not label else label
        values = [floats(rows, one.name) for one in wanted]
        samples[label] = [(some, estimate(some)) for some in values]
    return samples


def _headings(summary: pd.DataFrame, apart: Labels, design: Design | None) -> Sequence[str]:
    """What stands above the columns of labels: nothing above names alone."""
    if design is None:
        return ()
    groups, variants = summary["group"].nunique(), summary["variant"].nunique()
    return [*(apart.columns if variants > 1 or groups == 1 else ()), *(["group"] if groups > 1 else [])]


def _columns(rows: Sequence[Label], headings: Sequence[str]) -> dict[str, float]:
    """Heading of each column of labels, in lines, and the inches that it needs."""
    found: dict[str, float] = {}
    for at, texts in enumerate(zip(*rows, strict=True)):
        shown = [shortened(text) for text in texts]
        title = heading(headings[at], max([10, *map(len, shown)])) if at < len(headings) else " " * at
        found[title] = max(text_width(text, SIZE) for text in (*shown, *title.split("\n"))) + GAP_IN
    return found


def _order(samples: Samples, first: Metric) -> list[Label]:
    """Labels by the first metric's mean, the best on top; those without a value last."""
    sign = -1 if first.lower_is_better is False else 1
    means = {label: cells[0][1].mean for label, cells in samples.items()}
    return sorted(samples, key=lambda label: (np.isnan(means[label]), sign * means[label]))


def _panels(
    sheet: Sheet, samples: Samples, labels: Sequence[Label], columns: Mapping[str, float], wanted: Sequence[Metric]
) -> None:
    scales = [scale(_ends([samples[label][i] for label in labels]), one.unit) for i, one in enumerate(wanted)]
    texts = [[_text(samples[label][i][1], measure) for label in labels] for i, measure in enumerate(scales)]
    beside = max([text_width(text, SIZE - 0.5) for some in texts for text in some] + [0.3]) + 0.3
    per_line = max(1, min(len(wanted), 4, int(sheet.axes_in // (LEAST_IN + beside))))
    pitch = sheet.axes_in / per_line
    height = max(ROW_IN * len(labels), 0.4)
    lines = max([1, *(title.count("\n") + 1 for title in columns)])
    for start in range(0, len(wanted), per_line):
        places = [(sheet.left_in + n * pitch, pitch - beside) for n in range(min(per_line, len(wanted) - start))]
        for n, axes in enumerate(sheet.cells(height, places, above_in=0.3 + 0.12 * lines)):
            i = start + n
            _panel(axes, [samples[label][i] for label in labels], scales[i], wanted[i])
            _values(axes, texts[i])
            axes.set_yticks([])
            if n == 0:
                _name_rows(axes, labels, columns)
        sheet.skip(0.3)


def _name_rows(axes: Axes, labels: Sequence[Label], columns: Mapping[str, float]) -> None:
    """Labels left of a panel, in columns with their headings above."""
    left_in = -sum(columns.values()) - 0.05
    for at, (title, width_in) in enumerate(columns.items()):
        place: dict[str, Any] = {"textcoords": "offset points", "xytext": (left_in * 72, 0), "annotation_clip": False}
        for y, label in enumerate(labels):
            axes.annotate(shortened(label[at]), (0, y), xycoords=("axes fraction", "data"), fontsize=SIZE, va="center",
                          **place)  # fmt: skip
        if title.strip():
            axes.annotate(title, (0, 1), xycoords="axes fraction", fontsize=SIZE - 0.5, color=palette.FAINT,
                          va="bottom", **place)  # fmt: skip
        left_in += width_in


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
            ends = np.maximum([mean.mean - mean.half_width, mean.mean + mean.half_width], 0.0) * measure.factor
            axes.plot(ends, [y, y], color=palette.SERIES[0], linewidth=2.2, solid_capstyle="butt", zorder=3)
        filled = palette.SERIES[0] if mean.half_width is not None else "white"
        axes.plot([mean.mean * measure.factor], [y], "o", color=palette.SERIES[0], markerfacecolor=filled,
                  markersize=5.5, zorder=4)  # fmt: skip
    axes.set_ylim(len(cells) - 0.4, -0.6)
    axes.grid(axis="x", color="#e4e4e4", linewidth=0.6)
    axes.hlines(range(len(cells)), 0, 1, transform=axes.get_yaxis_transform(), color="#f1f1f1", linewidth=0.8, zorder=1)
    axes.set_axisbelow(True)
    reached = [max(end, 0.0) for _, mean in cells for end in (mean.low, mean.high) if end is not None]
    _value_axis(axes, [value * measure.factor for value in (*reached, *_ends(cells))], measure)
    axes.set_title(one.label, fontsize=9, loc="left", pad=4)


def _value_axis(axes: Axes, values: Sequence[float], measure: Scale) -> None:
    """From zero, unless all values lie in the upper half of that; what is nearly the same is not drawn far apart."""
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    low = 0.0 if 0 <= low < high / 2 or low == high >= 0 else low
    narrow = max(LEAST_SPAN * high - (high - low), 0.0) / 2
    low, high = low - narrow, high + narrow
    high = high if high > low else low + 1
    margin = 0.06 * (high - low)
    axes.set_xlim(low - margin, high + margin)
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=measure.unit in (COUNT, RECORDS)))
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
    cut = any((one.low or 0.0) < 0 for cells in samples.values() for _, one in cells)
    return f"dot: mean of {runs} runs; bar: 95 % interval{CUT if cut else ''}; ticks: single runs{few}" + (
        LEFT_OUT if lost else ""
    )
