"""What readers of a group's output get, in a sentence each: `duplicates` and `losses` are of what the group reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
