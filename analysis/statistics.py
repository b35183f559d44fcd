"""Means with intervals, paired differences, and what can be concluded from them.

Intervals are Student t intervals at 95 %. A sample of one has no interval. A sample without any spread has an interval
of width zero that proves nothing: the simulation repeated itself. Both are said, not hidden.
"""

from __future__ import annotations

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


def estimate(values: ArrayLike) -> Estimate:
    """Mean and 95 % t interval of a sample; NaN values are left out and counted.

    Source: half-width = t(0.975, n - 1) * s / sqrt(n), with s the sample standard deviation.
    """
    everything = np.asarray(values, dtype=np.float64)
    sample = everything[~np.isnan(everything)]
    n, missing = len(sample), len(everything) - len(sample)
    if n == 0:
        return Estimate(float("nan"), None, 0, missing)
    if n == 1:
        return Estimate(float(sample[0]), None, 1, missing)
    if not has_spread(sample):
        return Estimate(float(sample[0]), 0.0, n, missing)
    error = float(sample.std(ddof=1)) / n**0.5
    return Estimate(float(sample.mean()), t_quantile(0.5 + CONFIDENCE / 2, n - 1) * error, n, missing)


def has_spread(sample: NDArray[np.float64]) -> bool:
    """Whether the values differ by more than floating point makes of equal ones."""
    return bool(np.ptp(sample) > 1e-12 * np.abs(sample).max())


def t_quantile(probability: float, degrees: int) -> float:
    """The quantile of Student's t distribution."""
    from scipy.special import stdtrit  # 0.1 s to import: only who needs an interval pays

    return float(stdtrit(degrees, probability))


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """What pairs of runs say about A minus B.

    Parameters
    ----------
    difference : Estimate
        Of A - B over the pairs; ``n`` pairs, ``missing`` pairs left out because one value was null.
    mean_a, mean_b : float
        Over the pairs used.
    a_lower, a_higher : float
        Share of pairs in which A is lower, and in which it is higher; the rest are equal.
    p_value : float or None
        Of the two-sided paired t test; None without spread among the differences or with fewer than two pairs.
    """

    difference: Estimate
    mean_a: float
    mean_b: float
    a_lower: float
    a_higher: float
    p_value: float | None


def paired_difference(a: ArrayLike, b: ArrayLike) -> PairedDifference:
    """A - B where ``a[i]`` and ``b[i]`` are the same run under two variants.

    Raises
    ------
    ValueError
        The samples are not of the same length.
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.shape != second.shape:
        raise ValueError(f"not pairs: {len(first)} values against {len(second)}")
    difference = first - second
    used = ~np.isnan(difference)
    known, n = difference[used], int(used.sum())
    return PairedDifference(
        difference=estimate(difference),
        mean_a=float(first[used].mean()) if n else float("nan"),
        mean_b=float(second[used].mean()) if n else float("nan"),
        a_lower=float((known < 0).mean()) if n else float("nan"),
        a_higher=float((known > 0).mean()) if n else float("nan"),
        p_value=_p_value(known),
    )


def _p_value(difference: NDArray[np.float64]) -> float | None:
    n = len(difference)
    if n < 2 or not has_spread(difference):
        return None
    from scipy.special import stdtr

    t = difference.mean() / (difference.std(ddof=1) / n**0.5)
    return float(2 * stdtr(n - 1, -abs(t)))


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
