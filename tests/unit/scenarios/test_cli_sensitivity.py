"""``groupsim sensitivity`` on sweeps of a function whose answers are known: sample, runs, folder and analysis at once.

The simulator is replaced by the function; everything else is what a user has.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from groupsim.sim.errors import SimError
from groupsim.sim.model import Scenario, Slow
from groupsim.sim.output.result import Result
from tests.support import fake_simulation as fake
from tests.support.command_line import SCENARIO, CommandLine

ZETA, ALPHA, MU = "timeline[zeta].slow.factor", "timeline[alpha].slow.for", "timeline[mu].slow.factor"
TIMELINE = """
timeline:
  - {id: zeta, at: 1min, slow: {target: billing, factor: 2, for: 10s}}
  - {id: alpha, at: 1min, slow: {target: billing, factor: 2, for: 10s}}
  - {id: mu, at: 1min, slow: {target: billing, factor: 2, for: 10s}}
"""
VARY = f"""
scenario: small.yaml
vary:
  {ZETA}: {{linear: [1, 2]}}
  {ALPHA}: {{linear: [10s, 20s]}}
  {MU}: {{log: [0.1, 10]}}
"""
MORRIS = f"{VARY}design: morris\ntrajectories: 6\n"
SOBOL = f"{VARY}design: sobol_indices\npoints: 64\n"

Knobs = tuple[float, float, float]
Swept = Callable[..., Path]


def knobs(scenario: Scenario) -> Knobs:
    """Where the three stand in their ranges, from 0 to 1."""
    zeta, alpha, mu = (entry.verb for entry in scenario.timeline)
    assert isinstance(zeta, Slow)
    assert isinstance(alpha, Slow)
    assert isinstance(mu, Slow)
    return zeta.factor - 1, alpha.duration.values[0] / 1e7 - 1, (math.log10(mu.factor) + 1) / 2


def linear(at: Knobs) -> float:
    return 5 * at[0] + 40 * at[1] - 3 * at[2]


def g_function(at: Knobs) -> float:
    """Sobol's g with a = 0, 1, 9."""
    return math.prod((abs(4 * x - 2) + a) / (1 + a) for x, a in zip(at, (0, 1, 9), strict=True))


FIRST_ORDER = {ZETA: 0.742, ALPHA: 0.185, MU: 0.007}
TOTAL = {ZETA: 0.806, ALPHA: 0.248, MU: 0.011}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.yaml").write_text(SCENARIO + TIMELINE)
    return tmp_path


@pytest.fixture
def swept(groupsim: CommandLine, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Swept:
    """The folder of a sweep whose runs are values of a function of the knobs; NaN is a run that fails."""

    def carried_out(text: str, function: Callable[[Knobs], float], code: int = 0) -> Path:
        def simulate(scenario: Scenario, **run: Any) -> Result:
            value, result = function(knobs(scenario)), fake.simulate(scenario, **run)
            if math.isnan(value):
                raise SimError("no value here")
            result.tables.columns("summary")["unavailable_gap_s_max"][:] = value
            return result

        monkeypatch.setattr("groupsim.sim.simulate", simulate, raising=False)
        (folder / "sweep.yaml").write_text(text)
        told = groupsim("sweep", folder / "sweep.yaml", "--inline", "--out", folder / "out")
        assert told.code == code, told.err
        return folder / "out"

    return carried_out


def test_morris_finds_the_coefficients_of_a_linear_function(groupsim: CommandLine, swept: Swept) -> None:
    told = groupsim("sensitivity", swept(MORRIS, linear), "--json").json[0]
    assert (told["method"], told["metric"], told["group"], told["blocks"]) == (
        "morris", "unavailable_gap_s_max", "billing", 6,
    )  # fmt: skip
    assert [knob["path"] for knob in told["knobs"]] == [ALPHA, ZETA, MU]
    assert [knob["mu_star"] for knob in told["knobs"]] == pytest.approx([40, 5, 3], rel=1e-4)
    assert max(knob["sigma"] for knob in told["knobs"]) < 0.01, "values are rounded to six digits"


def test_sobol_finds_the_known_indices_of_the_g_function(groupsim: CommandLine, swept: Swept) -> None:
    told = groupsim("sensitivity", swept(SOBOL, g_function), "--json").json[0]
    assert (told["method"], told["blocks"], told["missing"]) == ("sobol_indices", 64, 0)
    assert [knob["path"] for knob in told["knobs"]] == [ZETA, ALPHA, MU]
    for knob in told["knobs"]:
        assert knob["st"] == pytest.approx(TOTAL[knob["path"]], abs=0.05)
        assert abs(knob["s1"] - FIRST_ORDER[knob["path"]]) <= knob["s1 ±"]


def test_it_is_told_as_a_table_and_a_sentence(groupsim: CommandLine, swept: Swept, folder: Path) -> None:
    told = groupsim("sensitivity", swept(MORRIS, linear), "--figure", folder / "bars.png")
    assert told.code == 0
    lines = told.out.splitlines()
    assert lines[0] == "longest gap, group billing:"
    assert [line.split()[0] for line in lines[3:6]] == [ALPHA.split(".")[-1], ZETA, MU]
    assert "for matters most: a jump over 67 % of its range changes the longest gap by" in told.out
    assert max(map(len, lines)) <= 80
    assert (folder / "bars.png").read_bytes().startswith(b"\x89PNG")
    assert f"figure in {folder / 'bars.png'}" in told.said


def test_each_metric_and_each_bundle_has_its_own(groupsim: CommandLine, swept: Swept) -> None:
    bundles = "variants: {few: {groups.billing.members.count: 1}, many: {groups.billing.members.count: 9}}\n"
    out = swept(MORRIS + bundles, linear)
    told = groupsim("sensitivity", out, "--metric", "unavailable_gap_s_max", "--metric", "requests", "--json").json
    assert [(one["variant"], one["metric"]) for one in told] == [
        ("few", "unavailable_gap_s_max"), ("few", "requests"), ("many", "unavailable_gap_s_max"), ("many", "requests"),
    ]  # fmt: skip
    assert told[2]["knobs"][0]["mu_star"] == pytest.approx(40, rel=1e-4)


def test_points_whose_runs_failed_are_left_out(groupsim: CommandLine, swept: Swept) -> None:
    out = swept(MORRIS, lambda at: math.nan if at == (0, 0, 0) or (at[1] > 0.99 and at[0] < 0.01) else linear(at), 3)
    told = groupsim("sensitivity", out, "--json").json[0]
    assert told["missing"] > 0
    assert told["blocks"] + told["missing"] == 6
    assert [knob["mu_star"] for knob in told["knobs"]] == pytest.approx([40, 5, 3], rel=1e-4)


class TestRefusal:
    @pytest.mark.parametrize(
        ("design", "says"),
        [("design: latin_hypercube\npoints: 3", "latin_hypercube"), ("design: sobol\npoints: 4", "sobol")],
    )
    def test_of_other_designs_says_which_to_use(
        self, groupsim: CommandLine, swept: Swept, design: str, says: str
    ) -> None:
        told = groupsim("sensitivity", swept(VARY + design, linear))
        assert (told.code, told.out) == (2, "")
        assert f"is a sweep of design {says}" in told.said
        assert "morris" in told.said
        assert "sobol_indices" in told.said

    def test_of_what_is_no_sweep(self, groupsim: CommandLine, folder: Path) -> None:
        groupsim("run", folder / "small.yaml", "--out", folder / "run")
        for what, says in ((folder / "run", "is not the folder of a sweep"), (folder / "nowhere", "does not exist")):
            told = groupsim("sensitivity", what)
            assert (told.code, told.out) == (2, "")
            assert says in told.said

    @pytest.mark.parametrize("change", [{}, {"set": {}}, {"set": {ZETA: "x", ALPHA: "10s", MU: 1}}])
    def test_of_a_manifest_that_lacks_points_is_told(
        self, groupsim: CommandLine, swept: Swept, change: dict[str, Any]
    ) -> None:
        out = swept(MORRIS, linear)
        manifest = json.loads((out / "manifest.json").read_text())
        last = manifest["variants"].popitem()[0]
        manifest["variants"] |= {last: change} if change else {}
        (out / "manifest.json").write_text(json.dumps(manifest))
        told = groupsim("sensitivity", out)
        assert told.code == 2
        assert "does not say where its variants stand" in told.said

    def test_of_an_unknown_metric_names_the_nearest(self, groupsim: CommandLine, swept: Swept) -> None:
        told = groupsim("sensitivity", swept(MORRIS, linear), "--metric", "rebalance")
        assert told.code == 2
        assert "did you mean 'rebalances'" in told.said

    def test_of_a_figure_that_is_no_png_comes_before_anything_is_told(
        self, groupsim: CommandLine, swept: Swept, folder: Path
    ) -> None:
        told = groupsim("sensitivity", swept(MORRIS, linear), "--figure", folder / "bars.pdf")
        assert (told.code, told.out) == (2, "")
        assert "must end in .png" in told.said
