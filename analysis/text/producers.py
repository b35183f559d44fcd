"""What became of the records of ``producers``, in a sentence each: groups tell what they make of logs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from groupsim.analysis.data.metrics import number
from groupsim.analysis.stats.runs import Row

_FATES: Final = {
    "truncated_leader": "truncated with a leader",
    "truncated_unclean": "by an unclean election",
    "lost_unsent": "lost unheard",
    "failed": "given up",
    "duplicated": "written again by a retry",
    "reordered": "out of order",
}


def producers_lines(rows: Iterable[Row], runs: int) -> list[str]:
    """A sentence for all processes of a name, means over runs.

    Parameters
    ----------
    rows : iterable of mapping
        Rows of table ``producers`` of one variant.
    runs : int
        How many runs they are of.
    """
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["producer"].rpartition("/")[0], []).append(row)
    return [_sentence(name, some, runs) for name, some in found.items()]


def _sentence(name: str, rows: Sequence[Row], runs: int) -> str:
    each = "; means of all runs" if runs > 1 else ""
    fates = ", ".join(f"{_mean(rows, column, runs)} {what}" for column, what in _FATES.items())
    sent, heard = (_mean(rows, column, runs) for column in ("records", "acknowledged"))
    return f"producers {name}: {sent} records, {heard} acknowledged; {fates}{each}."


def _mean(rows: Sequence[Row], column: str, runs: int) -> str:
    return number(sum(row[column] for row in rows) / runs)
