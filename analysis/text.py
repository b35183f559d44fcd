"""Results as plain rows of text that fit a terminal, as Markdown, and as CSV with the numbers behind them."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.columns import floats
from analysis.compare import Comparison
from analysis.load import conform
from analysis.metrics import HEADLINE, METRICS, Metric, Scale, metric, number, plus_minus, scale
from analysis.statistics import Estimate, estimate

WIDTH = 80


@dataclass(frozen=True, slots=True)
class Column:
    """One column as text, and the data behind it.

    Parameters
    ----------
    header : str
    texts : tuple of str, one per row
    data : mapping of name to values, one per row
        Base units, full precision; what CSV and JSON show.
    rank : int
        What does not fit is left out from the highest rank down; rank 0 always stays.
    right : bool
        Numbers are aligned to the right.
    """

    header: str
    texts: tuple[str, ...]
    data: Mapping[str, tuple[object, ...]]
    rank: int = 0
    right: bool = True

    @property
    def width(self) -> int:
        """Characters needed, with a rule and a space on either side."""
        return max(map(len, (self.header, *self.texts))) + 3


@dataclass(frozen=True, slots=True)
class TextTable:
    """Columns, of which text shows those that fit ``width`` and data shows all, and notes that belong below."""

    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()
    width: int | None = None

    @property
    def shown(self) -> tuple[Column, ...]:
        """The columns that fit, those of the highest rank left out first."""
        kept = list(self.columns)
        while self.width is not None and _width(kept) > self.width and any(column.rank for column in kept):
            kept.remove(max(kept, key=lambda column: column.rank))
        return tuple(kept)

    @property
    def headers(self) -> tuple[str, ...]:
        """What stands above the columns that are shown."""
        return tuple(column.header for column in self.shown)

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The text, row by row."""
        return list(zip(*(column.texts for column in self.shown), strict=True))

    def records(self) -> list[dict[str, object]]:
        """The data, row by row: base units, full precision, None for null."""
        data = {name: values for column in self.columns for name, values in column.data.items()}
        return [dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)]

    def csv(self) -> str:
        """The data as CSV; null is empty."""
        names = [name for column in self.columns for name in column.data]
        text = io.StringIO()
        writer = csv.DictWriter(text, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.records())
        return text.getvalue()

    def markdown(self) -> str:
        """The text as a Markdown table, notes below."""
        rules = ["---:" if column.right else "---" for column in self.shown]
        lines = [self.headers, tuple(rules), *self.rows]
        escaped = [" | ".join(cell.replace("|", "\\|") for cell in line) for line in lines]
        return "\n".join([*(f"| {line} |" for line in escaped), *(f"\n{note}" for note in self.notes)]) + "\n"


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
    summary = conform(summary, "summary")
    names = metrics if metrics is not None else [*HEADLINE, *(name for name in METRICS if name not in HEADLINE)]
    wanted = [metric(name) for name in names]
    estimates = {
        (str(variant), str(group)): [estimate(floats(runs, one.name)) for one in wanted]
        for (variant, group), runs in summary.groupby(["variant", "group"], sort=False)
    }
    scales = [scale([cells[i].mean for cells in estimates.values()], one.unit) for i, one in enumerate(wanted)]
    columns = _metrics_down(wanted, estimates, scales)
    if width is not None and _width(columns) > width:
        columns = _entries_down(wanted, estimates, scales)
    return TextTable(columns, _notes(wanted, estimates), width)


def comparison_table(comparisons: Sequence[Comparison], width: int | None = WIDTH) -> TextTable:
    """Each comparison in a row: means, difference with its interval, share of pairs, adjusted p, and the verdict."""
    rows = list(comparisons)
    scales = [scale([c.paired.mean_a, c.paired.mean_b], c.metric.unit) for c in rows]
    variants, groups = {(c.a, c.b) for c in rows}, {c.group for c in rows}
    columns = [
        _named("metric", [c.metric.label for c in rows], "metric", [c.metric.name for c in rows]),
        _named("A", [c.a for c in rows], "a", rank=0 if len(variants) > 1 else 9),
        _named("B", [c.b for c in rows], "b", rank=6 if len(variants) > 1 else 9),
        _named("group", [c.group for c in rows], "group", rank=0 if len(groups) > 1 else 9),
        _means("mean A", [c.paired.mean_a for c in rows], scales, "mean_a", 4),
        _means("mean B", [c.paired.mean_b for c in rows], scales, "mean_b", 5),
        _differences(rows, scales),
        _shares(rows),
        _p_values(rows),
        _named("verdict", [verdict(c) for c in rows], "verdict"),
    ]
    return TextTable(tuple(columns), tuple(_pairs(rows)), width)


def verdict(comparison: Comparison) -> str:
    """The outcome in two or three words."""
    paired, lower_is_better = comparison.paired, comparison.metric.lower_is_better
    if paired.difference.n < 2:
        return "too few pairs"
    if paired.p_value is None and paired.difference.mean == 0:
        return "the same"
    if paired.p_value is not None and not comparison.conclusive:
        return "none shown"
    lower = paired.difference.mean < 0
    if lower_is_better is None:
        outcome = "A lower" if lower else "A higher"
    else:
        outcome = "A better" if lower == lower_is_better else "A worse"
    return outcome if paired.p_value is not None else f"{outcome}, always"


Entries = Mapping[tuple[str, str], Sequence[Estimate]]


def _text(one: Estimate, measure: Scale) -> str:
    return plus_minus(one.mean, one.half_width, measure)


def _width(columns: Sequence[Column]) -> int:
    return sum(column.width for column in columns) + 1


def _metrics_down(wanted: Sequence[Metric], estimates: Entries, scales: Sequence[Scale]) -> tuple[Column, ...]:
    titles = _titles(list(estimates))
    labels = tuple(one.label for one in wanted)
    columns = [
        _named("metric", labels, "metric", [one.name for one in wanted]),
        _named("unit", [measure.unit for measure in scales], "unit", [one.unit for one in wanted]),
    ]
    for key, title in titles.items():
        texts = tuple(_text(one, measure) for one, measure in zip(estimates[key], scales, strict=True))
        columns.append(Column(title, texts, _data(title, estimates[key])))
    return tuple(columns)


def _entries_down(wanted: Sequence[Metric], estimates: Entries, scales: Sequence[Scale]) -> tuple[Column, ...]:
    groups = {group for _, group in estimates}
    columns = [
        _named("variant", [variant or "-" for variant, _ in estimates], "variant", [v for v, _ in estimates]),
        _named("group", [group for _, group in estimates], "group", rank=0 if len(groups) > 1 else 99),
    ]
    for i, (one, measure) in enumerate(zip(wanted, scales, strict=True)):
        cells = [some[i] for some in estimates.values()]
        header = f"{one.short} [{measure.unit}]" if measure.unit not in ("", "records") else one.short
        texts = tuple(_text(cell, measure) for cell in cells)
        columns.append(Column(header, texts, _data(one.name, cells), rank=i + 1))
    return tuple(columns)


def _titles(keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """What tells entries apart: the variant, the group, or both."""
    variants, groups = {variant for variant, _ in keys}, {group for _, group in keys}
    if len(variants) == 1:
        return {(variant, group): group for variant, group in keys}
    return {(variant, group): variant if len(groups) == 1 else f"{variant}, {group}" for variant, group in keys}


def _data(name: str, estimates: Sequence[Estimate]) -> dict[str, tuple[object, ...]]:
    return {
        name: tuple(None if np.isnan(one.mean) else one.mean for one in estimates),
        f"{name} ±": tuple(one.half_width for one in estimates),
        f"{name} n": tuple(one.n for one in estimates),
    }


def _notes(wanted: Sequence[Metric], estimates: Entries) -> tuple[str, ...]:
    sizes = {one.n + one.missing for some in estimates.values() for one in some}
    if not sizes:
        return ("no runs",)
    runs = f"{min(sizes)} to {max(sizes)}" if len(sizes) > 1 else f"{max(sizes)}"
    notes = [f"{runs} runs each, ± is the 95 % interval; none where all runs agree" if max(sizes) > 1 else "one run"]
    columns = zip(wanted, zip(*estimates.values(), strict=True), strict=True)
    partly = [one.label for one, cells in columns if any(cell.missing and cell.n for cell in cells)]
    return (*notes, f"some runs have no value and are left out: {', '.join(partly)}") if partly else tuple(notes)


def _named(
    header: str, texts: Sequence[str], name: str, values: Sequence[object] | None = None, rank: int = 0
) -> Column:
    return Column(header, tuple(texts), {name: tuple(texts if values is None else values)}, rank, right=False)


def _means(header: str, values: Sequence[float], scales: Sequence[Scale], name: str, rank: int) -> Column:
    texts = tuple(f"{number(v * m.factor)} {m.unit}".strip() for v, m in zip(values, scales, strict=True))
    return Column(header, texts, {name: tuple(None if np.isnan(v) else v for v in values)}, rank)


def _differences(rows: Sequence[Comparison], scales: Sequence[Scale]) -> Column:
    estimates = [c.paired.difference for c in rows]
    texts = tuple(f"{_text(e, m)} {m.unit}".strip() for e, m in zip(estimates, scales, strict=True))
    return Column("A - B, 95 %", texts, _data("difference", estimates))


def _shares(rows: Sequence[Comparison]) -> Column:
    values = tuple(c.a_better for c in rows)
    texts = tuple("-" if v is None or np.isnan(v) else f"{v:.0%}" for v in values)
    return Column("A better", texts, {"a_better": values}, rank=7)


def _p_values(rows: Sequence[Comparison]) -> Column:
    values = tuple(c.p_holm for c in rows)
    texts = tuple("-" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}" for p in values)
    return Column("p (Holm)", texts, {"p_holm": values}, rank=8)


def _pairs(rows: Sequence[Comparison]) -> list[str]:
    names = sorted({(c.a, c.b) for c in rows})
    notes = [f"A = {names[0][0]}, B = {names[0][1]}"] if len(names) == 1 else []
    return [*notes, *sorted({f"{c.paired.difference.n} pairs" for c in rows})]
