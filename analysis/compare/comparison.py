"""Variants against each other, run by run where they saw the same faults: difference, interval, test."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from groupsim.analysis.compare.conclusions import conclusion
from groupsim.analysis.compare.pairing import Absent, Groups, Match, matched, samples
from groupsim.analysis.data.design import Design, against
from groupsim.analysis.data.metrics import HEADLINE, Metric, metric
from groupsim.analysis.errors import NotPairable, ResultError
from groupsim.analysis.stats.differences import Difference, independent_difference, paired_difference
from groupsim.analysis.stats.statistics import CONFIDENCE, holm

if TYPE_CHECKING:
    import pandas as pd

REFUSALS: Final = 5
"""More reasons than this are counted."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One metric of one group, variant A against variant B."""

    group: str
    a: str
    b: str
    metric: Metric
    outcome: Difference
    p_holm: float | None = None
    """The p value, adjusted for everything that was compared in the same call; None where there is no test."""
    constant: bool = False
    """Each variant gave one and the same value in every run: the seed makes no difference."""

    @property
    def a_better(self) -> float | None:
        """Share of pairs in which A is better; None for a metric of which neither less nor more is better."""
        if self.metric.lower_is_better is None:
            return None
        return self.outcome.a_lower if self.metric.lower_is_better else self.outcome.a_higher

    @property
    def conclusive(self) -> bool:
        """Whether a difference is shown: the adjusted test rejects at 5 %."""
        return self.p_holm is not None and self.p_holm < 1 - CONFIDENCE

    @property
    def sentence(self) -> str:
        """What can and what cannot be concluded."""
        told = conclusion(self, f"{self.a} is ", f" than {self.b}", f" between {self.a} and {self.b}")
        return f"{self.metric.label}: {told}."

    @property
    def conclusion(self) -> str:
        """The sentence without the names of metric and variants, for where these stand beside it."""
        return conclusion(self)


def compare(
    summary_a: pd.DataFrame, summary_b: pd.DataFrame, metrics: Sequence[str] = HEADLINE
) -> tuple[Comparison, ...]:
    """Each metric of each group, A against B, where each is the summary of one variant.

    Raises
    ------
    NotPairable
        The two do not hold the same groups and horizon, hold some runs in common and others not, or a run twice.
    ResultError
        A metric is unknown, or what is given is no summary.
    """
    wanted = [metric(name) for name in metrics]
    for one in (summary_a, summary_b):
        _refuse_others(one, metrics)
    (a, of_a), (b, of_b) = _only(summary_a, "A", metrics), _only(summary_b, "B", metrics)
    pair = (a, b) if a != b else (f"{a} (A)", f"{b} (B)")
    return _compared({pair[0]: of_a, pair[1]: of_b}, [pair], wanted, {})


def _refuse_others(summary: object, metrics: Sequence[str]) -> None:
    """Check that this is a summary with these metrics."""
    import pandas as pd

    from groupsim.analysis.data.load import RUN
    from groupsim.analysis.data.schema import conform

    if not isinstance(summary, pd.DataFrame):
        told = f"compare takes the tables summary, such as result.tables['summary']: this is a {type(summary).__name__}"
        raise ResultError(told)
    conform(summary, "summary", "a summary to compare", [*RUN, *metrics])


def compare_variants(
    summary: pd.DataFrame,
    baseline: str | None = None,
    metrics: Sequence[str] = HEADLINE,
    design: Design | None = None,
    absent: Absent | None = None,
) -> tuple[Comparison, ...]:
    """Variants of a sweep, or of several folders (``load_summaries``), against a baseline.

    Parameters
    ----------
    baseline : str, optional
        A variant, against which all others are compared; or a bundle of variants, whose variants are compared with
        those of the other bundles at equal values of what is varied. By default the first bundle where there are
        several, and the first variant otherwise.
    design : Design, optional
        How the variants came to be; without it none is in a bundle.
    absent : mapping of str to runs, optional
        Runs that a variant lacks for a known reason (``load_absent``): their partners are left out.

    Raises
    ------
    NotPairable
        A variant and the baseline are neither the same runs nor all different ones, or differ in groups or horizon.
    ResultError
        A metric or the baseline is unknown, or there is only one variant.
    """
    wanted = [metric(name) for name in metrics]
    found = samples(summary, metrics)
    if len(found) < 2:
        raise ResultError(f"nothing to compare: the only variant is {next(iter(found))!r}" if found else "no runs")
    return _compared(found, against(list(found), baseline, design), wanted, absent or {})


def adjusted(comparisons: Iterable[Comparison]) -> tuple[Comparison, ...]:
    """The comparisons with their p values adjusted (Holm) for one another."""
    together = tuple(comparisons)
    p_values = holm([one.outcome.p_value for one in together])
    return tuple(replace(one, p_holm=p) for one, p in zip(together, p_values, strict=True))


def _compared(
    found: Mapping[str, Groups], pairs: Sequence[tuple[str, str]], wanted: Sequence[Metric], absent: Absent
) -> tuple[Comparison, ...]:
    """All pairs; those that cannot be compared are told together."""
    done: list[Comparison] = []
    refusals: list[str] = []
    for pair in pairs:
        matches, why = matched(found[pair[0]], found[pair[1]], pair, absent)
        refusals += [f"{pair[0]} and {pair[1]} cannot be paired: {one}" for one in why]
        done += [one for group, match in matches.items() for one in _comparisons(group, pair, match, wanted)]
    if refusals:
        more = [f"and {len(refusals) - REFUSALS} more"] if len(refusals) > REFUSALS else []
        raise NotPairable("\n".join([*refusals[:REFUSALS], *more]))
    return adjusted(done)


def _comparisons(group: str, pair: tuple[str, str], match: Match, wanted: Sequence[Metric]) -> Iterator[Comparison]:
    difference = paired_difference if match.paired else independent_difference
    for i, one in enumerate(wanted):
        x, y = match.a[:, i], match.b[:, i]
        yield Comparison(group, *pair, one, difference(x, y), constant=_constant(x) and _constant(y))


def _constant(values: NDArray[np.float64]) -> bool:
    """Whether there are several values, all the same."""
    return len(values) > 1 and bool((values == values[0]).all())


def _only(summary: pd.DataFrame, fallback: str, metrics: Sequence[str]) -> tuple[str, Groups]:
    """The name and the runs of the one variant that a summary holds."""
    found = samples(summary, metrics)
    if len(found) > 1:
        raise NotPairable(f"{fallback} holds several variants: {', '.join(found)}; choose one, or compare_variants")
    name, runs = next(iter(found.items()), ("", {}))
    return name or fallback, runs
