"""What ``groupsim check`` says of its verdicts: a table of what moved, a paragraph a failure, and both as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from groupsim.scenarios.cli.verdict import GOALS, STALE, Outcome, Status, Verdict
from groupsim.scenarios.gate.junit import Case, junit_text

if TYPE_CHECKING:
    from groupsim.analysis.stats.drift import Drift
    from groupsim.analysis.text.tables import TextTable

MARK: Final = "<!-- groupsim check -->"
"""How every report in Markdown begins, invisibly."""
_NOISE: Final = {True: "yes", False: "no", None: "-"}
_COUNTS: Final = {
    Status.SAME: "as in the baseline", Status.WITHIN: "moved within tolerance", Status.OUT: "out of tolerance",
    Status.NEW: "new", Status.GONE: "gone", Status.OTHER: "of other runs than the baseline's",
    Status.MET: "met", Status.MISSED: "missed",
}  # fmt: skip


def moved_table(verdicts: Iterable[Verdict], width: int | None) -> TextTable | None:
    """What moved, is new or is gone, and the verdicts; None if all is as it was."""
    from groupsim.analysis.text.tables import Column, TextTable, named, names

    rows = [one for one in verdicts if one.moved or one.status in STALE]
    if not rows:
        return None
    before, after, moved, share = zip(*(_cells(one.drift) for one in rows), strict=True)
    columns = (
        names("scenario", _places(rows), "place"),
        named("metric", [_short(one.metric) for one in rows], "metric", [one.metric for one in rows]),
        Column("baseline", before, {}, rank=6),
        Column("now", after, {}, rank=5),
        Column("moved", moved, {}),
        Column("share", share, {}, rank=4),
        Column("noise", tuple(_NOISE[one.drift.is_noise] if one.drift else "-" for one in rows), {}, right=False),
        Column("allowed", tuple(one.held_to for one in rows), {}, rank=7, right=False),
        named("verdict", [str(one.status) for one in rows], "status"),
    )
    said = [one for one in columns if set(one.texts) - {"", "-", "(all)"}]
    return TextTable(tuple(said), (), width)


def _places(rows: Sequence[Verdict]) -> list[str]:
    """The names of scenarios, with the group where there is more than one."""
    groups = {(one.entry, one.group) for one in rows if one.group}
    several = Counter(entry for entry, _ in groups)
    return [f"{one.entry}/{one.group}" if one.group and several[one.entry] > 1 else one.entry for one in rows]


def _cells(drift: Drift | None) -> tuple[str, str, str, str]:
    """Baseline, present value, difference, and the difference as a share."""
    if drift is None:
        return "", "", "", ""
    return drift.text(drift.before), drift.text(drift.after), drift.moved_text(), drift.share_text()


def _short(metric: str) -> str:
    from groupsim.analysis.data.metrics import METRICS

    return METRICS[metric].short if metric else "(all)"


def counted(outcome: Outcome) -> str:
    """How many verdicts there are of each kind, in one sentence."""
    kinds: dict[str, list[Verdict]] = {"metric": [], "scenario": [], "goal": []}
    for one in outcome.verdicts:
        kinds["goal" if one.status in GOALS else "metric" if one.metric else "scenario"].append(one)
    told = [_counted(some, what) for what, some in kinds.items() if some]
    runs = _plural(sum(one.done.runs for one in outcome.ran) + outcome.runs_failed, "run")
    return "; ".join([*told, runs + (f", {outcome.runs_failed} failed" if outcome.runs_failed else "")])


def _counted(some: Sequence[Verdict], what: str) -> str:
    found = Counter(one.status for one in some)
    parts = [f"{found[status]} {words}" for status, words in _COUNTS.items() if found[status]]
    return f"{_plural(len(some), what)}: {', '.join(parts)}"


def paragraph(verdict: Verdict) -> list[str]:
    """What somebody needs who has only this: place, what failed, why, and how to repeat it."""
    what = {Status.OUT: f"{verdict.metric} is out of tolerance", Status.MISSED: f"goal missed: {verdict.held_to}"}
    lines = verdict.reason.split("\n")
    title = what.get(verdict.status) or " ".join(filter(None, (verdict.metric, lines.pop(0))))
    replay = [f"replay: {verdict.replay}"] if verdict.replay else []
    return [f"{verdict.place}: {title}", *lines, *replay]


def failures(outcome: Outcome) -> list[list[str]]:
    """A paragraph for each run that failed and for each verdict that fails the check."""
    suite = outcome.suite
    runs = [
        [f"{one.entry.name}: replication {number} failed", error, f"replay: {suite.replay(one.entry, number)}"]
        for one in outcome.ran
        for number, error in one.failures.items()
    ]
    return [*runs, *(paragraph(one) for one in outcome.verdicts if outcome.fails(one))]


def markdown(outcome: Outcome) -> str:
    """The report for a pull request."""
    found = failures(outcome)
    question = [outcome.suite.question] if outcome.suite.question else []
    title = f"## groupsim check: {'failed' if found else 'passed'}"
    parts = [MARK, title, *question, counted(outcome), *outcome.notes()]
    if (table := moved_table(outcome.verdicts, None)) is not None:
        parts.append(table.markdown().rstrip())
    for first, *others in found:
        parts.append("\n".join([f"**{first}**", "", "```text", *others, "```"]))
    return "\n\n".join(parts) + "\n"


def junit(outcome: Outcome) -> str:
    """The report for what reads JUnit XML."""
    cases = [
        Case(
            suite=one.entry.name, name=f"replication {number}", outcome="error",
            lines=(error, f"replay: {outcome.suite.replay(one.entry, number)}"),
        )
        for one in outcome.ran
        for number, error in one.failures.items()
    ]  # fmt: skip
    for one in outcome.verdicts:
        name = " ".join(filter(None, (one.group, one.metric))) or "baseline"
        if one.status in GOALS:
            name = f"{one.group} goal {one.held_to}"
        bad = outcome.fails(one)
        cases.append(Case(
            suite=one.entry, name=name, outcome="failure" if bad else "passed",
            lines=tuple(paragraph(one)) if bad else (),
        ))  # fmt: skip
    return junit_text(f"groupsim check {outcome.suite.path.name}", cases)


def as_json(outcome: Outcome) -> dict[str, Any]:
    """The outcome as plain data: base units, full precision, None for null."""
    suite = outcome.suite
    runs = [
        {"scenario": one.entry.name, "replication": number, "error": error, "replay": suite.replay(one.entry, number)}
        for one in outcome.ran
        for number, error in one.failures.items()
    ]
    return {
        "suite": str(suite.path), "baseline": str(suite.baseline), "updated": outcome.settled,
        "passed": not (runs or outcome.has_failed),
        "versions": {"baseline": dict(outcome.before.versions), "now": dict(outcome.now.versions)},
        "failed_runs": runs,
        "verdicts": [{**_record(one), "failed": outcome.fails(one)} for one in outcome.verdicts],
    }  # fmt: skip


def _record(verdict: Verdict) -> dict[str, Any]:
    told: dict[str, Any] = {
        "scenario": verdict.entry, "group": verdict.group or None, "metric": verdict.metric or None,
        "status": str(verdict.status), "held_to": verdict.held_to or None,
    }  # fmt: skip
    drift = verdict.drift
    for name in ("before", "after", "difference"):
        one = getattr(drift, name, None)
        told[name] = {"mean": one.mean, "half_width": one.half_width, "n": one.n} if one and one.n else None
    told["runs_moved"] = len(drift.moved) if drift else None
    told["noise"] = drift.is_noise if drift and drift.moved else None
    return {**told, "reason": verdict.reason or None, "replay": verdict.replay or None}


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' if count != 1 else ''}"
