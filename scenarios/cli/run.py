"""``groupsim run``: one scenario, once or several times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from groupsim.scenarios.cli.completion import names_or_files
from groupsim.scenarios.cli.exits import CHECK_FAILED, RunFailed
from groupsim.scenarios.cli.output import print_json, print_table, print_wrapped, say, say_wrapped, warn, width
from groupsim.scenarios.cli.settings import import_allowed, listed, parse_settings
from groupsim.scenarios.sweep.design import REPLICATIONS_MAX, SEED_MAX

if TYPE_CHECKING:
    from groupsim.analysis.stats.runs import Row
    from groupsim.scenarios.cli.replications import Replications
    from groupsim.scenarios.cli.watch import RunWatch
    from groupsim.sim import Result
    from groupsim.sim.model import Scenario

_CAUSES_OF = 5
"""Of so many groups at most it is told why records are read twice or never."""

AllowCode = Annotated[
    list[str] | None,
    typer.Option(metavar="MODULE:CLASS", callback=listed, help="Import an assignor of your own, which runs its code."),
]


def run(
    scenario: Annotated[
        str,
        typer.Argument(
            metavar="SCENARIO", autocompletion=names_or_files(), help="Name of a built-in scenario, or a file."
        ),
    ],
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=VALUE", help="Change the scenario: YAML. Files are looked up from here."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=SEED_MAX, help="Seed of every random number.")] = 1,
    replications: Annotated[
        int, typer.Option(min=1, max=REPLICATIONS_MAX, help="How many times to run, for means and 95 % intervals.")
    ] = 1,
    replication: Annotated[
        int | None, typer.Option(min=0, max=REPLICATIONS_MAX, help="Run this replication alone.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write tables and manifest to a new folder.")] = None,
    figures: Annotated[Path | None, typer.Option(metavar="DIR", help="Draw figures into a new folder.")] = None,
    full: Annotated[bool, typer.Option("--full", help="Show every number.")] = False,
    allow_code: AllowCode = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Simulate a scenario and show what becomes of its groups.

    Exit code 1: a goal of the scenario is missed.
    """
    from groupsim.scenarios.build.loading import load, not_aged
    from groupsim.scenarios.build.notes import warnings_of
    from groupsim.scenarios.cli.replications import Replications
    from groupsim.sim import CannotBeginAged, ConfigError

    if replication is not None and replications > 1:
        raise ConfigError("--replication names one run and --replications asks for several: give one of the two")
    if out is not None and figures is not None:
        _check_apart(out, figures)
    changes, allowed = parse_settings(set_ or []), allow_code or []
    import_allowed(allowed)

    def replay(number: int) -> str:
        from groupsim.scenarios.sweep.loading import replay_line

        return f"{replay_line(scenario, changes, seed, allowed)} --replication {number}"

    loaded = load(scenario, set_=changes, allow_code=allowed)
    done = Replications(loaded, seed, warnings=dict.fromkeys(warnings_of(loaded)))
    numbers = [replication] if replication is not None else list(range(replications))
    try:
        _carry_out(done, numbers, replay, out, figures)
    except CannotBeginAged as refused:
        raise not_aged(scenario, loaded, refused) from None
    _tell(done, out, as_json=as_json, full=full)


def _check_apart(out: Path, figures: Path) -> None:
    """Refuse what could only be found out after the run: each folder is new, and so has nothing in it."""
    from groupsim.sim import ConfigError

    one, other = out.resolve(), figures.resolve()
    if one == other:
        raise ConfigError("--out and --figures name the same folder: give each its own")
    if one in other.parents or other in one.parents:
        raise ConfigError("--out and --figures: neither can be in the other: both are new folders, side by side")


def _carry_out(
    done: Replications, numbers: Sequence[int], replay: Callable[[int], str], out: Path | None, figures: Path | None
) -> None:
    """Carry out the replications of these numbers, and write what is asked for into new folders, all or nothing."""
    several, wanted = len(numbers) > 1, [one for one in (out, figures) if one is not None]
    with ExitStack() as stack:
        made = {one: stack.enter_context(_new_folder(one)) for one in wanted}
        for count, (number, result) in enumerate(zip(numbers, _results(done, numbers, replay), strict=True), start=1):
            if out is not None:
                _write(result, made[out] / "runs" / str(number) if several else made[out])
            if figures is not None:
                _draw(result, made[figures], f"run-{number}-" if several else "", count)
        if several:
            _sum_up(done, *(made.get(one) if one else None for one in (out, figures)))
    if figures is not None:
        say(f"figures in {figures}")


def _new_folder(path: Path) -> AbstractContextManager[Path]:
    from groupsim.scenarios.files.new_folder import complete_or_absent

    return complete_or_absent(path)


def _write(result: Result, into: Path) -> None:
    from groupsim.scenarios.files.result_folder import run_files, write_files

    write_files(into, run_files(result))


def _draw(result: Result, into: Path, prefix: str, count: int) -> None:
    from groupsim.scenarios.cli.run_figures import RUNS_DRAWN, draw_run

    if count <= RUNS_DRAWN:
        draw_run(result, into, prefix)


def _sum_up(done: Replications, out: Path | None, figures: Path | None) -> None:
    """Write the summary of several runs, and draw their means."""
    from groupsim.scenarios.cli.run_figures import draw_several
    from groupsim.scenarios.files.result_folder import write_files

    if out is not None:
        write_files(out, done.files())
    if figures is not None:
        draw_several(done.summary, figures)


def _results(done: Replications, numbers: Sequence[int], replay: Callable[[int], str]) -> Iterator[Result]:
    """The results of these replications, one by one; ``done`` takes what matters of them."""
    from groupsim.scenarios.cli.announcement import announce
    from groupsim.scenarios.cli.watch import RunWatch

    with RunWatch(done.scenario, len(numbers)) as watch:
        if not watch.is_announced:
            announce(done.scenario, done.seed, len(numbers))
        for number in numbers:
            result = _simulate(done.scenario, done.seed, number, replay, watch)
            done.add(result)
            yield result


def _simulate(scenario: Scenario, seed: int, replication: int, replay: Callable[[int], str], watch: RunWatch) -> Result:
    """One run, whose errors carry the line that repeats it."""
    from groupsim.sim import ConfigError, Gauge, simulate

    gauge = Gauge()
    try:
        with watch.run(gauge):
            return simulate(scenario, seed=seed, replication=replication, gauge=gauge)
    except ConfigError:
        raise
    except Exception as error:
        raise RunFailed(replay(replication)) from error


def _tell(done: Replications, out: Path | None, *, as_json: bool, full: bool) -> None:
    from groupsim.analysis.text.groups import first_told

    for warning in done.warnings:
        warn(warning)
    if as_json:
        print_json({**done.as_json(), "out": str(out) if out else None})
    else:
        _print(done, full=full)
    missed = done.missed_goals()
    for goal in first_told(list(done.met_goals()), "goals"):
        say_wrapped(f"goal met: {goal}")
    for goal in first_told(missed, "goals"):
        say_wrapped(f"goal missed: {goal}")
    if missed:
        raise typer.Exit(CHECK_FAILED)


def _print(done: Replications, *, full: bool) -> None:
    from groupsim.analysis.data.metrics import METRICS, headline_of
    from groupsim.analysis.text.delivery import delivery_lines
    from groupsim.analysis.text.groups import first_told, worst
    from groupsim.analysis.text.outliers import outliers_line
    from groupsim.analysis.text.output import output_lines
    from groupsim.analysis.text.producers import producers_lines
    from groupsim.analysis.text.summary import runs_table
    from groupsim.analysis.text.zookeeper import zookeeper_lines

    for sentence in first_told(done.unserved(), "groups"):
        print_wrapped(sentence)
    groups = len({row["group"] for row in done.summary})
    if groups > 1:
        _print_over_groups(done, full=full)
    shown = done.summary if full else worst(done.summary)
    print_table(runs_table(shown, None if full else headline_of(done.summary), width()))
    for sentence in first_told(delivery_lines(done.delivery, _names(shown), done.runs), "groups", _CAUSES_OF):
        print_wrapped(sentence)
    if not full:
        told = len(_names(shown))
        least = f", and all groups: above are the {told} that were unread longest" if told < groups else ""
        print_wrapped(f"--full shows all {len(METRICS)} numbers{least}")
    for sentence in first_told(zookeeper_lines(done.zookeeper), "groups"):
        print_wrapped(sentence)
    for sentence in first_told(producers_lines(done.producers, done.runs), "producers"):
        print_wrapped(sentence)
    for sentence in first_told(output_lines(done.output, done.delivery, done.runs), "groups"):
        print_wrapped(sentence)
    for sentence in first_told(done.blocked(), "groups"):
        print_wrapped(sentence)
    if done.runs == 1:
        for sentence in done.held_up():
            print_wrapped(sentence)
        if found := done.outliers():
            print_wrapped(outliers_line(found))


def _names(rows: Iterable[Row]) -> list[str]:
    """Of groups, as the rows have them."""
    return list(dict.fromkeys(row["group"] for row in rows))


def _print_over_groups(done: Replications, *, full: bool) -> None:
    from groupsim.analysis.data.metrics import headline_of
    from groupsim.analysis.text.groups import over_groups_table
    from groupsim.analysis.text.summary import metrics_shown

    metrics = metrics_shown() if full else headline_of(done.summary)
    print_table(over_groups_table(done.over_groups, done.summary, metrics, width()))
    print_wrapped(done.placement())
    print()
