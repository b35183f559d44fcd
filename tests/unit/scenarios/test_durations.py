"""Durations and distributions as users write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from groupsim.scenarios.schema.distributions import DistributionField
from groupsim.scenarios.schema.durations import LONGEST_US, UNITS, format_duration, parse_duration
from groupsim.sim.model import Distribution
from groupsim.sim.units import MINUTE, MS, S

DISTRIBUTION: TypeAdapter[Distribution] = TypeAdapter(DistributionField)


@pytest.mark.parametrize(
    ("text", "value_us"),
    [
        ("0s", 0),
        ("1us", 1),
        ("700ms", 700 * MS),
        ("0.5ms", 500),
        ("20s", 20 * S),
        ("1.5min", 90 * S),
        ("2 min", 2 * MINUTE),
        ("30min", 30 * MINUTE),
        ("1h", 60 * MINUTE),
        ("1d", 24 * 60 * MINUTE),
        (" 3s ", 3 * S),
        ("36500d", LONGEST_US),
    ],
)
def test_a_duration_is_a_number_and_a_unit(text: str, value_us: int) -> None:
    assert parse_duration(text) == value_us


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (20, "needs a unit"),
        (0.5, "needs a unit"),
        ("20", "must be a duration"),
        ("s", "must be a duration"),
        ("-1s", "must not be negative"),
        ("1e3s", "must be a duration"),
        ("1m", "must be a duration"),
        ("1:30", "must be a duration"),
        ("3min10s", "must be a duration"),
        ("٣s", "must be a duration"),
        ("", "must be a duration"),
        (None, "must be a duration"),
        (True, "must be a duration"),
        (["1s"], "must be a duration"),
        ("0.5us", "whole microseconds"),
        ("1.0000005s", "whole microseconds"),
        ("36501d", "at most 36500d"),
        ("9" * 400 + "d", "at most 36500d"),
    ],
)
def test_what_is_no_duration_is_told_why(text: object, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_duration(text)


@pytest.mark.parametrize(
    ("value_us", "text"),
    [
        (0, "0s"),
        (1, "1us"),
        (1500, "1500us"),
        (700 * MS, "700ms"),
        (90 * S, "90s"),
        (120 * S, "2min"),
        (86_400 * S, "1d"),
    ],
)
def test_microseconds_are_written_in_the_largest_unit_without_a_fraction(value_us: int, text: str) -> None:
    assert format_duration(value_us) == text


@given(st.integers(0, LONGEST_US))
def test_every_duration_reads_back(value_us: int) -> None:
    assert parse_duration(format_duration(value_us)) == value_us


@given(st.integers(0, 10**6), st.sampled_from(sorted(UNITS)))
def test_whole_numbers_of_every_unit_are_exact(number: int, unit: str) -> None:
    if number * UNITS[unit] <= LONGEST_US:
        assert parse_duration(f"{number}{unit}") == number * UNITS[unit]


# --- distributions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "distribution"),
    [
        ("20s", Distribution("constant", (20 * S,))),
        ({"uniform": {"low": "1s", "high": "3s"}}, Distribution("uniform", (S, 3 * S))),
        ({"uniform": ["1s", "3s"]}, Distribution("uniform", (S, 3 * S))),
        ({"exponential": {"mean": "5min"}}, Distribution("exponential", (5 * MINUTE,))),
        ({"lognormal": {"median": "20s", "p99": "40s"}}, Distribution("lognormal", (20 * S, 40 * S))),
        ({"empirical": ["1s", "4s", "1s"]}, Distribution("empirical", (S, 4 * S, S))),
    ],
)
def test_a_distribution_is_a_duration_or_one_of_five_forms(value: Any, distribution: Distribution) -> None:
    assert DISTRIBUTION.validate_python(value) == distribution


def _reasons(value: Any, folder: Path | None = None) -> str:
    with pytest.raises(ValidationError) as caught:
        DISTRIBUTION.validate_python(value, context={"folder": folder or Path()})
    return "\n".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in caught.value.errors())


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (20, "needs a unit"),
        ({}, "one of uniform, exponential, lognormal, empirical, csv is needed"),
        ({"lognormall": {}}, "did you mean 'lognormal'"),
        ({"uniform": ["1s", "2s"], "csv": "x"}, "only one of uniform, csv at a time"),
        ({"uniform": ["3s", "1s"]}, "uniform: low must not be above high"),
        ({"uniform": ["1s"]}, "uniform: "),
        ({"uniform": {"low": "1s", "high": 3}}, "uniform.high: a duration needs a unit"),
        (
            {"exponential": {"mean": "1s", "man": "2s"}},
            "exponential.man: is no key of this mapping; did you mean 'mean'",
        ),
        ({"lognormal": {"median": "2s"}}, "needs exactly one of p95 and p99"),
        ({"lognormal": {"median": "2s", "p99": "1s"}}, "0 < median <= p95 or p99"),
        ({"lognormal": {"median": "0s", "p99": "1s"}}, "0 < median <= p95 or p99"),
        ({"empirical": []}, "empirical: List should have at least 1 item"),
        ({"empirical": ["1s", 2]}, "empirical.1: a duration needs a unit"),
    ],
)
def test_what_is_no_distribution_is_told_where_and_why(value: Any, reason: str) -> None:
    assert reason in _reasons(value)


def test_observed_durations_come_from_the_first_column_of_a_csv_file(tmp_path: Path) -> None:
    (tmp_path / "pauses.csv").write_text("pause_ms,host\n12.5,a\n\n0.0004,b\n300,c\n", encoding="utf-8")
    found = DISTRIBUTION.validate_python({"csv": "pauses.csv"}, context={"folder": tmp_path})
    assert found == Distribution("empirical", (12_500, 0, 300_000))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("pause\n1\n", "header must end in a unit, as pause_ms"),
        ("", "header must end in a unit"),
        ("pause_ms\n", "holds no values"),
        ("pause_ms\n1\nx\n", "row 3: 'x' is no duration in ms"),
        ("pause_ms\n1_0\n", "row 2: '1_0' is no duration in ms"),
        ("pause_ms\n-1\n", "row 2: '-1' is no duration in ms"),
        ("pause_s\nnan\n", "row 2: 'nan' is no duration in s"),
    ],
)
def test_a_csv_file_that_holds_no_durations_is_refused(text: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "pauses.csv").write_text(text, encoding="utf-8")
    assert reason in _reasons({"csv": "pauses.csv"}, tmp_path)


def test_a_csv_file_that_is_not_there_is_named() -> None:
    assert "nowhere.csv: cannot be read" in _reasons({"csv": "nowhere.csv"})


_TIMES = st.integers(1, LONGEST_US)
_DISTRIBUTIONS = st.one_of(
    st.integers(0, LONGEST_US).map(Distribution.constant),
    st.lists(_TIMES, min_size=2, max_size=2).map(lambda two: Distribution("uniform", tuple(sorted(two)))),
    _TIMES.map(lambda mean: Distribution("exponential", (mean,))),
    st.lists(_TIMES, min_size=2, max_size=2).map(lambda two: Distribution("lognormal", tuple(sorted(two)))),
    st.lists(_TIMES, min_size=1, max_size=5).map(lambda some: Distribution("empirical", tuple(some))),
)


@given(_DISTRIBUTIONS)
def test_every_distribution_reads_back(distribution: Distribution) -> None:
    assert DISTRIBUTION.validate_python(DISTRIBUTION.dump_python(distribution, mode="json")) == distribution
