"""``groupsim check``: the scenarios of a suite against its baseline and its goals, for people and for a CI."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from groupsim.scenarios.cli.exits import CHECK_FAILED, RUN_FAILED
from groupsim.scenarios.cli.output import WIDTH, Progress, print_json, print_table, say, say_wrapped, warn, width
from groupsim.scenarios.cli.run import AllowCode
from groupsim.scenarios.cli.settings import import_allowed

if TYPE_CHECKING:
    from groupsim.scenarios.cli.verdict import Outcome, Ran
    from groupsim.scenarios.gate.baseline import Baseline
    from groupsim.scenarios.gate.suite import Suite

_FAILURES_SHOWN = 5


def check(
    suite: Annotated[
        Path | None, typer.Argument(metavar="SUITE", help="A suite file; with --init a folder, this one by default.")
    ] = None,
    update: Annotated[bool, typer.Option("--update", help="Rewrite the baseline, and show what moved.")] = False,
    init: Annotated[bool, typer.Option("--init", help="Write a suite, its baseline and a workflow for a CI.")] = False,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write JUnit XML, too.")] = None,
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report as Markdown, too.")] = None,
    allow_code: AllowCode = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Run the scenarios of a suite; show what moved since its baseline, and whether that is noise.

    The baseline of suite.yaml is suite.baseline.yaml beside it, to be committed with it.

    Exit code 1: a metric is out of tolerance, a goal is missed, or the baseline is not of this suite.
    """
    from groupsim.scenarios.gate.suite import load_suite
    from groupsim.sim import ConfigError

    if init:
        if update or junit or markdown or as_json:
            raise ConfigError("--init takes a folder and no other option")
        _init(suite or Path())
        return
    if suite is None:
        raise ConfigError("name the suite to check; groupsim check --init writes one to begin with")
    import_allowed(allow_code or [])
    outcome = _outcome(load_suite(suite, allow_code=allow_code or []), junit, markdown, update=update)
    _tell(outcome, as_json=as_json)
    _leave(outcome)


def _init(folder: Path) -> None:
    """Write suite and workflow, and make the baseline."""
    from groupsim.scenarios.gate.starter import FOLDER, WORKFLOW, source_of, write_starter
    from groupsim.scenarios.gate.suite import load_suite

    source = source_of(Path(__file__).parents[2])
    suite = load_suite(write_starter(folder, source))
    outcome = _outcome(suite, None, None, update=True)
    print(f"{suite.path}\n{suite.baseline}\n{folder / WORKFLOW}")
    known = "make sure that your CI can reach it"
    how = "put a clone there (git submodule add), or name a git URL" if source == FOLDER else known
    say_wrapped(
        f"groupsim is on no package index yet: the workflow installs it from {source}, which is its GROUPSIM; {how}"
    )
    say(f"commit these three; next: groupsim check {suite.path}")
    _leave(outcome)


def _outcome(suite: Suite, junit: Path | None, markdown: Path | None, *, update: bool) -> Outcome:
    """Run everything, and write what there is to write."""
    from groupsim.scenarios.cli import gate, gate_text
    from groupsim.scenarios.cli.verdict import Outcome
    from groupsim.scenarios.files.text_files import refuse_foreign, write_text
    from groupsim.scenarios.gate.junit import MARK

    before = _baseline(suite, update=update)
    reports = [(junit, MARK, gate_text.junit), (markdown, gate_text.MARK, gate_text.markdown)]
    for path, mark, _ in reports:
        if path is not None:
            refuse_foreign(path, mark)
    for warning in suite.warnings():
        warn(warning)
    ran = _run(suite)
    outcome = Outcome(
        suite=suite, ran=ran, before=before, now=gate.present(ran), verdicts=gate.judge(suite, ran, before),
        settled=update and not any(one.failures for one in ran),
    )  # fmt: skip
    if outcome.settled:
        _write_baseline(outcome)
    elif update:
        say("baseline not written: a run failed")
    for path, mark, text in reports:
        if path is not None:
            write_text(path, text(outcome), mark)
    return outcome


def _baseline(suite: Suite, *, update: bool) -> Baseline:
    """The committed baseline; an empty one where none is needed, or where it is about to be written."""
    from groupsim.scenarios.files.text_files import refuse_foreign
    from groupsim.scenarios.gate.baseline import MARK, NOTHING, read_baseline
    from groupsim.sim import ConfigError

    if update:
        refuse_foreign(suite.baseline, MARK)
    elif not suite.baseline.exists() and suite.needs_baseline:
        raise ConfigError(f"there is no {suite.baseline} to compare with; to make it: {suite.update_command}")
    if not suite.baseline.exists():
        return NOTHING
    try:
        return read_baseline(suite.baseline)
    except ConfigError as unreadable:
        if not update:
            raise ConfigError(f"{unreadable}\nto write it anew: {suite.update_command}") from None
        warn("the baseline could not be read and is written anew:")
        say(str(unreadable))
        return NOTHING


def _run(suite: Suite) -> list[Ran]:
    """Carry out every run of every entry; one that fails is noted."""
    from groupsim.scenarios.cli.replications import Replications
    from groupsim.scenarios.cli.verdict import Ran
    from groupsim.scenarios.sweep.outcome import describe
    from groupsim.sim import simulate

    ran = [Ran(one, Replications(one.scenario, one.seed)) for one in suite.entries]
    runs = [(one, number) for one in ran for number in range(one.entry.replications)]
    with Progress("run", len(runs)) as progress:
        for count, (one, number) in enumerate(runs, start=1):
            try:
                one.done.add(simulate(one.entry.scenario, seed=one.entry.seed, replication=number))
            except Exception as error:  # the run is the unit that may fail, whatever the reason
                one.failures[number] = describe(error)
            progress(count)
    return ran


def _write_baseline(outcome: Outcome) -> None:
    """Write what the runs gave, if that is not what the file says already."""
    from groupsim.scenarios.files.text_files import write_text
    from groupsim.scenarios.gate.baseline import MARK

    suite, text = outcome.suite, outcome.now.text(outcome.suite.path.name)
    if suite.baseline.exists() and suite.baseline.read_bytes() == text.encode():
        say(f"baseline as it was: {suite.baseline}")
    elif suite.needs_baseline or suite.baseline.exists():
        write_text(suite.baseline, text, MARK)
        say(f"baseline written: {suite.baseline}")


def _tell(outcome: Outcome, *, as_json: bool) -> None:
    from groupsim.scenarios.cli import gate_text

    for one in outcome.ran:
        for sentence in one.done.warnings:
            warn(f"{one.entry.name}: {sentence}")
    if as_json:
        print_json(gate_text.as_json(outcome))
    else:
        if (table := gate_text.moved_table(outcome.verdicts, width())) is not None:
            print_table(table)
            print()
        print(_wrapped(gate_text.counted(outcome)))
    for note in outcome.notes():
        warn(note)
    found = gate_text.failures(outcome)
    for first, *lines in found[:_FAILURES_SHOWN]:
        say("\n".join(["", _wrapped(first), *(_wrapped(line, "    ") for line in lines)]))
    if len(found) > _FAILURES_SHOWN:
        say(f"\nand {len(found) - _FAILURES_SHOWN} more: --junit FILE or --markdown FILE has all of them")
    if outcome.can_be_settled:
        say(f"\nif the change was meant, write the baseline again and commit it:\n    {outcome.suite.update_command}")


def _wrapped(text: str, indent: str = "") -> str:
    """A text in lines; commands stay whole, so that they can be copied."""
    if text.startswith("replay: "):
        return indent + text
    return textwrap.fill(
        text, WIDTH, initial_indent=indent, subsequent_indent=f"{indent}  ", break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def _leave(outcome: Outcome) -> None:
    """Leave with the exit code, unless all is well."""
    if outcome.runs_failed:
        raise typer.Exit(RUN_FAILED)
    if outcome.has_failed:
        raise typer.Exit(CHECK_FAILED)
