"""How many runs are enough: a number, or a mean that is known well enough."""

from __future__ import annotations

import pytest

from groupsim.scenarios.sweep.replications import BATCH, Replications

UNTIL = Replications(at_least=4, at_most=20, metric="losses", half_width=0.05)
CLEAR = [100.0, 101.0, 99.0, 100.0]
VAGUE = [100.0, 300.0, 10.0, 50.0]


def test_a_fixed_number_is_enough_when_it_is_reached() -> None:
    rule = Replications.fixed(3)
    assert (rule.at_least, rule.at_most, rule.batch, rule.is_fixed) == (3, 3, 3, True)
    assert not rule.enough({})
    assert not rule.enough({"g": [1.0, 1.0]})
    assert rule.enough({"g": [1.0, 500.0, None]})


def test_a_clear_mean_is_enough_and_a_vague_one_is_not() -> None:
    assert UNTIL.batch == BATCH
    assert UNTIL.enough({"g": CLEAR})
    assert not UNTIL.enough({"g": VAGUE})
    assert not UNTIL.enough({"g": CLEAR[:3]}), "at_least"


def test_the_bound_is_the_half_width_over_the_mean() -> None:
    values = [90.0, 110.0, 95.0, 105.0, 100.0]
    half_width = 2.776445 * 7.905694 / 5**0.5 / 100  # t(0.975, 4) s / sqrt(n), over the mean
    assert Replications(at_least=2, at_most=9, metric="losses", half_width=half_width + 1e-4).enough({"g": values})
    assert not Replications(at_least=2, at_most=9, metric="losses", half_width=half_width - 1e-4).enough({"g": values})


def test_every_group_counts() -> None:
    assert not UNTIL.enough({"a": CLEAR, "b": VAGUE})
    assert UNTIL.enough({"a": CLEAR, "b": CLEAR})


def test_at_most_ends_it() -> None:
    assert not UNTIL.enough({"g": VAGUE * 4})
    assert UNTIL.enough({"g": VAGUE * 5})


@pytest.mark.parametrize("values", [[0.0] * 4, [7.0] * 4, [None] * 4, [0.1 + 0.2, 0.3, 0.3, 0.3]])
def test_more_runs_are_no_use_without_spread_or_values(values: list[float | None]) -> None:
    assert UNTIL.enough({"g": values})


def test_null_values_are_left_out_of_the_mean() -> None:
    assert UNTIL.enough({"g": [*CLEAR, None, None]})
    assert not UNTIL.enough({"g": [100.0, None, None, None]}), "one value has no interval"
