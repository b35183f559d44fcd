"""How long rebalances took, and how long a group stood still."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupsim.analysis.data.availability import PARTITION, S, unavailable_count
from groupsim.sim.tables import CAUSES

QUANTILES = (0.5, 0.9, 0.99)


def durations(rebalances: pd.DataFrame) -> pd.DataFrame:
    """Durations of rebalances per group, in seconds.

    Rebalances that the horizon cut count with what was seen of them; ``cut`` says how many.

    Returns
    -------
    DataFrame indexed by group with rebalances, cut, total_s, mean_s, p50_s, p90_s, p99_s, max_s
    """
    length = rebalances.assign(
        length_s=(rebalances["end_us"] - rebalances["start_us"]) / S, cut=rebalances["ended_by"] == "horizon"
    )
    groups = length.groupby("group")
    columns = {"rebalances": groups.size(), "cut": groups["cut"].sum().astype("int64")}
    columns |= {"total_s": groups["length_s"].sum(), "mean_s": groups["length_s"].mean()}
    columns |= {f"p{100 * q:g}_s": groups["length_s"].quantile(q) for q in QUANTILES}
    return pd.DataFrame(columns | {"max_s": groups["length_s"].max()})


def stopped(unavailability: pd.DataFrame, ownership: pd.DataFrame) -> pd.DataFrame:
    """The stretches in which no partition of a group with members was served, from its first service on.

    A group has members while not every partition is ``unowned``.

    Returns
    -------
    DataFrame with group, from_us, to_us, one row per stretch, in order
    """
    parts = [_stopped_of_group(str(group), unavailability, rows) for group, rows in ownership.groupby("group")]
    if not parts:
        return unavailability[["group", "from_us", "to_us"]].head(0)
    return pd.concat(parts, ignore_index=True)


def _stopped_of_group(group: str, unavailability: pd.DataFrame, ownership: pd.DataFrame) -> pd.DataFrame:
    missing = unavailability[unavailability["group"] == group]
    times, counts = unavailable_count(missing)
    begun = pd.concat([ownership, missing]).groupby(PARTITION)["from_us"].min().sort_values().to_numpy()
    existing = np.searchsorted(begun, times, side="right")
    total, unowned = counts.sum(axis=0), counts[CAUSES.index("unowned")]
    still = (total >= existing) & (unowned < total)
    first = ownership["from_us"].min()
    starts, ends = times[:-1][still[:-1]], times[1:][still[:-1]]
    joined = _joined(np.maximum(starts, first), ends)
    return joined.assign(group=pd.Series(group, index=joined.index, dtype="string"))[["group", "from_us", "to_us"]]


def _joined(starts: NDArray[np.int64], ends: NDArray[np.int64]) -> pd.DataFrame:
    """Stretches in order, those that touch joined and empty ones dropped."""
    kept = ends > starts
    starts, ends = starts[kept], ends[kept]
    fresh = np.ones(len(starts), dtype=bool)
    fresh[1:] = starts[1:] > ends[:-1]
    last = np.append(fresh[1:], True)
    return pd.DataFrame({"from_us": starts[fresh], "to_us": ends[last[: len(ends)]]})
