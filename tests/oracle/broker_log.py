"""What the broker's group coordinator logs, as transitions and memberships of each group.

Texts are those of ``GroupMetadataManager``, 4.4.0. Its log counts the members of a group only when a round is over, so
who belongs to a group is followed here; a line that says how many there are has the last word.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from groupsim.sim.books.rebalances import trigger_of

_LINE = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}) ([A-Z]+) (\S+) (.*)")
_WHO = re.compile(r"^\[GroupCoordinator id=\d+[^\]]*\] ")

_TRANSITIONS = (
    ("PreparingRebalance", re.compile(
        r"Preparing to rebalance group (?P<group>\S+) in state \w+ with old generation (?P<generation>-?\d+) "
        r"\(reason: (?P<reason>.*)\)\.$"
    )),
    ("CompletingRebalance", re.compile(
        r"Stabilized group (?P<group>\S+) generation (?P<generation>\d+) with (?P<members>\d+) members\.$"
    )),
    ("Stable", re.compile(
        r"Assignment received from leader \S+ for group (?P<group>\S+) for generation (?P<generation>\d+)\. "
        r"The group has (?P<members>\d+) members"
    )),
    ("Empty", re.compile(r"Group (?P<group>\S+) with generation (?P<generation>\d+) is now empty\.$")),
)  # fmt: skip

_MEMBERSHIPS = (
    ("pending", re.compile(
        r"Dynamic member with unknown member id joins group (?P<group>\S+) in \w+ state\. "
        r"Created a new member id (?P<member>\S+) and requesting"
    )),
    ("added", re.compile(
        r"Pending dynamic member with id (?P<member>\S+) joins group (?P<group>\S+) in \w+ state\. Adding"
    )),
    ("added", re.compile(
        r"Static member with groupInstanceId=\S+ and unknown member id joins group (?P<group>\S+) in \w+ state\. "
        r"Created a new member id (?P<member>\S+) for"
    )),
    ("replaced", re.compile(
        r"Static member with groupInstanceId=\S+ and unknown member id joins group (?P<group>\S+) in \w+ state\. "
        r"Replacing previously mapped member (?P<member>\S+) with"
    )),
    ("left", re.compile(r"\[Group (?P<group>[^\]]+)\] (?:Pending m|M)ember (?P<member>\S+) has left group")),
    ("failed", re.compile(r"Member (?P<member>\S+) in group (?P<group>\S+) has failed, removing it")),
    ("pending", re.compile(
        r"\[GroupId (?P<group>\S+)\] Dynamic member with unknown member id joins the consumer group\. "
        r"Created a new member id (?P<member>\S+) and requesting"
    )),
    ("added", re.compile(
        r"\[GroupId (?P<group>\S+)\] (?:Static m|M)ember (?P<member>\S+) (?:with instance id \S+ )?"
        r"joins the consumer group using"
    )),
    ("replaced", re.compile(
        r"\[GroupId (?P<group>\S+)\] Static member with instance id \S+ re-joins the consumer group using the \w+ "
        r"protocol\. Created a new member \S+ to replace the existing member (?P<member>\S+)\.$"
    )),
    ("refused", re.compile(
        r"\[GroupId (?P<group>\S+)\] Static member (?P<member>\S+) with instance id \S+ cannot join the group"
    )),
    ("absent", re.compile(
        r"\[GroupId (?P<group>\S+)\] Static member (?P<member>\S+) with instance id \S+ temporarily left"
    )),
    ("left", re.compile(
        r"\[GroupId (?P<group>\S+)\] (?:Static m|Dynamic m|M)ember (?P<member>\S+) (?:with instance id \S+ )?"
        r"(?:left the consumer group|has left group)"
    )),
    ("failed", re.compile(r"\[GroupId (?P<group>\S+)\] Member (?P<member>\S+) fenced from the group because")),
    ("failed", re.compile(r"Pending member (?P<member>\S+) in group (?P<group>\S+) has been removed after session")),
)  # fmt: skip

_EPOCHS = (
    ("epoch", re.compile(r"\[GroupId (?P<group>\S+)\] Bumped group epoch to (?P<epoch>\d+) with metadata hash")),
    ("target", re.compile(
        r"\[GroupId (?P<group>\S+)\] Computed a new target assignment for epoch (?P<epoch>\d+) "
        r"with '(?P<assignor>[^']+)'"
    )),
    ("reconciled", re.compile(
        r"\[GroupId (?P<group>\S+)\] Member (?P<member_id>\S+) new assignment state: epoch=(?P<epoch>-?\d+), "
        r"previousEpoch=-?\d+, state=(?P<state>\w+), assignedPartitions=(?P<assigned>.*?)(?: and revokedPartitions="
        r"(?P<pending>.*))?\.$"
    )),
    ("converted", re.compile(r"\[GroupId (?P<group>\S+)\] Converted the .* to a (?P<to>\w+) group\.$")),
)  # fmt: skip
"""What becomes a fact of its own in a group of the consumer protocol."""


def _partitions(text: str) -> list[tuple[str, int]]:
    """Ids of topics, and partitions, of a text such as ``[id-0@2, id-1@2]``."""
    return [(topic, int(number)) for topic, number in re.findall(r"([\w-]{22})-(\d+)(?:@\d+)?", text)]


_READ: Final[dict[str, Callable[[str], Any]]] = {"epoch": int, "assigned": _partitions, "pending": _partitions}
"""Values that are no texts."""


@dataclass(frozen=True)
class LogLine:
    """One line of the broker's log; ``at_us`` in microseconds since 1970."""

    at_us: int
    level: str
    logger: str
    text: str


def parse(line: str) -> LogLine | None:
    """The line's parts; None for what goes on from the line before, such as a stack trace."""
    found = _LINE.match(line)
    if found is None:
        return None
    at = datetime.strptime(found[1], "%Y-%m-%dT%H:%M:%S.%f").replace(tzinfo=UTC)
    at_us = round(at.replace(microsecond=0).timestamp()) * 1_000_000 + at.microsecond
    return LogLine(at_us, found[2], found[3], _WHO.sub("", found[4]))


@dataclass
class _Group:
    state: str = "Empty"
    members: set[str] = field(default_factory=set)
    facts: list[dict[str, Any]] = field(default_factory=list)


class GroupLog:
    """Follows every group of a broker; groups and members under the names that the broker knows."""

    def __init__(self) -> None:
        self._groups: defaultdict[str, _Group] = defaultdict(_Group)

    def state(self, group: str) -> str:
        """The group's state, as Kafka prints it."""
        return self._groups[group].state

    def facts(self, group: str) -> list[dict[str, Any]]:
        """Transitions and memberships so far, with ``at_us`` in microseconds since 1970."""
        return self._groups[group].facts

    def take(self, line: LogLine) -> None:
        """Take in the next line of the log."""
        for state, pattern in _TRANSITIONS:
            if found := pattern.match(line.text):
                self._enter(line.at_us, state, found.groupdict())
                return
        for change, pattern in _MEMBERSHIPS:
            if found := pattern.match(line.text):
                self._change(line.at_us, change, found["group"], found["member"])
                return

        for what, pattern in _EPOCHS:
            if found := pattern.match(line.text):
                told = {key: _READ.get(key, str)(one) for key, one in found.groupdict("").items() if key != "group"}
                self._groups[found["group"]].facts.append({"what": what, "at_us": line.at_us, **told})
                return

    def _enter(self, at_us: int, state: str, told: dict[str, str | None]) -> None:
        group = self._groups[str(told["group"])]
        reason = told.get("reason")
        if state == "Empty":
            group.members.clear()
        joining = re.match(r"Adding new member (\S+) with", reason or "")
        if joining:
            group.members.add(joining[1])
        group.state = state
        group.facts.append(
            {
                "what": "transition", "at_us": at_us, "state": state, "generation": int(told["generation"] or 0),
                "members": int(told.get("members") or len(group.members)),
                "trigger": trigger_of(reason) if reason else None, "reason": reason,
            }
        )  # fmt: skip

    def _change(self, at_us: int, change: str, name: str, member_id: str) -> None:
        group = self._groups[name]
        if change == "added":
            group.members.add(member_id)
        elif change in ("left", "failed"):
            group.members.discard(member_id)
        group.facts.append({"what": "membership", "at_us": at_us, "member_id": member_id, "change": change})
