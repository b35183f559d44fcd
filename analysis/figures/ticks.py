"""Ticks for what is too short to be seen: areas stay true, and nothing that happened goes without a mark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pandas as pd
from matplotlib.axes import Axes

from groupsim.analysis.data.columns import floats
from groupsim.analysis.figures.sheet import DPI

DOT_IN: Final = 1 / DPI
"""What is narrower than this is not to be seen."""
LENGTH_IN: Final = 0.06


def too_short(stretches: pd.DataFrame, dot_s: float) -> pd.DataFrame:
    """Those stretches that last less than a dot."""
    return stretches[stretches["to_s"] - stretches["from_s"] < dot_s]


def one_a_dot(stretches: pd.DataFrame, dot_s: float, *keys: str) -> pd.DataFrame:
    """The longest stretch in each dot (and of each value of ``keys``): more ticks than dots would be a bar."""
    length = stretches["to_s"] - stretches["from_s"]
    ordered = stretches.assign(dot=(stretches["from_s"] // dot_s).astype("int64"))
    ordered = ordered.loc[length.sort_values(ascending=False, kind="stable").index]
    return ordered.drop_duplicates(["dot", *keys]).drop(columns="dot")


def below(axes: Axes, stretches: pd.DataFrame, colours: Sequence[str], height_in: float) -> None:
    """A tick under a strip ``height_in`` inches high, at the middle of each stretch."""
    middle = (floats(stretches, "from_s") + floats(stretches, "to_s")) / 2
    axes.vlines(middle, -(LENGTH_IN + 0.015) / height_in, -0.015 / height_in, colors=list(colours), linewidth=0.8,
                transform=axes.get_xaxis_transform(), clip_on=False, zorder=6)  # fmt: skip


def above_rows(axes: Axes, stretches: pd.DataFrame, colours: Sequence[str], top: float) -> None:
    """A mark pointing down at the upper edge of the row of each stretch, ``top`` below where the row begins."""
    middle = (floats(stretches, "from_s") + floats(stretches, "to_s")) / 2
    axes.scatter(middle, floats(stretches, "row") + top, c=list(colours), marker="v", s=20, linewidths=0, zorder=6)
