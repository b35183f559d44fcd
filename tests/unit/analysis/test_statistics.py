from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from groupsim.analysis.stats.statistics import estimate, holm, t_quantile


def test_an_estimate_is_the_t_interval_of_the_textbook() -> None:
    # mean 6, s^2 = (9 + 1 + 1 + 9) / 3 = 20 / 3, t(0.975, 3) = 3.182446
    one = estimate([3.0, 5.0, 7.0, 9.0])
    assert one.mean == 6.0
    assert one.half_width == pytest.approx(3.182446305 * math.sqrt(20 / 3) / 2, rel=1e-8)
    assert (one.low, one.high) == pytest.approx((6 - 4.1085205, 6 + 4.1085205), rel=1e-7)


@pytest.mark.parametrize("n", [2, 3, 20, 500])
def test_an_estimate_agrees_with_scipy(n: int) -> None:
    sample = np.random.default_rng(n).lognormal(size=n)
    low, high = stats.t.interval(0.95, n - 1, loc=sample.mean(), scale=stats.sem(sample))
    one = estimate(sample)
    assert (one.low, one.high) == pytest.approx((low, high))


def test_one_value_has_no_interval_and_none_has_no_mean() -> None:
    assert (estimate([4.0]).mean, estimate([4.0]).half_width, estimate([4.0]).n) == (4.0, None, 1)
    assert math.isnan(estimate([]).mean)
    assert (estimate([]).half_width, estimate([]).low, estimate([]).n) == (None, None, 0)


def test_equal_values_give_exactly_that_value_and_width_zero() -> None:
    one = estimate([0.1] * 30)
    assert (one.mean, one.half_width) == (0.1, 0.0)


def test_null_values_are_left_out_and_counted() -> None:
    one = estimate([1.0, math.nan, 3.0])
    assert (one.mean, one.n, one.missing) == (2.0, 2, 1)


def test_the_t_quantile_is_the_published_one() -> None:
    assert t_quantile(0.975, 1) == pytest.approx(12.7062, abs=1e-4)
    assert t_quantile(0.975, 19) == pytest.approx(2.0930, abs=1e-4)


def test_holm_is_the_published_example_and_stays_monotone() -> None:
    # sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1; the last may not fall below the one before it
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_holm_does_not_count_what_was_not_tested() -> None:
    assert holm([None, 0.04, None]) == [None, 0.04, None]
    assert holm([]) == []
