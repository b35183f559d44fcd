"""What readers of a group's output get, in a sentence each: `duplicates` and `losses` are of what the group reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from groupsim.analysis.data.metrics import SECONDS, number
from groupsim.analysis.stats.runs import Row

_LEVELS: Final = ("read_committed", "read_uncommitted")
_LACKED: Final = ("output duplicate (unclean)", "output loss (unclean)", "output loss (truncated input)")


def output_lines(output: Iterable[Row], delivery: Sequence[Row], runs: int) -> list[str]:
    """A sentence for each group that produces, means over runs.

    Parameters
    ----------
    output, delivery : iterables of mapping
        Rows of these tables of one variant, each with its ``replication``.
    runs : int
        How many runs they are of.
    """
    found: dict[str, list[Row]] = {}
    for row in output:
        found.setdefault(row["group"], []).append(row)
    return [_sentence(group, some, delivery, runs) for group, some in found.items()]


def blocked_lines(output: Iterable[Row], readers: Mapping[str, Sequence[str]], runs: int) -> list[str]:
    """A sentence for each group that reads a topic as ``read_committed``: how long open transactions kept a record.

    Parameters
    ----------
    output : iterable of mapping
        Rows of table ``output`` of one variant, each with its ``replication``.
    readers : mapping of str to sequence of str
        Topic -> groups that read it so.
    runs : int
        How many runs they are of.
    """
    worst: dict[tuple[str, str], dict[int, Row]] = {}
    for row in output:
        for reader in readers.get(row["topic"], ()):
            found = worst.setdefault((reader, row["topic"]), {})
            former = found.get(row["replication"], row)
            found[row["replication"]] = max(former, row, key=lambda one: one["blocked_us_max"])
    return [_blocked(reader, topic, list(rows.values()), runs) for (reader, topic), rows in worst.items()]


def _blocked(reader: str, topic: str, rows: Sequence[Row], runs: int) -> str:
    waits = number(sum(row["blocked_us_max"] for row in rows) / runs / 1e6)
    which = f"partition {rows[0]['partition']}" if runs == 1 else "mean of all runs"
    return (
        f"{reader} reads {topic} up to the first open transaction of {rows[0]['group']}: a record waited behind one for"
        f" {waits} {SECONDS} at most ({which}), which is age of lag, and neither gap nor unread time"
    )


def _sentence(group: str, rows: Sequence[Row], delivery: Sequence[Row], runs: int) -> str:
    seen = [_seen(group, level, delivery, runs) for level in _LEVELS]
    longest: dict[int, int] = {}
    for row in rows:
        longest[row["replication"]] = max(longest.get(row["replication"], 0), row["blocked_us_max"])
    waits = number(sum(longest.values()) / runs / 1e6)
    each = "; means of all runs" if runs > 1 else ""
    return (
        f"output of {group} ({rows[0]['topic']}): readers of {_LEVELS[0]} get {seen[0]}, of {_LEVELS[1]} {seen[1]}; "
        f"a record waits for {waits} {SECONDS} at most until the former can read it{each}."
    )


def _seen(group: str, level: str, delivery: Sequence[Row], runs: int) -> str:
    """How many input records have more than one record of output at this level, and how many have none."""
    twice, never = (
        number(sum(_records(group, kind, level, row) for row in delivery) / runs)
        for kind in ("output duplicate", "output loss")
    )
    return f"{twice} input records twice and {never} never{_named(group, level, delivery, runs)}"


def _named(group: str, level: str, delivery: Sequence[Row], runs: int) -> str:
    """How many of these a new leader is to blame for, of the output, the input or the offsets; empty: none."""
    records = sum(_records(group, kind, level, row) for kind in _LACKED for row in delivery)
    return f" ({number(records / runs)} of these since a new leader lacked something)" if records else ""


def _records(group: str, kind: str, level: str, row: Row) -> int:
    is_meant = (row["group"], row["kind"], row["cause"]) == (group, kind, level)
    return int(row["records"]) if is_meant else 0
