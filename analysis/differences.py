"""Two samples against each other: the difference of their means as pairs, or as samples with nothing in common."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis import statistics
from analysis.statistics import Estimate, estimate, half_width, has_spread


@dataclass(frozen=True, slots=True)
class Difference:
    """What two samples say about A minus B.

    Parameters
    ----------
    difference : Estimate
        Of A - B: over ``n`` pairs, or of the two means where the samples are independent, ``n`` values in all.
        ``missing`` pairs (or values) were left out because a value was null.
    sizes : (int, int)
        Values of A and of B that were used.
    mean_a, mean_b : float
        Over the values used.
    a_lower, a_higher : float
        Share of pairs in which A is lower, and in which it is higher; the rest are equal. Of independent samples every
        value of A makes a pair with every value of B.
    p_value : float or None
        Of the two-sided t test, paired or Welch's; None without spread or with too few values.
    paired : bool
        Whether the samples are pairs.
    variance_reduction : float or None
        By which share pairing has reduced the variance of A - B: 1 - Var(A - B) / (Var A + Var B). Negative where
        pairing has raised it; None for independent samples, without spread, and with fewer than two pairs.
    """

    difference: Estimate
    sizes: tuple[int, int]
    mean_a: float
    mean_b: float
    a_lower: float
    a_higher: float
    p_value: float | None
    paired: bool = True
    variance_reduction: float | None = None


def paired_difference(a: ArrayLike, b: ArrayLike) -> Difference:
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
    x, y, known = first[used], second[used], difference[used]
    return Difference(
        difference=estimate(difference),
        sizes=(len(known), len(known)),
        mean_a=_mean(x),
        mean_b=_mean(y),
        a_lower=_mean(known < 0),
        a_higher=_mean(known > 0),
        p_value=statistics.p_value(known.mean(), _error(known), len(known) - 1) if _is_varied(known) else None,
        variance_reduction=variance_reduction(_variance(x), _variance(y), _variance(known)) if len(x) > 1 else None,
    )


def independent_difference(a: ArrayLike, b: ArrayLike) -> Difference:
    """A - B of two samples that have nothing in common, by Welch's t test, which lets their variances differ.

    Source: B. L. Welch, "The generalization of 'Student's' problem", Biometrika 34 (1947).
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    x, y = first[~np.isnan(first)], second[~np.isnan(second)]
    missing, n = len(first) + len(second) - len(x) - len(y), len(x) + len(y)
    mean = _mean(x) - _mean(y)
    width, p_value = (0.0 if min(len(x), len(y)) > 1 else None), None
    if width is not None and (_is_varied(x) or _is_varied(y)):
        error, degrees = _welch(x, y)
        width, p_value = half_width(error, degrees), statistics.p_value(mean, error, degrees)
    lower, higher = _shares(x, y)
    difference = Estimate(mean, width, n, missing)
    return Difference(difference, (len(x), len(y)), _mean(x), _mean(y), lower, higher, p_value, paired=False)


def variance_reduction(variance_a: float, variance_b: float, of_difference: float) -> float | None:
    """1 - Var(A - B) / (Var A + Var B); None where neither varies."""
    independent = variance_a + variance_b
    return 1 - of_difference / independent if independent > 0 else None


def _error(sample: NDArray[np.float64]) -> float:
    """Of the mean of a sample of at least two values."""
    return float(sample.std(ddof=1)) / math.sqrt(len(sample))


def _welch(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float]:
    """Standard error of the difference of two means, and its degrees of freedom."""
    u, v = _error(x) ** 2, _error(y) ** 2
    return math.sqrt(u + v), (u + v) ** 2 / (u**2 / (len(x) - 1) + v**2 / (len(y) - 1))


def _shares(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float]:
    """Of all pairs of a value of ``x`` and one of ``y``: the share in which ``x`` is lower, and in which it is higher.

    Memory grows with the number of values, not of pairs.
    """
    pairs, ordered = len(x) * len(y), np.sort(y)
    if not pairs:
        return float("nan"), float("nan")
    higher = int(np.searchsorted(ordered, x, side="left").sum())
    not_lower = int(np.searchsorted(ordered, x, side="right").sum())
    return (pairs - not_lower) / pairs, higher / pairs


def _is_varied(sample: NDArray[np.float64]) -> bool:
    return len(sample) > 1 and has_spread(sample)


def _mean(sample: NDArray[Any]) -> float:
    return float(sample.mean()) if len(sample) else float("nan")


def _variance(sample: NDArray[np.float64]) -> float:
    return float(sample.var(ddof=1)) if _is_varied(sample) else 0.0
