"""What the commands say of a group that never reads anything: a sentence first, and every goal missed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groupsim.analysis.text.unserved import unserved
from tests.support.command_line import SCENARIO, CommandLine
from tests.support.given_runs import flat

NOBODY = "groups.billing.members.count=0"
SENTENCE = "group billing never read a partition: it had no members (state at the end: Dead)"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.yaml").write_text(SCENARIO.replace("5min", "20s"))
    return tmp_path


class TestRun:
    def test_begins_with_a_sentence(self, groupsim: CommandLine, folder: Path) -> None:
        told = groupsim("run", folder / "small.yaml", "--set", NOBODY)
        assert told.out.splitlines()[0] == SENTENCE
        assert told.out.splitlines()[-2] == "state at the end: billing Dead"
        assert told.code == 0  # there is no goal

    def test_of_a_group_that_reads_has_no_such_sentence(self, groupsim: CommandLine, folder: Path) -> None:
        told = groupsim("run", folder / "small.yaml", "--set", 'goals={unavailable_gap_s_max: "< 10"}')
        assert "never read" not in told.out
        assert "state at the end" not in told.out
        assert told.code == 0

    def test_in_some_replications_is_counted(self, groupsim: CommandLine, folder: Path) -> None:
        slow = "groups.billing.members.boot={uniform: [10s, 30s]}"
        told = groupsim("run", folder / "small.yaml", "--set", slow, "--replications", 6)
        row = groupsim("run", folder / "small.yaml", "--set", slow, "--replications", 6, "--json").json["summary"][0]
        never = 6 - row["first_service_s"]["n"]
        assert 0 < never < 6
        assert told.out.startswith(f"group billing never read a partition in {never} of 6 runs: ")

    def test_in_json(self, groupsim: CommandLine, folder: Path) -> None:
        told = groupsim("run", folder / "small.yaml", "--set", NOBODY, "--json").json
        assert told["unserved"] == [SENTENCE]
        row = told["summary"][0]
        assert (row["end_state"], row["first_service_s"], row["failed_assignments"]) == ("Dead", None, 0)
        means = groupsim("run", folder / "small.yaml", "--set", NOBODY, "--json", "--replications", 2).json
        assert means["summary"][0]["end_state"] == {"Dead": 2}

    @pytest.mark.parametrize(
        "goal", ['stop_the_world_s: "< 60"', 'duplicates: "<= 0"', 'joins: ">= 0"', "recovery_lag_records: 10"]
    )
    def test_misses_every_goal(self, groupsim: CommandLine, folder: Path, goal: str) -> None:
        told = groupsim("run", folder / "small.yaml", "--set", NOBODY, "--set", f"goals={{{goal}}}")
        assert told.code == 1
        assert "goal missed: " in told.said
        assert "goal met: " not in told.err
        assert "never read a partition" in told.said

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            ("groups.billing.topics={pattern: nothing}", "there is none for it to read"),
            (
                "cluster.config={group.initial.rebalance.delay.ms: 60000}",
                "it was rebalancing for 19.3 s, 0 generations",
            ),
        ],
    )
    def test_says_why(self, groupsim: CommandLine, folder: Path, change: str, reason: str) -> None:
        told = groupsim("run", folder / "small.yaml", "--set", change)
        assert reason in " ".join(told.out.split())


def test_a_check_misses_its_goals(groupsim: CommandLine, folder: Path) -> None:
    suite = folder / "suite.yaml"
    goals = 'goals: {stop_the_world_s: "< 60", duplicates: "< 1"}'
    suite.write_text(
        f"scenarios: {{small: {{scenario: small.yaml, set: {{groups.billing.members.count: 0}}, {goals}}}}}"
    )
    told = groupsim("check", suite)
    assert told.code == 1
    assert told.err.count("the group never read a partition in replication 0") == 2


class TestSweep:
    @pytest.fixture
    def sweep(self, folder: Path) -> Path:
        variants = f"{{some: {{}}, nobody: {{{NOBODY.replace('=', ': ')}}}}}"
        (folder / "sweep.yaml").write_text(f"scenario: small.yaml\nvariants: {variants}\nreplications: 2\n")
        return folder / "sweep.yaml"

    def test_begins_with_a_sentence(self, groupsim: CommandLine, sweep: Path, tmp_path: Path) -> None:
        told = groupsim("sweep", sweep, "--inline", "--out", tmp_path / "out")
        lines = " ".join(told.out.split())
        expected = SENTENCE.replace("group billing", "nobody, group billing").replace(
            "partition", "partition in 2 of 2 runs"
        )
        assert lines.startswith(expected)
        assert lines.count("never read") == 1

    def test_in_json(self, groupsim: CommandLine, sweep: Path, tmp_path: Path) -> None:
        told = groupsim("sweep", sweep, "--inline", "--out", tmp_path / "out", "--json")
        assert [one.split(",")[0] for one in json.loads(told.out)["unserved"]] == ["nobody"]


def test_members_that_died_are_the_reason_and_their_error_is_named(groupsim: CommandLine, folder: Path) -> None:
    none = ("--set", "groups.billing.config[auto.offset.reset]=none")
    told = groupsim("run", folder / "small.yaml", *none)
    died = "its members died of what poll() throws, "
    assert flat(told.out).startswith(f"group billing never read a partition: {died}")
    assert " times: NO_OFFSET_FOR_PARTITION (state at the end: " in flat(told.out)
    row = groupsim("run", folder / "small.yaml", *none, "--json").json["summary"][0]
    assert f"{died}{row['failed']} times" in flat(told.out)
    assert unserved([row])[0].startswith(f"group billing never read a partition: {died}{row['failed']} times (state")
