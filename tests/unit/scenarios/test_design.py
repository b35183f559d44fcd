"""Variants of a sweep: which there are, what they are called, and with which seed they run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from groupsim.scenarios.sweep.design import Changes, count_of, name_bytes, seed_of
from groupsim.scenarios.sweep.design import variants as variants_of
from groupsim.scenarios.sweep.points import Design


def variants(bundles: Mapping[str, Changes], vary: Mapping[str, list[Any]], kind: Any) -> dict[str, Changes]:
    return variants_of(bundles, Design(kind=kind, vary=vary))


SESSION = "groups.billing.config[session.timeout.ms]"


def test_grid_crosses_bundles_with_every_combination() -> None:
    found = variants({"range": {}, "static": {"s": True}}, {SESSION: [10, 45], "a.b": [1, 2]}, "grid")
    assert len(found) == 8
    assert list(found)[:3] == [
        "range, session.timeout.ms=10, b=1",
        "range, session.timeout.ms=10, b=2",
        "range, session.timeout.ms=45, b=1",
    ]
    assert found["static, session.timeout.ms=45, b=1"] == {"s": True, SESSION: 45, "a.b": 1}


def test_list_takes_the_values_side_by_side() -> None:
    found = variants({}, {SESSION: [10, 45], "a.b": [1, 2]}, "list")
    assert list(found.values()) == [{SESSION: 10, "a.b": 1}, {SESSION: 45, "a.b": 2}]
    assert list(found) == ["session.timeout.ms=10, b=1", "session.timeout.ms=45, b=2"]


def test_without_variants_there_is_the_scenario_itself() -> None:
    assert variants({}, {}, "grid") == {"base": {}}


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["a.x", "b.x"], ["a.x=1, b.x=1"]),
        (["timeline[deploy].rolling_restart.batch"], ["batch=1"]),
        (["timeline[deploy]"], ["deploy=1"]),
        (["horizon"], ["horizon=1"]),
    ],
)
def test_names_are_short_unless_they_would_be_equal(paths: list[str], names: list[str]) -> None:
    assert list(variants({}, {path: [1] for path in paths}, "grid")) == names


@pytest.mark.parametrize(
    ("value", "text"), [("30s", "30s"), (True, "true"), (["range"], '["range"]'), (None, "null"), (0.5, "0.5")]
)
def test_values_are_named_as_yaml_writes_them(value: object, text: str) -> None:
    assert list(variants({}, {"x": [value]}, "grid")) == [f"x={text}"]


def test_common_faults_give_every_variant_the_same_seed() -> None:
    assert seed_of(7, "a", common_faults=True) == seed_of(7, "b", common_faults=True) == 7


def test_without_common_faults_seeds_differ_by_variant_and_are_repeatable() -> None:
    seeds = {(seed, name): seed_of(seed, name, common_faults=False) for seed in (1, 2) for name in "abc"}
    assert len(set(seeds.values())) == 6
    assert seeds[1, "a"] == 6724282652570131
    assert all(0 <= seed < 2**53 for seed in seeds.values())


def test_names_that_are_too_long_for_a_folder_become_numbers() -> None:
    long = variants({"a": {}, "b": {}}, {"x": ["y" * 149, "z"]}, "grid")
    assert list(long) == ["a, p0001", "a, p0002", "b, p0001", "b, p0002"]
    assert long["b, p0002"] == {"x": "z"}
    just_short_enough = variants({}, {"x": ["y" * 146, "z"]}, "grid")
    assert max(map(name_bytes, just_short_enough)) == 150
    assert list(variants({}, {"x": ["é" * 30, "z"]}, "grid")) == ["p0001", "p0002"], "an é is six bytes when quoted"


def test_points_that_would_have_one_name_become_numbers() -> None:
    assert variants({}, {"x": [1, "1"]}, "grid") == {"p0001": {"x": 1}, "p0002": {"x": "1"}}


def test_a_count_is_arithmetic() -> None:
    vary = {str(path): list(range(100)) for path in range(10)}
    assert count_of({"a": {}, "b": {}}, Design(kind="grid", vary=vary)) == 2 * 10**20
    assert count_of({}, Design(kind="list", vary=vary)) == 100
