"""How long partitions went unread: gaps, totals per partition, and how many at a time."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupsim.sim.tables import CAUSES

S = 1e6
PARTITION = ["group", "topic", "partition"]


def gaps(unavailability: pd.DataFrame) -> pd.DataFrame:
    """One row per gap: rows of a partition that touch, whatever their causes, are one.

    Returns
    -------
    DataFrame with group, topic, partition, from_us, to_us, one row per gap, in order
    """
    rows = unavailability.sort_values([*PARTITION, "from_us"], kind="stable", ignore_index=True)
    ends = rows.groupby(PARTITION, sort=False)["to_us"].cummax()
    fresh = (rows.groupby(PARTITION, sort=False).cumcount() == 0) | (rows["from_us"] > ends.shift(fill_value=0))
    merged = rows.assign(to_us=ends).groupby(fresh.cumsum())
    return pd.DataFrame(
        {column: merged[column].first() for column in [*PARTITION, "from_us"]} | {"to_us": merged["to_us"].last()}
    ).reset_index(drop=True)


def per_partition(unavailability: pd.DataFrame, partitions: pd.DataFrame) -> pd.DataFrame:
    """Unread time of each partition in seconds, in all, per cause, and its longest gap.

    Parameters
    ----------
    unavailability : DataFrame
    partitions : DataFrame with group, topic, partition
        The partitions that exist (``ownership`` will do): one that was never unread counts with 0.

    Returns
    -------
    DataFrame with group, topic, partition, gaps, unavailable_s, gap_s_max, and <cause>_s for each cause
    """
    everyone = pd.concat([partitions[PARTITION], unavailability[PARTITION]]).drop_duplicates().sort_values(PARTITION)
    single = gaps(unavailability)
    single["gap_s"] = (single["to_us"] - single["from_us"]) / S
    totals = single.groupby(PARTITION)["gap_s"].agg(gaps="count", unavailable_s="sum", gap_s_max="max")
    length = unavailability.assign(length_s=(unavailability["to_us"] - unavailability["from_us"]) / S)
    parts = length.pivot_table(index=PARTITION, columns="cause", values="length_s", aggfunc="sum")
    parts = parts.reindex(columns=list(CAUSES)).add_suffix("_s")
    table = everyone.set_index(PARTITION).join([totals, parts]).fillna(0.0)
    return table.astype({"gaps": "int64"}).reset_index()


def quantiles(unavailability: pd.DataFrame, partitions: pd.DataFrame, q: tuple[float, ...]) -> pd.DataFrame:
    """Quantiles over partitions of the unread time per group, in seconds (linear interpolation)."""
    table = per_partition(unavailability, partitions).groupby("group")["unavailable_s"]
    return pd.DataFrame({f"p{100 * one:g}": table.quantile(one) for one in q})


def unavailable_count(unavailability: pd.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many partitions are unread from each instant on, by cause.

    Returns
    -------
    times_us : ndarray of int64, shape (n,), ascending
    counts : ndarray of int64, shape (len(CAUSES), n)
        ``counts[c, i]`` partitions are unread for ``CAUSES[c]`` from ``times_us[i]`` to ``times_us[i + 1]``; the last
        column is zero.
    """
    edges = np.concatenate([unavailability["from_us"], unavailability["to_us"]]).astype(np.int64)
    cause = pd.Categorical(unavailability["cause"], categories=list(CAUSES)).codes.astype(np.int64)
    times, position = np.unique(edges, return_inverse=True)
    change = np.zeros((len(CAUSES), len(times)), dtype=np.int64)
    n = len(unavailability)
    np.add.at(change, (cause, position[:n]), 1)
    np.add.at(change, (cause, position[n:]), -1)
    return times, change.cumsum(axis=1)
