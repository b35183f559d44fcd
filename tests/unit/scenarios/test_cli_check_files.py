"""``groupsim check``: the baseline, the reports, and files that are neither."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groupsim.sim.errors import SimError
from tests.support.command_line import SCENARIO, CommandLine
from tests.support.given_runs import SUITE, Given, flat


class TestBaseline:
    def test_is_written_and_says_what_is_new(self, groupsim: CommandLine, suite: Path) -> None:
        told = groupsim("check", suite, "--update")
        assert told.code == 0
        assert "small" in told.out
        assert "new" in told.out
        assert "baseline written: suite.baseline.yaml" in told.said
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
        assert "+10%" in told.out
        assert "meant?" not in told.err
        assert groupsim("check", guarded).code == 0

    def test_that_is_updated_does_not_excuse_a_missed_goal(
        self, groupsim: CommandLine, guarded: Path, runs: Given
    ) -> None:
        runs.numbers["unavailable_gap_s_max"] = 99.0
        told = groupsim("check", guarded, "--update")
        assert told.code == 1
        assert "goal missed" in told.said
        assert "out of tolerance" not in told.err

    def test_that_is_missing_is_told_before_anything_runs(
        self, groupsim: CommandLine, suite: Path, runs: Given
    ) -> None:
        told = groupsim("check", suite)
        assert (told.code, runs.runs) == (2, 0)
        assert (
            "there is no suite.baseline.yaml to compare with; to make it: groupsim check suite.yaml --update"
            in told.said
        )

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
        assert "scenarios[small/seed]" in told.said
        assert "to write it anew: groupsim check suite.yaml --update" in told.said
        told = groupsim("check", guarded, "--update")
        assert told.code == 0
        assert "could not be read and is written anew" in told.said
        assert groupsim("check", guarded).code == 0

    def test_of_somebody_else_is_left_alone(self, groupsim: CommandLine, suite: Path) -> None:
        Path("suite.baseline.yaml").write_text("mine: 1\n")
        assert groupsim("check", suite).code == 2
        told = groupsim("check", suite, "--update")
        assert told.code == 2
        assert "was not written by groupsim" in told.said
        assert Path("suite.baseline.yaml").read_text() == "mine: 1\n"


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
        assert "| small | requests | 1,000 | 7 | -993 | -99.3% | no | exact | out |" in report
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
        before = runs.runs
        for option in ("--junit", "--markdown"):
            told = groupsim("check", guarded, option, "small.yaml")
            assert (told.code, runs.runs) == (2, before), "told before anything runs"
            assert "small.yaml exists and was not written by groupsim" in told.said
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
    def test_is_told_by_validate_too(self, groupsim: CommandLine, suite: Path) -> None:
        told = groupsim("scenarios", "validate", suite, "small.yaml")
        assert (told.code, told.out, told.err) == (0, "suite.yaml: valid\nsmall.yaml: valid\n", "")
        suite.write_text(SUITE.replace("exact", "exakt").replace("small.yaml", "smal.yaml"))
        told = groupsim("scenarios", "validate", suite)
        assert told.code == 2
        assert "did you mean 'exact'" in told.said

    def test_is_told_before_the_runs_and_so_is_what_is_unwise(
        self, groupsim: CommandLine, guarded: Path, runs: Given
    ) -> None:
        path = Path("small.yaml")
        path.write_text(SCENARIO.replace("[range]}", "[range], heartbeat.interval.ms: 20000}"))
        runs.failing[0] = KeyboardInterrupt()
        told = groupsim("check", guarded)
        assert told.code == 130
        assert told.err.startswith("warning: small: groups.billing.config: ")

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            ([], "name the suite to check"),
            (["nowhere.yaml"], "cannot be read: No such file or directory"),
            (["small.yaml"], "is no suite"),
            (["suite.yaml", "--init", "--update"], "--init takes a folder and no other option"),
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
