"""How a metric responds to a parameter: its mean at each value, or in bins where the values are a sample from a range.

Interval and mean are over replications where values are named: replication r of every variant saw the same faults, so
its mean over the variants at one value is one observation. In bins they are over the points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupsim.analysis.data.columns import floats, names
from groupsim.analysis.data.design import Design
from groupsim.analysis.data.parameters import Parameter
from groupsim.analysis.stats.statistics import Estimate, estimate

FEW: Final = 8
"""The only other parameter has a line per value as long as it has no more."""
BINS: Final = 8
PER_BIN: Final = 5
"""Points that a bin should have at least."""


@dataclass(frozen=True, slots=True)
class Response:
    """What is known at some places of an axis.

    Parameters
    ----------
    positions : ndarray of float, shape (n,)
    means : tuple of Estimate
    """

    positions: NDArray[np.float64]
    means: tuple[Estimate, ...]


def told_apart_by(
    summary: pd.DataFrame, design: Design, varied: Sequence[Parameter], along: Parameter
) -> Parameter | None:
    """The only other parameter of a grid without bundles, if it has so few values that each can have a line."""
    others = [one for one in varied if one is not along]
    if design.kind != "grid" or len(others) != 1 or len(others[0].levels) > FEW:
        return None
    return others[0] if len(design.bundles(names(summary["variant"]))) < 2 else None


def lines(summary: pd.DataFrame, design: Design, other: Parameter | None) -> dict[str, pd.DataFrame]:
    """The runs behind each line of a figure, by the line's name: a value of ``other``, or a bundle of variants.

    In several groups each has lines of its own.
    """
    if other is None:
        return by_bundle(summary, design)
    variants = sorted(names(summary["variant"]), key=other.positions.__getitem__)
    return _parts(summary, {one: other.told(other.positions[one]) for one in variants})


def by_bundle(summary: pd.DataFrame, design: Design, others: Sequence[Parameter] = ()) -> dict[str, pd.DataFrame]:
    """The runs of each bundle, each combination of values of ``others``, and each group, by name."""

    def told(along: Parameter, at: float) -> str:
        return along.told(at) if along.labels else f"{along.name}={along.told(at)}"

    titles = {
        one: ", ".join(filter(None, (design.places[one].bundle, *(told(p, p.positions[one]) for p in others))))
        for one in names(summary["variant"])
    }
    return _parts(summary, titles)


def _parts(summary: pd.DataFrame, label: Mapping[str, str]) -> dict[str, pd.DataFrame]:
    """The runs by the label of their variant, and by group where there are several."""
    groups = names(summary["group"])
    labels = summary["variant"].map(label)
    found: dict[str, pd.DataFrame] = {}
    for one in dict.fromkeys(label.values()):
        for group in groups:
            name = ", ".join(filter(None, (one, group if len(groups) > 1 else "")))
            found[name] = summary[(labels == one) & (summary["group"] == group)]
    return {name: rows for name, rows in found.items() if len(rows)}


def at_values(rows: pd.DataFrame, column: str, along: Parameter) -> Response:
    """The mean at each value of a parameter, over what else varies."""
    keys = [rows["variant"].map(along.positions).to_numpy(), rows["replication"].to_numpy()]
    observed = pd.Series(floats(rows, column)).groupby(keys).mean()
    at = observed.index.get_level_values(0)
    positions = np.unique(at)
    return Response(positions, tuple(estimate(observed.to_numpy()[at == one]) for one in positions))


def points(rows: pd.DataFrame, column: str, along: Parameter) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Position of each variant, and its mean over replications; without those that have no value."""
    means = pd.Series(floats(rows, column)).groupby(rows["variant"].to_numpy(), sort=False).mean().dropna()
    return np.array([along.positions[str(one)] for one in means.index]), np.asarray(means, dtype=np.float64)


def in_bins(positions: NDArray[np.float64], values: NDArray[np.float64]) -> Response:
    """Means over bins that hold equally many points, at the mean position of each."""
    order = np.argsort(positions, kind="stable")
    count = max(1, min(BINS, len(order) // PER_BIN))
    bins = [part for part in np.array_split(order, count) if len(part)]
    return Response(np.array([positions[part].mean() for part in bins]), tuple(estimate(values[part]) for part in bins))
