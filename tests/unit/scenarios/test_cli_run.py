"""``groupsim run``: what it prints, writes and refuses, and how it leaves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from groupsim.analysis.data.load import load_result, load_summary
from groupsim.analysis.data.metrics import METRICS
from groupsim.sim.errors import SimError
from groupsim.sim.tables import SUMMARY
from tests.support import fake_simulation as fake
from tests.support.command_line import SCENARIO, CommandLine


@pytest.fixture
def small(tmp_path: Path) -> Path:
    (tmp_path / "small.yaml").write_text(SCENARIO)
    return tmp_path / "small.yaml"


@pytest.fixture(autouse=True)
def _fake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groupsim.sim.simulate", fake.simulate, raising=False)


@pytest.fixture
def simulator(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., object]], None]:
    return lambda simulate: monkeypatch.setattr("groupsim.sim.simulate", simulate, raising=False)


class TestTable:
    def test_fits_80_columns_and_names_the_metrics(self, groupsim: CommandLine, small: Path) -> None:
        told = groupsim("run", small)
        assert told.code == 0
        assert max(map(len, told.out.splitlines())) <= 80
        assert "rebalances" in told.out
        assert "billing" in told.out
        assert "one run" in told.out

    def test_has_the_first_numbers_and_on_demand_all(self, groupsim: CommandLine, small: Path) -> None:
        short, full = groupsim("run", small).out.splitlines(), groupsim("run", small, "--full").out.splitlines()
        assert short[2 + 8] == "one run", "after header and eight numbers; then why records are read twice"
        assert f"--full shows all {len(METRICS)} numbers" in short
        assert full[2 + len(METRICS)] == "one run"
        assert "evictions" in "".join(full)

    def test_of_replications_tells_means_and_half_widths(self, groupsim: CommandLine, small: Path) -> None:
        out = groupsim("run", small, "--replications", 3).out
        assert "±" in out
        assert "3 runs" in out

    def test_is_for_results_and_messages_go_elsewhere(self, groupsim: CommandLine, small: Path) -> None:
        told = groupsim("run", small, "--replications", 2)
        assert told.err == "warning: one thing to know\n"
        assert "one thing to know" not in told.out

    def test_comes_after_what_is_unwise(self, groupsim: CommandLine, small: Path) -> None:
        told = groupsim("run", small, "--set", "groups.billing.config[heartbeat.interval.ms]=20000")
        assert told.err.splitlines()[0].startswith("warning: groups.billing.config")
        assert told.code == 0


class TestJson:
    def test_has_an_object_per_group(self, groupsim: CommandLine, small: Path) -> None:
        told = groupsim("run", small, "--seed", 9, "--json").json
        assert list(told)[:4] == ["scenario", "seed", "summary", "over_groups"]
        tables = ["rebalances", "zookeeper", "producers", "output", "delivery"]
        assert list(told)[4:] == [*tables, "unserved", "placement", "stands_out", "out"]
        assert (told["scenario"], told["seed"], told["out"]) == ("small", 9, None)
        assert [row["group"] for row in told["summary"]] == ["billing"]
        assert list(told["summary"][0]) == list(SUMMARY)
        assert told["summary"][0]["rscore"] is None
        assert told["rebalances"][0]["group"] == "billing"
        assert "replication" not in told["rebalances"][0]

    def test_of_replications_has_mean_half_width_and_n(self, groupsim: CommandLine, small: Path) -> None:
        row = groupsim("run", small, "--replications", 3, "--json").json["summary"][0]
        lags = [
            fake.simulate(fake.scenario("small", ("billing",), 2), seed=1, replication=r).summary["lag_s_max"][0]
            for r in range(3)
        ]
        mean = sum(lags) / 3
        deviation = (sum((lag - mean) ** 2 for lag in lags) / 2) ** 0.5
        assert row["lag_s_max"] == pytest.approx({"mean": mean, "half_width": 4.302653 * deviation / 3**0.5, "n": 3})
        assert row["rscore"] == {"mean": None, "half_width": None, "n": 0}
        assert row["seed"] == 1


class TestOut:
    def test_is_a_result_folder(self, groupsim: CommandLine, small: Path, tmp_path: Path) -> None:
        told = groupsim("run", small, "--out", tmp_path / "out", "--json").json
        assert told["out"] == str(tmp_path / "out")
        result = load_result(tmp_path / "out")
        assert result.manifest["events"] == 42
        assert result.tables["summary"]["lag_s_max"].tolist() == [told["summary"][0]["lag_s_max"]]

    def test_of_replications_has_all_of_them(self, groupsim: CommandLine, small: Path, tmp_path: Path) -> None:
        groupsim("run", small, "--replications", 2, "--out", tmp_path / "out")
        assert load_summary(tmp_path / "out")["replication"].tolist() == [0, 1]
        assert load_result(tmp_path / "out" / "runs" / "1").tables["summary"]["replication"].tolist() == [1]

    def test_is_never_overwritten(self, groupsim: CommandLine, small: Path, tmp_path: Path) -> None:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "mine").write_text("mine")
        told = groupsim("run", small, "--out", tmp_path / "out")
        assert told.code == 2
        assert "not empty" in told.said
        assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine"]


class TestFigures:
    @pytest.fixture(autouse=True)
    def _real(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from groupsim.sim.simulation import simulate

        monkeypatch.setattr("groupsim.sim.simulate", simulate, raising=False)

    def test_of_a_run_are_its_timeline_and_its_lag(self, groupsim: CommandLine, small: Path, tmp_path: Path) -> None:
        told = groupsim("run", small, "--figures", tmp_path / "drawn")
        assert told.code == 0
        assert told.err == f"figures in {tmp_path / 'drawn'}\n"
        assert sorted(path.name for path in (tmp_path / "drawn").iterdir()) == ["lag.png", "timeline.png"]
        assert all(path.stat().st_size > 5_000 for path in (tmp_path / "drawn").iterdir())

    def test_of_several_are_those_of_each_and_their_means(
        self, groupsim: CommandLine, small: Path, tmp_path: Path
    ) -> None:
        groupsim("run", small, "--replications", 2, "--figures", tmp_path / "drawn", "--out", tmp_path / "out")
        drawn = sorted(path.name for path in (tmp_path / "drawn").iterdir())
        each = [f"run-{number}-{kind}.png" for number in range(2) for kind in ("lag", "timeline")]
        assert drawn == ["means.png", *each]
        assert load_summary(tmp_path / "out")["replication"].tolist() == [0, 1]

    def test_have_a_folder_of_their_own(self, groupsim: CommandLine, small: Path, tmp_path: Path) -> None:
        told = groupsim("run", small, "--figures", tmp_path / "one", "--out", tmp_path / "one")
        assert told.code == 2
        assert "name the same folder" in told.said
        assert not (tmp_path / "one").exists()

    def test_never_replace_what_is_there(self, groupsim: CommandLine, small: Path, tmp_path: Path) -> None:
        (tmp_path / "drawn").mkdir()
        (tmp_path / "drawn" / "mine").write_text("mine")
        told = groupsim("run", small, "--figures", tmp_path / "drawn", "--out", tmp_path / "out")
        assert told.code == 2
        assert "not empty" in told.said
        assert sorted(path.name for path in tmp_path.iterdir()) == ["drawn", "small.yaml"]


class TestWrongInput:
    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["no-such"], "no-such"),
            (["roling-deploy"], "rolling-deploy"),
            (["SMALL", "--set", "groups.biling.members.count=3"], "billing"),
            (["SMALL", "--set", "groups.billing.members.count=three"], "three"),
            (["SMALL", "--set", "horizon"], "PATH=VALUE"),
            (["SMALL", "--set", "horizon=1:30"], "1:30"),
            (["SMALL", "--set", "horizon=]"], "horizon"),
            (["SMALL", "--seed", "x"], "--seed"),
            (["SMALL", "--seed", "-1"], "--seed"),
            (["SMALL", "--replications", "0"], "--replications"),
            (["SMALL", "--replications", "2", "--replication", "1"], "--replication"),
            (["SMALL", "--allow-code", "nonsense"], "nonsense"),
            (["SMALL", "--frobnicate"], "--frobnicate"),
            ([], "SCENARIO"),
        ],
    )
    def test_is_told_in_words_with_exit_code_2(
        self, groupsim: CommandLine, small: Path, tmp_path: Path, arguments: list[str], says: str
    ) -> None:
        given = [str(small) if one == "SMALL" else one for one in arguments]
        told = groupsim("run", *given, "--out", tmp_path / "out")
        assert told.code == 2
        assert told.out == ""
        assert says in told.said
        assert "Traceback" not in told.err
        assert sorted(path.name for path in tmp_path.iterdir()) == ["small.yaml"]

    def test_in_a_file_is_told_with_all_problems(self, groupsim: CommandLine, small: Path) -> None:
        small.write_text(SCENARIO.replace("count: 2", "count: two").replace("horizon: 5min", "horizon: 5"))
        told = groupsim("run", small)
        assert told.code == 2
        assert "small.yaml: 2 problems" in told.said
        assert "groups.billing.members.count" in told.said
        assert "'two'" in told.said


class TestFailure:
    def test_ends_with_the_line_that_repeats_it(
        self, groupsim: CommandLine, small: Path, tmp_path: Path, simulator: Callable[..., None]
    ) -> None:
        simulator(fake.fail_on_second)
        settings = ("--set", "horizon=6min", "--seed", 4)
        told = groupsim("run", small, *settings, "--replications", 3, "--out", tmp_path / "out")
        assert told.code == 3
        assert told.out == ""
        assert "no member" in told.said
        replay = told.err.splitlines()[-1]
        assert replay == f"replay: groupsim run {small} --set horizon=6min --seed 4 --replication 1"
        assert not (tmp_path / "out").exists()
        assert groupsim(*replay.removeprefix("replay: groupsim ").split()).code == 3

    def test_nobody_foresaw_has_a_traceback(
        self, groupsim: CommandLine, small: Path, simulator: Callable[..., None]
    ) -> None:
        simulator(lambda *_, **__: 1 / 0)
        told = groupsim("run", small)
        assert told.code == 3
        assert "ZeroDivisionError" in told.said
        assert told.err.splitlines()[-1] == f"replay: groupsim run {small} --seed 1 --replication 0"

    def test_of_a_single_replication_can_be_repeated_alone(
        self, groupsim: CommandLine, small: Path, simulator: Callable[..., None]
    ) -> None:
        simulator(fake.fail_on_second)
        assert groupsim("run", small, "--replication", 2, "--json").json["summary"][0]["replication"] == 2
        assert groupsim("run", small, "--replication", 1).code == 3

    def test_by_ctrl_c_leaves_nothing(
        self, groupsim: CommandLine, small: Path, tmp_path: Path, simulator: Callable[..., None]
    ) -> None:
        def interrupted(scenario: object, *, replication: int, **rest: object) -> object:
            if replication == 1:
                raise KeyboardInterrupt
            return fake.simulate(scenario, replication=replication, **rest)  # type: ignore[arg-type]

        simulator(interrupted)
        told = groupsim("run", small, "--replications", 3, "--out", tmp_path / "out")
        assert told.code == 130
        assert told.out == ""
        assert "interrupted" in told.said
        assert [path.name for path in tmp_path.iterdir()] == ["small.yaml"]


class TestGoals:
    @pytest.mark.parametrize(("bound", "code"), [(">= 0", 0), ("< 0", 1)])
    def test_that_are_missed_are_exit_code_1(
        self, groupsim: CommandLine, small: Path, tmp_path: Path, bound: str, code: int
    ) -> None:
        goal = f"goals={{lag_s_max: '{bound}'}}"
        told = groupsim("run", small, "--set", goal, "--out", tmp_path / "out", "--replications", 2)
        assert told.code == code
        assert ("goal missed: lag_s_max < 0 of group billing" in told.err) == bool(code)
        assert (tmp_path / "out" / "summary.parquet").exists(), "a missed goal is a result"

    def test_that_are_met_are_told_with_the_value(self, groupsim: CommandLine, small: Path) -> None:
        goals = ("--set", "goals={lag_s_max: '>= 0', losses: '< 9999999'}")
        alone = groupsim("run", small, *goals, "--json")
        value = alone.json["summary"][0]["lag_s_max"]
        assert alone.err.splitlines()[1] == f"goal met: lag_s_max >= 0 of group billing: {value:g} s"
        several = groupsim("run", small, *goals, "--replications", 3)
        assert several.err.count("goal met: ") == 2
        assert "in all 3 runs, at worst" in several.err.replace("\n  ", " ")

    def test_that_one_run_misses_are_not_met(self, groupsim: CommandLine, small: Path) -> None:
        lags = [
            fake.simulate(fake.scenario("small", ("billing",), 2), seed=1, replication=r).summary["lag_s_max"][0]
            for r in range(3)
        ]
        goal = f"goals={{lag_s_max: '< {sorted(lags)[1] + 0.001:.4f}'}}"
        told = groupsim("run", small, "--set", goal, "--replications", 3)
        assert told.code == 1
        assert "goal met" not in told.err

    def test_a_value_that_is_null_misses(self, groupsim: CommandLine, small: Path) -> None:
        told = groupsim("run", small, "--set", "goals={rscore: '>= 0'}")
        assert told.code == 1
        assert "goal missed: rscore >= 0 of group billing: null\n" in told.said
        several = groupsim("run", small, "--set", "goals={rscore: '>= 0'}", "--replications", 2)
        assert "null in replication 1" in several.err


def test_errors_of_the_simulator_are_told_without_a_traceback(
    groupsim: CommandLine, small: Path, simulator: Callable[..., None]
) -> None:
    def fail(*_: object, **__: object) -> object:
        raise SimError("the timeline cannot be carried out")

    simulator(fail)
    told = groupsim("run", small)
    assert told.err.splitlines()[0] == "error: SimError: the timeline cannot be carried out"
