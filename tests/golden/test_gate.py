"""The library's scenarios give what they gave: `groupsim check` on groupsim itself.

The runs of ``test_runs.py`` are held to every table; these are the scenarios that users begin with, held to what users
read of them, so that a change of behaviour is seen as the numbers that it moves.
"""

from __future__ import annotations

from pathlib import Path

from groupsim.scenarios import list_names
from groupsim.scenarios.gate.suite import load_suite
from tests.support.command_line import CommandLine

SUITE = Path(__file__).parent / "gate" / "library.yaml"


def test_the_library_gives_what_it_gave(groupsim: CommandLine, update_golden: bool) -> None:
    if update_golden:
        groupsim("check", SUITE, "--update")
    told = groupsim("check", SUITE)
    assert told.code == 0, (
        f"{told.out}\n{told.err}\nA change that was meant is a line under 'Results change' in CHANGELOG.md, and:"
        f"\n.venv/bin/groupsim check {SUITE.relative_to(Path(__file__).parents[2])} --update"
    )


def test_every_scenario_of_the_library_is_guarded() -> None:
    assert [entry.name for entry in load_suite(SUITE).entries] == list_names()
