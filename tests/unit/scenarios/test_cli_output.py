"""Progress, tables and plain data as the command line prints them, and what starting it costs."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from groupsim.analysis.text.tables import Column, TextTable
from groupsim.scenarios.cli.output import Progress, print_table, say, say_error, warn

ROOT = Path(__file__).parents[3]


def test_progress_is_a_line_a_minute_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now_s = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    with Progress("run", 9) as progress:
        for done in range(1, 10):
            now_s = done * 25.0
            progress(done)
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == [
        "3 of 9 runs done, 0.04/s, 0:02:30 left",
        "6 of 9 runs done, 0.04/s, 0:01:15 left",
        "9 of 9 runs done, 0.04/s, 0:00:00 left",
    ]


def test_progress_counts_neither_what_was_there_before_nor_hides_failures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now_s = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    with Progress("run", 20_000) as progress:
        progress(5_000)
        now_s = 60.0
        progress(11_000, 3, 21_000)
    assert capsys.readouterr().err == "11,000 of 21,000 runs done, 3 failed, 100/s, 0:01:40 left\n"


def test_an_error_is_wrapped_but_for_commands_that_are_to_be_copied(capsys: pytest.CaptureFixture[str]) -> None:
    command = "to write it anew: groupsim check suite.yaml --update " + "--set a=b " * 9
    say_error(f"error: {'word ' * 30}\n  known: {'name, ' * 20}\n{command}")
    *wrapped, copied = capsys.readouterr().err.splitlines()
    assert copied == command
    assert max(map(len, wrapped)) <= 80
    assert [line.index(line.strip()[0]) for line in wrapped] == [0, 2, 2, 2, 4]


def test_what_a_terminal_obeys_is_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    say("a\x1b[31m\u202eb\tc\nd \u00e9")
    print_table(TextTable((Column("x\x9b", ("\x1b]0;t\x07",), {}, right=False),)))
    told = capsys.readouterr()
    assert told.err == "a\\x1b[31m\\u202eb\tc\nd \u00e9\n"
    assert "\x1b" not in told.out
    assert "\x9b" not in told.out


def test_progress_says_nothing_about_short_work(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("run", 2) as progress:
        progress(1)
    assert capsys.readouterr().err == ""


def test_progress_is_a_bar_on_a_terminal() -> None:
    program = (
        "import pty, os, sys\n"
        "pid, terminal = pty.fork()\n"
        "if not pid:\n"
        "    from groupsim.scenarios.cli.output import Progress\n"
        "    with Progress('run', 2) as progress: progress(1)\n"
        "    os._exit(0)\n"
        "told = b''\n"
        "try:\n"
        "    while part := os.read(terminal, 1024): told += part\n"
        "except OSError: pass\n"
        "os.waitpid(pid, 0)\n"
        "sys.stdout.buffer.write(told)"
    )
    told = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, check=True)
    assert b"1 of 2 runs done" in told.stdout


def test_table_prints_texts_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    name = Column("variant", ("[bold]a[/]", ":smile:"), {}, right=False)
    print_table(TextTable((name, Column("n", ("1", "20"), {})), notes=("two [runs]",)))
    assert [line.strip() for line in capsys.readouterr().out.splitlines()] == [
        "variant       n", "─" * 15, "[bold]a[/]    1", ":smile:      20", "two [runs]"
    ]  # fmt: skip


@pytest.mark.parametrize(("width", "left_out"), [(30, "unread"), (20, "max lag, unread"), (80, ""), (None, "")])
def test_a_narrow_terminal_says_what_it_has_no_room_for(
    width: int | None, left_out: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """At 80 characters some columns are always left out: ``mean age`` here, which nobody misses."""
    columns = [Column(text, ("1" * 9,), {}, rank) for rank, text in enumerate(("variant", "max\n lag", "unread"))]
    print_table(TextTable((*columns, Column("mean age", ("1" * 90,), {}, 9)), ("a note",), width))
    *_, said, note = capsys.readouterr().out.splitlines()
    assert note == "a note"
    assert ("not shown for want of room: " + left_out == said) if left_out else "not shown" not in said


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        (
            ["--help"],
            {"numpy", "pandas", "pyarrow", "pydantic", "yaml", "groupsim.sim", "pyspark", "matplotlib", "scipy"},
        ),
        (
            ["run", "--help"],
            {
                "numpy",
                "pandas",
                "pyarrow",
                "yaml",
                "groupsim.sim",
                "groupsim.analysis",
                "pyspark",
                "matplotlib",
                "scipy",
            },
        ),
        (
            ["run", "start-up-with-delay"],
            {"pandas", "pyarrow", "pyspark", "matplotlib", "scipy", "rich.progress"},
        ),
        (
            ["scenarios", "list"],
            {"pandas", "pyarrow", "pyspark", "matplotlib", "scipy", "groupsim.analysis", "groupsim.sim.simulation"},
        ),
    ],
)
def test_a_command_imports_only_what_it_needs(arguments: list[str], unwanted: set[str]) -> None:
    program = (
        "import sys; sys.argv = ['groupsim', *sys.argv[1:]]\n"
        "from groupsim.scenarios.cli import main\n"
        "try: main()\n"
        "except SystemExit as leaving: assert not leaving.code, leaving.code\n"
        "print('\\n'.join(sys.modules), file=sys.stderr)"
    )
    told = subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert set(told.stderr.splitlines()) & unwanted == set()


def test_a_warning_is_wrapped_and_its_names_stay_whole(capsys: pytest.CaptureFixture[str]) -> None:
    name = "/a-path/" * 15
    warn(f"{name} " + "has something to be said about it " * 4)
    first, *others = capsys.readouterr().err.splitlines()
    assert first == "warning:"
    assert others[0] == f"  {name}"
    assert all(line.startswith("  ") and len(line) <= 80 for line in others[1:])


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("groupsim.sim", {"numpy", "pandas", "pyarrow", "simpy", "groupsim.assignors"}),
        ("groupsim.scenarios", {"numpy", "pandas", "pyarrow", "pydantic", "yaml", "groupsim.sim"}),
        ("groupsim.scenarios.sweep.loading", {"pandas", "pyarrow", "groupsim.analysis", "groupsim.sim.simulation"}),
        ("groupsim.analysis.text.summary", {"pandas", "pyarrow", "matplotlib", "scipy"}),
        ("groupsim.analysis.data.load", {"pyarrow.dataset", "pyarrow.parquet", "matplotlib", "scipy"}),
    ],
)
def test_importing_a_module_brings_only_what_it_needs(module: str, unwanted: set[str]) -> None:
    program = f"import {module}, sys; print('\\n'.join(sys.modules))"
    told = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(told.stdout.splitlines()) & (unwanted | {"pyspark"}) == set()
