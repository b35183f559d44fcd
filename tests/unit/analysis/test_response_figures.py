from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from groupsim.analysis.data.design import Design, design_of
from groupsim.analysis.errors import ResultError
from groupsim.analysis.figures import heat_map, is_two_dimensional, response_curves
from groupsim.analysis.figures.parameter_axes import cut, decades
from groupsim.analysis.stats.responses import in_bins
from groupsim.analysis.stats.statistics import estimate

Maker = Callable[..., pd.DataFrame]
GAP = ["unavailable_gap_s_max"]


def study(
    sweep: Maker,
    gaps: Callable[..., Iterable[float]],
    vary: dict[str, list[Any]],
    bundles: tuple[str, ...] = (),
    kind: str = "grid",
) -> tuple[pd.DataFrame, Design]:
    """Every bundle at every combination of values; ``gaps(bundle, *values)`` are the longest gaps of its runs."""
    points = list(itertools.product(*vary.values()) if kind == "grid" else zip(*vary.values(), strict=True))
    places = {f"{b}, p{i}" if b else f"p{i}": (b, p) for b in bundles or ("",) for i, p in enumerate(points)}
    variants = {name: {"set": dict(zip(vary, point, strict=True))} for name, (_, point) in places.items()}
    design = design_of({"design": kind, "variants": dict.fromkeys(bundles), "vary": vary}, variants)
    return sweep({name: gaps(bundle, *point) for name, (bundle, point) in places.items()}), design


def panels(figure: Figure, title: str) -> list[Axes]:
    return [axes for axes in figure.axes if axes.get_title(loc="left").startswith(title)]


def curves(axes: Axes) -> list[tuple[list[float], list[float]]]:
    """Positions and means of each line, in the order of the legend."""
    lines = [line for line in axes.lines if line.get_linestyle() == "-"]
    return [(list(line.get_xdata()), list(line.get_ydata())) for line in reversed(lines)]


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def shown(axes: Axes) -> np.ndarray[Any, Any]:
    (image,) = axes.images
    return np.ma.filled(image.get_array(), np.nan)


class TestCurves:
    def test_have_a_line_per_bundle_through_the_means(self, sweep: Maker) -> None:
        offset = {"range": 0.0, "static": 3.0}
        summary, design = study(
            sweep, lambda b, t: [t + offset[b], t + offset[b] + 2], {"t": [30, 10, 20]}, ("range", "static")
        )
        figure = response_curves(summary, design, GAP)
        (panel,) = panels(figure, "longest gap [s]")
        assert curves(panel) == [([10, 20, 30], [11, 21, 31]), ([10, 20, 30], [14, 24, 34])]
        assert {"range", "static"} <= set(texts(figure))
        assert panel.get_xlabel() == "t"

    def test_have_bands_as_wide_as_the_intervals(self, sweep: Maker) -> None:
        summary, design = study(sweep, lambda b, t: [t, t + 2, t + 7], {"t": [10, 20]})
        (panel,) = panels(response_curves(summary, design, GAP), "longest gap")
        assert panel.get_position().width > 0.8, "one metric has all the room"
        (band,) = panel.collections
        at_ten = sorted({round(float(y), 6) for x, y in band.get_paths()[0].vertices if x == 10})
        expected = estimate([10, 12, 17])
        assert at_ten == pytest.approx([expected.low, expected.high], abs=1e-5)

    def test_of_two_parameters_have_a_line_per_value_of_the_other(self, sweep: Maker) -> None:
        summary, design = study(sweep, lambda _, t, n: [t * n], {"t": [10, 20], "n": [1, 2, 3]})
        figure = response_curves(summary, design, GAP)
        against_t, against_n = panels(figure, "longest gap")
        assert [means for _, means in curves(against_t)] == [[10, 20], [20, 40], [30, 60]]
        assert [means for _, means in curves(against_n)] == [[10, 20, 30], [20, 40, 60]]
        assert {"against t", "against n"} <= set(texts(figure))

    def test_of_many_values_are_means_over_them_run_by_run(self, sweep: Maker) -> None:
        summary, design = study(sweep, lambda _, t, n: [t + n + 30, t + n + 36], {"t": [10, 20], "n": list(range(9))})
        figure = response_curves(summary, design, GAP)
        against_t, _ = panels(figure, "longest gap")
        assert curves(against_t) == [([10, 20], [47, 57])]
        (band,) = against_t.collections
        assert band.get_paths()[0].get_extents().y0 == pytest.approx(estimate([44, 50]).low)  # over runs, not points
        assert "against t; all values of n together" in texts(figure)

    def test_of_a_sample_are_dots_and_means_over_bins(self, sweep: Maker) -> None:
        t = [float(i) for i in range(40)]
        summary, design = study(sweep, lambda _, t: [t, t + 2], {"t": t}, kind="latin_hypercube")
        figure = response_curves(summary, design, GAP)
        (panel,) = panels(figure, "longest gap")
        (dots,) = [line for line in panel.lines if line.get_marker() == "."]
        assert list(dots.get_ydata()) == [one + 1 for one in t]
        ((positions, means),) = curves(panel)
        assert (len(positions), positions[0], means[0]) == (8, 2.0, 3.0)  # five points a bin
        assert any("mean of bins with equally many points" in text for text in texts(figure))

    def test_of_categories_name_them_on_the_axis(self, sweep: Maker) -> None:
        summary, design = study(sweep, lambda _, a: [1.0, 2.0], {"a": [["range"], ["sticky"]]})
        (panel,) = panels(response_curves(summary, design, GAP), "longest gap")
        assert [label.get_text() for label in panel.get_xticklabels()] == ["range", "sticky"]

    def test_of_more_bundles_than_colours_are_grey(self, sweep: Maker) -> None:
        bundles = tuple(f"b{i}" for i in range(11))
        summary, design = study(sweep, lambda b, t: [1.0, 2.0], {"t": [1, 2]}, bundles)
        assert "3 more" in texts(response_curves(summary, design, GAP))

    def test_of_several_groups_are_told_apart(self, sweep: Maker) -> None:
        summary, design = study(sweep, lambda _, t: [t], {"t": [1, 2]})
        both = pd.concat([summary, summary.assign(group="audit").astype(summary.dtypes)])
        assert {"audit", "billing"} <= set(texts(response_curves(both, design, GAP)))

    def test_leave_out_runs_without_a_value(self, sweep: Maker) -> None:
        summary, design = study(sweep, lambda _, t: [t, t], {"t": [1, 2]})
        summary["recovery_s"] = [3.0, np.nan, np.nan, np.nan]
        figure = response_curves(summary, design, ["recovery_s"])
        (panel,) = panels(figure, "recovery")
        ((_, means),) = curves(panel)
        assert (means[0], np.isnan(means[1])) == (3.0, True)
        assert any("runs without a value are left out" in text for text in texts(figure))

    def test_need_something_that_varies(self, sweep: Maker) -> None:
        summary, design = study(sweep, lambda b: [1.0], {}, ("a", "b"))
        with pytest.raises(ResultError, match="nothing varies"):
            response_curves(summary, design, GAP)


class TestHeatMaps:
    def test_show_the_mean_at_each_pair_of_values(self, sweep: Maker) -> None:
        summary, design = study(sweep, lambda _, t, n: [t + n, t + n + 2], {"t": [30, 10, 20], "n": [3, 1, 2]})
        figure = heat_map(summary, design, GAP)
        (panel,) = panels(figure, "longest gap [s]")
        assert shown(panel).tolist() == [[12, 22, 32], [13, 23, 33], [14, 24, 34]]  # n upwards, t to the right
        assert (panel.get_xlabel(), panel.get_ylabel()) == ("t", "n")
        assert [label.get_text() for label in panel.get_xticklabels()] == ["10", "20", "30"]
        assert "34" in [text.get_text() for text in panel.texts]

    def test_of_a_sample_are_means_over_cells(self, sweep: Maker) -> None:
        rng = np.random.default_rng(1)
        vary = {"t": list(rng.uniform(0, 1, 400)), "n": list(rng.uniform(0, 1, 400))}
        summary, design = study(sweep, lambda _, t, n: [100 * t], vary, kind="sobol")
        (panel,) = panels(heat_map(summary, design, GAP), "longest gap")
        assert shown(panel).shape == (10, 10)
        assert np.nanmean(shown(panel), axis=0) == pytest.approx([5 + 10 * i for i in range(10)], abs=3)

    def test_of_bundles_share_a_scale(self, sweep: Maker) -> None:
        vary: dict[str, list[Any]] = {"t": [1, 2, 3], "n": [1, 2, 3]}
        summary, design = study(sweep, lambda b, t, n: [t * n + 100 * (b == "static")], vary, ("range", "static"))
        figure = heat_map(summary, design, GAP)
        (a,), (b,) = panels(figure, "longest gap, range"), panels(figure, "longest gap, static")
        assert a.images[0].get_clim() == b.images[0].get_clim() == (1.0, 109.0)

    def test_leave_what_is_not_known_blank(self, sweep: Maker) -> None:
        summary, design = study(sweep, lambda _, t, n: [t * n], {"t": [1, 2, 3], "n": [1, 2, 3]})
        (panel,) = panels(heat_map(summary[summary["variant"] != "p0"], design, GAP), "longest gap")
        assert np.isnan(shown(panel)).sum() == 1

    def test_of_what_never_changes_say_so(self, sweep: Maker) -> None:
        summary, design = study(sweep, lambda _, t, n: [5.0], {"t": [1, 2, 3], "n": [1, 2, 3]})
        assert "5 everywhere" in texts(heat_map(summary, design, GAP))
        assert "nothing known" in texts(heat_map(summary, design, ["recovery_s"]))

    def test_put_names_where_they_have_room(self, sweep: Maker) -> None:
        vary: dict[str, list[Any]] = {"assignor": ["range", "sticky", "cooperative-sticky"], "n": [1, 2, 3]}
        summary, design = study(sweep, lambda _, a, n: [n], vary)
        (panel,) = panels(heat_map(summary, design, GAP), "longest gap")
        assert [label.get_text() for label in panel.get_yticklabels()] == ["range", "sticky", "cooperative-sticky"]

    @pytest.mark.parametrize("vary", [{"t": [1, 2, 3]}, {"t": [1, 2, 3], "n": [1, 2]}])
    def test_need_two_parameters_with_enough_values(self, sweep: Maker, vary: dict[str, list[Any]]) -> None:
        summary, design = study(sweep, lambda *_: [1.0], vary)
        assert not is_two_dimensional(summary, design)
        with pytest.raises(ResultError, match="needs two parameters that vary, each with at least 3 values"):
            heat_map(summary, design, GAP)


class TestThreeParameters:
    def test_have_a_map_for_each_value_of_the_third(self, sweep: Maker) -> None:
        vary: dict[str, list[Any]] = {"t": [1, 2, 3], "n": [1, 2, 3, 4], "assignor": [["range"], ["sticky"]]}
        summary, design = study(sweep, lambda _, t, n, a: [t * n + 100 * (a == ["sticky"])], vary)
        assert is_two_dimensional(summary, design)
        figure = heat_map(summary, design, GAP)
        (first,), (second,) = panels(figure, "longest gap, range"), panels(figure, "longest gap, sticky")
        expected = np.outer([1, 2, 3, 4], [1, 2, 3])
        assert shown(first).tolist() == expected.tolist()
        assert shown(second).tolist() == (expected + 100).tolist()
        assert "deploy over t and n, for each assignor" in texts(figure)

    def test_are_no_map_where_the_third_has_too_many_values(self, sweep: Maker) -> None:
        vary: dict[str, list[Any]] = {"t": list(range(9)), "n": list(range(9)), "m": list(range(9))}
        assert not is_two_dimensional(*study(sweep, lambda *_: [1.0], vary))

    def test_are_no_map_where_a_sample_would_have_to_put_the_third_together(self, sweep: Maker) -> None:
        vary: dict[str, list[Any]] = {name: [float(i) for i in range(40)] for name in "tnm"}
        assert not is_two_dimensional(*study(sweep, lambda *_: [1.0], vary, kind="sobol"))


class TestAxes:
    def test_of_logarithms_have_a_tick_at_each_ninth_of_a_decade(self, sweep: Maker) -> None:
        summary, design = study(sweep, lambda _, t: [t], {"t": [1, 10, 100, 1000]})
        (panel,) = panels(response_curves(summary, design, GAP), "longest gap")
        assert panel.get_xscale() == "log"
        ticks = [round(one) for one in (*panel.get_xticks(), *panel.get_xticks(minor=True))]
        assert {2, 3, 4, 5, 6, 7, 8, 9, 20, 90, 900} <= set(ticks)

    def test_of_logarithms_have_round_numbers_in_heat_maps(self, sweep: Maker) -> None:
        rng = np.random.default_rng(1)
        vary = {"t": list(10 ** rng.uniform(0.2, 3.3, 400)), "n": list(rng.uniform(0, 1, 400))}
        summary, design = study(sweep, lambda _, t, n: [t], vary, kind="sobol")
        (panel,) = panels(heat_map(summary, replace(design, logarithmic=frozenset("t")), GAP), "longest gap")
        numbers = [float(label.get_text().replace(",", "")) for label in panel.get_xticklabels()]
        assert {10.0, 100.0, 1000.0} <= set(numbers)
        at = np.log10(numbers)
        places = np.interp(at, np.log10([min(vary["t"]), max(vary["t"])]), [-0.5, shown(panel).shape[1] - 0.5])
        assert panel.get_xticks() == pytest.approx(places)

    def test_of_panels_beside_one_another_begin_at_zero(self, sweep: Maker) -> None:
        summary, design = study(sweep, lambda _, t: [90 + t, 91 + t], {"t": [1, 2, 3]})
        (panel,) = panels(response_curves(summary, design, GAP), "longest gap")
        assert panel.get_ylim()[0] == 0
        assert panel.get_ylim()[1] > panel.dataLim.y1, "the highest dot is whole"

    def test_bands_do_not_reach_below_zero(self, sweep: Maker) -> None:
        summary, design = study(sweep, lambda _, t: [0.0, t], {"t": [1, 2, 3]})
        (panel,) = panels(response_curves(summary, design, GAP), "longest gap")
        assert panel.collections[0].get_paths()[0].get_extents().y0 == 0


def test_bins_hold_equally_many_points() -> None:
    positions = np.array([4.0, 1.0, 2.0, 3.0, 9.0, 8.0, 7.0, 6.0, 5.0, 100.0])
    found = in_bins(positions, 10 * positions)
    assert found.positions.tolist() == [3.0, 26.0]
    assert [(one.mean, one.n) for one in found.means] == [(30.0, 5), (260.0, 5)]


@pytest.mark.parametrize(("low", "high", "room_in"), [(5_000, 315_000, 2.4), (1, 1e9, 2.4), (20, 30, 2.4), (2, 8, 0.3)])
def test_ticks_of_a_logarithmic_axis_do_not_touch(low: float, high: float, room_in: float) -> None:
    found = decades(low, high, room_in)
    assert all(low <= one <= high for one in found)
    places = [np.log10(one / low) / np.log10(high / low) * room_in for one in found]
    assert all(b - a > 0.1 for a, b in itertools.pairwise(places))


def test_names_are_cut_to_the_room_there_is() -> None:
    assert cut("range", 1.0) == "range"
    assert 4 <= len(cut("cooperative-sticky", 0.5)) < 18
    assert cut("cooperative-sticky", 0.01) == ""
