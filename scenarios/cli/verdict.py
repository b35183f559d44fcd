"""What ``groupsim check`` finds: verdicts on metrics and goals, and with what they belong to the outcome of it all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from groupsim.scenarios.gate.baseline import Baseline, Values
from groupsim.scenarios.gate.suite import Entry, Suite

if TYPE_CHECKING:
    from groupsim.analysis.stats.drift import Drift
    from groupsim.scenarios.cli.replications import Replications


class Status(StrEnum):
    """What became of one thing that a suite asks for."""

    SAME = "as before"
    WITHIN = "within"
    OUT = "out"
    NEW = "new"
    GONE = "gone"
    OTHER = "other runs"
    MET = "goal met"
    MISSED = "goal missed"


GOALS: Final = (Status.MET, Status.MISSED)
PASSING: Final = (Status.SAME, Status.WITHIN, Status.MET)
STALE: Final = (Status.NEW, Status.GONE, Status.OTHER)
"""The baseline is one of another suite; who writes it anew settles it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One metric, or one goal, of one group of one entry; an empty group or metric stands for all of them.

    Parameters
    ----------
    held_to : str
        The tolerance or the goal.
    drift : Drift or None
        How the metric moved; None for goals and for what cannot be compared.
    reason : str
        What somebody who did not write the suite needs to know; may have several lines.
    replay : str
        The command that repeats the run that shows it best; empty where no run does.
    """

    entry: str
    group: str = ""
    metric: str = ""
    status: Status
    held_to: str = ""
    drift: Drift | None = None
    reason: str = ""
    replay: str = ""

    @property
    def moved(self) -> bool:
        """Whether any run gave another number than the baseline's."""
        return self.drift is not None and bool(self.drift.moved)

    @property
    def place(self) -> str:
        """Entry and, where it is about one, the group."""
        return f"{self.entry}, group {self.group}" if self.group else self.entry


@dataclass(slots=True)
class Ran:
    """What became of an entry's runs: rows of the summary, or what went wrong in which replication."""

    entry: Entry
    done: Replications
    failures: dict[int, str] = field(default_factory=dict)

    def values(self, group: str, metric: str) -> Values:
        """A metric of a group, replication by replication."""
        return tuple(row[metric] for row in self.done.summary if row["group"] == group)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Everything that a check has found.

    Parameters
    ----------
    before, now : Baseline
        The committed one, and what the runs gave.
    settled : bool
        The baseline was written anew: what it says differently fails no longer.
    """

    suite: Suite
    ran: Sequence[Ran]
    before: Baseline
    now: Baseline
    verdicts: Sequence[Verdict]
    settled: bool

    def fails(self, one: Verdict) -> bool:
        """Whether a verdict fails the check."""
        return one.status not in PASSING and (one.status is Status.MISSED or not self.settled)

    @property
    def has_failed(self) -> bool:
        """Whether anything fails the check."""
        return any(map(self.fails, self.verdicts))

    @property
    def can_be_settled(self) -> bool:
        """Whether anything fails that a baseline written anew would settle."""
        return any(self.fails(one) and one.status is not Status.MISSED for one in self.verdicts)

    @property
    def runs_failed(self) -> int:
        """How many runs ended in an error."""
        return sum(len(one.failures) for one in self.ran)

    def notes(self) -> list[str]:
        """What to know about the baseline: scenarios that have changed since, and versions that made it."""
        recorded, entries = self.before.entries, self.now.entries
        changed = [name for name in entries if name in recorded and recorded[name].resolved != entries[name].resolved]
        notes = [f"changed since the baseline, or set otherwise by the suite: {', '.join(changed)}"] if changed else []
        then, now = self.before.versions, self.now.versions
        other = [name for name in now if then.get(name, now[name]) != now[name]]
        if "groupsim" in other or (other and any(one.moved for one in self.verdicts)):
            made = ", ".join(f"{name} {then[name]} (now {now[name]})" for name in other)
            notes.append(f"the baseline was made by another version: {made}; that may be why numbers moved")
        return notes
