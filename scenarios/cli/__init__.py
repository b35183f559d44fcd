"""The command line, ``groupsim``, the only place that prints: results to stdout, messages to stderr."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from groupsim.scenarios.cli import assignors, check, compare, run, scenarios, sensitivity, sweep
from groupsim.scenarios.cli.exits import INTERRUPTED, READER_GONE, explain
from groupsim.scenarios.cli.help import CONTEXT, Group, dress, show_version
from groupsim.scenarios.cli.output import say
from groupsim.scenarios.cli.watch import LOOK_EVERY_S, SilentAssignors, repeatedly

app = typer.Typer(
    name="groupsim",
    cls=Group,
    context_settings=CONTEXT,
    help="Simulate Apache Kafka consumer groups in virtual time.",
    epilog="Exit codes: 0 fine; 1 a goal is missed or a check failed; 2 the input is wrong; 3 a run failed; "
    "130 interrupted; 141 the reader of the output left early.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command("run")(run.run)
app.command("sweep")(sweep.sweep)
app.command("compare")(compare.compare)
app.command("sensitivity")(sensitivity.sensitivity)
app.command("check")(check.check)
app.add_typer(scenarios.app, name="scenarios")
app.add_typer(assignors.app, name="assignors")
dress(app)


@app.callback()
def _groupsim(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command that the arguments name, and leave with its exit code."""
    try:
        code = _exit_code()
        sys.stdout.flush()
    except BrokenPipeError:
        code = READER_GONE
    if code == READER_GONE:
        _drop_what_is_left()
    sys.exit(code)


def _exit_code() -> int:
    """Carry out the command; say what went wrong."""
    try:
        with repeatedly(SilentAssignors(), LOOK_EVERY_S):
            app()
    except SystemExit as leaving:
        if isinstance(leaving.__context__, BrokenPipeError):  # typer and rich make exit code 1 of it
            return READER_GONE
        if leaving.code == INTERRUPTED:
            say("; ".join(["interrupted", *_notes_of(leaving)]))
        return int(leaving.code or 0)
    except BrokenPipeError:
        return READER_GONE
    except Exception as error:
        return explain(error)
    return 0


def _notes_of(error: BaseException | None) -> list[str]:
    """What was noted of an error, or of those that came before it."""
    if error is None:
        return []
    return [*getattr(error, "__notes__", []), *_notes_of(error.__context__)]


def _drop_what_is_left() -> None:
    """Let the interpreter find no broken pipe when it flushes its streams at the end.

    Source: "Note on SIGPIPE" in the documentation of Python's ``signal``.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.dup2(nowhere, sys.stderr.fileno())
