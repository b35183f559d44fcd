"""Groups that never read anything, told in a sentence each: their numbers are those of a failure, not of a calm day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from groupsim.analysis.data.metrics import SECONDS, number
from groupsim.analysis.stats.runs import Row, by_entry

_UNKNOWN: Final[Mapping[str, Sequence[str]]] = MappingProxyType({})


def unserved(runs: Iterable[Row], died_of: Mapping[str, Sequence[str]] = _UNKNOWN) -> list[str]:
    """A sentence for each variant and group that served no partition in some run, and why.

    Parameters
    ----------
    runs : iterable of mapping
        Rows of ``summary``; null is None.
    died_of : mapping of str to sequence of str
        Group -> errors of poll() that its members have died of, where that is known.
    """
    return [
        _sentence(variant, group, never, len(rows), died_of.get(group, ()))
        for (variant, group), rows in by_entry(runs).items()
        if (never := [row for row in rows if row["first_service_s"] is None])
    ]


def end_states(runs: Sequence[Row]) -> str:
    """The states in which groups ended: ``Stable``, or ``Stable in 4 runs, Empty in 1``."""
    found = Counter(row["end_state"] for row in runs)
    if len(found) == 1:
        return str(next(iter(found)))
    return ", ".join(f"{state} in {count}" for state, count in found.most_common())


def _sentence(variant: str, group: str, never: Sequence[Row], runs: int, errors: Sequence[str]) -> str:
    who = f"{variant}, group {group}" if variant else f"group {group}"
    often = f" in {len(never)} of {runs} runs" if runs > 1 else ""
    return f"{who} never read a partition{often}: {_reason(never[0], errors)} (state at the end: {end_states(never)})"


def _reason(row: Row, errors: Sequence[str]) -> str:
    """What is wrong with a group, the most telling first."""
    if not row["partitions"]:
        return "there is none for it to read"
    if not row["members"]:
        return "it had no members"
    if row["failed_assignments"]:
        return f"its assignor failed {row['failed_assignments']:,} times"
    if not row["joins"]:
        return "no member was admitted"
    if row["failed"]:
        which = f": {', '.join(errors)}" if errors else ""
        return f"its members died of what poll() throws, {row['failed']:,} times{which}"
    if row["unstable_s"]:
        return (
            f"it was rebalancing for {number(row['unstable_s'])} {SECONDS}, "
            f"{row['generations']:,} generations, {row['evictions']:,} evictions"
        )
    return "no fetch was answered"
