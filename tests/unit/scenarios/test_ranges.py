"""Ranges of a sweep: which value stands at which place, how it is written, and what is no range."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from pydantic_core import PydanticCustomError

from groupsim.scenarios.schema.durations import parse_duration
from groupsim.scenarios.sweep.ranges import FORMS, Range, read_range


@pytest.mark.parametrize(
    ("given", "low", "middle", "high"),
    [
        ({"linear": [10, 60]}, 10.0, 35.0, 60.0),
        ({"linear": ["10s", "1min"]}, "10s", "35s", "60s"),
        ({"linear": ["0us", "3us"]}, "0us", "2us", "3us"),
        ({"log": [0.1, 1000]}, 0.1, 10.0, 1000.0),
        ({"log": ["1ms", "100s"]}, "1ms", "316.228ms", "100s"),
        ({"integer": [1, 4]}, 1, 3, 4),
        ({"integer": [-3, 3]}, -3, 0, 3),
        ({"log_integer": [6000, 60000]}, 6000, 18973, 60000),
        ({"choice": [["range"], ["sticky"], None]}, ["range"], ["sticky"], None),
    ],
)
def test_a_place_has_a_value(given: dict[str, Any], low: Any, middle: Any, high: Any) -> None:
    found = read_range(given)
    assert [found.at(place) for place in (0.0, 0.5, 1.0)] == [low, middle, high]
    assert type(found.at(0.5)) is type(middle)


@pytest.mark.parametrize(
    ("given", "counts"),
    [
        ({"integer": [1, 4]}, {1: 250, 2: 250, 3: 250, 4: 250}),
        ({"choice": ["a", "b"]}, {"a": 500, "b": 500}),
        ({"log_integer": [1, 3]}, {1: 500, 2: 293, 3: 207}),
    ],
)
def test_whole_numbers_and_choices_have_their_share(given: dict[str, Any], counts: dict[Any, int]) -> None:
    found = read_range(given)
    assert Counter(found.at(place / 1000) for place in range(1000)) == counts


@pytest.mark.parametrize("form", FORMS)
def test_the_place_of_a_value_is_where_it_came_from(form: str) -> None:
    found = read_range({form: [3, 3000]})
    values = [found.at(step / 10) for step in range(11)]
    places = found.places(values)
    assert [found.at(place) for place in places] == values
    assert places == sorted(places)


def test_the_place_of_a_duration_is_that_of_its_time() -> None:
    found = read_range({"linear": ["10s", "1min"]})
    assert found.places(["10s", "35s", "60000ms"]) == [0.0, 0.5, 1.0]


def test_values_are_short_enough_to_be_typed_again() -> None:
    found = read_range({"linear": ["1s", "2h"]})
    values = [found.at(place / 97) for place in range(98)]
    assert max(len(value) for value in values) <= len("1234.56s")
    assert all(1_000_000 <= parse_duration(value) <= 7_200_000_000 for value in values)
    assert read_range({"linear": [0.5, 1.5]}).at(1 / 3) == 0.833333


@pytest.mark.parametrize(
    "given", [{"linear": ["10s", "1min"]}, {"log": [0.5, 2]}, {"choice": [True, None]}, {"integer": [1, 2]}]
)
def test_a_range_reads_back_from_its_document(given: dict[str, Any]) -> None:
    found = read_range(given)
    assert read_range(found.document()) == found


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"linaer": [1, 2]}, "did you mean 'linear'"),
        ({}, "with one of linear, log, integer, log_integer, choice"),
        ({"linear": [1, 2], "log": [1, 2]}, "with one of linear"),
        ({"linear": [2, 1]}, "the lower first"),
        ({"linear": [1, 1]}, "the lower first"),
        ({"linear": [1, 2, 3]}, "linear takes two numbers or two durations"),
        ({"linear": {"from": 1, "to": 2}}, "linear takes two numbers"),
        ({"linear": [1, "10s"]}, "linear takes two numbers or two durations"),
        ({"linear": ["10", "20"]}, "such as 700ms"),
        ({"linear": [False, True]}, "linear takes two numbers"),
        ({"log": [0, 1]}, "above zero"),
        ({"log": ["0s", "1s"]}, "above zero"),
        ({"integer": [1.5, 3]}, "integer takes two whole numbers"),
        ({"integer": ["1s", "3s"]}, "integer takes two whole numbers"),
        ({"log_integer": [0, 3]}, "above zero"),
        ({"choice": [1]}, "two values or more"),
        ({"choice": [1, 1]}, "no two the same"),
        ({"choice": "ab"}, "a list of two values"),
    ],
)
def test_what_is_no_range_is_told_what_it_should_be(given: dict[str, Any], says: str) -> None:
    with pytest.raises(PydanticCustomError, match=says.replace("(", r"\(")):
        read_range(given)


def test_a_choice_is_what_it_was_given() -> None:
    assert read_range({"choice": [1, True, "1"]}) == Range("choice", (1, True, "1"))
