"""How far a metric moved between two samples of the same runs, and whether other seeds would move it as far.

Runs are paired by seed and replication. They are deterministic, so a value that differs at all is a change of
behaviour. Whether the change is noise is another question: it is where the 95 % interval of the paired differences
holds zero, so that the next seeds may as well move the metric the other way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from groupsim.analysis.data.metrics import Metric, Scale, number, plus_minus, scale
from groupsim.analysis.stats.differences import paired_difference
from groupsim.analysis.stats.statistics import Estimate, estimate

ULPS: Final = 1e-12
"""Numbers that differ by no larger share are one number: machines differ in the last digit of a sum."""


@dataclass(frozen=True, slots=True)
class Drift:
    """A metric before and after.

    Parameters
    ----------
    metric : Metric
    before, after : Estimate
        Over the replications; null values are left out and counted.
    difference : Estimate
        Of after - before, over the replications that have both values.
    moved : tuple of int
        Replications whose value is another one, the one that moved farthest first.
    nulls : tuple of int
        Replications that have a value on one side alone.
    runs : int
    """

    metric: Metric
    before: Estimate
    after: Estimate
    difference: Estimate
    moved: tuple[int, ...]
    nulls: tuple[int, ...]
    runs: int

    @property
    def is_noise(self) -> bool | None:
        """Whether the difference of means may be the seeds' doing; None where that cannot be told."""
        half_width = self.difference.half_width
        if half_width is None or self.nulls:
            return None
        return abs(self.difference.mean) <= half_width

    @property
    def scale(self) -> Scale:
        """The unit in which both sides read well."""
        return scale([self.before.mean, self.after.mean], self.metric.unit)

    @property
    def share(self) -> float | None:
        """The difference as a share of what was before; None where that was 0 or null."""
        return self.difference.mean / abs(self.before.mean) if self.before.n and self.before.mean else None

    def share_text(self) -> str:
        """The share in per cent, with its sign; empty where there is none."""
        share = self.share
        return "" if not share else f"{'+' if share > 0 else ''}{number(100 * share)}%"

    def text(self, one: Estimate) -> str:
        """An estimate with its interval and unit; ``null`` where there is none."""
        if one.n == 0:
            return "null"
        measure = self.scale
        return f"{plus_minus(one.mean, one.half_width, measure)} {measure.unit}".rstrip()

    def moved_text(self, *, interval: bool = False) -> str:
        """The difference with its sign and unit; empty where no run has both values."""
        if self.difference.n == 0:
            return ""
        measure = scale([self.difference.mean], self.metric.unit)
        half_width = self.difference.half_width if interval else None
        sign = "+" if self.difference.mean > 0 else ""
        return f"{sign}{plus_minus(self.difference.mean, half_width, measure)} {measure.unit}".rstrip()

    def noise_text(self) -> str:
        """What can be said of the difference of means, in words."""
        if self.nulls:
            return "noise or not: no number says, where one side is null"
        if self.is_noise is None:
            return "noise or not: one run cannot say"
        if self.is_noise:
            return "within noise: the 95 % interval of the differences, paired by seed, holds 0"
        if self.difference.half_width == 0:
            return "beyond noise: every run moved by the same"
        return "beyond noise: the 95 % interval of the differences, paired by seed, does not hold 0"


def drift(metric: Metric, before: Sequence[float | None], after: Sequence[float | None]) -> Drift:
    """How a metric moved; element r of both samples is replication r of the same seed, None for null.

    Raises
    ------
    ValueError
        The samples are not of the same length.
    """
    first, second = _sample(before), _sample(after)
    paired = paired_difference(second, first)
    distance = np.abs(second - first)
    nulls = np.isnan(first) != np.isnan(second)
    is_other = nulls | (distance > ULPS * np.fmax(np.abs(first), np.abs(second)))
    farthest = np.argsort(-np.where(nulls, np.inf, np.nan_to_num(distance)), kind="stable")
    return Drift(
        metric=metric, before=estimate(first), after=estimate(second), difference=paired.difference,
        moved=tuple(int(r) for r in farthest if is_other[r]), nulls=tuple(np.flatnonzero(nulls).tolist()),
        runs=len(first),
    )  # fmt: skip


def _sample(values: Sequence[float | None]) -> NDArray[np.float64]:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
