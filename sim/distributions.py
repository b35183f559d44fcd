"""Durations that are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Distribution:
    """A duration that is drawn: a kind and its parameters, all in microseconds.

    Parameters
    ----------
    kind : {"constant", "uniform", "exponential", "lognormal", "empirical"}
    values : tuple of int, microseconds
        constant: (value,); uniform: (low, high); exponential: (mean,); lognormal: (median, p99);
        empirical: the observed values, each equally likely.
    """

    kind: Literal["constant", "uniform", "exponential", "lognormal", "empirical"]
    values: tuple[int, ...]

    @staticmethod
    def constant(value_us: int) -> Distribution:
        """The same duration every time."""
        return Distribution("constant", (value_us,))


ZERO = Distribution.constant(0)
