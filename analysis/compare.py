"""Variants against each other, paired by seed and replication: difference, interval, and the reason in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analysis.columns import floats, names, rows
from analysis.errors import NotPairable, ResultError
from analysis.metrics import HEADLINE, Metric, metric, plus_minus, scale
from analysis.statistics import CONFIDENCE, PairedDifference, holm, paired_difference

if TYPE_CHECKING:
    import pandas as pd

RUN = ["seed", "replication"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One metric of one group, variant A against variant B."""

    group: str
    a: str
    b: str
    metric: Metric
    paired: PairedDifference
    p_holm: float | None = None
    """The p value, adjusted for everything that was compared in the same call; None where there is no test."""
    constant: bool = False
    """Each variant gave one and the same value in every run: the seed makes no difference."""

    @property
    def a_better(self) -> float | None:
        """Share of pairs in which A is better; None for a metric of which neither less nor more is better."""
        if self.metric.lower_is_better is None:
            return None
        return self.paired.a_lower if self.metric.lower_is_better else self.paired.a_higher

    @property
    def conclusive(self) -> bool:
        """Whether a difference is shown: the adjusted test rejects at 5 %."""
        return self.p_holm is not None and self.p_holm < 1 - CONFIDENCE

    @property
    def sentence(self) -> str:
        """What can and what cannot be concluded."""
        conclusion = _conclusion(self, f"{self.a} is ", f" than {self.b}", f" between {self.a} and {self.b}")
        return f"{self.metric.label}: {conclusion}."

    @property
    def conclusion(self) -> str:
        """The sentence without the names of metric and variants, for where these stand beside it."""
        return _conclusion(self)


def compare(
    summary_a: pd.DataFrame, summary_b: pd.DataFrame, metrics: Sequence[str] = HEADLINE
) -> tuple[Comparison, ...]:
    """Each metric of each group, A against B, over pairs of runs with the same seed and replication.

    Raises
    ------
    NotPairable
        The two do not hold the same groups, seeds, replications and horizon, or one holds a run twice.
    ResultError
        A metric is unknown.
    """
    a, b = _only(summary_a, "A"), _only(summary_b, "B")
    pair = (a, b) if a != b else (f"{a} (A)", f"{b} (B)")
    return adjusted(_comparisons(summary_a, summary_b, pair, [metric(name) for name in metrics]))


def compare_variants(
    summary: pd.DataFrame, baseline: str | None = None, metrics: Sequence[str] = HEADLINE
) -> tuple[Comparison, ...]:
    """Each other variant of a sweep, or of several folders (``load_summaries``), against the baseline.

    Parameters
    ----------
    baseline : str, optional
        A variant; the first of the table by default.

    Raises
    ------
    NotPairable
        A variant and the baseline do not consist of the same runs.
    ResultError
        A metric or the baseline is unknown, or there is only one variant.
    """
    variants = names(summary["variant"])
    if len(variants) < 2:
        raise ResultError(f"nothing to compare: the only variant is {variants[0]!r}" if variants else "no runs")
    baseline = variants[0] if baseline is None else baseline
    if baseline not in variants:
        raise ResultError(f"unknown baseline {baseline!r}; variants are: {', '.join(variants)}")
    wanted = [metric(name) for name in metrics]
    parts = {variant: summary[summary["variant"] == variant] for variant in variants}
    return adjusted(
        one
        for variant in variants
        if variant != baseline
        for one in _comparisons(parts[variant], parts[baseline], (variant, baseline), wanted)
    )


def adjusted(comparisons: Iterable[Comparison]) -> tuple[Comparison, ...]:
    """The comparisons with their p values adjusted (Holm) for one another."""
    together = tuple(comparisons)
    p_values = holm([one.paired.p_value for one in together])
    return tuple(replace(one, p_holm=p) for one, p in zip(together, p_values, strict=True))


def _comparisons(
    a: pd.DataFrame, b: pd.DataFrame, pair: tuple[str, str], metrics: Sequence[Metric]
) -> Iterable[Comparison]:
    refusal = unpairable(a, b, pair)
    if refusal:
        raise NotPairable(f"{pair[0]} and {pair[1]} cannot be paired: {refusal}")
    order = ["group", *RUN]
    left, right = a.sort_values(order), b.sort_values(order)
    for group in names(left["group"]):
        for one in metrics:
            x, y = (_values(frame, group, one.name) for frame in (left, right))
            constant = len(x) > 1 and len(np.unique(x)) == 1 and len(np.unique(y)) == 1
            yield Comparison(group, *pair, one, paired_difference(x, y), constant=constant)


def _values(summary: pd.DataFrame, group: str, name: str) -> NDArray[np.float64]:
    return floats(summary[summary["group"] == group], name)


def unpairable(a: pd.DataFrame, b: pd.DataFrame, pair: tuple[str, str] = ("A", "B")) -> str:
    """Why the runs of A and B are no pairs; empty if they are."""
    for frame, name in zip((a, b), pair, strict=True):
        if frame.empty:
            return f"{name} has no runs"
        twice = frame[frame.duplicated(["group", *RUN])]
        if not twice.empty:
            first = twice.iloc[0]
            return f"{name} holds seed {first['seed']}, replication {first['replication']} more than once"
    for columns, noun in ((["group"], "group"), (RUN, "seed and replication"), (["horizon_s"], "horizon")):
        x, y = _distinct(a, columns), _distinct(b, columns)
        if x != y:
            return f"different {noun}: " + "; ".join(
                f"only {name} has {_some(mine - other, columns)}"
                for name, mine, other in ((pair[0], x, y), (pair[1], y, x))
                if mine - other
            )
    if _distinct(a, ["group", *RUN]) != _distinct(b, ["group", *RUN]):
        return "a group lacks some of the runs"
    return ""


def _distinct(summary: pd.DataFrame, columns: list[str]) -> set[tuple[object, ...]]:
    return set(rows(summary, *columns))


def _some(items: set[tuple[object, ...]], columns: list[str]) -> str:
    shown = [" ".join(f"{c} {v}" for c, v in zip(columns, one, strict=True)) for one in sorted(items, key=str)[:3]]
    return ", ".join(shown) + (f" and {len(items) - 3} more" if len(items) > 3 else "")


def _only(summary: pd.DataFrame, fallback: str) -> str:
    variants = names(summary["variant"])
    if len(variants) > 1:
        raise NotPairable(f"{fallback} holds several variants: {', '.join(variants)}; choose one, or compare_variants")
    return variants[0] if variants and variants[0] else fallback


def _conclusion(one: Comparison, a_is: str = "", than_b: str = "", between: str = "") -> str:
    paired, estimate = one.paired, one.paired.difference
    lost = f", {estimate.missing} left out for want of a value" if estimate.missing else ""
    pairs = f"{estimate.n} pair{'s' if estimate.n != 1 else ''}{lost}"
    if estimate.n == 0:
        return f"nothing to compare: no pair has a value in both {one.a} and {one.b}"
    side = f"{a_is}{'lower' if estimate.mean < 0 else 'higher'}{than_b} by"
    size = _amount(abs(estimate.mean), one.metric)
    if estimate.half_width is None:
        return f"{_equal_or(side, size, estimate.mean)} in the only pair; one pair cannot tell chance from effect{lost}"
    if one.paired.p_value is None:
        why = "the seed makes no difference to either" if one.constant else "without spread there is no interval"
        return f"{_equal_or(side, f'exactly {size}', estimate.mean)} in all {pairs}; {why}"
    if one.conclusive:
        agreeing = round((paired.a_lower if estimate.mean < 0 else paired.a_higher) * estimate.n)
        amount = _amount(abs(estimate.mean), one.metric, estimate.half_width)
        return f"{side} {amount} (95 %), in {agreeing} of {pairs}"
    bound = _amount(abs(estimate.mean) + estimate.half_width, one.metric)
    return f"no difference larger than {bound}{between} at 95 %{_but(one)} ({pairs})"


def _equal_or(side: str, size: str, difference: float) -> str:
    return f"{side} {size}" if difference else "no difference"


def _but(one: Comparison) -> str:
    """Where the interval alone excludes zero and the correction takes that back."""
    p = one.paired.p_value
    if p is None or one.p_holm is None or p >= 1 - CONFIDENCE:
        return ", and none is shown"
    return f", and none is shown once all comparisons count (p = {p:.2g}, adjusted {one.p_holm:.2g})"


def _amount(value: float, metric_: Metric, half_width: float | None = None) -> str:
    measure = scale([value], metric_.unit)
    return f"{plus_minus(value, half_width, measure)} {measure.unit}".rstrip()
