"""The command line, ``groupsim``, the only place that prints: results to stdout, messages to stderr."""

from __future__ import annotations

import sys

import typer

from scenarios.cli import compare, run, scenarios, sweep
from scenarios.cli.exits import INTERRUPTED, explain
from scenarios.cli.output import say

app = typer.Typer(
    name="groupsim",
    help="Simulate Apache Kafka consumer groups in virtual time.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("run")(run.run)
app.command("sweep")(sweep.sweep)
app.command("compare")(compare.compare)
app.add_typer(scenarios.app, name="scenarios")


def main() -> None:
    """Run the command that the arguments name, and leave with its exit code."""
    try:
        app()
    except SystemExit as leaving:
        if leaving.code == INTERRUPTED:
            say("interrupted: no result was written")
        raise
    except BrokenPipeError:
        sys.stderr.close()  # who read the output has left; there is nobody to tell
        sys.exit(0)
    except Exception as error:
        sys.exit(explain(error))
