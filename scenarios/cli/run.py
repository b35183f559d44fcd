"""``groupsim run``: one scenario, once or several times."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from groupsim.scenarios.cli.exits import CHECK_FAILED, RunFailed
from groupsim.scenarios.cli.output import Progress, print_json, print_table, say, warn, width
from groupsim.scenarios.cli.settings import import_allowed, parse_settings
from groupsim.scenarios.sweep.design import REPLICATIONS_MAX, SEED_MAX

if TYPE_CHECKING:
    from groupsim.scenarios.cli.replications import Replications
    from groupsim.sim import Result
    from groupsim.sim.model import Scenario

AllowCode = Annotated[
    list[str] | None, typer.Option(metavar="MODULE:CLASS", help="Import an assignor of your own, which runs its code.")
]


def run(
    scenario: Annotated[str, typer.Argument(metavar="SCENARIO", help="Name of a built-in scenario, or a file.")],
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=VALUE", help="Change the scenario: YAML. Files are looked up from here."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=SEED_MAX, help="Seed of every random number.")] = 1,
    replications: Annotated[
        int, typer.Option(min=1, max=REPLICATIONS_MAX, help="Run so often; tell means and 95 % intervals.")
    ] = 1,
    replication: Annotated[
        int | None, typer.Option(min=0, max=REPLICATIONS_MAX, help="Run this replication alone.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write tables and manifest to a new folder.")] = None,
    allow_code: AllowCode = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Simulate a scenario and tell what became of its groups.

    Exit code 1: a goal of the scenario is missed.
    """
    from groupsim.scenarios.build.loading import load
    from groupsim.scenarios.build.notes import warnings_of
    from groupsim.scenarios.cli.replications import Replications
    from groupsim.sim import ConfigError

    if replication is not None and replications > 1:
        raise ConfigError("--replication names one run and --replications asks for several: give one of the two")
    changes, allowed = parse_settings(set_ or []), allow_code or []
    import_allowed(allowed)

    def replay(number: int) -> str:
        from groupsim.scenarios.sweep.loading import replay_line

        return f"{replay_line(scenario, changes, seed, allowed)} --replication {number}"

    loaded = load(scenario, set_=changes, allow_code=allowed)
    done = Replications(loaded, seed, warnings=dict.fromkeys(warnings_of(loaded)))
    numbers = [replication] if replication is not None else list(range(replications))
    if out is not None:
        _write(done, numbers, out, replay)
    else:
        for _ in _results(done, numbers, replay):
            pass
    _tell(done, out, as_json=as_json)


def _write(done: Replications, numbers: Sequence[int], out: Path, replay: Callable[[int], str]) -> None:
    """Carry out the replications of these numbers into a new folder, all or nothing."""
    from groupsim.scenarios.files.new_folder import complete_or_absent
    from groupsim.scenarios.files.result_folder import run_files, write_files

    with complete_or_absent(out) as folder:
        for number, result in zip(numbers, _results(done, numbers, replay), strict=True):
            write_files(folder / "runs" / str(number) if len(numbers) > 1 else folder, run_files(result))
        if len(numbers) > 1:
            write_files(folder, done.files())


def _results(done: Replications, numbers: Sequence[int], replay: Callable[[int], str]) -> Iterator[Result]:
    """The results of these replications, one by one; ``done`` takes what matters of them."""
    with Progress("run", len(numbers)) as progress:
        for count, number in enumerate(numbers, start=1):
            result = _simulate(done.scenario, done.seed, number, replay)
            done.add(result)
            progress(count)
            yield result


def _simulate(scenario: Scenario, seed: int, replication: int, replay: Callable[[int], str]) -> Result:
    """One run, whose errors carry the line that repeats it."""
    from groupsim.sim import ConfigError, simulate

    try:
        return simulate(scenario, seed=seed, replication=replication)
    except ConfigError:
        raise
    except Exception as error:
        raise RunFailed(replay(replication)) from error


def _tell(done: Replications, out: Path | None, *, as_json: bool) -> None:
    from groupsim.analysis.text.summary import runs_table

    for warning in done.warnings:
        warn(warning)
    if as_json:
        print_json({**done.as_json(), "out": str(out) if out else None})
    else:
        print_table(runs_table(done.summary, width=width()))
    missed = done.missed_goals()
    for goal in missed:
        say(f"goal missed: {goal}")
    if missed:
        raise typer.Exit(CHECK_FAILED)
