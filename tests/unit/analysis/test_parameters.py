from __future__ import annotations

from typing import Any

import pytest

from groupsim.analysis.data.design import design_of
from groupsim.analysis.data.parameters import Parameter, parameters


def parameter(*values: Any) -> Parameter:
    """A path ``y`` with these values, of variants v0, v1, ..."""
    variants = {f"v{i}": {"set": {"y": value}} for i, value in enumerate(values)}
    (found,) = parameters(design_of({"design": "list", "variants": {}, "vary": {"y": []}}, variants), list(variants))
    return found


def test_numbers_are_laid_out_as_they_are() -> None:
    found = parameter(45000, 10000, 2.5)
    assert (found.title, found.labels, found.levels) == ("y", (), [2.5, 10000.0, 45000.0])
    assert found.positions["v0"] == 45000.0
    assert found.told(10000.0) == "10,000"


def test_durations_are_laid_out_in_one_unit() -> None:
    found = parameter("500ms", "30s", "1.5min")
    assert (found.title, found.levels, found.told(90.0)) == ("y [s]", [0.5, 30.0, 90.0], "90 s")
    assert parameter("5us", "2ms").levels == pytest.approx([0.005, 2.0])  # in ms
    assert parameter("1h", "1d", "48h").levels == [1.0, 24.0, 48.0]


@pytest.mark.parametrize(
    "values", [("range", "sticky"), (True, False), (1, "30s"), (None, 5), ({"p99": "1s"}, {"p99": "2s"}), ("30", "x")]
)
def test_everything_else_is_a_category_in_the_order_of_the_sweep(values: tuple[Any, ...]) -> None:
    found = parameter(*values)
    assert (found.levels, len(found.labels), found.is_logarithmic) == ([0.0, 1.0], 2, False)


def test_categories_are_written_as_the_user_did() -> None:
    assert parameter(["range"], ["range", "sticky"], True, None).labels == (
        "range", '["range", "sticky"]', "true", "null",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("values", "is_logarithmic"),
    [([1, 10, 100, 1000], True), ([1, 2, 3, 4, 5], False), ([0, 1, 10, 1000], False), ([1, 1000], False)],
)
def test_values_that_crowd_at_the_low_end_are_logarithmic(values: list[int], is_logarithmic: bool) -> None:
    assert parameter(*values).is_logarithmic is is_logarithmic


def test_what_was_drawn_by_logarithms_is_laid_out_so() -> None:
    variants = {f"v{i}": {"set": {"x": value, "y": value}} for i, value in enumerate((6000, 30000, 60000))}
    vary = {"x": {"log_integer": [6000, 60000]}, "y": {"integer": [6000, 60000]}}
    design = design_of({"design": "sobol", "variants": {}, "vary": vary}, variants)
    assert [one.is_logarithmic for one in parameters(design, list(variants))] == [True, False]


def test_what_has_one_value_does_not_vary() -> None:
    variants = {"a": {"set": {"x": 1, "y": 3}}, "b": {"set": {"x": 2, "y": 3}}}
    design = design_of({"design": "grid", "variants": {}, "vary": {"x": [], "y": []}}, variants)
    assert [one.name for one in parameters(design, ["a", "b"])] == ["x"]
    assert parameters(design, ["a"]) == []
