"""Who reads the output may leave before its end: ``groupsim ... | head -1`` ends quietly."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from groupsim.analysis.data.load import load_result
from tests.support.command_line import SCENARIO

ROOT = Path(__file__).parents[3]
PROGRAM = "import sys; sys.argv = ['groupsim', *sys.argv[1:]]; from groupsim.scenarios.cli import main; main()"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    (tmp_path / "small.yaml").write_text(SCENARIO)
    return tmp_path / "small.yaml"


def leave(*arguments: object, stream: str) -> subprocess.CompletedProcess[str]:
    """Run the command; nobody reads this one of its streams."""
    reading, writing = os.pipe()
    os.close(reading)
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: writing}
    try:
        return subprocess.run(
            [sys.executable, "-c", PROGRAM, *map(str, arguments)], cwd=ROOT, text=True, check=False, **streams
        )
    finally:
        os.close(writing)


@pytest.mark.parametrize(
    "arguments",
    [("--help",), ("run", "--help"), ("scenarios", "list"), ("scenarios", "list", "--json"), ("scenarios", "schema"),
     ("scenarios", "show", "gc-storm")],
)  # fmt: skip
def test_without_a_reader_a_command_ends_quietly(arguments: tuple[str, ...]) -> None:
    ended = leave(*arguments, stream="stdout")
    assert (ended.returncode, ended.stderr) == (141, "")


@pytest.mark.parametrize("form", [(), ("--json",), ("--replications", 2)])
def test_without_a_reader_the_result_is_complete(small: Path, form: tuple[object, ...]) -> None:
    ended = leave("run", small, "--out", small.parent / "out", *form, stream="stdout")
    assert (ended.returncode, ended.stderr) == (141, "")
    kept = small.parent / "out" / "runs" / "0" if "--replications" in form else small.parent / "out"
    assert load_result(kept).manifest["replication"] == 0
    assert sorted(path.name for path in small.parent.iterdir()) == ["out", "small.yaml"]


def test_without_a_reader_of_messages_a_command_ends_quietly_too(small: Path) -> None:
    ended = leave("run", small, "--set", "groups.biling.members.count=3", stream="stderr")
    assert (ended.returncode, ended.stdout) == (141, "")
