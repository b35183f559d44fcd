"""Means with intervals, and several tests at once.

Intervals are Student t intervals at 95 %. A sample of one has no interval. A sample without any spread has an interval
of width zero that proves nothing: the simulation repeated itself. Both are said, not hidden.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

CONFIDENCE: Final = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean and what is known of its error.

    Parameters
    ----------
    mean : float
        NaN for an empty sample.
    half_width : float or None
        Of the 95 % interval; None where there is none (fewer than two values).
    n : int
        Values used.
    missing : int
        Null values left out.
    """

    mean: float
    half_width: float | None
    n: int
    missing: int = 0

    @property
    def low(self) -> float | None:
        """Lower end of the interval."""
        return None if self.half_width is None else self.mean - self.half_width

    @property
    def high(self) -> float | None:
        """Upper end of the interval."""
        return None if self.half_width is None else self.mean + self.half_width


@dataclass(frozen=True, slots=True)
class Moments:
    """A sample in few numbers, so that it may have been counted elsewhere.

    Parameters
    ----------
    n, missing : int
        Values, and null values left out.
    mean, deviation : float
        NaN for an empty sample; the deviation is NaN for fewer than two values.
    low, high : float
        The least and the greatest value; NaN for an empty sample.
    """

    n: int
    missing: int
    mean: float
    deviation: float
    low: float
    high: float

    @property
    def has_spread(self) -> bool:
        """Whether there are several values that differ by more than floating point makes of equal ones."""
        return self.n > 1 and self.high - self.low > 1e-12 * max(abs(self.low), abs(self.high))

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return self.deviation / math.sqrt(self.n)

    @property
    def variance(self) -> float:
        """Zero without spread."""
        return self.deviation**2 if self.has_spread else 0.0

    @property
    def estimate(self) -> Estimate:
        """Mean and 95 % t interval.

        Source: half-width = t(0.975, n - 1) * s / sqrt(n), with s the sample standard deviation.
        """
        if self.n < 2:
            return Estimate(self.mean, None, self.n, self.missing)
        if not self.has_spread:
            return Estimate(self.low, 0.0, self.n, self.missing)
        return Estimate(self.mean, half_width(self.error, self.n - 1), self.n, self.missing)


def moments(values: ArrayLike) -> Moments:
    """The moments of a sample; NaN values are left out and counted."""
    everything = np.asarray(values, dtype=np.float64)
    sample = everything[~np.isnan(everything)]
    n, missing = len(sample), len(everything) - len(sample)
    if n == 0:
        return Moments(0, missing, *[math.nan] * 4)
    deviation = float(sample.std(ddof=1)) if n > 1 else math.nan
    return Moments(n, missing, float(sample.mean()), deviation, float(sample.min()), float(sample.max()))


def estimate(values: ArrayLike) -> Estimate:
    """Mean and 95 % t interval of a sample; NaN values are left out and counted."""
    return moments(values).estimate


def has_spread(sample: NDArray[np.float64]) -> bool:
    """Whether the values of a sample without NaN differ by more than floating point makes of equal ones."""
    return moments(sample).has_spread


def half_width(error: float, degrees: float) -> float:
    """Of the 95 % interval around a mean with this standard error."""
    return t_quantile(0.5 + CONFIDENCE / 2, degrees) * error


def t_quantile(probability: float, degrees: float) -> float:
    """The quantile of Student's t distribution."""
    from scipy.special import stdtrit  # 0.1 s to import: only who needs an interval pays

    return float(stdtrit(degrees, probability))


def p_value(mean: float, error: float, degrees: float) -> float:
    """Of the two-sided t test that a mean with this standard error is that of nothing but zeros and noise."""
    from scipy.special import stdtr

    return float(2 * stdtr(degrees, -abs(mean / error)))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down adjustment for several tests at once; None (no test) stays None and counts for nothing.

    Source: S. Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scand. J. Statistics 6 (1979).
    """
    tests = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    running = 0.0
    for rank, (p, i) in enumerate(tests):
        running = max(running, min(1.0, (len(tests) - rank) * p))
        adjusted[i] = running
    return adjusted
