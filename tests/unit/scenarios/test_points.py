"""Points of sampled designs: spread over their ranges, repeatable, as many as counted."""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from groupsim.scenarios.sweep.design import variants
from groupsim.scenarios.sweep.points import SAMPLED, Design, Kind, MissingExtra
from groupsim.scenarios.sweep.ranges import read_range

VARY = {
    "share": read_range({"linear": [0.0, 1.0]}),
    "members": read_range({"integer": [1, 8]}),
    "wait": read_range({"linear": ["0s", "100s"]}),
}


def design(kind: Kind, size: int = 16, **changes: Any) -> Design:
    return Design(kind=kind, vary=VARY, size=size, **changes)


@pytest.mark.parametrize("kind", SAMPLED)
class TestEverySample:
    def test_has_as_many_points_as_it_counts(self, kind: Kind) -> None:
        points = list(design(kind).points())
        assert len(points) == design(kind).count() == {"morris": 16 * 4, "sobol_indices": 16 * 5}.get(kind, 16)
        assert all(list(point) == list(VARY) for point in points)

    def test_is_the_same_for_the_same_seed_and_another_for_another(self, kind: Kind) -> None:
        points = list(design(kind, seed=7).points())
        assert list(design(kind, seed=7).points()) == points
        assert list(design(kind, seed=8).points()) != points
        assert list(design(kind, seed=(1 << 53) - 1).points()) != points
        assert list(design(kind, seed=0).points()) == list(design(kind, seed=0).points())

    def test_stays_within_its_ranges(self, kind: Kind) -> None:
        for point in design(kind).points():
            assert 0 <= point["share"] <= 1
            assert point["members"] in range(1, 9)
            assert 0 <= float(point["wait"].removesuffix("ms").removesuffix("us").removesuffix("s")) <= 1000

    def test_can_be_placed_again(self, kind: Kind) -> None:
        one = design(kind)
        points = list(one.points())
        places = one.places(points)
        assert one.paths == ["members", "share", "wait"]
        assert places.shape == (one.count(), 3)
        assert places[:, 0] * 7 + 1 == pytest.approx([point["members"] for point in points])
        assert places[:, 1] == pytest.approx([point["share"] for point in points])

    def test_does_not_depend_on_the_order_of_the_paths(self, kind: Kind) -> None:
        backwards = Design(kind=kind, vary=dict(reversed(VARY.items())), size=16)
        points = list(backwards.points())
        assert points == list(design(kind).points())
        assert [list(point) for point in points] == [["wait", "members", "share"]] * len(points)


@pytest.mark.parametrize("kind", ["latin_hypercube", "sobol"])
def test_every_stratum_of_every_path_has_its_point(kind: Kind) -> None:
    points = list(design(kind, 64).points())
    assert sorted(int(point["share"] * 64) for point in points) == list(range(64))
    assert sorted(point["members"] for point in points) == [number for number in range(1, 9) for _ in range(8)]


def test_a_trajectory_of_morris_changes_one_path_at_a_time() -> None:
    vary = {"a": read_range({"linear": [0.0, 3.0]}), "b": read_range({"integer": [1, 4]})}
    points = list(Design(kind="morris", vary=vary, size=10, levels=4).points())
    assert {point["a"] for point in points} == {0.0, 1.0, 2.0, 3.0}
    assert {point["b"] for point in points} == {1, 2, 3, 4}
    for start in range(0, 30, 3):
        trajectory = points[start : start + 3]
        changed = [{path for path in vary if a[path] != b[path]} for a, b in pairwise(trajectory)]
        assert sorted(map(len, changed)) == [1, 1]
        assert set.union(*changed) == {"a", "b"}


def test_a_block_of_sobol_indices_is_a_base_point_and_crossings() -> None:
    points = np.array([[point["share"], point["members"]] for point in design("sobol_indices", 8).points()])
    for block in points.reshape(8, 5, 2):
        base, crossed_members, crossed_share, _, other = block
        assert (crossed_share[0], crossed_members[0]) == (other[0], base[0])
        assert (crossed_share[1], crossed_members[1]) == (base[1], other[1])


def test_points_are_numbered_and_crossed_with_bundles() -> None:
    found = variants({"eager": {}, "static": {"s": True}}, design("sobol"))
    assert next(iter(found)) == "eager, p0001"
    assert list(found)[-1] == "static, p0016"
    assert {k: v for k, v in found["static, p0016"].items() if k != "s"} == found["eager, p0016"]
    assert list(variants({}, design("latin_hypercube", 12_000)))[-1] == "p12000"


@pytest.mark.parametrize("kind", ["morris", "sobol_indices"])
def test_without_salib_it_says_what_to_install(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "SALib.sample", None)
    with pytest.raises(MissingExtra, match=r"pip install 'groupsim\[sensitivity\]'"):
        list(design(kind).points())
