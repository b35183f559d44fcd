"""Figures in words: medians with their ranges."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Final

COUNTS: Final = ("rounds", "read twice", "rebalances", "epochs", "targets", "classic rounds")


def spread(figure: str, values: Sequence[float]) -> str:
    """``median [least, most]``, or one number where all are the same."""
    middle, low, high = (_told(figure, one) for one in (median(values), min(values), max(values)))
    return middle if low == high else f"{middle} [{low}, {high}]"


def _told(figure: str, value: float) -> str:
    return f"{value:,.0f}" if figure in COUNTS else f"{value:.2f}"
