"""A figure laid out in inches, strip below strip, so that what fits can be computed before anything is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Rectangle
from matplotlib.textpath import text_to_path

from groupsim.analysis.figures.palette import FAINT, INK

WIDTH_IN: Final = 12.0
RIGHT_IN: Final = 0.25
DPI: Final = 110

STEPS_S: Final = (
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 900, 1800, 3600,
    7200, 14_400, 21_600, 43_200, 86_400, 172_800, 604_800,
)  # fmt: skip


@lru_cache(maxsize=4096)
def text_width(text: str, size: float, weight: str = "normal") -> float:
    """Width in inches of a text set in ``size`` points."""
    if not text.strip():
        return 0.0
    width, _, _ = text_to_path.get_text_width_height_descent(text, FontProperties(size=size, weight=weight), False)
    return float(width) / 72


class Sheet:
    """Strips of a figure, from top to bottom, all ``WIDTH_IN`` wide with the same left margin.

    Parameters
    ----------
    left_in : float
        Room for labels left of each strip, inches.
    """

    def __init__(self, left_in: float) -> None:
        self.figure = Figure(figsize=(WIDTH_IN, 1), dpi=DPI, facecolor="white")
        self.left_in = left_in
        self.axes_in = WIDTH_IN - left_in - RIGHT_IN
        self._cells: list[tuple[Axes, float, float, float, float]] = []
        self._height_in = 0.12
        self._margins = self.figure.add_axes((0, 0, 1, 1), label="margins")
        self._margins.set_axis_off()

    def strip(self, height_in: float, above_in: float = 0.0) -> Axes:
        """An axes of this height below everything so far, ``above_in`` away from it."""
        return self.cells(height_in, [(self.left_in, self.axes_in)], above_in)[0]

    def cells(self, height_in: float, places: Sequence[tuple[float, float]], above_in: float = 0.0) -> list[Axes]:
        """Axes beside one another, each at (left, width) inches."""
        self._height_in += above_in + height_in
        made = [self.figure.add_axes((0, 0, 1, 1), label=f"{self._height_in} {left}") for left, _ in places]
        self._cells += [(axes, *place, self._height_in, height_in) for axes, place in zip(made, places, strict=True)]
        return made

    def text(self, text: str, size: float, above_in: float = 0.0, colour: str = INK, weight: str = "normal") -> None:
        """A line of text across the sheet, wrapped where it is too long; nothing for an empty one."""
        for number, line in enumerate(_wrapped(text, size, WIDTH_IN - 0.4, weight)):
            self.skip(size * 1.35 / 72 + (above_in if number == 0 else 0.0))
            self._margins.text(0.12, self._height_in, line, fontsize=size, color=colour, weight=weight, va="baseline")

    def skip(self, height_in: float) -> None:
        """Leave room below everything so far."""
        self._height_in += height_in

    def legend(self, heading: str, entries: Sequence[tuple[str, str, str]], above_in: float = 0.0) -> None:
        """A line of swatches: ``entries`` are (label, colour, hatch); wraps where it is too long; none for none."""
        if not entries:
            return
        indent, size, line_in = 1.45, 8.0, 0.19
        places: list[tuple[float, int]] = []
        x, line = indent, 0
        for label, _, _ in entries:
            width = 0.3 + text_width(label, size) + 0.15
            if x + width > WIDTH_IN - 0.1 and x > indent:
                x, line = indent, line + 1
            places.append((x, line))
            x += width
        top = self._height_in + above_in + 0.14
        self.skip(above_in + line_in * (line + 1))
        self._margins.text(0.12, top, heading, fontsize=size, color=FAINT)
        for (label, colour, hatch), (x, line) in zip(entries, places, strict=True):
            y = top + line * line_in
            swatch = Rectangle((x, y), 0.22, -0.11, facecolor=colour, hatch=hatch, edgecolor=FAINT, linewidth=0.5)
            self._margins.add_patch(swatch)
            self._margins.text(x + 0.29, y, label, fontsize=size, color=INK)

    def close(self) -> Figure:
        """Give the figure its height and every strip its place."""
        height = self._height_in + 0.12
        self.figure.set_size_inches(WIDTH_IN, height)
        self._margins.set_xlim(0, WIDTH_IN)
        self._margins.set_ylim(height, 0)
        for axes, left_in, width_in, bottom_in, height_in in self._cells:
            axes.set_position((left_in / WIDTH_IN, 1 - bottom_in / height, width_in / WIDTH_IN, height_in / height))
        return self.figure


def time_axis(axes: Axes, from_s: float, to_s: float, label: bool = True) -> None:
    """Ticks at round times, in the unit that fits; data coordinates are seconds."""
    span = max(to_s - from_s, 1e-6)
    step = next((one for one in STEPS_S if span / one <= 12), STEPS_S[-1] * max(1, round(span / STEPS_S[-1] / 10)))
    first = int(from_s // step) + (from_s % step > 0)
    ticks = [i * step for i in range(first, int(to_s // step) + 1)]
    axes.set_xlim(from_s, to_s)
    axes.set_xticks(ticks, [_clock(tick, step, to_s) for tick in ticks] if label else [])
    axes.tick_params(axis="x", labelsize=8.5, length=3 if label else 0)
    if label:
        axes.set_xlabel(f"time ({_unit(step, to_s)})", fontsize=8.5, labelpad=2)


def _unit(step: float, to_s: float) -> str:
    if to_s <= 300:
        return "s"
    if step < 60:
        return "min:s" if to_s < 3600 else "h:min:s"
    if to_s <= 10_800:
        return "min"
    return "h" if step >= 3600 else "h:min"


def _clock(time_s: float, step: float, to_s: float) -> str:
    decimals = next((n for n in range(3) if step >= 10**-n), 3)
    unit, whole = _unit(step, to_s), int(time_s + 0.0005)
    seconds = f"{time_s - whole // 60 * 60:0{decimals + 3 if decimals else 2}.{decimals}f}"
    match unit:
        case "s":
            return f"{time_s:.{decimals}f}"
        case "min:s":
            return f"{whole // 60}:{seconds}"
        case "h:min:s":
            return f"{whole // 3600}:{whole // 60 % 60:02d}:{seconds}"
        case "min":
            return f"{whole // 60}"
        case "h":
            return f"{whole // 3600}"
        case _:
            return f"{whole // 3600}:{whole // 60 % 60:02d}"


def bare(axes: Axes) -> None:
    """No frame, no ticks on the left."""
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_linewidth(0.6)
    axes.tick_params(axis="y", length=0)


def _wrapped(text: str, size: float, width_in: float, weight: str) -> list[str]:
    """Lines of a text; a number stays with what follows a no-break space."""
    lines: list[str] = []
    for word in text.split(" "):
        if lines and text_width(f"{lines[-1]} {word}", size, weight) <= width_in:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines
