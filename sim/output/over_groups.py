"""All groups of a run in figures: for each number of ``summary`` its total, quantiles over groups, and the worst."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from groupsim.sim.output.columns import of_mappings
from groupsim.sim.tables import ADD_UP, IDENTITY, OVER_GROUPS, SUMMARY, TEXT

METRICS = tuple(name for name, dtype in SUMMARY.items() if dtype != TEXT and name not in IDENTITY)
_QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
"""Linear interpolation between order statistics."""


def over_groups_rows(summary: Sequence[Mapping[str, Sequence[Any]]]) -> dict[str, list[Any]]:
    """Columns of table ``over_groups``.

    Parameters
    ----------
    summary : sequence of mapping
        Columns of ``summary`` with one row each, by name of the group; None is null.
    """
    groups = [one["group"][0] for one in summary]
    rows = [_row(metric, groups, [one[metric][0] for one in summary]) for metric in METRICS]
    return of_mappings(OVER_GROUPS, rows)


def _row(metric: str, groups: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    known = [(value, group) for value, group in zip(values, groups, strict=True) if value is not None]
    numbers = np.array([value for value, _ in known], np.float64)
    row: dict[str, Any] = {"metric": metric, "groups": len(known), "total": None, "max": None, "max_group": ""}
    if not known:
        return row | dict.fromkeys(_QUANTILES)
    worst = int(numbers.argmax())
    # Most runs have one group, and there is one row a metric: numpy would take longer than all the rest.
    found = np.quantile(numbers, [*_QUANTILES.values()]) if len(numbers) > 1 else numbers.repeat(len(_QUANTILES))
    return row | {
        "total": float(numbers.sum()) if metric in ADD_UP else None,
        **dict(zip(_QUANTILES, found.tolist(), strict=True)),
        "max": float(numbers[worst]), "max_group": known[worst][1],
    }  # fmt: skip
