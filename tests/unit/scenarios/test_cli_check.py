"""``groupsim check``: verdicts, and what is said of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from groupsim.scenarios.cli import output
from groupsim.sim.errors import SimError
from tests.support.command_line import SCENARIO, CommandLine
from tests.support.given_runs import SUITE, Given, flat


class TestCheck:
    def test_of_equal_numbers_is_one_line_and_exit_0(self, groupsim: CommandLine, guarded: Path) -> None:
        told = groupsim("check", guarded)
        assert (told.code, told.err) == (0, "")
        assert told.out == "4 metrics: 4 as in the baseline; 1 goal: 1 met; 3 runs\n"

    def test_tells_how_many_runs_are_done(
        self, groupsim: CommandLine, guarded: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(output, "_LINE_EVERY_S", 0.0)
        assert groupsim("check", guarded).err.startswith("1 of 3 runs done\n2 of 3 runs done, ")

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
            "if the change was meant, write the baseline again and commit it: groupsim check suite.yaml --update",
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
        assert [(row[-2], row[-1]) for row in rows] == [("yes", "within"), ("no", "within")]

    def test_a_goal_is_missed_where_one_run_misses_it(self, groupsim: CommandLine, guarded: Path, runs: Given) -> None:
        runs.numbers["unavailable_gap_s_max"] = lambda r: [30.0, 61.0, 35.0][r]
        told = groupsim("check", guarded)
        assert told.code == 1
        assert "small, group billing: goal missed: unavailable_gap_s_max < 60" in told.said
        assert "unavailable_gap_s_max is 61 s in replication 1; missed in 1 of 3 runs" in flat(told.err)
        assert "meant?" not in told.err, "a new baseline would not help"

    def test_of_several_runs_that_miss_a_goal_the_worst_is_told(
        self, groupsim: CommandLine, guarded: Path, runs: Given
    ) -> None:
        runs.numbers["unavailable_gap_s_max"] = lambda r: [61.0, 99.0, 62.0][r]
        told = groupsim("check", guarded)
        assert "is 99 s in replication 1; missed in 3 of 3 runs" in flat(told.err)

    def test_of_an_exact_metric_sees_runs_that_move_and_leave_the_mean(
        self, groupsim: CommandLine, guarded: Path, runs: Given
    ) -> None:
        runs.numbers["requests"] = lambda r: 999 + r
        told = groupsim("check", guarded)
        assert told.code == 1
        assert "moved by 0.0 ± 2.5, in 2 of 3 runs" in flat(told.err)

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
        assert "--replication 2" in told.said

    def test_a_null_on_both_sides_is_the_same(self, groupsim: CommandLine, suite: Path, runs: Given) -> None:
        suite.write_text(SUITE.replace("requests: exact", "recovery_s: exact"))
        runs.numbers["recovery_s"] = None
        groupsim("check", suite, "--update")
        assert groupsim("check", suite).code == 0
        runs.numbers["recovery_s"] = 12.0
        told = groupsim("check", suite)
        assert told.code == 1
        assert "baseline null, now 12 s" in told.said

    def test_a_missed_goal_may_be_null(self, groupsim: CommandLine, suite: Path, runs: Given) -> None:
        suite.write_text(
            'scenarios: {small: {scenario: small.yaml, goals: {recovery_s: "< 60", recovery_lag_records: 9}}}'
        )
        runs.numbers["recovery_s"] = None
        told = groupsim("check", suite)
        assert told.code == 1
        assert "recovery_s is null in replication 0" in told.said

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
        assert "noise or not: one run cannot say" in told.said
        assert "moved by -1 (-0.100%), in 1 of 1 run" in told.said

    def test_fits_80_columns_with_long_names(self, groupsim: CommandLine, suite: Path, runs: Given) -> None:
        name = "a-scenario-with-a-name-that-goes-on-and-on"
        suite.write_text(SUITE.replace("  small:", f"  {name}:").replace("requests", "unavailable_partition_s"))
        groupsim("check", suite, "--update")
        runs.numbers |= {"unavailable_partition_s": 123456.7, "duplicates": 1234567, "lag_s_max": 98765.4}
        told = groupsim("check", suite)
        assert max(map(len, told.out.splitlines())) <= 80
        assert all(len(line) <= 80 for line in told.err.splitlines() if "replay: " not in line)
        assert "moved" in told.out
        assert "verdict" in told.out

    def test_names_the_group_where_there_are_several(self, groupsim: CommandLine, suite: Path, runs: Given) -> None:
        two = SCENARIO + "  audit:\n    topics: [orders]\n    members: {count: 1}\n"
        Path("small.yaml").write_text(two)
        groupsim("check", suite, "--update")
        runs.numbers["requests"] = 1
        told = groupsim("check", suite)
        assert [line.split()[0] for line in told.out.splitlines()[2:4]] == ["small/audit", "small/billing"]
        assert "small, group audit: requests is out of tolerance" in told.said

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
        assert "and 2 more: --junit FILE or --markdown FILE has all of them" in told.said
        assert len([line for line in told.out.splitlines() if line.startswith("small")]) == 7


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
        assert "small: replication 1 failed" in told.said
        assert "SimError: no member is left" in told.said
        assert "replay: groupsim run small.yaml --seed 3 --replication 1" in told.said
        assert "other, group billing: requests is out of tolerance" in told.said
        assert "small, group" not in told.err
        assert "4 runs, 1 failed" in told.out

    def test_leaves_the_baseline_as_it_was(self, groupsim: CommandLine, guarded: Path, runs: Given) -> None:
        before = Path("suite.baseline.yaml").read_bytes()
        runs.failing[1] = SimError("no")
        runs.numbers["requests"] = 7
        told = groupsim("check", guarded, "--update")
        assert told.code == 3
        assert "baseline not written: a run failed" in told.said
        assert Path("suite.baseline.yaml").read_bytes() == before

    def test_interrupted_leaves_everything_as_it_was(self, groupsim: CommandLine, guarded: Path, runs: Given) -> None:
        before = Path("suite.baseline.yaml").read_bytes()
        runs.failing[1] = KeyboardInterrupt()
        told = groupsim("check", guarded, "--update", "--junit", "j.xml", "--markdown", "m.md")
        assert told.code == 130
        assert Path("suite.baseline.yaml").read_bytes() == before
        assert sorted(path.name for path in Path().iterdir()) == ["small.yaml", "suite.baseline.yaml", "suite.yaml"]
