"""What a comparison shows, in words: no more than the numbers carry."""

from __future__ import annotations

import math
from typing import Final, Protocol

from groupsim.analysis.data.metrics import Metric, plus_minus, scale
from groupsim.analysis.stats.differences import Difference
from groupsim.analysis.stats.statistics import CONFIDENCE

_TOO_FEW: Final = 2
"""Of so many pairs the interval is wider than anything that they could show."""


class Compared(Protocol):
    """One metric of one group, variant A against variant B (`comparison.Comparison`)."""

    @property
    def a(self) -> str:
        """Name of variant A."""
        ...

    @property
    def b(self) -> str:
        """Name of variant B."""
        ...

    @property
    def metric(self) -> Metric:
        """What is compared."""
        ...

    @property
    def outcome(self) -> Difference:
        """By how much they differ."""
        ...

    @property
    def constant(self) -> bool:
        """Whether each variant gave one and the same value in every run."""
        ...

    @property
    def p_holm(self) -> float | None:
        """The p value, adjusted for everything that was compared in the same call."""
        ...

    @property
    def conclusive(self) -> bool:
        """Whether a difference is shown."""
        ...

    @property
    def a_better(self) -> float | None:
        """Share of pairs in which A is better."""
        ...


def conclusion(one: Compared, a_is: str = "", than_b: str = "", between: str = "") -> str:
    """What can and what cannot be concluded; the names of the variants are left out where they are not given."""
    outcome, estimate = one.outcome, one.outcome.difference
    if not all(outcome.sizes):
        return f"nothing to compare: {_nothing(one)}"
    side = f"{a_is}{'lower' if estimate.mean < 0 else 'higher'}{than_b} by"
    size = _amount(abs(estimate.mean), one.metric)
    if estimate.half_width is None:
        return f"{_equal_or(side, size, estimate.mean)} in {_too_few(one)}{_lost(one)}"
    if outcome.p_value is None:
        why = "the seed makes no difference to either" if one.constant else "without spread there is no interval"
        return f"{_equal_or(side, f'exactly {size}', estimate.mean)} in all {_runs(one)}; {why}"
    if one.conclusive:
        amount = _amount(abs(estimate.mean), one.metric, estimate.half_width)
        return f"{side} {amount} (95 %), {_agreeing(one)}"
    if outcome.paired and estimate.n == _TOO_FEW:
        share = _share(one, one.a if a_is else "A")
        return f"{_equal_or(side, size, estimate.mean)} on average, which two pairs are too few to judge ({share})"
    bound = _amount(abs(estimate.mean) + estimate.half_width, one.metric)
    return f"no difference larger than {bound}{between} at 95 %{_but(one)} ({_share(one, one.a if a_is else 'A')})"


def counted(number: int, noun: str) -> str:
    """A number of things."""
    return f"{number:,} {noun}{'s' if number != 1 else ''}"


def percent(share: float) -> str:
    """A share in whole percent."""
    return f"{100 * share:.0f} %".replace("-0 %", "0 %")


def _nothing(one: Compared) -> str:
    without = [name for name, mean in ((one.a, one.outcome.mean_a), (one.b, one.outcome.mean_b)) if math.isnan(mean)]
    if without:
        return f"no run of {' and none of '.join(without)} has a value"
    return f"no pair has a value in both {one.a} and {one.b}"


def _too_few(one: Compared) -> str:
    if one.outcome.paired:
        return "the only pair; one pair cannot tell chance from effect"
    return f"{_runs(one)}; one run cannot tell chance from effect"


def _runs(one: Compared) -> str:
    """What the comparison is made of."""
    if one.outcome.paired:
        return counted(one.outcome.difference.n, "pair") + _lost(one)
    a, b = one.outcome.sizes
    return f"{a:,} and {b:,} independent runs{_lost(one)}"


def _lost(one: Compared) -> str:
    missing = one.outcome.difference.missing
    return f", {missing:,} left out: a value is missing" if missing else ""


def _share(one: Compared, a: str) -> str:
    """In how many pairs A is better, or lower where neither is."""
    outcome = one.outcome
    if not outcome.paired:
        return _runs(one)
    share = one.a_better if one.a_better is not None else outcome.a_lower
    word = "lower" if one.a_better is None else "better"
    return f"{a} {word} in {round(share * outcome.difference.n):,} of {_runs(one)}"


def _agreeing(one: Compared) -> str:
    """How many pairs agree with the mean; independent runs have no partners to agree with."""
    outcome = one.outcome
    if not outcome.paired:
        return f"from {_runs(one)}"
    share = outcome.a_lower if outcome.difference.mean < 0 else outcome.a_higher
    return f"in {round(share * outcome.difference.n):,} of {_runs(one)}"


def _equal_or(side: str, size: str, difference: float) -> str:
    return f"{side} {size}" if difference else "no difference"


def _but(one: Compared) -> str:
    """Where the interval alone excludes zero and the correction takes that back."""
    p = one.outcome.p_value
    if p is None or one.p_holm is None or p >= 1 - CONFIDENCE:
        return ", and none is shown"
    return f", and none is shown after correction for all comparisons (p = {p:.2g}, adjusted {one.p_holm:.2g})"


def _amount(value: float, metric_: Metric, half_width: float | None = None) -> str:
    measure = scale([value], metric_.unit)
    return f"{plus_minus(value, half_width, measure)} {measure.unit}".rstrip()
