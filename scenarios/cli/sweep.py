"""``groupsim sweep``: every variant of a sweep file, replicated, on Spark or in this process."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from groupsim.scenarios.cli.exits import RUN_FAILED
from groupsim.scenarios.cli.output import Progress, counted, say, warn
from groupsim.scenarios.cli.run import AllowCode
from groupsim.scenarios.cli.settings import import_allowed

if TYPE_CHECKING:
    from groupsim.scenarios.spark.session import Where
    from groupsim.scenarios.sweep.chunk import Done
    from groupsim.scenarios.sweep.folder import SweepFolder
    from groupsim.scenarios.sweep.loading import Sweep
    from groupsim.scenarios.sweep.runner import Executor


def sweep(
    sweep: Annotated[str, typer.Argument(metavar="SWEEP", help="Name of a built-in sweep, or a file.")],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A new folder for the results; on a cluster, a shared one.")
    ] = None,
    master: Annotated[str, typer.Option(metavar="URL", help="Where Spark runs.")] = "local[*]",
    remote: Annotated[str, typer.Option(metavar="URL", help="A Spark Connect server, sc://host:15002.")] = "",
    inline: Annotated[bool, typer.Option("--inline", help="Run in this process, without Spark.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on in DIR where a sweep has ended early.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything, tell what would run.")] = False,
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
    from groupsim.scenarios.sweep.loading import load_sweep
    from groupsim.sim import ConfigError

    if out is None and not dry_run:
        raise ConfigError("--out DIR is needed: a new folder for the results (or --dry-run)")
    where = None if inline else _where(master, remote, conf or [])
    import_allowed(allow_code or [])
    loaded = load_sweep(sweep, allow_code=allow_code or [])
    for warning in loaded.warnings():
        warn(warning)
    if dry_run or out is None:
        tell_plan(loaded, as_json=as_json)
    elif _carry_out(loaded, out, where, resume=resume, as_json=as_json):
        raise typer.Exit(RUN_FAILED)


def _where(master: str, remote: str, conf: Sequence[str]) -> Where:
    from groupsim.scenarios.spark.java import require_java
    from groupsim.scenarios.spark.session import Where
    from groupsim.sim import ConfigError

    if remote and not remote.startswith("sc://"):
        raise ConfigError(f"--remote {remote}: must be sc://HOST:PORT; other clusters go by --master")
    if remote and conf:
        raise ConfigError("--conf: a Spark Connect server has its settings already; --conf is for --master")
    if wrong := [one for one in conf if not one.partition("=")[2]]:
        raise ConfigError(f"--conf {wrong[0]}: must be KEY=VALUE, such as spark.executor.memory=2g")
    if not remote:
        require_java()
    pairs = (one.partition("=") for one in conf)
    return Where(remote or master, {key: value for key, _, value in pairs})


def _carry_out(sweep: Sweep, out: Path, where: Where | None, *, resume: bool, as_json: bool) -> int:
    """Run what is missing, say what became of it; how many runs have failed."""
    from groupsim.scenarios.cli.sweep_report import account, effort, finish, tell
    from groupsim.scenarios.spark.session import reach
    from groupsim.scenarios.sweep.folder import sweep_folder
    from groupsim.scenarios.sweep.identity import identity_of
    from groupsim.scenarios.sweep.runner import chunk_runs

    if where is not None:
        reach(where)
    begin_s = time.monotonic()
    with sweep_folder(out, identity_of(sweep), chunk_runs(sweep), resume=resume) as folder:
        done = _run(sweep, folder, where)
        found = account(sweep, folder)
        finish(sweep, folder, found, effort(done, where.url if where else "in process", time.monotonic() - begin_s))
    tell(sweep, found, out, as_json=as_json)
    return found.failed


def _run(sweep: Sweep, folder: SweepFolder, where: Where | None) -> list[Done]:
    from groupsim.scenarios.sweep.runner import SweepRun
    from groupsim.sim import simulate

    total = sweep.replications.at_least * len(sweep.variants)
    place = f"on {where.url}" if where else "in this process"
    say(f"{counted(total, 'run')} of {counted(len(sweep.variants), 'variant')}, {place}")
    running = SweepRun(sweep, folder)
    for damage in running.mend():
        warn(f"{damage}; it is carried out again")
    if there := running.count()[0]:
        say(f"{counted(there, 'run')} there already")
    try:
        with _executor(where, sweep.allow_code) as execute, Progress("run", total) as progress:
            return running.carry_out(simulate, execute, progress)
    except BaseException:
        say(f"{counted(running.count()[0], 'run')} done, kept in {folder.path}: the same command with --resume goes on")
        raise


@contextmanager
def _executor(where: Where | None, allow_code: Sequence[str]) -> Iterator[Executor]:
    """What carries out the runs: Spark, or this process."""
    from groupsim.scenarios.sweep.runner import in_process

    if where is None:
        yield in_process
        return
    from groupsim.scenarios.spark.runner import on_spark
    from groupsim.scenarios.spark.session import open_session

    with open_session(where, [path.partition(":")[0] for path in allow_code]) as spark:
        yield partial(on_spark, spark)
