"""Comparisons of variants as a table, and in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from groupsim.analysis.compare.comparison import Comparison
from groupsim.analysis.compare.conclusions import counted, percent
from groupsim.analysis.data.design import Design
from groupsim.analysis.data.labels import labels
from groupsim.analysis.data.metrics import Scale, number, scale
from groupsim.analysis.text.tables import (
    WIDTH,
    Column,
    TextTable,
    data_of,
    estimate_text,
    label_columns,
    named,
    names,
    shortened,
)


@dataclass(frozen=True, slots=True)
class Section:
    """A part of what is told: a title (empty for none), a table, and what it shows, name by name, in words."""

    title: str
    table: TextTable
    findings: tuple[tuple[str, str], ...]


def sections(
    comparisons: Sequence[Comparison], width: int | None = WIDTH, design: Design | None = None
) -> Iterator[Section]:
    """Each pair of variants and each group: its table and its conclusions. More pairs than metrics share one table."""
    groups, metrics = {one.group for one in comparisons}, {one.metric.name for one in comparisons}
    found: dict[str, list[Comparison]] = {}
    for one in comparisons:
        found.setdefault(title(one.a, one.b, one.group if len(groups) > 1 else "", design), []).append(one)
    if len(found) > len(metrics):
        name = "{a}" if len(metrics) == 1 else "{a}: {label}"
        apart = labels((one.a for one in comparisons), design)
        called = {one.a: shortened(", ".join(apart.of(one.a))) for one in comparisons}
        told = ((name.format(a=called[one.a], label=one.metric.label), one.conclusion) for one in comparisons)
        yield Section("", comparison_table(comparisons, width, design), tuple(told))
        return
    says_same = len(groups) > 1 and all(one.outcome.difference.half_width is None for one in comparisons)
    for name, some in found.items():
        findings = tuple((one.metric.label, one.conclusion) for one in some if not says_same)
        yield Section(name, comparison_table(some, width), findings)


def title(a: str, b: str, group: str = "", design: Design | None = None) -> str:
    """What is compared with what."""
    if design is not None:
        a, b = design.told(a), design.told(b)
    return f"{a} (A) against {b} (B)" + (f", group {group}" if group else "")


def comparison_table(
    comparisons: Sequence[Comparison], width: int | None = WIDTH, design: Design | None = None
) -> TextTable:
    """Each comparison in a row: means, difference with its interval, share of pairs, adjusted p, and the verdict.

    Where a design says what the variants are, A stands in columns of what tells them apart.
    """
    rows = list(comparisons)
    scales = [scale([c.outcome.mean_a, c.outcome.mean_b], c.metric.unit) for c in rows]
    variants, groups = {(c.a, c.b) for c in rows}, {c.group for c in rows}
    columns = [
        _metrics(rows, rank=0 if len(variants) == 1 or design is None else 7),
        named("unit", [measure.unit for measure in scales], "unit", [c.metric.unit for c in rows]),
        *_variants(rows, design, rank=0 if len(variants) > 1 else 9),
        names("B", [c.b for c in rows], "b", rank=6 if len(variants) > 1 and design is None else 9),
        names("group", [c.group for c in rows], "group", rank=0 if len(groups) > 1 else 9),
        _means("mean A", [c.outcome.mean_a for c in rows], scales, "mean_a", 4),
        _means("mean B", [c.outcome.mean_b for c in rows], scales, "mean_b", 5),
        _differences(rows, scales),
        _shares(rows),
        _p_values(rows),
        _reductions(rows),
        _verdicts(rows),
    ]
    return TextTable(tuple(columns), _sides(rows, design) if len(variants) > 1 else (), width)


def _variants(rows: Sequence[Comparison], design: Design | None, rank: int) -> list[Column]:
    """What A is: its name, or a column for each thing that tells the variants apart."""
    apart = labels((c.a for c in rows), design)
    if design is None:
        return [names("A", [c.a for c in rows], "a", rank)]
    hidden = names("A", [c.a for c in rows], "a", rank=9)
    return [hidden, *label_columns(apart, [c.a for c in rows], rank)]


def _metrics(rows: Sequence[Comparison], rank: int) -> Column:
    """The metric of each row; a note says it too where all rows have the same."""
    same = len({c.metric.name for c in rows}) == 1
    column = named("metric", [c.metric.label for c in rows], "metric", [c.metric.name for c in rows])
    return replace(column, rank=rank if same else 0)


def _sides(rows: Sequence[Comparison], design: Design | None) -> tuple[str, ...]:
    """What is compared, what A is and what all A share, and what B is."""
    if design is None:
        return ()
    metrics, others = {c.metric.label for c in rows}, {c.b for c in rows}
    bundles = {design.places[one].bundle for one in others if one in design.places}
    shared = labels((c.a for c in rows), design).note
    told = [next(iter(metrics))] if len(metrics) == 1 else []
    told.append("A: the variant of the row" + (f", {shared}" if shared else ""))
    if len(others) == 1:
        told.append(f"B: {design.told(next(iter(others)))}")
    elif len(bundles) == 1:
        told.append(f"B: {next(iter(bundles))}, at the same values")
    return tuple(told)


def verdict(comparison: Comparison) -> str:
    """The outcome in two or three words."""
    outcome, lower_is_better = comparison.outcome, comparison.metric.lower_is_better
    if outcome.difference.half_width is None:
        return f"too few {'pairs' if outcome.paired else 'runs'}"
    if outcome.p_value is None and outcome.difference.mean == 0:
        return "the same"
    if outcome.p_value is not None and not comparison.conclusive:
        return "unclear"
    lower = outcome.difference.mean < 0
    if lower_is_better is None:
        told = "A lower" if lower else "A higher"
    else:
        told = "A better" if lower == lower_is_better else "A worse"
    return told if outcome.p_value is not None else f"{told}, always"


def _means(header: str, values: Sequence[float], scales: Sequence[Scale], name: str, rank: int) -> Column:
    texts = tuple(number(v * m.factor) for v, m in zip(values, scales, strict=True))
    return Column(header, texts, {name: tuple(None if np.isnan(v) else v for v in values)}, rank)


def _differences(rows: Sequence[Comparison], scales: Sequence[Scale]) -> Column:
    estimates = [c.outcome.difference for c in rows]
    texts = tuple(estimate_text(e, m) for e, m in zip(estimates, scales, strict=True))
    return Column("A - B, 95 %", texts, data_of("difference", estimates))


def _shares(rows: Sequence[Comparison]) -> Column:
    values = tuple(None if c.a_better is None or np.isnan(c.a_better) else c.a_better for c in rows)
    texts = tuple("-" if v is None else percent(v) for v in values)
    return Column("A better", texts, {"a_better": values}, rank=7)


def _p_values(rows: Sequence[Comparison]) -> Column:
    values = tuple(c.p_holm for c in rows)
    texts = tuple("-" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}" for p in values)
    return Column("p (Holm)", texts, {"p_holm": values}, rank=8)


def _reductions(rows: Sequence[Comparison]) -> Column:
    values = tuple(c.outcome.variance_reduction for c in rows)
    data = {"paired": tuple(c.outcome.paired for c in rows), "variance_reduction": values}
    return Column("variance cut", tuple("-" if v is None else percent(v) for v in values), data, rank=8)


def _verdicts(rows: Sequence[Comparison]) -> Column:
    texts = tuple(verdict(c) for c in rows)
    return Column("verdict", texts, {"verdict": texts, "sentence": tuple(c.sentence for c in rows)}, right=False)


def notes(rows: Sequence[Comparison]) -> Iterator[str]:
    """What a reader of comparisons must know: what they are made of, how they are corrected, what pairing was worth."""
    if pairs := [c.outcome.difference.n for c in rows if c.outcome.paired]:
        yield f"{_spanned(pairs)} pair{'s' if max(pairs) != 1 else ''} of runs with the same faults" + (
            ": one pair allows no verdict, since it cannot tell chance from effect" if max(pairs) == 1 else ""
        )
    if alone := [n for c in rows if not c.outcome.paired for n in c.outcome.sizes]:
        yield f"{_spanned(alone)} run{'s' if max(alone) != 1 else ''} each without common faults: independent (Welch)"
    if tests := sum(c.p_holm is not None for c in rows):
        yield f"verdicts are corrected for {counted(tests, 'test')} at once (Holm); intervals stand alone"
    yield from _worth(rows)


def _worth(rows: Sequence[Comparison]) -> Iterator[str]:
    """What the shared faults were worth."""
    known = [(c.outcome.variance_reduction, c) for c in rows if c.outcome.variance_reduction is not None]
    if not known:
        return
    values = np.array([value for value, _ in known])
    least, most = percent(values.min()), percent(values.max())
    spread = f" (median; from {least} to {most})" if least != most else ""
    yield f"common faults cut the variance of A - B by {percent(float(np.median(values)))}{spread}"
    raised = dict.fromkeys(c.metric.label for value, c in known if value < -0.005)
    if raised:
        yield f"where that is negative pairing did not pay: {', '.join(raised)}"


def _spanned(numbers: Sequence[int]) -> str:
    least, most = min(numbers), max(numbers)
    return f"{most:,}" if least == most else f"{least:,} to {most:,}"
