"""Mean, spread and tail of the durations that a scenario draws, for estimates of what a run will do."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Final

from groupsim.sim.model import Distribution

_NORMAL: Final = NormalDist()


def mean_us(distribution: Distribution) -> float:
    """Mean of a distribution, microseconds."""
    values = distribution.values
    if distribution.kind == "lognormal":
        return values[0] * math.exp(_sigma(distribution) ** 2 / 2)
    return sum(values) / len(values)


def spread_us(distribution: Distribution) -> float:
    """From early to late: the whole range, or from the median to the 99th percentile."""
    values = distribution.values
    return 3.0 * values[0] if distribution.kind == "exponential" else float(max(values) - min(values))


def beyond(distribution: Distribution, limit_us: float) -> float:
    """Probability that a draw is longer than a limit."""
    values = distribution.values
    match distribution.kind:
        case "uniform" if values[1] > values[0]:
            return min(1.0, max(0.0, (values[1] - limit_us) / (values[1] - values[0])))
        case "exponential" if values[0]:
            return math.exp(-limit_us / values[0])
        case "lognormal" if values[1] > values[0]:
            return 1 - _NORMAL.cdf(math.log(limit_us / values[0]) / _sigma(distribution))
        case _:
            return sum(value > limit_us for value in values) / len(values)


def _sigma(distribution: Distribution) -> float:
    return math.log(distribution.values[1] / distribution.values[0]) / _NORMAL.inv_cdf(0.99)
