"""Axes for what a sweep varies: numbers, from small to large or by their logarithms, and categories by name."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Final

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullFormatter, NullLocator

from groupsim.analysis.data.parameters import Parameter
from groupsim.analysis.figures.sheet import text_width
from groupsim.analysis.text.tables import shortened

SIZE: Final = 7.5
MARGIN: Final = 0.05
APART_IN: Final = 0.08
SPARSER: Final = ((1, 2, 5), (1, 3), (1,))
"""Where each decade of a logarithmic axis has its ticks, from many to few."""


def lay_out(axes: Axes, along: Parameter, width_in: float) -> None:
    """The horizontal axis of a panel ``width_in`` wide for values of a parameter, its name below."""
    low, high = along.levels[0], along.levels[-1]
    if along.is_logarithmic:
        axes.set_xscale("log")
        margin = (high / low) ** MARGIN
        axes.set_xlim(low / margin, high * margin)
        axes.xaxis.set_major_locator(FixedLocator(decades(low / margin, high * margin, width_in)))
    else:
        margin = MARGIN * (high - low)
        axes.set_xlim(low - margin, high + margin)
        axes.xaxis.set_major_locator(MaxNLocator(4, integer=all(one == round(one) for one in along.levels)))
    axes.xaxis.set_minor_locator(FixedLocator(ninths(*axes.get_xlim())) if along.is_logarithmic else NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(FuncFormatter(_told))
    if along.labels:
        name_categories(axes.xaxis, along.labels, width_in)
    axes.tick_params(axis="x", labelsize=SIZE, length=2)
    axes.set_xlabel(along.title, fontsize=SIZE, labelpad=1)


def decades(low: float, high: float, room_in: float) -> list[float]:
    """Round numbers from ``low`` to ``high`` whose texts do not run into one another on a logarithmic axis."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    per_in = math.log10(high / low) / room_in
    for steps in SPARSER:
        found = [step * 10.0**power for power in powers for step in steps if low <= step * 10.0**power <= high]
        pairs = itertools.pairwise(found)
        if all((_half(a) + _half(b) + APART_IN) * per_in <= math.log10(b / a) for a, b in pairs):
            return found
    return found[:: max(1, len(found) // 3)]


def ninths(low: float, high: float) -> list[float]:
    """One to nine times each power of ten from ``low`` to ``high``: what shows that an axis is logarithmic."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [step * 10.0**power for power in powers for step in range(1, 10) if low <= step * 10.0**power <= high]


def _half(value: float) -> float:
    return text_width(_told(value), SIZE) / 2


def _told(value: float, _: object = None) -> str:
    return f"{value:,.6g}"


def name_categories(axis: Axis, labels: Sequence[str], room_in: float) -> None:
    """A tick for each category, named as far as the names fit beside one another."""
    each_in = room_in / len(labels) - APART_IN
    axis.set_major_locator(FixedLocator(range(len(labels))))
    axis.set_ticklabels([cut(label, each_in) for label in labels], fontsize=SIZE)


def cut(text: str, room_in: float, size: float = SIZE) -> str:
    """A text without as much of its middle as has no room; nothing where hardly anything is left."""
    cuts = (shortened(text, length) for length in range(len(text), min(len(text), 4) - 1, -1))
    return next((one for one in cuts if text_width(one, size) <= room_in), "")
