"""What is printed of a sweep: messages while it runs, then means, failures and what comes next."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groupsim.scenarios.cli.output import (
    Progress,
    counted,
    print_json,
    print_table,
    print_wrapped,
    say,
    say_wrapped,
    warn,
    width,
)
from groupsim.scenarios.cli.replications import NUMBERS, plain_estimates
from groupsim.scenarios.schema.goals import Goal, goals_of
from groupsim.scenarios.sweep.execution import Listener

if TYPE_CHECKING:
    import pyarrow as pa

    from groupsim.analysis.data.design import Design
    from groupsim.analysis.stats.statistics import Estimate
    from groupsim.scenarios.sweep.account import Account
    from groupsim.scenarios.sweep.loading import Sweep

_LONG_S = 30.0
_FAILURES_SHOWN = 5
_WARNINGS_SHOWN = 2
_WARNED_VARIANTS = 8
_UNSERVED_SHOWN = 8
_ENTRIES_SHOWN = 40
_MET_SHOWN = 8

Entries = dict[tuple[str, str], dict[str, "Estimate"]]
"""Of each variant and group, the estimate of each number."""


class SweepMessages(Listener):
    """Says on standard error how a sweep proceeds; keeps what is told of its variants.

    Their means, who met which goal, and which groups never read anything.

    Parameters
    ----------
    sweep : Sweep
        Whose scenarios say what the goals are.
    """

    def __init__(self, sweep: Sweep) -> None:
        self._goals = {one.name: goals_of(one.scenario.document) for one in sweep.variants}
        self.met_by: dict[Goal, list[str]] = {goal: [] for goals in self._goals.values() for goal in goals}
        self.entries: Entries = {}
        self.unserved: list[str] = []

    def begun(self, runs: int, variants: int, place: str) -> None:
        """Say what is carried out."""
        say(f"{counted(runs, 'run')} of {counted(variants, 'variant')}, {place}")

    def estimated(self, seconds: float) -> None:
        """Say how long it takes, where it is long."""
        from groupsim.analysis.data.metrics import duration

        if seconds >= _LONG_S:
            say_wrapped(f"a long sweep: about {duration(seconds)} on one core, at the pace that this machine has now")

    def damaged(self, what: str) -> None:
        """Warn of a chunk that cannot be read."""
        warn(f"{what}; it is carried out again")

    def resumed(self, runs: int) -> None:
        """Say how many runs there are."""
        say(f"{counted(runs, 'run')} there already")

    @contextmanager
    def progress(self, runs: int) -> Iterator[Progress]:
        """A bar, or a line a minute."""
        with Progress("run", runs) as progress:
            yield progress

    def complete(self, variant: str, summary: pa.Table) -> None:
        """Estimate the means of a variant, hold it to its goals, and look for groups that never read anything."""
        from groupsim.analysis.text.unserved import unserved

        self.entries |= {(variant, group): cells for group, cells in _estimates(summary).items()}
        if not (self._goals[variant] or summary["first_service_s"].null_count):
            return
        rows = summary.to_pylist()
        self.unserved += unserved(row | {"variant": variant} for row in rows)
        for goal in self._goals[variant]:
            if all(map(goal.met_by, rows)):
                self.met_by[goal].append(variant)

    def interrupted(self, runs: int, folder: Path) -> None:
        """Say how to go on."""
        say(f"{counted(runs, 'run')} done, kept in {folder}: the same command with --resume goes on")


def _estimates(summary: pa.Table) -> dict[str, dict[str, Estimate]]:
    from groupsim.analysis.stats.statistics import estimate

    groups = summary["group"].to_numpy()
    values = {name: summary[name].cast("float64").to_numpy() for name in NUMBERS}
    return {
        group: {name: estimate(column[groups == group]) for name, column in values.items()}
        for group in dict.fromkeys(groups.tolist())
    }


def tell(sweep: Sweep, found: Account, messages: SweepMessages, out: Path, *, as_json: bool) -> None:
    """Print groups that never read, the means, failures, and what comes next."""
    entries, met_by = messages.entries, _met_by(messages, found)
    if as_json:
        told = {"sweep": sweep.name, "scenario": sweep.source, "runs": found.runs, "failed": found.failed}
        goals = [{"goal": str(goal), "met_by": variants} for goal, variants in met_by.items()]
        means = _means(sweep, entries)
        print_json({**told, "unserved": messages.unserved, "goals": goals, "summary": means, "out": str(out)})
    else:
        _print_unserved(messages.unserved)
        if entries:
            _print_entries(entries, design_of_sweep(sweep), [goal.column for goal in met_by])
        _print_goals(met_by, len(sweep.variants))
    _warn_of_kept({name: out / one["kept"] for name, one in found.variants.items() if one["kept"]})
    for row in found.failures[:_FAILURES_SHOWN]:
        say(f"failed: {row['variant']}, replication {row['replication']}: {row['error']}\n  replay: {row['replay']}")
    if found.failed:
        say(f"{counted(found.failed, 'run')} of {found.runs:,} failed: see {out / 'failures'}")
    say(f"results in {out}; next: groupsim compare {out}")


def _met_by(messages: SweepMessages, found: Account) -> dict[Goal, list[str]]:
    """The variants that met each goal; not those of which a run failed, whatever the others of its runs met."""
    failed = {row["variant"] for row in found.failures}
    return {goal: [name for name in names if name not in failed] for goal, names in messages.met_by.items()}


def _means(sweep: Sweep, entries: Entries) -> list[dict[str, Any]]:
    variants = {one.name: one for one in sweep.variants}
    return [
        {"scenario": variants[name].scenario.name, "variant": name, "group": group, "seed": variants[name].seed}
        | plain_estimates(cells.items())
        for (name, group), cells in entries.items()
    ]


def design_of_sweep(sweep: Sweep) -> Design:
    """What the variants of a sweep are, for tables."""
    from groupsim.analysis.data.design import design_of
    from groupsim.scenarios.sweep.design import short_names

    found = design_of(sweep.document, {one.name: {"set": one.changes} for one in sweep.variants})
    return replace(found, names=short_names(found.paths))


def _print_unserved(sentences: Sequence[str]) -> None:
    for sentence in sentences[:_UNSERVED_SHOWN]:
        print_wrapped(sentence)
    if len(sentences) > _UNSERVED_SHOWN:
        print_wrapped(f"and {len(sentences) - _UNSERVED_SHOWN:,} more that never read a partition: see --json")


def _print_goals(met_by: Mapping[Goal, Sequence[str]], variants: int) -> None:
    for goal, names in met_by.items():
        print_wrapped(f"{goal}: met in every run by {_told_variants(names, variants)}")


def _told_variants(names: Sequence[str], of: int) -> str:
    """Variants that met a goal, out of so many; names may have commas themselves."""
    if not names:
        return "no variant"
    if 1 < len(names) == of:
        return f"all {of:,} variants"
    more = [f"{len(names) - _MET_SHOWN:,} more"] if len(names) > _MET_SHOWN else []
    return ("; " if any("," in name for name in names) else ", ").join([*names[:_MET_SHOWN], *more])


def _print_entries(entries: Entries, design: Design, first: Sequence[str]) -> None:
    from groupsim.analysis.data.metrics import METRICS
    from groupsim.analysis.text.summary import entries_table, metrics_shown

    shown = dict(list(entries.items())[:_ENTRIES_SHOWN])
    metrics = list(dict.fromkeys([*(name for name in first if name in METRICS), *metrics_shown()]))
    told = {key: [cells[name] for name in metrics] for key, cells in shown.items()}
    print_table(entries_table(told, metrics, width(), design))
    if len(entries) > len(shown):
        say(f"the first {len(shown)} of {len(entries):,}; --json lists them all")


def _warn_of_kept(folders: Mapping[str, Path]) -> None:
    """Tell what runs that are kept have warned of: assignors that failed, targets that were not there."""
    for variant, folder in list(folders.items())[:_WARNED_VARIANTS]:
        file = folder / "manifest.json"
        told = json.loads(file.read_text())["warnings"] if file.exists() else []
        for sentence in told[:_WARNINGS_SHOWN]:
            warn(f"{variant}, replication 0: {sentence}")
        if len(told) > _WARNINGS_SHOWN:
            warn(f"{variant}, replication 0: {len(told) - _WARNINGS_SHOWN} more, in its manifest.json")
