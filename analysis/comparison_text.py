"""Comparisons of variants as a table, and in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis.compare import Comparison
from analysis.metrics import Scale, number, scale
from analysis.text import WIDTH, Column, TextTable, data_of, estimate_text, named, names


def comparison_table(comparisons: Sequence[Comparison], width: int | None = WIDTH) -> TextTable:
    """Each comparison in a row: means, difference with its interval, share of pairs, adjusted p, and the verdict."""
    rows = list(comparisons)
    scales = [scale([c.paired.mean_a, c.paired.mean_b], c.metric.unit) for c in rows]
    variants, groups = {(c.a, c.b) for c in rows}, {c.group for c in rows}
    columns = [
        named("metric", [c.metric.label for c in rows], "metric", [c.metric.name for c in rows]),
        names("A", [c.a for c in rows], "a", rank=0 if len(variants) > 1 else 9),
        names("B", [c.b for c in rows], "b", rank=6 if len(variants) > 1 else 9),
        names("group", [c.group for c in rows], "group", rank=0 if len(groups) > 1 else 9),
        _means("mean A", [c.paired.mean_a for c in rows], scales, "mean_a", 4),
        _means("mean B", [c.paired.mean_b for c in rows], scales, "mean_b", 5),
        _differences(rows, scales),
        _shares(rows),
        _p_values(rows),
        _verdicts(rows),
    ]
    return TextTable(tuple(columns), tuple(_pairs(rows)), width)


def findings(comparisons: Sequence[Comparison]) -> dict[str, list[tuple[str, str]]]:
    """What can and what cannot be concluded: for each pair of variants, in words, each metric and its conclusion."""
    groups = {one.group for one in comparisons}
    found: dict[str, list[tuple[str, str]]] = {}
    for one in comparisons:
        where = f", group {one.group}" if len(groups) > 1 else ""
        found.setdefault(f"{one.a} against {one.b}{where}", []).append((one.metric.label, one.conclusion))
    return found


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


def _means(header: str, values: Sequence[float], scales: Sequence[Scale], name: str, rank: int) -> Column:
    texts = tuple(f"{number(v * m.factor)} {m.unit}".strip() for v, m in zip(values, scales, strict=True))
    return Column(header, texts, {name: tuple(None if np.isnan(v) else v for v in values)}, rank)


def _differences(rows: Sequence[Comparison], scales: Sequence[Scale]) -> Column:
    estimates = [c.paired.difference for c in rows]
    texts = tuple(f"{estimate_text(e, m)} {m.unit}".strip() for e, m in zip(estimates, scales, strict=True))
    return Column("A - B, 95 %", texts, data_of("difference", estimates))


def _shares(rows: Sequence[Comparison]) -> Column:
    values = tuple(None if c.a_better is None or np.isnan(c.a_better) else c.a_better for c in rows)
    texts = tuple("-" if v is None else f"{v:.0%}" for v in values)
    return Column("A better", texts, {"a_better": values}, rank=7)


def _p_values(rows: Sequence[Comparison]) -> Column:
    values = tuple(c.p_holm for c in rows)
    texts = tuple("-" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}" for p in values)
    return Column("p (Holm)", texts, {"p_holm": values}, rank=8)


def _verdicts(rows: Sequence[Comparison]) -> Column:
    texts = tuple(verdict(c) for c in rows)
    return Column("verdict", texts, {"verdict": texts, "sentence": tuple(c.sentence for c in rows)}, right=False)


def _pairs(rows: Sequence[Comparison]) -> list[str]:
    a, b = sorted({c.a for c in rows}), sorted({c.b for c in rows})
    notes = [f"A = {a[0]}, B = {b[0]}"] if len(a) == len(b) == 1 else [f"B = {b[0]}"] if len(b) == 1 else []
    return [*notes, *sorted({_counted(c.paired.difference.n) for c in rows})]


def _counted(pairs: int) -> str:
    return f"{pairs} pair{'s' if pairs != 1 else ''}"
