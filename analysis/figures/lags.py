"""Lag over time, in records and in seconds, with the events that made it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from groupsim.analysis.data.availability import S
from groupsim.analysis.data.load import Source, measure_of, table
from groupsim.analysis.data.metrics import RECORDS, SECONDS, scale
from groupsim.analysis.figures import marks, palette
from groupsim.analysis.figures.sheet import Sheet, bare, time_axis

NAMED: Final = len(palette.SERIES)
"""More groups than colours: those with the highest peaks are named, the others are grey."""


def lag(source: Source) -> Figure:
    """Lag of every group over the whole run: records above, age of the oldest unprocessed record below.

    Raises
    ------
    MissingTable, SchemaMismatch
        The tables summary, lag and events are needed.
    """
    summary, samples, events = table(source, "summary"), table(source, "lag"), table(source, "events")
    window = (0.0, max(float(summary["horizon_s"].max()), 1e-6) if len(summary) else 1.0)
    peaks = _peaks(summary, samples)
    groups = [str(group) for group in peaks.index]
    late = max(int((peaks > 0).any(axis=1).sum()), 1) if len(groups) > NAMED else NAMED
    named = {group: palette.SERIES[i] for i, group in enumerate(groups[: min(NAMED, late)])}
    sheet = Sheet(left_in=0.95)
    only = groups[0] if len(groups) == 1 else ""
    sheet.text(f"Lag of {only or f'{len(groups)} groups'}", 12, weight="bold")
    sheet.text("records not yet processed, over all partitions, and the age of the oldest of them", 9, above_in=0.04)
    shown = events.assign(time_s=events["time_us"] / S)
    some = marks.marks(shown, only, *window, sheet.axes_in)
    labels = sheet.strip(marks.height(some), above_in=0.08)
    records, age = sheet.strip(2.2), sheet.strip(2.2, above_in=0.25)
    counted = _counted(samples, measure_of(source))
    _curves(records, samples, counted, "lag_records", 1.0, named, RECORDS)
    _curves(age, samples, counted, "lag_us", 1 / S, named, SECONDS)
    time_axis(records, *window, label=False)
    time_axis(age, *window)
    labels.set_xlim(window)
    marks.draw(labels, some, [records, age], marks.height(some))
    sheet.skip(0.4)
    if len(groups) > 1:
        sheet.legend("group", [(group, colour, "") for group, colour in named.items()])
    more = len(groups) - len(named)
    rest = f"{more} more groups, of no higher peak, in grey" if more else ""
    cut = "above the axis: outside measure, not counted" if _is_cut(samples, counted) else ""
    told = (_sampled(samples, window[1]), rest, cut, marks.unlabelled(some))
    sheet.text(" · ".join(note for note in told if note), 7.5, 0.06, palette.FAINT)
    return sheet.close()


def _peaks(summary: pd.DataFrame, samples: pd.DataFrame) -> pd.DataFrame:
    """Of each group, the worst first, the exact peaks in the window that counts: samples may miss them."""
    peaks = summary.groupby("group")[["lag_records_max", "lag_s_max"]].max().fillna(0.0)
    peaks = peaks.reindex(sorted(samples["group"].unique()), fill_value=0.0)
    return peaks.sort_values([*peaks.columns], ascending=False, kind="stable")


def _sampled(samples: pd.DataFrame, end_s: float) -> str:
    """What the curves are made of, and where they end."""
    times = np.unique(samples["time_us"].to_numpy())
    if len(times) < 2:
        return ""
    every, left = int(np.diff(times).min()) / S, end_s - int(times[-1]) / S
    last = f", the last {left:g} s before the end" if left > 0 else ""
    return f"a sample every {every:g} s{last}; peaks in the table summary are exact"


def _counted(samples: pd.DataFrame, window: Mapping[str, float]) -> pd.DataFrame:
    """The samples of the window in which metrics count; all of them if it has none."""
    time_s = samples["time_us"] / S
    found = samples[(time_s >= window.get("from", 0.0)) & (time_s <= window.get("to", np.inf))]
    return found if len(found) else samples


def _is_cut(samples: pd.DataFrame, counted: pd.DataFrame) -> bool:
    columns = ["lag_records", "lag_us"]
    return bool((samples[columns].max() > counted[columns].max()).any())


def _curves(
    axes: Axes, samples: pd.DataFrame, counted: pd.DataFrame, column: str, factor: float, named: dict[str, str],
    unit: str,
) -> None:  # fmt: skip
    """Lines of all groups; the axis is as high as those of ``counted``."""
    measure = scale(counted[column] * factor, unit)
    for group, rows in samples.groupby("group"):
        colour = named.get(str(group), "#c8c8c8")
        values = rows[column] * factor * measure.factor
        axes.plot(rows["time_us"] / S, values, color=colour, linewidth=1.3, zorder=3 if str(group) in named else 2)
    bare(axes)
    axes.grid(axis="y", color="#e4e4e4", linewidth=0.6)
    highest = float(counted[column].max()) * factor * measure.factor if len(counted) else 0.0
    axes.set_ylim(0, 1.05 * highest if highest > 0 else 1.0)
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axes.tick_params(axis="y", labelsize=8.5)
    axes.set_ylabel(f"{'lag' if unit == RECORDS else 'age'} ({measure.unit})", fontsize=8.5)
