"""Which knob matters: numbers on functions whose answers are known, words, tables and figures."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.typing import NDArray

from groupsim.analysis.errors import ResultError
from groupsim.analysis.figures import sensitivity as bars
from groupsim.analysis.sensitivity.effects import Sensitivity, sensitivity
from groupsim.analysis.sensitivity.text import sensitivity_table, sentence, title

Floats = NDArray[np.float64]
PATHS = ["groups.billing.members.count", "horizon", "timeline[gc].every"]
SHORT = dict(zip(PATHS, ["count", "horizon", "every"], strict=True))
METRIC = "unavailable_gap_s_max"


def places(method: str, size: int) -> Floats:
    from SALib.sample import morris, sobol

    problem = {"num_vars": 3, "names": PATHS, "bounds": [[0.0, 1.0]] * 3}
    if method == "morris":
        return np.asarray(morris.sample(problem, size, num_levels=4, seed=1))
    return np.asarray(sobol.sample(problem, size, calc_second_order=False, seed=1))


def found(method: str, function: Callable[[Floats], Floats], size: int = 32, **changes: object) -> Sensitivity:
    at = places(method, size)
    values = function(at)
    for point, value in changes.items():
        values[int(point.removeprefix("at_"))] = value
    return sensitivity(method, PATHS, at, values, metric=METRIC, group="billing")


def linear(at: Floats) -> Floats:
    return at @ np.array([2.0, -30.0, 0.0]) + 7.0


def slight(at: Floats) -> Floats:
    return at @ np.array([1e-6, 1.0, 0.0])


def product(at: Floats) -> Floats:
    return np.asarray(at[:, 0] * at[:, 1])


def ishigami(at: Floats) -> Floats:
    a, b, c = (2 * np.pi * at - np.pi).T
    return np.asarray(np.sin(a) + 7 * np.sin(b) ** 2 + 0.1 * c**4 * np.sin(a))


def by_path(one: Sensitivity) -> dict[str, tuple[float, float]]:
    return {knob.path: (knob.weight, knob.detail) for knob in one.knobs}


class TestMorris:
    def test_elementary_effects_of_a_linear_function_are_its_coefficients(self) -> None:
        one = found("morris", linear)
        assert [knob.path for knob in one.knobs] == [PATHS[1], PATHS[0], PATHS[2]]
        assert [knob.weight for knob in one.knobs] == pytest.approx([30.0, 2.0, 0.0])
        assert [knob.detail for knob in one.knobs] == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)
        assert [knob.weight_half_width for knob in one.knobs] == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)

    def test_effects_that_depend_on_one_another_show_in_sigma(self) -> None:
        one = by_path(found("morris", product, 200))
        for path in PATHS[:2]:
            mu_star, sigma = one[path]
            assert mu_star == pytest.approx(0.5, abs=0.06), "the mean of the other"
            assert sigma == pytest.approx(0.373, abs=0.03), "the spread of 0, 1/3, 2/3, 1"
        assert one[PATHS[2]] == (0.0, 0.0)

    def test_a_trajectory_without_a_value_is_left_out_and_counted(self) -> None:
        one = found("morris", linear, 20, at_5=np.nan, at_6=np.nan, at_79=np.nan)
        assert (one.blocks, one.missing) == (18, 2)
        assert [knob.weight for knob in one.knobs] == pytest.approx([30.0, 2.0, 0.0])
        assert "18 trajectories; 2 left out: a value is missing" in sensitivity_table(one, SHORT).notes[0]


class TestSobol:
    def test_indices_of_ishigami(self) -> None:
        one = by_path(found("sobol_indices", ishigami, 2048))
        expected = {PATHS[0]: (0.5576, 0.3139), PATHS[1]: (0.4424, 0.4424), PATHS[2]: (0.2437, 0.0)}
        for path, indices in expected.items():
            assert one[path] == pytest.approx(indices, abs=0.03)

    def test_an_interval_shrinks_with_the_points(self) -> None:
        few, many = (found("sobol_indices", ishigami, size).knobs[0] for size in (32, 1024))
        assert 0 < many.weight_half_width < few.weight_half_width / 3
        assert many.detail_half_width is not None

    def test_a_block_without_a_value_is_left_out(self) -> None:
        one = found("sobol_indices", linear, 64, at_7=np.nan)
        assert (one.blocks, one.missing) == (63, 1)
        assert one.knobs[0].path == PATHS[1]
        assert one.knobs[0].weight == pytest.approx(0.99, abs=0.06)


@pytest.mark.parametrize("method", ["morris", "sobol_indices"])
class TestEither:
    def test_is_repeatable(self, method: str) -> None:
        assert found(method, ishigami) == found(method, ishigami)

    def test_a_metric_that_never_varies_has_no_knob_that_matters(self, method: str) -> None:
        one = found(method, lambda at: np.full(len(at), 4.0))
        assert not one.varies
        assert {knob.weight for knob in one.knobs} == {0.0}
        assert sentence(one, SHORT) == "No knob matters: at every point the longest gap came to the same."

    def test_too_few_values_are_refused(self, method: str) -> None:
        with pytest.raises(ResultError, match=f"{METRIC}: 1 of 2 .* have all values; 2 at least are needed"):
            found(method, linear, 2, at_0=np.nan)

    def test_is_drawn_with_every_knob_and_the_sentence(self, method: str) -> None:
        one = found(method, ishigami, 64)
        drawn = bars([one, one], SHORT)
        assert labels(drawn) == [[SHORT[knob.path] for knob in one.knobs]] * 2
        told = " ".join(text.get_text() for axes in drawn.axes for text in axes.texts)
        assert title(one) in told
        assert all(word in told for word in sentence(one, SHORT).split())

    def test_without_salib_it_says_what_to_install(self, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
        at = places(method, 4)
        monkeypatch.setitem(sys.modules, "SALib.analyze", None)
        with pytest.raises(ResultError, match=r"pip install 'groupsim\[sensitivity\]'"):
            sensitivity(method, PATHS, at, linear(at), metric=METRIC)


def labels(figure: Figure) -> list[list[str]]:
    rows = [[label.get_text() for label in axes.get_yticklabels()] for axes in figure.axes]
    return [row for row in rows if set(row) & set(SHORT.values())]


def test_bars_are_as_long_as_the_weights() -> None:
    one = found("morris", linear)
    (axes,) = [axes for axes in bars([one], SHORT).axes if axes.get_xlabel() == "s"]
    widths = sorted(patch.get_width() for patch in axes.patches)
    assert widths[-2:] == pytest.approx([2.0, 30.0])


def test_a_figure_of_many_knobs_shows_the_heaviest() -> None:
    paths = [f"topics.orders.knob-number-{number}" for number in range(30)]
    at = np.zeros((62, 30))
    for start in (0, 31):
        at[start : start + 31] = np.tril(np.ones((31, 30)), -1) * 2 / 3
    one = sensitivity("morris", paths, at, at @ np.arange(30.0), metric=METRIC)
    figure = bars([one], {path: path for path in paths})
    told = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert any("10 lighter knobs are not shown" in text for text in told)
    assert "≈ 0" in [text.get_text() for axes in bars([found("morris", slight)], SHORT).axes for text in axes.texts]
    assert figure.get_size_inches()[1] < 10


class TestSentence:
    def test_names_the_one_that_matters_and_those_that_do_not(self) -> None:
        told = sentence(found("morris", linear), SHORT)
        assert told == (
            "horizon matters most: a jump over 67 % of its range changes the longest gap by 20 s on average. "
            "every does next to nothing."
        )

    def test_says_that_an_effect_depends_on_the_others(self) -> None:
        told = sentence(found("morris", lambda at: at[:, 1] * (1 + 9 * at[:, 2])), SHORT)
        assert "more or less of it depending on where the knobs stand" in told

    def test_does_not_choose_between_intervals_that_overlap(self) -> None:
        told = sentence(found("morris", product), SHORT)
        assert "has the largest weight" in told
        assert "may matter as much: their intervals overlap" in told

    def test_counts_idle_knobs_that_are_many(self) -> None:
        paths = [str(number) for number in range(9)]
        at = np.vstack([np.tril(np.ones((10, 9)), -1) * 2 / 3] * 2)
        one = sensitivity("morris", paths, at, at[:, 0] * 1.0, metric=METRIC)
        assert sentence(one, {path: path for path in paths}).endswith(" 8 others do next to nothing.")

    def test_tells_shares_of_the_variance(self) -> None:
        told = sentence(found("sobol_indices", linear, 256), SHORT)
        assert told.startswith("horizon matters most: it accounts for ")
        assert "% of the variance of the longest gap, " in told
        assert told.endswith("count and every do next to nothing.")


def test_the_table_has_a_row_a_knob_and_all_numbers() -> None:
    table = sensitivity_table(found("sobol_indices", ishigami, 64), SHORT, width=80)
    assert table.headers == ("knob", "total [%]", "first order [%]")
    assert set(table.records()[0]) == {"knob", "path", "st", "st ±", "s1", "s1 ±"}
    assert table.notes == ("Sobol, 64 blocks of crossed points; ± is the 95 % interval",)
    morris = sensitivity_table(found("morris", linear), SHORT)
    assert morris.headers == ("knob", "mu* [s]", "sigma [s]")
    assert morris.records()[0]["mu_star"] == pytest.approx(30.0)
