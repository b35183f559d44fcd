"""``groupsim run``: one scenario, once or several times."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scenarios.cli.exits import CHECK_FAILED, RunFailed
from scenarios.cli.output import Progress, print_json, print_table, say, width
from scenarios.cli.settings import parse_settings
from sim.errors import ConfigError

if TYPE_CHECKING:
    from sim import Result
    from sim.model import Scenario

AllowCode = Annotated[
    list[str] | None, typer.Option(metavar="MODULE:CLASS", help="Import an assignor of your own, which runs its code.")
]


def run(
    scenario: Annotated[str, typer.Argument(metavar="SCENARIO", help="Name of a built-in scenario, or a file.")],
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="Change the scenario; the value is YAML.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of every random number.")] = 1,
    replications: Annotated[int, typer.Option(min=1, help="Run so often; tell means and 95 % intervals.")] = 1,
    replication: Annotated[int | None, typer.Option(min=0, help="Run this replication alone.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write tables and manifest to a new folder.")] = None,
    allow_code: AllowCode = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Simulate a scenario and tell what became of its groups.

    Exit code 1: a goal of the scenario is missed.
    """
    from analysis.text import summary_table
    from scenarios.cli.replications import Replications
    from scenarios.loading import load
    from scenarios.results import complete_or_absent, run_files, write_files
    from scenarios.sweep import replay_line

    if replication is not None and replications > 1:
        raise ConfigError("--replication names one run and --replications asks for several: give one of the two")
    changes = parse_settings(set_ or [])
    with complete_or_absent(out) if out else nullcontext() as folder:
        loaded = load(scenario, set_=changes, allow_code=allow_code or [])
        numbers = [replication] if replication is not None else list(range(replications))
        done = Replications(loaded, seed)
        with Progress("runs", len(numbers)) as progress:
            for number in numbers:
                result = _simulate(loaded, seed, number, replay_line(scenario, changes, seed, number, allow_code or []))
                done.add(result)
                if folder:
                    write_files(folder / "runs" / str(number) if len(numbers) > 1 else folder, run_files(result))
                progress(len(done.summaries))
        if folder and len(numbers) > 1:
            write_files(folder, done.files())
    for warning in done.warnings:
        say(f"warning: {warning}")
    if json:
        print_json({**done.as_json(), "out": str(out) if out else None})
    else:
        print_table(summary_table(done.summary, width=width()))
    missed = done.missed_goals()
    for goal in missed:
        say(f"goal missed: {goal}")
    if missed:
        raise typer.Exit(CHECK_FAILED)


def _simulate(scenario: Scenario, seed: int, replication: int, replay: str) -> Result:
    """One run, whose errors carry the line that repeats it."""
    from sim import simulate

    try:
        return simulate(scenario, seed=seed, replication=replication)
    except ConfigError:
        raise
    except Exception as error:
        raise RunFailed(replay) from error
