"""Two samples against each other: the difference of their means as pairs, or as samples with nothing in common."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from groupsim.analysis.stats.statistics import Estimate, Moments, half_width, moments, p_value


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
        Over the values used; over its own where no pair has both.
    a_lower, a_higher : float
        Share of pairs in which A is lower, and in which it is higher; the rest are equal. Of independent samples every
        value of A makes a pair with every value of B.
    p_value : float or None
        Of the two-sided t test, paired or Welch's; None without spread or with too few values.
    paired : bool
        Whether the samples are pairs.
    variance_reduction : float or None
        By which share pairing has reduced the variance of A - B: 1 - Var(A - B) / (Var A + Var B). Negative where
        pairing has raised it; None for independent samples and without spread.
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
    lower, higher = int((difference < 0).sum()), int((difference > 0).sum())
    if not used.any():
        used = ~used  # each has its own mean
    return difference_of_pairs(moments(difference), moments(first[used]), moments(second[used]), lower, higher)


def difference_of_pairs(difference: Moments, a: Moments, b: Moments, lower: int, higher: int) -> Difference:
    """What pairs say, of which the moments are known.

    Parameters
    ----------
    difference : Moments
        Of A - B over the pairs.
    a, b : Moments
        Over the same pairs, or where there is none each over its own values.
    lower, higher : int
        Pairs in which A is lower, and in which it is higher.
    """
    n = difference.n
    return Difference(
        difference=difference.estimate,
        sizes=(n, n),
        mean_a=a.mean,
        mean_b=b.mean,
        a_lower=lower / n if n else math.nan,
        a_higher=higher / n if n else math.nan,
        p_value=p_value(difference.mean, difference.error, n - 1) if difference.has_spread else None,
        variance_reduction=_reduction(a.variance, b.variance, difference.variance),
    )


def _reduction(variance_a: float, variance_b: float, of_difference: float) -> float | None:
    independent = variance_a + variance_b
    return 1 - of_difference / independent if independent > 0 else None


def independent_difference(a: ArrayLike, b: ArrayLike) -> Difference:
    """A - B of two samples that have nothing in common, by Welch's t test, which lets their variances differ.

    Source: B. L. Welch, "The generalization of 'Student's' problem", Biometrika 34 (1947).
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    x, y = moments(first), moments(second)
    width, p = (0.0 if min(x.n, y.n) > 1 else None), None
    if width is not None and (x.has_spread or y.has_spread):
        error, degrees = _welch(x, y)
        width, p = half_width(error, degrees), p_value(x.mean - y.mean, error, degrees)
    lower, higher = _shares(first[~np.isnan(first)], second[~np.isnan(second)])
    difference = Estimate(x.mean - y.mean, width, x.n + y.n, x.missing + y.missing)
    return Difference(difference, (x.n, y.n), x.mean, y.mean, lower, higher, p, paired=False)


def _welch(x: Moments, y: Moments) -> tuple[float, float]:
    """Standard error of the difference of two means, and its degrees of freedom."""
    u, v = x.variance / x.n, y.variance / y.n
    return math.sqrt(u + v), (u + v) ** 2 / (u**2 / (x.n - 1) + v**2 / (y.n - 1))


def _shares(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float]:
    """Of all pairs of a value of ``x`` and one of ``y``: the share in which ``x`` is lower, and in which it is higher.

    Memory grows with the number of values, not of pairs.
    """
    pairs, ordered = len(x) * len(y), np.sort(y)
    if not pairs:
        return math.nan, math.nan
    higher = int(np.searchsorted(ordered, x, side="left").sum())
    not_lower = int(np.searchsorted(ordered, x, side="right").sum())
    return (pairs - not_lower) / pairs, higher / pairs
