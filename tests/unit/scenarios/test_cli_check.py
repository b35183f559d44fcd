"""``groupsim check``: what it finds, says and writes, and how it leaves."""

from __future__ import annotations

import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sim.errors import SimError
from tests.support.command_line import SCENARIO, CommandLine, Told
from tests.support.given_runs import Given

SUITE = """
seed: 3
replications: 3
scenarios:
  small:
    scenario: small.yaml
    metrics: {requests: exact, lag_s_max: {absolute: 0.5}, unavailable_gap_s_max: {relative: 0.1}, duplicates: overlap}
    goals: {unavailable_gap_s_max: "< 60"}
"""


def start() -> Given:
    """Three runs that differ."""
    return Given(
        requests=1000, lag_s_max=2.0, unavailable_gap_s_max=lambda r: [40.0, 42.0, 44.0][r],
        duplicates=lambda r: [10, 20, 30][r], recovery_s=lambda r: 30.0 + r,
    )  # fmt: skip


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Given:
    """What the simulator gives from now on."""
    stand_in = start()
    monkeypatch.setattr("sim.simulate", stand_in, raising=False)
    return stand_in


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs: Given) -> Path:
    """A suite in the working directory; nothing runs yet."""
    monkeypatch.chdir(tmp_path)
    Path("small.yaml").write_text(SCENARIO)
    Path("suite.yaml").write_text(SUITE)
    return Path("suite.yaml")


@pytest.fixture
def guarded(suite: Path, groupsim: CommandLine) -> Path:
    """The suite with its baseline."""
    assert groupsim("check", suite, "--update").code == 0
    return suite


def flat(text: str) -> str:
    return " ".join(text.split())


class TestCheck:
    def test_of_equal_numbers_is_one_line_and_exit_0(self, groupsim: CommandLine, guarded: Path) -> None:
        told = groupsim("check", guarded)
        assert (told.code, told.err) == (0, "")
        assert told.out == "4 metrics: 4 as in the baseline; 1 goal: 1 met; 3 runs\n"

    def test_of_an_exact_metric_allows_nothing(self, groupsim: CommandLine, guarded: Path, runs: Given) -> None:
        runs.numbers["requests"] = lambda r: 1000 + (r == 1)
        told = groupsim("check", guarded)
        assert told.code == 1
        assert "1 out of tolerance" in told.out
        for words in (
            "small, group billing: requests is out of tolerance",
            "baseline 1,000, now 1,000.3",
            "in 1 of 3 runs",
            "allowed: nothing (exact)",
            "within noise: the 95 % interval of the differences, paired by seed, holds 0",
            "the scenario is the one of the baseline: groupsim, a package or an assignor is not",
            "replay: groupsim run small.yaml --seed 3 --replication 1",
            "meant? then groupsim check suite.yaml --update",
        ):
            assert words in flat(told.err)

    @pytest.mark.parametrize(
        ("metric", "inside", "outside", "allowed"),
        [
            ("lag_s_max", [2.5, 2.5, 2.5], [2.6, 2.5, 2.5], "± 0.500 s"),
            ("lag_s_max", [1.5, 1.5, 1.5], [1.4, 1.5, 1.5], "± 0.500 s"),
            ("unavailable_gap_s_max", [46.2, 46.2, 46.2], [46.3, 46.2, 46.2], "± 4.20 s (± 10 %)"),
            ("unavailable_gap_s_max", [35.8, 37.8, 39.8], [35.7, 37.8, 39.8], "± 4.20 s (± 10 %)"),
            ("duplicates", [59, 69, 79], [60, 70, 80], "± 49.7 records (intervals overlap)"),
        ],
        ids=["absolute, up", "absolute, down", "relative, up", "relative, down", "overlap"],
    )
    def test_of_a_tolerance_ends_where_it_ends(
        self,
        groupsim: CommandLine,
        guarded: Path,
        runs: Given,
        metric: str,
        inside: list[float],
        outside: list[float],
        allowed: str,
    ) -> None:
        runs.numbers[metric] = inside.__getitem__
        told = groupsim("check", guarded)
        assert told.code == 0, told.err
        assert "1 moved within tolerance" in told.out
        runs.numbers[metric] = outside.__getitem__
        told = groupsim("check", guarded)
        assert told.code == 1
        assert f"allowed: {allowed}" in flat(told.err)

    def test_tells_change_beyond_noise_from_noise(self, groupsim: CommandLine, guarded: Path, runs: Given) -> None:
        runs.numbers["unavailable_gap_s_max"] = lambda r: [41.0, 43.1, 44.9][r]
        runs.numbers["duplicates"] = lambda r: [20, 10, 30][r]
        told = groupsim("check", guarded, "--json")
        assert told.code == 0
        found = {one["metric"]: one for one in told.json["verdicts"] if one["status"] == "within"}
        assert found["unavailable_gap_s_max"]["noise"] is False
        assert found["duplicates"]["noise"] is True
        assert found["duplicates"]["runs_moved"] == 2
        rows = [line.split() for line in groupsim("check", guarded).out.splitlines() if line.startswith("small")]
        assert [(row[-2], row[-1]) for row in rows] == [("within", "within"), ("beyond", "within")]

    def test_a_goal_is_missed_where_one_run_misses_it(self, groupsim: CommandLine, guarded: Path, runs: Given) -> None:
        runs.numbers["unavailable_gap_s_max"] = lambda r: [30.0, 61.0, 35.0][r]
        told = groupsim("check", guarded)
        assert told.code == 1
        assert "small, group billing: goal missed: unavailable_gap_s_max < 60" in told.err
        assert "unavailable_gap_s_max is 61 in replication 1; missed in 1 of 3 runs" in flat(told.err)

    def test_a_null_on_one_side_is_out_of_every_tolerance(
        self, groupsim: CommandLine, suite: Path, runs: Given
    ) -> None:
        suite.write_text(SUITE.replace("requests: exact", "recovery_s: {relative: 0.5}"))
        groupsim("check", suite, "--update")
        runs.numbers["recovery_s"] = lambda r: None if r == 2 else 30.0 + r
        told = groupsim("check", suite)
        assert told.code == 1
        assert "null on one side in 1 of 3 runs" in flat(told.err)
        assert "no number says, where one side is null" in flat(told.err)
        assert "--replication 2" in told.err

    def test_a_null_on_both_sides_is_the_same(self, groupsim: CommandLine, suite: Path, runs: Given) -> None:
        suite.write_text(SUITE.replace("requests: exact", "recovery_s: exact"))
        runs.numbers["recovery_s"] = None
        groupsim("check", suite, "--update")
        assert groupsim("check", suite).code == 0
        runs.numbers["recovery_s"] = 12.0
        told = groupsim("check", suite)
        assert told.code == 1
        assert "baseline null, now 12 s" in told.err

    def test_a_missed_goal_may_be_null(self, groupsim: CommandLine, suite: Path, runs: Given) -> None:
        suite.write_text('scenarios: {small: {scenario: small.yaml, goals: {recovery_s: "< 60"}}}')
        runs.numbers["recovery_s"] = None
        told = groupsim("check", suite)
        assert told.code == 1
        assert "recovery_s is null in replication 0" in told.err

    def test_a_tolerance_that_allows_nothing_says_why(self, groupsim: CommandLine, suite: Path, runs: Given) -> None:
        suite.write_text(SUITE.replace("requests: exact", "losses: {relative: 0.5}, evictions: overlap"))
        groupsim("check", suite, "--update")
        runs.numbers |= {"losses": 1, "evictions": 1}
        told = groupsim("check", suite)
        assert told.code == 1
        assert "nothing, being relative to 0: an absolute tolerance would allow something" in flat(told.err)
        assert "nothing, being intervals without any width" in flat(told.err)

    def test_of_one_run_cannot_tell_noise(self, groupsim: CommandLine, suite: Path, runs: Given) -> None:
        suite.write_text("metrics: {requests: exact}\nscenarios: {small: {scenario: small.yaml}}")
        groupsim("check", suite, "--update")
        runs.numbers["requests"] = 999
        told = groupsim("check", suite)
        assert "noise or not: one run cannot say" in told.err
        assert "moved by -1 (-0.1%), in 1 of 1 run" in told.err

    def test_fits_80_columns_with_long_names(self, groupsim: CommandLine, suite: Path, runs: Given) -> None:
        name = "a-scenario-with-a-name-that-goes-on-and-on"
        suite.write_text(SUITE.replace("  small:", f"  {name}:").replace("requests", "unavailable_partition_s"))
        groupsim("check", suite, "--update")
        runs.numbers |= {"unavailable_partition_s": 123456.7, "duplicates": 1234567, "lag_s_max": 98765.4}
        told = groupsim("check", suite)
        assert max(map(len, told.out.splitlines())) <= 80
        assert all(len(line) <= 80 for line in told.err.splitlines() if "replay: " not in line)
        assert "moved" in told.out
        assert "tolerance" in told.out

    def test_of_many_failures_shows_some_and_says_where_the_others_are(
        self, groupsim: CommandLine, suite: Path, runs: Given
    ) -> None:
        metrics = ("requests", "losses", "joins", "leaves", "evictions", "fenced", "rebalances")
        exact = ", ".join(f"{one}: exact" for one in metrics)
        suite.write_text(f"metrics: {{{exact}}}\nscenarios: {{small: {{scenario: small.yaml}}}}")
        groupsim("check", suite, "--update")
        runs.numbers |= dict.fromkeys(metrics, 7)
        told = groupsim("check", suite)
        assert told.err.count("is out of tolerance") == 5
        assert "and 2 more: --junit FILE or --markdown FILE has all of them" in told.err
        assert len([line for line in told.out.splitlines() if line.startswith("small")]) == 7


class TestBaseline:
    def test_is_written_and_says_what_is_new(self, groupsim: CommandLine, suite: Path) -> None:
        told = groupsim("check", suite, "--update")
        assert told.code == 0
        assert "small" in told.out
        assert "new" in told.out
        assert "baseline written: suite.baseline.yaml" in told.err
        lines = Path("suite.baseline.yaml").read_text().splitlines()
        assert "  small/billing/duplicates/2: 30" in lines
        assert "  small/seed: 3" in lines
        values = [line for line in lines if line.startswith("  small/billing")]
        assert values == sorted(values)
        assert len(values) == 12

    def test_is_not_touched_when_it_says_the_same(self, groupsim: CommandLine, guarded: Path) -> None:
        before = Path("suite.baseline.yaml").stat()
        told = groupsim("check", guarded, "--update")
        assert (told.code, told.err) == (0, "baseline as it was: suite.baseline.yaml\n")
        assert Path("suite.baseline.yaml").stat().st_mtime_ns == before.st_mtime_ns

    def test_is_written_anew_and_the_difference_is_told(
        self, groupsim: CommandLine, guarded: Path, runs: Given
    ) -> None:
        runs.numbers["requests"] = 1100
        told = groupsim("check", guarded, "--update")
        assert told.code == 0
        assert "+10.0%" in told.out
        assert "meant?" not in told.err
        assert groupsim("check", guarded).code == 0

    def test_that_is_updated_does_not_excuse_a_missed_goal(
        self, groupsim: CommandLine, guarded: Path, runs: Given
    ) -> None:
        runs.numbers["unavailable_gap_s_max"] = 99.0
        told = groupsim("check", guarded, "--update")
        assert told.code == 1
        assert "goal missed" in told.err
        assert "out of tolerance" not in told.err

    def test_that_is_missing_is_told_before_anything_runs(
        self, groupsim: CommandLine, suite: Path, runs: Given
    ) -> None:
        runs.failing[0] = AssertionError("runs")  # type: ignore[assignment]
        told = groupsim("check", suite)
        assert told.code == 2
        assert "there is no suite.baseline.yaml to compare with: groupsim check suite.yaml --update" in told.err

    def test_is_not_needed_for_goals_alone(self, groupsim: CommandLine, suite: Path) -> None:
        suite.write_text('scenarios: {small: {scenario: small.yaml, goals: {losses: "== 0"}}}')
        for arguments in ([], ["--update"]):
            told = groupsim("check", suite, *arguments)
            assert (told.code, told.out) == (0, "1 goal: 1 met; 1 run\n")
        assert not Path("suite.baseline.yaml").exists()

    @pytest.mark.parametrize(
        ("old", "new", "names"),
        [
            ("requests: exact, ", "", ["small, group billing: requests is in the baseline, not in the suite"]),
            ("requests: exact", "joins: exact", ["joins is in the suite, not", "requests is in the baseline, not"]),
            ("  small:", "  tiny:", ["tiny: is in the suite, not", "small: is in the baseline, not"]),
            ("seed: 3", "seed: 4", ["small: the baseline holds other runs: seed 3, now 4"]),
            ("replications: 3", "replications: 2", ["small: the baseline holds other runs: replications 3, now 2"]),
        ],
    )
    def test_of_another_suite_names_what_is_new_gone_and_other(
        self, groupsim: CommandLine, guarded: Path, old: str, new: str, names: list[str]
    ) -> None:
        guarded.write_text(SUITE.replace(old, new))
        told = groupsim("check", guarded)
        assert told.code == 1
        for words in names:
            assert words in flat(told.err)
        assert "out of tolerance" not in told.err
        assert groupsim("check", guarded, "--update").code == 0
        assert groupsim("check", guarded).code == 0

    def test_names_scenarios_that_have_changed_since(self, groupsim: CommandLine, guarded: Path, runs: Given) -> None:
        Path("small.yaml").write_text(SCENARIO.replace("count: 2", "count: 3"))
        told = groupsim("check", guarded)
        assert told.code == 0
        assert "changed since the baseline, or set otherwise by the suite: small" in flat(told.err)
        runs.numbers["requests"] = 1
        told = groupsim("check", guarded)
        assert "the scenario (small.yaml as the suite sets it) is not the one of the baseline" in flat(told.err)

    def test_of_another_version_says_so(self, groupsim: CommandLine, guarded: Path, runs: Given) -> None:
        runs.versions = {"groupsim": "1.1", "numpy": "2"}
        told = groupsim("check", guarded)
        assert told.code == 0
        assert "the baseline was made by another version: groupsim 1.0 (now 1.1)" in flat(told.err)

    def test_of_other_packages_says_so_where_anything_moved(
        self, groupsim: CommandLine, guarded: Path, runs: Given
    ) -> None:
        runs.versions = {"groupsim": "1.0", "numpy": "3"}
        assert groupsim("check", guarded).err == ""
        runs.numbers["requests"] = 1
        assert "numpy 2 (now 3)" in groupsim("check", guarded).err

    def test_that_cannot_be_read_is_told_and_can_be_written_anew(self, groupsim: CommandLine, guarded: Path) -> None:
        path = Path("suite.baseline.yaml")
        path.write_text(path.read_text().replace("small/seed: 3", "small/seed: x"))
        told = groupsim("check", guarded)
        assert told.code == 2
        assert "scenarios[small/seed]" in told.err
        assert "to write it anew: groupsim check suite.yaml --update" in told.err
        told = groupsim("check", guarded, "--update")
        assert told.code == 0
        assert "could not be read and is written anew" in told.err
        assert groupsim("check", guarded).code == 0

    def test_of_somebody_else_is_left_alone(self, groupsim: CommandLine, suite: Path) -> None:
        Path("suite.baseline.yaml").write_text("mine: 1\n")
        assert groupsim("check", suite).code == 2
        told = groupsim("check", suite, "--update")
        assert told.code == 2
        assert "was not written by groupsim" in told.err
        assert Path("suite.baseline.yaml").read_text() == "mine: 1\n"


class TestFailedRun:
    def test_is_told_with_its_replay_and_the_others_are_judged(
        self, groupsim: CommandLine, guarded: Path, runs: Given
    ) -> None:
        both = SUITE + "  other: {scenario: small.yaml, replications: 1, metrics: {requests: exact}}\n"
        guarded.write_text(both)
        groupsim("check", guarded, "--update")
        runs.failing[1] = SimError("no member\nis left")
        runs.numbers["requests"] = 7
        told = groupsim("check", guarded)
        assert told.code == 3
        assert "small: replication 1 failed" in told.err
        assert "SimError: no member is left" in told.err
        assert "replay: groupsim run small.yaml --seed 3 --replication 1" in told.err
        assert "other, group billing: requests is out of tolerance" in told.err
        assert "small, group" not in told.err
        assert "4 runs, 1 failed" in told.out

    def test_leaves_the_baseline_as_it_was(self, groupsim: CommandLine, guarded: Path, runs: Given) -> None:
        before = Path("suite.baseline.yaml").read_bytes()
        runs.failing[1] = SimError("no")
        runs.numbers["requests"] = 7
        assert groupsim("check", guarded, "--update").code == 3
        assert Path("suite.baseline.yaml").read_bytes() == before

    def test_interrupted_leaves_everything_as_it_was(self, groupsim: CommandLine, guarded: Path, runs: Given) -> None:
        before = Path("suite.baseline.yaml").read_bytes()
        runs.failing[1] = KeyboardInterrupt()  # type: ignore[assignment]
        told = groupsim("check", guarded, "--update", "--junit", "j.xml", "--markdown", "m.md")
        assert told.code == 130
        assert Path("suite.baseline.yaml").read_bytes() == before
        assert sorted(path.name for path in Path().iterdir()) == ["small.yaml", "suite.baseline.yaml", "suite.yaml"]


class TestReports:
    def test_have_every_verdict(self, groupsim: CommandLine, guarded: Path, runs: Given) -> None:
        runs.numbers |= {"requests": 7, "unavailable_gap_s_max": 61.0}
        told = groupsim("check", guarded, "--junit", "out/j.xml", "--markdown", "out/m.md")
        assert told.code == 1
        root = ET.fromstring(Path("out/j.xml").read_bytes())
        assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("5", "3", "0")
        failed = {one.get("name"): one.find("failure") for one in root.iter("testcase") if len(one)}
        assert set(failed) == {
            "billing requests", "billing unavailable_gap_s_max", "billing goal unavailable_gap_s_max < 60",
        }  # fmt: skip
        text = failed["billing requests"].text  # type: ignore[union-attr]
        assert text is not None
        assert "baseline 1,000, now 7" in text
        report = Path("out/m.md").read_text()
        assert "## groupsim check: failed" in report
        assert "| small | billing | requests | 1,000 | 7 | -993 | -99.3% | beyond | out |" in report
        assert "replay: groupsim run small.yaml --seed 3 --replication 0" in report

    def test_of_failed_runs_are_errors(self, groupsim: CommandLine, guarded: Path, runs: Given) -> None:
        runs.failing[2] = SimError("\0 no member")
        assert groupsim("check", guarded, "--junit", "j.xml", "--markdown", "m.md").code == 3
        root = ET.fromstring(Path("j.xml").read_bytes())
        assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("1", "0", "1")
        assert "failed" in Path("m.md").read_text()

    def test_of_a_check_that_passes_say_so(self, groupsim: CommandLine, guarded: Path) -> None:
        for _ in range(2):  # the second time over those of the first
            assert groupsim("check", guarded, "--junit", "j.xml", "--markdown", "m.md").code == 0
        assert 'failures="0"' in Path("j.xml").read_text()
        assert "## groupsim check: passed" in Path("m.md").read_text()

    def test_never_take_the_place_of_a_file_of_somebody_elses(
        self, groupsim: CommandLine, guarded: Path, runs: Given
    ) -> None:
        runs.failing[0] = AssertionError("runs")  # type: ignore[assignment]
        for option in ("--junit", "--markdown"):
            told = groupsim("check", guarded, option, "small.yaml")
            assert told.code == 2
            assert "small.yaml exists and was not written by groupsim" in told.err
        assert Path("small.yaml").read_text() == SCENARIO

    def test_in_json_have_base_units(self, groupsim: CommandLine, guarded: Path, runs: Given) -> None:
        runs.numbers["requests"] = 1100
        told = groupsim("check", guarded, "--json")
        assert told.code == 1
        assert (told.json["passed"], told.json["updated"]) == (False, False)
        assert told.json["versions"]["now"] == {"groupsim": "1.0", "numpy": "2"}
        (found,) = [one for one in told.json["verdicts"] if one["metric"] == "requests"]
        assert found["before"] == {"mean": 1000.0, "half_width": 0.0, "n": 3}
        assert found["difference"] == {"mean": 100.0, "half_width": 0.0, "n": 3}
        assert (found["status"], found["failed"], found["noise"]) == ("out", True, False)


class TestWrongInput:
    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            ([], "name the suite to check"),
            (["nowhere.yaml"], "cannot be read: No such file or directory"),
            (["small.yaml"], "is no suite"),
            (["suite.yaml", "--init", "--update"], "--init goes with a folder alone"),
            (["suite.yaml", "--junit", "."], "is no file"),
            (["suite.yaml", "--frobnicate"], "--frobnicate"),
            (["suite.yaml", "--allow-code", "nonsense"], "nonsense"),
        ],
    )
    def test_is_told_in_words(self, groupsim: CommandLine, guarded: Path, arguments: list[str], says: str) -> None:
        told = groupsim("check", *arguments)
        assert (told.code, told.out) == (2, "")
        assert says in flat(told.err)
        assert "Traceback" not in told.err

    @settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(at=st.integers(0, 400), damage=st.binary(max_size=4), which=st.sampled_from(["suite", "suite.baseline"]))
    def test_damaged_anywhere_is_told_or_checked(
        self, groupsim: CommandLine, guarded: Path, at: int, damage: bytes, which: str
    ) -> None:
        path = Path(f"{which}.yaml")
        whole = path.read_bytes()
        try:
            path.write_bytes(whole[:at] + damage + whole[at + len(damage) :])
            told = groupsim("check", guarded)
        finally:
            path.write_bytes(whole)
        assert told.code in (0, 1, 2)
        assert "Traceback" not in told.err


class TestInit:
    @pytest.fixture
    def written(self, groupsim: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Told:
        monkeypatch.chdir(tmp_path)
        return groupsim("check", "--init")

    def test_writes_a_suite_with_its_baseline_that_passes(self, groupsim: CommandLine, written: Told) -> None:
        assert written.code == 0, written.err
        assert written.out.splitlines() == [
            "groupsim-suite.yaml", "groupsim-suite.baseline.yaml", ".github/workflows/groupsim.yml",
        ]  # fmt: skip
        assert "warning" not in written.err
        assert "goal missed" not in written.err
        assert groupsim("check", "groupsim-suite.yaml").code == 0

    def test_writes_a_workflow_whose_steps_work(self, groupsim: CommandLine, written: Told, tmp_path: Path) -> None:
        workflow = yaml.safe_load(Path(".github/workflows/groupsim.yml").read_text())
        assert workflow["on"] == ["push", "pull_request"]
        steps = workflow["jobs"]["check"]["steps"]
        assert [one.get("name") or one["uses"].partition("@")[0] for one in steps] == [
            "actions/checkout", "actions/setup-python", "Install groupsim", "Check", "Show what moved",
            "Keep the reports",
        ]  # fmt: skip
        by_name = {one.get("name"): one for one in steps}
        assert by_name["Install groupsim"]["run"].startswith('python -m pip install "groupsim==')
        assert "VERSION" not in by_name["Install groupsim"]["run"]
        suite = Path("groupsim-suite.yaml")
        suite.write_text(suite.read_text().replace("count: 12", "count: 11"))
        words = by_name["Check"]["run"].split()
        assert words[0] == "groupsim"
        assert groupsim(*words[1:]).code == 1
        show = by_name["Show what moved"]
        assert show["if"] == "always()"
        environment = {"PATH": "/usr/bin:/bin", "GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}
        subprocess.run(["bash", "-e", "-c", show["run"]], env=environment, check=True, timeout=30)
        assert "groupsim check: failed" in (tmp_path / "summary").read_text()
        kept = {path.name for path in Path().glob(by_name["Keep the reports"]["with"]["path"])}
        assert {"groupsim-junit.xml", "groupsim-check.md"} <= kept

    def test_takes_a_folder_which_is_made(self, groupsim: CommandLine, tmp_path: Path) -> None:
        assert groupsim("check", "--init", tmp_path / "new" / "repository").code == 0
        assert (tmp_path / "new" / "repository" / ".github" / "workflows" / "groupsim.yml").exists()

    @pytest.mark.parametrize("taken", ["groupsim-suite.yaml", ".github/workflows/groupsim.yml"])
    def test_overwrites_nothing(self, groupsim: CommandLine, tmp_path: Path, taken: str) -> None:
        (tmp_path / taken).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / taken).write_text("mine")
        told = groupsim("check", "--init", tmp_path)
        assert told.code == 2
        assert f"{taken} exists already: left alone" in told.err
        assert [str(one.relative_to(tmp_path)) for one in tmp_path.rglob("*") if one.is_file()] == [taken]

    def test_in_a_file_is_told(self, groupsim: CommandLine, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("mine")
        told = groupsim("check", "--init", tmp_path / "file")
        assert told.code == 2
        assert "cannot be written" in told.err
