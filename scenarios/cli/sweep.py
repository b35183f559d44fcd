"""``groupsim sweep``: every variant of a sweep file, replicated, on Spark or in this process."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from scenarios.cli.exits import RUN_FAILED
from scenarios.cli.output import Progress, print_json, print_table, say, warn, width
from scenarios.cli.run import AllowCode
from scenarios.cli.settings import import_allowed
from scenarios.cli.sweep_plan import tell_plan

if TYPE_CHECKING:
    from scenarios.runner import Executor
    from scenarios.sweep import Sweep

_FAILURES_SHOWN = 5
_WARNINGS_SHOWN = 2

Rows: TypeAlias = Sequence[dict[str, Any]]


def sweep(
    sweep: Annotated[str, typer.Argument(metavar="SWEEP", help="Name of a built-in sweep, or a file.")],
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="A new folder for the results.")] = None,
    master: Annotated[str, typer.Option(metavar="URL", help="Where Spark runs.")] = "local[*]",
    inline: Annotated[bool, typer.Option("--inline", help="Run in this process, without Spark.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything, tell what would run.")] = False,
    allow_code: AllowCode = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Run every variant of a sweep as often as it says.

    Exit code 3: runs failed; they are listed in failures.parquet, and the results hold all others.
    """
    from scenarios.results import complete_or_absent
    from scenarios.spark_runner import require_java
    from scenarios.sweep import load_sweep
    from sim import ConfigError

    if out is None and not dry_run:
        raise ConfigError("--out DIR is needed: a new folder for the results (or --dry-run)")
    import_allowed(allow_code or [])
    loaded = load_sweep(sweep, allow_code=allow_code or [])
    if not inline:
        require_java()
    for warning in loaded.warnings():
        warn(warning)
    if dry_run or out is None:
        tell_plan(loaded, as_json=as_json)
        return
    with complete_or_absent(out) as folder:
        summary, failures = _carry_out(loaded, folder, "" if inline else master)
    _tell(loaded, summary, failures, out, as_json=as_json)
    if failures:
        raise typer.Exit(RUN_FAILED)


@contextmanager
def _executor(master: str) -> Iterator[Executor]:
    """What carries out the runs: Spark, or for an empty ``master`` this process."""
    from scenarios.runner import in_process
    from scenarios.spark_runner import on_spark, open_session

    if not master:
        yield in_process
        return
    with open_session(master) as spark:
        yield partial(on_spark, spark, spark.sparkContext.defaultParallelism)


def _carry_out(sweep: Sweep, folder: Path, master: str) -> tuple[Rows, Rows]:
    """Run all and fill ``folder``; the summary, and the failures."""
    from scenarios.results import parquet, summary_files, write_files
    from scenarios.runner import carry_out, kept_folder
    from sim import simulate

    runs = sweep.runs()
    begin_s = time.monotonic()
    where = f"on {master}" if master else "in this process"
    say(f"{_count(len(runs), 'run')} of {_count(len(sweep.variants), 'variant')}, {where}")
    with Progress("runs", len(runs)) as progress, _executor(master) as execute:
        summary, failures = carry_out(runs, simulate, execute, folder, sweep.replay, progress)
    variants = {
        one.name: {"set": one.changes, "seed": one.seed, "kept": kept_folder(runs, one.name)} for one in sweep.variants
    }
    kept = _manifests({name: folder / str(variant["kept"]) for name, variant in variants.items()})
    content = {
        "sweep": sweep.name, "scenario": sweep.source, "document": sweep.document, "variants": variants,
        "runs": len(runs), "failed": failures.num_rows, "executor": master or "in process",
        "wall_s": round(time.monotonic() - begin_s, 3),
        "versions": next((one["versions"] for one in kept.values()), {}),
    }  # fmt: skip
    write_files(folder, {**summary_files(summary, content), "failures.parquet": parquet(failures)})
    for name, manifest in kept.items():
        _warn_of_kept(name, manifest["warnings"])
    return summary.to_pylist(), failures.to_pylist()


def _manifests(folders: Mapping[str, Path]) -> dict[str, dict[str, Any]]:
    """What the runs that are kept say of themselves, by variant; those that failed say nothing."""
    files = {name: folder / "manifest.json" for name, folder in folders.items()}
    return {name: json.loads(file.read_text()) for name, file in files.items() if file.exists()}


def _warn_of_kept(variant: str, told: Sequence[str]) -> None:
    """Tell what the run that is kept of a variant has warned of: assignors that failed, targets that were not there."""
    for sentence in told[:_WARNINGS_SHOWN]:
        warn(f"{variant}, replication 0: {sentence}")
    if len(told) > _WARNINGS_SHOWN:
        warn(f"{variant}, replication 0: {len(told) - _WARNINGS_SHOWN} more, in its manifest.json")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number != 1 else ''}"


def _tell(sweep: Sweep, summary: Rows, failures: Rows, out: Path, *, as_json: bool) -> None:
    from analysis.summary_text import runs_table
    from scenarios.cli.replications import means

    runs = len(sweep.runs())
    if as_json:
        told = {"sweep": sweep.name, "scenario": sweep.source, "runs": runs, "failed": len(failures)}
        print_json({**told, "summary": means(summary), "out": str(out)})
    elif summary:
        print_table(runs_table(summary, width=width()))
    for row in failures[:_FAILURES_SHOWN]:
        say(f"failed: {row['variant']}, replication {row['replication']}: {row['error']}\n  replay: {row['replay']}")
    if failures:
        say(f"{_count(len(failures), 'run')} of {runs} failed: see {out / 'failures.parquet'}")
    say(f"results in {out}; next: groupsim compare {out}")
