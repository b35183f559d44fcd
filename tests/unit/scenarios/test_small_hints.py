"""Where a hint was missing: the verb that was begun, the entry's id, what to write instead."""

from __future__ import annotations

from pathlib import Path

from tests.support.command_line import SCENARIO, CommandLine
from tests.support.given_runs import flat


def refused(groupsim: CommandLine, folder: Path, entry: str, *more: str) -> str:
    head = SCENARIO.partition("timeline:")[0].rstrip()
    (folder / "s.yaml").write_text(f"{head}\ntimeline:\n  - id: it\n    {entry}\n")
    told = groupsim("run", folder / "s.yaml", *more)
    assert told.code == 2
    return flat(told.err)


def test_the_first_word_of_a_verb_names_it(groupsim: CommandLine, tmp_path: Path) -> None:
    assert "'elect' is no verb; did you mean 'elect_leaders'?" in refused(
        groupsim, tmp_path, "at: 1s\n    elect: {topics: []}"
    )


def test_traps_of_yaml_are_told_by_the_id_of_their_entry(groupsim: CommandLine, tmp_path: Path) -> None:
    told = refused(groupsim, tmp_path, "at: 1:30\n    kill: {target: billing/0}")
    assert "timeline[it].at (line" in told


def test_too_many_that_must_be_in_sync_are_told_how_many_there_can_be(groupsim: CommandLine, tmp_path: Path) -> None:
    more = ("--set", "cluster={brokers: 3, config: {min.insync.replicas: 4}}")
    told = refused(groupsim, tmp_path, "at: 30s\n    kill: {target: billing/0}", *more)
    assert "must be 3 at most here, or coordinators cannot write: The size of the current ISR 3" in told


def test_a_sweep_is_shown_by_a_name_that_no_scenario_has(groupsim: CommandLine) -> None:
    assert (
        groupsim("scenarios", "show", "commit-interval").out
        == groupsim("scenarios", "show", "commit-interval", "--sweep").out
    )
