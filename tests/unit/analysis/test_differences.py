from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from groupsim.analysis.stats.differences import independent_difference, paired_difference


def test_a_paired_difference_agrees_with_scipy() -> None:
    rng = np.random.default_rng(7)
    b = rng.normal(10, 3, 15)
    a = b - 1 + rng.normal(0, 0.5, 15)
    paired, expected = paired_difference(a, b), stats.ttest_rel(a, b)
    interval = expected.confidence_interval(0.95)
    assert (paired.difference.low, paired.difference.high) == pytest.approx((interval.low, interval.high))
    assert paired.p_value == pytest.approx(expected.pvalue)
    assert (paired.mean_a, paired.mean_b) == pytest.approx((a.mean(), b.mean()))


def test_shares_count_ties_for_neither_side() -> None:
    paired = paired_difference([1.0, 2.0, 3.0, 4.0], [2.0, 2.0, 4.0, 3.0])
    assert (paired.a_lower, paired.a_higher) == (0.5, 0.25)


def test_a_pair_with_a_null_is_left_out_of_everything() -> None:
    paired = paired_difference([1.0, math.nan, 3.0], [2.0, 100.0, 5.0])
    assert (paired.difference.n, paired.difference.missing) == (2, 1)
    assert (paired.mean_a, paired.mean_b, paired.difference.mean) == (2.0, 3.5, -1.5)


@pytest.mark.parametrize(("a", "b"), [([1.0], [2.0]), ([1.0, 2.0], [2.0, 3.0]), ([5.0, 5.0], [5.0, 5.0]), ([], [])])
def test_without_spread_there_is_no_test(a: list[float], b: list[float]) -> None:
    assert paired_difference(a, b).p_value is None


def test_samples_of_different_length_are_no_pairs() -> None:
    with pytest.raises(ValueError, match="2 values against 1"):
        paired_difference([1.0, 2.0], [1.0])


def test_what_pairing_is_worth_is_what_it_takes_from_the_variance() -> None:
    # variances 1 and 4, and 1 of the differences -1, -2, -3: 1 - 1 / 5
    assert paired_difference([1.0, 2.0, 3.0], [2.0, 4.0, 6.0]).variance_reduction == pytest.approx(0.8)
    # 9 of the differences -5, -2, 1: 1 - 9 / 5
    assert paired_difference([1.0, 2.0, 3.0], [6.0, 4.0, 2.0]).variance_reduction == pytest.approx(-0.8)
    # what does not vary owes nothing to pairing
    assert paired_difference([5.0, 5.0, 5.0], [6.0, 4.0, 2.0]).variance_reduction == 0.0
    assert paired_difference([5.0, 5.0], [6.0, 6.0]).variance_reduction is None
    assert paired_difference([1.0], [2.0]).variance_reduction is None


def test_a_reduction_of_n_percent_saves_that_share_of_the_variance_of_independent_runs() -> None:
    rng = np.random.default_rng(3)
    shared = rng.normal(size=5000)
    a, b = shared + rng.normal(size=5000), shared + rng.normal(size=5000)
    paired, independent = paired_difference(a, b), independent_difference(a, b)
    assert paired.difference.half_width is not None
    assert independent.difference.half_width is not None
    assert paired.variance_reduction == pytest.approx(
        1 - (paired.difference.half_width / independent.difference.half_width) ** 2, abs=1e-3
    )


@pytest.mark.parametrize(("n_a", "n_b"), [(2, 2), (3, 20), (50, 7)])
def test_an_independent_difference_agrees_with_scipy(n_a: int, n_b: int) -> None:
    rng = np.random.default_rng(n_a)
    a, b = rng.lognormal(size=n_a), rng.normal(5, 3, n_b)
    one, expected = independent_difference(a, b), stats.ttest_ind(a, b, equal_var=False)
    interval = expected.confidence_interval(0.95)
    assert (one.difference.low, one.difference.high) == pytest.approx((interval.low, interval.high))
    assert one.p_value == pytest.approx(expected.pvalue)
    assert (one.mean_a, one.mean_b, one.sizes) == (pytest.approx(a.mean()), pytest.approx(b.mean()), (n_a, n_b))


def test_shares_of_independent_samples_are_over_all_their_pairs() -> None:
    a, b = [1.0, 2.0, math.nan, 2.0], [2.0, 3.0, 0.0]
    one = independent_difference(a, b)
    known = [(x, y) for x in (1.0, 2.0, 2.0) for y in b]
    assert one.a_lower == sum(x < y for x, y in known) / 9
    assert one.a_higher == sum(x > y for x, y in known) / 9
    assert (one.difference.n, one.difference.missing, one.variance_reduction) == (6, 1, None)


@pytest.mark.parametrize(("a", "b"), [([1.0], [2.0, 3.0]), ([5.0, 5.0], [6.0, 6.0]), ([], [1.0]), ([math.nan], [])])
def test_independent_samples_without_spread_or_values_have_no_test(a: list[float], b: list[float]) -> None:
    assert independent_difference(a, b).p_value is None


def test_one_sample_without_spread_leaves_the_others_error() -> None:
    one = independent_difference([5.0, 5.0, 5.0], [1.0, 2.0, 3.0])
    # the standard error of b alone, and its degrees of freedom: 4.302652730 / sqrt(3)
    assert one.difference.half_width == pytest.approx(4.302652730 / math.sqrt(3))
