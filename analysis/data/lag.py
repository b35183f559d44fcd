"""Lag over time: quantiles, and how long a group needs to recover."""

from __future__ import annotations

import pandas as pd

from groupsim.analysis.data.availability import S

QUANTILES = (0.5, 0.9, 0.99)


def quantiles(lag: pd.DataFrame, q: tuple[float, ...] = QUANTILES) -> pd.DataFrame:
    """Quantiles over time of the lag in records and in seconds, per group (samples are evenly spaced).

    Returns
    -------
    DataFrame indexed by group with records_p<q>, s_p<q> for each q, records_max, s_max, records_end
    """
    groups = lag.sort_values(["group", "time_us"]).groupby("group")
    columns = {f"records_p{100 * one:g}": groups["lag_records"].quantile(one) for one in q}
    columns |= {f"s_p{100 * one:g}": groups["lag_us"].quantile(one) / S for one in q}
    columns |= {"records_max": groups["lag_records"].max(), "s_max": groups["lag_us"].max() / S}
    return pd.DataFrame(columns | {"records_end": groups["lag_records"].last()})


def recovery_s(lag: pd.DataFrame, after_us: int, threshold_records: int) -> pd.Series[float]:
    """Seconds from an instant until a group's lag is below a threshold for good, by the samples.

    Parameters
    ----------
    lag : DataFrame
    after_us : int
        The instant from which recovery counts: the end of the last fault.
    threshold_records : int

    Returns
    -------
    Series of float indexed by group
        NaN where the last sample is not below the threshold; 0 where no sample after the instant is above it.
    """
    later = lag[lag["time_us"] >= after_us].sort_values("time_us")
    return later.groupby("group")[["time_us", "lag_records"]].apply(_recovery_of_group, after_us, threshold_records)


def _recovery_of_group(samples: pd.DataFrame, after_us: int, threshold_records: int) -> float:
    high = (samples["lag_records"] >= threshold_records).to_numpy()
    if high[-1]:
        return float("nan")
    first_low = len(high) - high[::-1].argmax() if high.any() else 0
    return 0.0 if first_low == 0 else float(samples["time_us"].iloc[first_low] - after_us) / S
