"""Many groups of a run in few rows: each metric over all of them, which are worst, and where their coordinators are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from groupsim.analysis.data.metrics import METRICS, Metric, scale
from groupsim.analysis.stats.runs import Row, by_entry
from groupsim.analysis.stats.statistics import Estimate, estimate
from groupsim.analysis.text.tables import WIDTH, Column, TextTable, data_of, estimate_text, named, names

MANY: Final = 24
"""With more groups than this, only the worst are told one by one."""
_QUANTILES_FROM: Final = 10
"""With fewer groups quantiles say less than the groups themselves."""
_WORST_BY: Final = "unavailable_partition_s"
_TITLES: Final = {"total": "total", "p50": "median", "p90": "p90", "p99": "p99", "max": "worst"}
_RANKS: Final = {"total": 1, "p50": 3, "p90": 4, "p99": 2, "max": 0}


def over_groups_table(
    over_groups: Iterable[Row], runs: Iterable[Row], metrics: Sequence[str], width: int | None = WIDTH
) -> TextTable:
    """Each metric over all groups: total, quantiles, the worst group and its name; means over runs.

    Parameters
    ----------
    over_groups, runs : iterable of mapping
        Rows of tables ``over_groups`` and ``summary`` of one variant; null is None.
    metrics : sequence of str
    width : int, optional
        Characters at hand; None: no limit.
    """
    found: dict[str, list[Row]] = {}
    for row in over_groups:
        found.setdefault(row["metric"], []).append(row)
    shown = [METRICS[name] for name in metrics if name in found]
    states = Counter(row["end_state"] for row in runs)
    count = max((row["groups"] for rows in found.values() for row in rows), default=0)
    columns = _columns([(one, found[one.name]) for one in shown], count)
    return TextTable(columns, (f"{count:,} groups; state at the end: {_counted(states)}",), width)


def _columns(shown: Sequence[tuple[Metric, Sequence[Row]]], groups: int) -> tuple[Column, ...]:
    scales = [scale([_value(row, "max") for row in rows], one.unit) for one, rows in shown]
    columns = [
        named("metric", [one.label for one, _ in shown], "metric", [one.name for one, _ in shown]),
        named("unit", [measure.unit for measure in scales], "unit", [one.unit for one, _ in shown]),
    ]
    for name, title in _TITLES.items():
        if groups < _QUANTILES_FROM and name.startswith("p"):
            continue
        cells = [_estimate(rows, name) for _, rows in shown]
        texts = tuple(estimate_text(cell, measure) for cell, measure in zip(cells, scales, strict=True))
        columns.append(Column(title, texts, data_of(name, cells), _RANKS[name]))
    columns.append(names("of group", [_worst_of(rows) for _, rows in shown], "max_group", 1))
    return tuple(columns)


def _value(row: Row, name: str) -> float:
    return np.nan if row[name] is None else row[name]


def _estimate(rows: Sequence[Row], name: str) -> Estimate:
    return estimate(np.array([_value(row, name) for row in rows], np.float64))


def _worst_of(rows: Sequence[Row]) -> str:
    """Which group is worst; none where all have nothing, and where it is another one in another run."""
    found = {row["max_group"] if row["max"] else "" for row in rows}
    return next(iter(found)) if len(found) == 1 else "differs"


def worst(runs: Sequence[Row], most: int = MANY) -> list[Row]:
    """The rows of the groups that were unread longest, worst first; of all groups, as they come, if they are few."""
    entries = by_entry(runs)
    if len(entries) <= most:
        return list(runs)
    ranked = sorted(entries.items(), key=lambda item: (-sum(row[_WORST_BY] for row in item[1]), item[0]))
    return [row for _, rows in ranked[:most] for row in rows]


def placement_line(placement: Sequence[Row], coordinators: Sequence[Row]) -> str:
    """Over how many offsets partitions and brokers the groups of a run are spread, and how unevenly.

    Parameters
    ----------
    placement, coordinators : sequence of mapping
        Rows of the tables of these names.
    """
    shards = [row["groups"] for row in coordinators]
    told = f"coordinators: {sum(shards):,} groups in {_spread(shards, 'offsets partition')}"
    first = [row["groups_first"] for row in placement if row["node"] >= 0]
    last = [row["groups"] for row in placement if row["node"] >= 0]
    moved = f", at the end {_range(last)}" if last != first else ""
    return f"{told}; on {_spread(first, 'broker')}{moved}"


def _spread(counts: Sequence[int], noun: str) -> str:
    return f"{len(counts):,} {noun}{'s' if len(counts) != 1 else ''}, {_range(counts)} each"


def _range(counts: Sequence[int]) -> str:
    return f"{min(counts):,}" if min(counts) == max(counts) else f"{min(counts):,} to {max(counts):,}"


def first_told(sentences: Sequence[str], noun: str, most: int = MANY) -> list[str]:
    """The first of some sentences, and how many there are more."""
    more = len(sentences) - most
    return [*sentences[:most], f"and {more:,} {noun} more"] if more > 0 else list(sentences)


def _counted(states: Mapping[Any, int]) -> str:
    if len(states) == 1:
        return str(next(iter(states)))
    return ", ".join(f"{state} {count:,}" for state, count in sorted(states.items(), key=lambda one: (-one[1], one[0])))
