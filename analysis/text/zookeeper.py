"""What ZooKeeper has done for groups of its protocol, in a sentence each: they have no coordinator that would tell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Final

from groupsim.analysis.data.metrics import SECONDS, number
from groupsim.analysis.stats.runs import Row

_ASKED: Final = {
    "watch_notifications": "watch notifications",
    "reads": "reads",
    "writes": "writes",
}
_FAILED: Final = {
    "conflicts": "conflicts over owner nodes",
    "failed_tries": "tries that failed",
    "failed_rebalances": "rebalances given up",
}
_UNLIKE: Final = "Generations of such a group are changes of its members or topics"


def zookeeper_lines(rows: Iterable[Row]) -> list[str]:
    """A sentence for each group, means over its runs.

    Parameters
    ----------
    rows : iterable of mapping
        Rows of table ``zookeeper`` of one variant.
    """
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["group"], []).append(row)
    return [_sentence(group, some) for group, some in found.items()]


def _sentence(group: str, rows: Sequence[Row]) -> str:
    asked = ", ".join(f"{_mean(rows, name)} {noun}" for name, noun in _ASKED.items())
    failed = ", ".join(f"{_mean(rows, name)} {noun}" for name, noun in _FAILED.items())
    twice = number(fmean(row["two_readers_us"] for row in rows) / 1e6)
    busy, busiest = (100 * fmean(row[f"utilisation_{name}"] for row in rows) for name in ("mean", "max"))
    each = "; means of all runs" if len(rows) > 1 else ""
    return (
        f"ZooKeeper for group {group}: {asked}; {failed}; two readers at once for {twice} partition·{SECONDS}; "
        f"servers busy {number(busy)} % of the time, the busiest {number(busiest)} %{each}. {_UNLIKE}."
    )


def _mean(rows: Sequence[Row], name: str) -> str:
    return number(fmean(row[name] for row in rows))
