"""Aggregates of runs: for each variant, group and metric how many, mean, spread, ends and quantiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from groupsim.analysis.data.columns import floats
from groupsim.analysis.data.metrics import HEADLINE, metric
from groupsim.analysis.stats.statistics import Moments, moments

if TYPE_CHECKING:
    import pandas as pd

QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)


def column_of(quantile: float) -> str:
    """The name of a quantile's column: ``q05``."""
    return f"q{round(100 * quantile):02d}"


COLUMNS: Final = (
    "variant", "group", "metric", "n", "missing", "mean", "half_width", "deviation", "min", "max",
    *map(column_of, QUANTILES),
)  # fmt: skip


def aggregates(summary: pd.DataFrame, metrics: Sequence[str] = HEADLINE) -> pd.DataFrame:
    """A row per variant, group and metric.

    Returns
    -------
    DataFrame
        variant, group, metric; ``n`` runs with a value and ``missing`` without; mean with the half-width of its 95 %
        interval, standard deviation, min and max, in the metric's unit; NaN where there is no such number. A quantile
        (``q05`` and so on) is the least value that at least that share of the runs does not exceed.

    Raises
    ------
    ResultError
        A metric is unknown.
    """
    import pandas as pd

    wanted = [metric(name).name for name in metrics]
    rows = [
        (str(variant), str(group), name, *_aggregated(floats(part, name)))
        for (variant, group), part in summary.groupby(["variant", "group"], sort=False)
        for name in wanted
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(
        {"variant": "string", "group": "string", "metric": "string"}
    )


def _aggregated(values: NDArray[np.float64]) -> tuple[float, ...]:
    one, known = moments(values), values[~np.isnan(values)]
    quantiles = np.quantile(known, QUANTILES, method="inverted_cdf") if one.n else [math.nan] * len(QUANTILES)
    return (one.n, one.missing, *described(one), *quantiles)


def described(one: Moments) -> tuple[float, ...]:
    """Mean, half-width, deviation, least and greatest value, NaN for what there is not."""
    width = one.estimate.half_width
    return (one.estimate.mean, math.nan if width is None else width, one.deviation, one.low, one.high)
