"""``groupsim sweep``: every variant of a sweep file, replicated, on Spark or in this process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from groupsim.scenarios.cli.completion import names_or_files
from groupsim.scenarios.cli.exits import RUN_FAILED
from groupsim.scenarios.cli.output import warn
from groupsim.scenarios.cli.run import AllowCode
from groupsim.scenarios.cli.settings import import_allowed

if TYPE_CHECKING:
    from groupsim.scenarios.spark.session import Where
    from groupsim.scenarios.sweep.loading import Sweep
    from groupsim.sim import Result
    from groupsim.sim.model import Scenario

_MASTER: Final = "local[*]"


def sweep(
    sweep: Annotated[
        str,
        typer.Argument(
            metavar="SWEEP", autocompletion=names_or_files("sweeps"), help="Name of a built-in sweep, or a file."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A new folder for the results; on a cluster, a shared one.")
    ] = None,
    master: Annotated[str, typer.Option(metavar="URL", help="Where Spark runs.")] = _MASTER,
    remote: Annotated[str, typer.Option(metavar="URL", help="A Spark Connect server, sc://host:15002.")] = "",
    inline: Annotated[bool, typer.Option("--inline", help="Run in this process, without Spark.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Continue a sweep in DIR that ended early.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything and show what would run.")] = False,
    conf: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting of Spark's, such as spark.archives.")
    ] = None,
    allow_code: AllowCode = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Run every variant of a sweep as often as it says.

    Exit code 3: runs failed; they are listed in DIR/failures, and the results hold all others.
    """
    from groupsim.scenarios.cli.sweep_plan import tell_plan
    from groupsim.scenarios.spark.session import where_of
    from groupsim.scenarios.sweep.loading import load_sweep
    from groupsim.sim import ConfigError

    if out is None and not dry_run:
        raise ConfigError("--out DIR is needed: a new folder for the results (or --dry-run)")
    sparks = {"master": master != _MASTER, "remote": remote, "conf": conf}
    if inline and (given := [name for name, value in sparks.items() if value]):
        raise ConfigError(f"--inline runs without Spark: leave out --inline, or --{given[0]}")
    where = None if inline else where_of(master, remote, _settings(conf or []))
    import_allowed(allow_code or [])
    loaded = load_sweep(sweep, allow_code=allow_code or [])
    for warning in loaded.warnings():
        warn(warning)
    if dry_run or out is None:
        tell_plan(loaded, as_json=as_json)
    elif _carry_out(loaded, out, where, resume=resume, as_json=as_json):
        raise typer.Exit(RUN_FAILED)


def _settings(conf: Sequence[str]) -> dict[str, str]:
    from groupsim.sim import ConfigError

    if wrong := [one for one in conf if not one.partition("=")[2]]:
        raise ConfigError(f"--conf {wrong[0]}: must be KEY=VALUE, such as spark.executor.memory=2g")
    pairs = (one.partition("=") for one in conf)
    return {key: value for key, _, value in pairs}


def _carry_out(sweep: Sweep, out: Path, where: Where | None, *, resume: bool, as_json: bool) -> int:
    """Run what is missing, say what became of it; how many runs have failed."""
    from groupsim.scenarios.cli.sweep_report import SweepMessages, tell
    from groupsim.scenarios.sweep.execution import carry_out_sweep
    from groupsim.sim import simulate

    messages, one_run = SweepMessages(sweep), _guarded if where is None else simulate
    found = carry_out_sweep(sweep, out, where, one_run, resume=resume, listener=messages)
    tell(sweep, found, messages, out, as_json=as_json)
    return found.failed


def _guarded(scenario: Scenario, **names: Any) -> Result:
    """A run in this process, which fails before it takes the last of the memory: the other runs go on."""
    from groupsim.scenarios.cli.watch import RunWatch
    from groupsim.sim import Gauge, simulate

    gauge = Gauge()
    with RunWatch(scenario, 1, is_silent=True) as watch, watch.run(gauge):
        return simulate(scenario, gauge=gauge, **names)
