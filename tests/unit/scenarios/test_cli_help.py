"""Help, version and what the shell completes."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import typer

from groupsim.scenarios.build.loading import list_names
from groupsim.scenarios.cli import app
from tests.support.command_line import CommandLine


def _commands(below: typer.Typer, *above: str) -> list[tuple[str, ...]]:
    own = [(*above, one.name or str(getattr(one.callback, "__name__", ""))) for one in below.registered_commands]
    groups = [_commands(one.typer_instance, *above, str(one.name)) for one in below.registered_groups
              if one.typer_instance is not None]  # fmt: skip
    return [above, *own, *itertools.chain(*groups)]


@pytest.mark.parametrize("words", _commands(app), ids=" ".join)
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_every_command_helps_in_80_columns_without_types_of_flags(
    groupsim: CommandLine, words: tuple[str, ...], flag: str
) -> None:
    told = groupsim(*words, flag)
    assert told.code == 0
    assert "Usage: groupsim" in told.out
    assert "bool" not in told.out
    assert max(map(len, told.out.splitlines())) <= 80


def test_paragraphs_are_as_wide_as_the_terminal(groupsim: CommandLine) -> None:
    lines = [line.strip() for line in groupsim("assignors", "compare", "-h").out.splitlines()]
    assert "of partitions, rate and replicas, the racks of each partition's replicas) and" in lines


def test_there_are_commands_below_commands() -> None:
    found = _commands(app)
    assert ("run",) in found
    assert ("scenarios", "list") in found
    assert len(found) >= 14


def test_the_version_is_told(groupsim: CommandLine) -> None:
    told = groupsim("--version")
    assert (told.code, told.out) == (0, f"groupsim {version('groupsim')}\n")


def _completed(line: str, folder: Path) -> list[str]:
    """What bash would be told for a line whose last word is being typed."""
    program = "import sys; sys.argv = ['groupsim']; from groupsim.scenarios.cli import main; main()"
    asked = {"_GROUPSIM_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | asked, cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("groupsim s", ["sweep", "sensitivity", "scenarios"]),
        ("groupsim scenarios sh", ["show"]),
        ("groupsim run kill", ["kill-detection"]),
        ("groupsim run --repli", ["--replications", "--replication"]),
        ("groupsim sweep d", ["delivery-modes", "deploy-generations", "deploy-knobs", "detection-timeouts"]),
        ("groupsim scenarios show old", ["old-client"]),
        ("groupsim run mi", ["mine.yaml"]),
    ],
)
def test_the_shell_completes_commands_flags_names_and_files(tmp_path: Path, line: str, offered: list[str]) -> None:
    (tmp_path / "mine.yaml").touch()
    (tmp_path / "my.txt").touch()
    assert _completed(line, tmp_path) == offered


def test_the_shell_completes_every_scenario(tmp_path: Path) -> None:
    assert _completed("groupsim run ", tmp_path) == list_names()


def test_completion_can_be_shown(tmp_path: Path) -> None:
    """What the shell is, is seen by who has called."""
    program = (
        "import sys; sys.argv = ['groupsim', '--show-completion']; from groupsim.scenarios.cli import main; main()"
    )
    command = f'"{sys.executable}" -c "{program}"; exit $?'
    told = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "_GROUPSIM_COMPLETE" in told.stdout
