"""Verdicts of ``groupsim check``: what the runs of a suite gave, held to its baseline and its goals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from groupsim.scenarios.cli.verdict import Ran, Status, Verdict
from groupsim.scenarios.gate.baseline import Baseline, Key, Recorded, Values, fingerprint
from groupsim.scenarios.gate.suite import Entry, Suite
from groupsim.scenarios.gate.tolerances import Tolerance
from groupsim.scenarios.schema.goals import Goal, goals_of

if TYPE_CHECKING:
    from groupsim.analysis.stats.drift import Drift

_ONLY_SUITE: Final = "is in the suite, not in the baseline"
_ONLY_BASELINE: Final = "is in the baseline, not in the suite"


def present(ran: Sequence[Ran]) -> Baseline:
    """What the runs gave, in the form of a baseline; without entries that are held to goals alone."""
    entries, values, versions = {}, {}, {}
    for one in ran:
        entry = one.entry
        versions.update(one.done.versions)
        if entry.tolerances:
            entries[entry.name] = _recorded(entry)
        for group in entry.groups:
            values.update({(entry.name, group, metric): one.values(group, metric) for metric in entry.tolerances})
    return Baseline(versions=versions, entries=entries, values=values)


def _recorded(entry: Entry) -> Recorded:
    resolved = fingerprint(entry.scenario.document)
    return Recorded(resolved=resolved, seed=entry.seed, replications=entry.replications)


def judge(suite: Suite, ran: Sequence[Ran], baseline: Baseline) -> list[Verdict]:
    """The verdicts, entry by entry as in the suite; entries with failed runs have none."""
    verdicts: list[Verdict] = []
    for one in ran:
        if not one.failures:
            verdicts += _metric_verdicts(suite, one, baseline)
            verdicts += _goal_verdicts(suite, one)
    names = {entry.name for entry in suite.entries if entry.tolerances}
    gone = sorted(set(baseline.entries) - names)
    return [*verdicts, *(Verdict(entry=name, status=Status.GONE, reason=_ONLY_BASELINE) for name in gone)]


def _metric_verdicts(suite: Suite, one: Ran, baseline: Baseline) -> Iterator[Verdict]:
    """What an entry's metrics come to, or why they cannot be compared."""
    entry, recorded = one.entry, baseline.entries.get(one.entry.name)
    if not entry.tolerances:
        return
    if recorded is None:
        yield Verdict(entry=entry.name, status=Status.NEW, reason=_ONLY_SUITE)
        return
    if other := _other_runs(entry, recorded):
        yield Verdict(entry=entry.name, status=Status.OTHER, reason=f"the baseline holds other runs: {other}")
        return
    cause = _cause(entry, recorded)
    wanted = {(entry.name, group, metric) for group in entry.groups for metric in entry.tolerances}
    for key in sorted(wanted | {key for key in baseline.values if key[0] == entry.name}):
        _, group, metric = key
        if key not in wanted:
            yield Verdict(entry=entry.name, group=group, metric=metric, status=Status.GONE, reason=_ONLY_BASELINE)
        elif key not in baseline.values:
            yield Verdict(entry=entry.name, group=group, metric=metric, status=Status.NEW, reason=_ONLY_SUITE)
        else:
            yield _moved(suite, one, key, baseline.values[key], cause)


def _other_runs(entry: Entry, recorded: Recorded) -> str:
    """In what the runs of a baseline are not those of the suite."""
    pairs = {"seed": (recorded.seed, entry.seed), "replications": (recorded.replications, entry.replications)}
    return ", ".join(f"{name} {then}, now {now}" for name, (then, now) in pairs.items() if then != now)


def _cause(entry: Entry, recorded: Recorded) -> str:
    """Where to look: runs are deterministic, so something was changed."""
    if recorded.resolved != fingerprint(entry.scenario.document):
        return f"the scenario ({entry.source} as the suite sets it) is not the one of the baseline"
    return "the scenario is the one of the baseline: groupsim, a package or an assignor is not"


def _moved(suite: Suite, one: Ran, key: Key, before: Values, cause: str) -> Verdict:
    """How far a metric moved, and whether that is tolerated."""
    from groupsim.analysis.data.metrics import metric
    from groupsim.analysis.stats.drift import drift

    name, group, column = key
    tolerance = one.entry.tolerances[column]
    found = drift(metric(column), before, one.values(group, column))
    where: dict[str, Any] = {"entry": name, "group": group, "metric": column, "held_to": str(tolerance), "drift": found}
    if not found.moved:
        return Verdict(**where, status=Status.SAME)
    status = Status.WITHIN if _tolerated(tolerance, found) else Status.OUT
    reason = "\n".join([*_story(found, tolerance), cause])
    return Verdict(**where, status=status, reason=reason, replay=suite.replay(one.entry, found.moved[0]))


def _allowed(tolerance: Tolerance, found: Drift) -> float:
    half_widths = (found.before.half_width or 0.0) + (found.after.half_width or 0.0)
    return tolerance.allowed(found.before.mean if found.before.n else 0.0, half_widths)


def _tolerated(tolerance: Tolerance, found: Drift) -> bool:
    if tolerance.kind == "exact" or found.nulls:
        return False
    allowed = _allowed(tolerance, found)
    return abs(found.difference.mean) <= allowed or math.isclose(abs(found.difference.mean), allowed, rel_tol=1e-9)


def _story(found: Drift, tolerance: Tolerance) -> Iterator[str]:
    """Baseline, present value, difference, tolerance, and whether it is noise."""
    yield f"baseline {found.text(found.before)}, now {found.text(found.after)}"
    total = _runs(found.runs)
    if found.nulls:
        yield f"null on one side in {len(found.nulls)} of {total}"
    if found.difference.n:
        share = f" ({found.share_text()})" if found.share else ""
        yield f"moved by {found.moved_text(interval=True)}{share}, in {len(found.moved)} of {total}"
    yield f"allowed: {_allowance(found, tolerance)}"
    yield found.noise_text()


def _allowance(found: Drift, tolerance: Tolerance) -> str:
    """The tolerance in words and in the metric's unit; why there is none, where it comes to nothing."""
    from groupsim.analysis.data.metrics import number

    if tolerance.kind == "exact":
        return "nothing (exact)"
    allowed, unit = _allowed(tolerance, found), found.scale.unit
    if allowed == 0:
        why = "relative to 0" if tolerance.kind == "relative" else "intervals without any width"
        return f"nothing, being {why}: an absolute tolerance would allow something"
    form = f" ({tolerance})" if tolerance.kind != "absolute" else ""
    return f"± {number(allowed * found.scale.factor)} {unit}".rstrip() + form


def _goal_verdicts(suite: Suite, one: Ran) -> Iterator[Verdict]:
    """The goals of the scenario and of the suite, which every run must meet."""
    from groupsim.analysis.data.metrics import unit_of

    entry = one.entry
    for goal in goals_of(entry.scenario.document):
        for group in entry.groups:
            rows = [row for row in one.done.summary if row["group"] == group]
            missed = [r for r, row in enumerate(rows) if not goal.met_by(row)]
            where: dict[str, Any] = {"entry": entry.name, "group": group, "metric": goal.column, "held_to": str(goal)}
            if not missed:
                yield Verdict(**where, status=Status.MET)
                continue
            worst = max(missed, key=lambda r: _distance(goal, rows[r]))
            told = f"{goal.told(rows[worst], unit_of(goal.column))} in replication {worst}"
            subject = "the group" if rows[worst]["first_service_s"] is None else f"{goal.column} is"
            reason = f"{subject} {told}; missed in {len(missed)} of {_runs(len(rows))}"
            yield Verdict(**where, status=Status.MISSED, reason=reason, replay=suite.replay(entry, worst))


def _runs(count: int) -> str:
    return f"{count} run{'s' if count > 1 else ''}"


def _distance(goal: Goal, row: Mapping[str, Any]) -> float:
    value = row[goal.column]
    return math.inf if value is None or row["first_service_s"] is None else abs(value - goal.bound)
