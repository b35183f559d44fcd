"""The summary of runs as a table: each variant and group with means and intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from groupsim.analysis.data.columns import records
from groupsim.analysis.data.design import Design
from groupsim.analysis.data.labels import Labels, labels
from groupsim.analysis.data.metrics import HEADLINE, METRICS, Metric, Scale, metric, scale
from groupsim.analysis.stats.runs import Row, by_entry, estimates_of
from groupsim.analysis.stats.statistics import Estimate
from groupsim.analysis.text.tables import (
    WIDTH,
    Column,
    TextTable,
    data_of,
    estimate_text,
    label_columns,
    named,
    names,
    width_of,
)
from groupsim.analysis.text.unserved import end_states

if TYPE_CHECKING:
    import pandas as pd

Entries: TypeAlias = Mapping[tuple[str, str], Sequence[Estimate]]
"""Estimates of each metric by variant and group."""


def summary_table(summary: pd.DataFrame, metrics: Sequence[str] | None = None, width: int | None = WIDTH) -> TextTable:
    """Each variant and group: the mean of every metric over replications, with its 95 % interval.

    Metrics stand below one another as long as the variants fit beside one another; otherwise the variants do, with as
    many metrics as fit.

    Parameters
    ----------
    summary : DataFrame
    metrics : sequence of str, optional
        By default all metrics, the headline ones first.
    width : int, optional
        Characters at hand; None: no limit.
    """
    from groupsim.analysis.data.schema import conform  # brings pandas, which plain rows do without

    return runs_table(records(conform(summary, "summary")), metrics, width)


def runs_table(runs: Iterable[Row], metrics: Sequence[str] | None = None, width: int | None = WIDTH) -> TextTable:
    """The table of ``summary_table`` from rows of ``summary`` as plain data."""
    chosen, entries = metrics_shown() if metrics is None else metrics, by_entry(runs)
    table = entries_table({key: estimates_of(rows, chosen) for key, rows in entries.items()}, chosen, width)
    ends = {title: end_states(entries[key]) for key, title in _titles(list(entries)).items()}
    told = [f"{title} {state}" for title, state in ends.items() if state != "Stable"]
    return replace(table, notes=(*table.notes, f"state at the end: {'; '.join(told)}")) if told else table


def metrics_shown() -> list[str]:
    """All metrics, the headline ones first."""
    return [*HEADLINE, *(name for name in METRICS if name not in HEADLINE)]


def entries_table(
    entries: Entries, metrics: Sequence[str], width: int | None = WIDTH, design: Design | None = None
) -> TextTable:
    """The table of ``summary_table`` from the estimates of each of ``metrics``.

    Where a design says what the variants are, their rows have a column for each thing that tells them apart.
    """
    wanted = [metric(name) for name in metrics]
    scales = [scale([cells[i].mean for cells in entries.values()], one.unit) for i, one in enumerate(wanted)]
    columns = _metrics_down(wanted, entries, scales)
    notes = _notes(wanted, entries)
    if width is not None and width_of(columns) > width:
        apart = labels((variant for variant, _ in entries), design)
        columns = _entries_down(wanted, entries, scales, apart)
        notes = (*notes, apart.note) if apart.note else notes
    return TextTable(columns, notes, width)


def _metrics_down(wanted: Sequence[Metric], estimates: Entries, scales: Sequence[Scale]) -> tuple[Column, ...]:
    titles = _titles(list(estimates))
    labels = tuple(one.label for one in wanted)
    columns = [
        named("metric", labels, "metric", [one.name for one in wanted]),
        named("unit", [measure.unit for measure in scales], "unit", [one.unit for one in wanted]),
    ]
    for key, title in titles.items():
        texts = tuple(estimate_text(one, measure) for one, measure in zip(estimates[key], scales, strict=True))
        columns.append(Column(title, texts, data_of(title, estimates[key])))
    return tuple(columns)


def _entries_down(
    wanted: Sequence[Metric], estimates: Entries, scales: Sequence[Scale], apart: Labels
) -> tuple[Column, ...]:
    groups, variants = {group for _, group in estimates}, [variant for variant, _ in estimates]
    columns = [names("group", [group for _, group in estimates], "group", rank=0 if len(groups) > 1 else 99)]
    if any(variants):
        columns = [*label_columns(apart, variants), *columns]
    for i, (one, measure) in enumerate(zip(wanted, scales, strict=True)):
        cells = [some[i] for some in estimates.values()]
        header = f"{one.short} [{measure.unit}]" if measure.unit not in ("", "records") else one.short
        texts = tuple(estimate_text(cell, measure) for cell in cells)
        columns.append(Column(header, texts, data_of(one.name, cells), rank=i + 1))
    return tuple(columns)


def _titles(keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """What tells entries apart: the variant, the group, or both."""
    variants, groups = {variant for variant, _ in keys}, {group for _, group in keys}
    if len(variants) == 1:
        return {(variant, group): group for variant, group in keys}
    return {(variant, group): variant if len(groups) == 1 else f"{variant}, {group}" for variant, group in keys}


def _notes(wanted: Sequence[Metric], estimates: Entries) -> tuple[str, ...]:
    sizes = {one.n + one.missing for some in estimates.values() for one in some}
    if not sizes:
        return ("no runs",)
    runs = f"{min(sizes)} to {max(sizes)}" if len(sizes) > 1 else f"{max(sizes)}"
    notes = [f"{runs} runs each, ± is the 95 % interval; none where all runs agree" if max(sizes) > 1 else "one run"]
    columns = zip(wanted, zip(*estimates.values(), strict=True), strict=True)
    partly = [one.label for one, cells in columns if any(cell.missing and cell.n for cell in cells)]
    return (*notes, f"some runs have no value and are left out: {', '.join(partly)}") if partly else tuple(notes)
