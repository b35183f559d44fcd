"""Which knob matters: a block per metric, group and variant, in it a bar per knob with its interval, sorted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from groupsim.analysis.data.metrics import Scale
from groupsim.analysis.figures import palette
from groupsim.analysis.figures.sheet import Sheet, text_width
from groupsim.analysis.sensitivity.effects import Sensitivity
from groupsim.analysis.sensitivity.text import counted, scale_of, sentence, title, weight_text
from groupsim.analysis.text.tables import shortened

ROW_IN: Final = 0.3
SIZE: Final = 8.5
KNOBS: Final = 20
"""More are a wall: the heaviest are shown."""
WEIGHT, DETAIL = palette.SERIES[0], palette.SERIES[5]
_LABELS: Final = {
    "morris": ("mu*: mean absolute effect, over a whole range", "sigma: how much it depends on where the knobs stand"),
    "sobol_indices": ("total: share of the variance, with others", "first order: by itself"),
}


def sensitivity(found: Sequence[Sensitivity], short: Mapping[str, str]) -> Figure:
    """Bars of weight and detail, with 95 % intervals where there are any.

    Parameters
    ----------
    found : sequence of Sensitivity
        At least one.
    short : mapping of str to str
        What each path is called.
    """
    labels = [shortened(short[knob.path], 40) for one in found for knob in one.knobs]
    sheet = Sheet(left_in=max(text_width(label, SIZE) for label in labels) + 0.3)
    for number, one in enumerate(found):
        sheet.text(title(one), 12, 0.25 if number else 0.0, weight="bold")
        sheet.text(sentence(one, short), 9, 0.03)
        _block(sheet, one, short)
        sheet.skip(0.36)
        rest = f"; {len(one.knobs) - KNOBS} lighter knobs are not shown" if len(one.knobs) > KNOBS else ""
        sheet.text(counted(one) + rest, 7.5, 0.04, palette.FAINT)
    return sheet.close()


def _block(sheet: Sheet, one: Sensitivity, short: Mapping[str, str]) -> None:
    knobs, measure = one.knobs[:KNOBS], scale_of(one)
    weights = [weight_text(one, knob) for knob in knobs]
    beside = max(text_width(text, SIZE) for text in weights) + 0.35
    sheet.legend(
        "", [(label, colour, "") for label, colour in zip(_LABELS[one.method], (WEIGHT, DETAIL), strict=True)], 0.05
    )
    (axes,) = sheet.cells(ROW_IN * len(knobs) + 0.1, [(sheet.left_in, sheet.axes_in - beside)], above_in=0.1)
    for y, knob in enumerate(knobs):
        _bar(axes, y - 0.17, knob.weight, knob.weight_half_width, measure, WEIGHT)
        _bar(axes, y + 0.2, knob.detail, knob.detail_half_width or 0.0, measure, DETAIL, height=0.24)
        axes.annotate(weights[y], (1, y), xycoords=("axes fraction", "data"), xytext=(6, 0),
                      textcoords="offset points", fontsize=SIZE, va="center", annotation_clip=False)  # fmt: skip
    axes.set_yticks(range(len(knobs)), [shortened(short[knob.path], 40) for knob in knobs], fontsize=SIZE)
    _frame(axes, len(knobs), measure)


def _bar(
    axes: Axes, y: float, value: float, half_width: float, measure: Scale, colour: str, height: float = 0.36
) -> None:
    axes.barh(y, value * measure.factor, height, color=colour, zorder=2)
    if half_width:
        low = max(value - half_width, min(value, 0.0))  # weights are not below zero, but for noise
        ends = [low * measure.factor, (value + half_width) * measure.factor]
        axes.plot(ends, [y, y], color=palette.INK, linewidth=1.1, solid_capstyle="butt", zorder=3)


def _frame(axes: Axes, rows: int, measure: Scale) -> None:
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set(color=palette.FAINT, linewidth=0.6)
    axes.axvline(0, color=palette.FAINT, linewidth=0.8, zorder=1)
    axes.set_ylim(rows - 0.4, -0.6)
    if axes.get_xlim()[1] <= 0 or not axes.dataLim.width:
        axes.set_xlim(0, 1)
    axes.grid(axis="x", color="#e4e4e4", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axes.tick_params(axis="x", labelsize=SIZE - 0.5, length=2)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(measure.unit or "count", fontsize=SIZE - 0.5, labelpad=1)
