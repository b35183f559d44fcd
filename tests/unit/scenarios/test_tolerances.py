"""Tolerances: what they allow, and what is no tolerance."""

from __future__ import annotations

import pytest

from groupsim.analysis.data.metrics import METRICS as LABELLED
from groupsim.scenarios.gate.tolerances import METRICS, Tolerance, parse_tolerance


def test_every_metric_may_have_one() -> None:
    assert set(METRICS) == set(LABELLED)


@pytest.mark.parametrize(
    ("value", "allowed", "text"),
    [
        ("exact", 0.0, "exact"),
        ("overlap", 3.0, "intervals overlap"),
        ({"absolute": 2}, 2.0, "± 2"),
        ({"relative": 0.05}, 0.5, "± 5 %"),
    ],
)
def test_each_form_allows_so_much_around_a_mean_of_ten(value: object, allowed: float, text: str) -> None:
    found = parse_tolerance("requests", value)
    assert found.allowed(10.0, 3.0) == found.allowed(-10.0, 3.0) == allowed
    assert str(found) == text


def test_relative_to_nothing_nothing_is_allowed() -> None:
    assert Tolerance("relative", 0.5).allowed(0.0, 3.0) == 0


@pytest.mark.parametrize(
    ("metric", "value", "says"),
    [
        ("unavailable_gap_max", "exact", "did you mean 'unavailable_gap_s_max'?"),
        ("seed", "exact", "is no metric"),
        ("unread", "exact", "did you mean 'unavailable_partition_s'?"),
        ("requests", "exakt", "did you mean 'exact'?"),
        ("requests", {"relativ": 0.1}, "did you mean 'relative'?"),
        ("requests", 5, "must be exact, overlap"),
        ("requests", None, "must be exact, overlap"),
        ("requests", {}, "must be exact, overlap"),
        ("requests", {"absolute": 1, "relative": 0.1}, "must be exact, overlap"),
        ("requests", {"absolute": True}, "must be a number"),
        ("requests", {"absolute": "5"}, "must be a number"),
        ("requests", {"absolute": float("nan")}, "must be a number"),
        ("requests", {"absolute": -1}, "absolute must be above 0"),
        ("requests", {"absolute": 1e300}, "no more than 1e15"),
        ("requests", {"absolute": 10**400}, "no more than 1e15"),
        ("requests", {"relative": 5}, "0.05 is 5 %"),
        ("requests", {"relative": -0.1}, "a share above 0"),
        ("requests", {"relative": 0}, "allows nothing: write exact"),
    ],
)
def test_what_is_none_is_told(metric: str, value: object, says: str) -> None:
    with pytest.raises(ValueError, match=r".") as told:
        parse_tolerance(metric, value)
    assert says in str(told.value)
