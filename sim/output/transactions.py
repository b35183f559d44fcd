"""Producers of a group and the topic that they write to: the rows of tables ``transactions`` and ``output``."""

from __future__ import annotations

from typing import Any

from groupsim.sim.books.group_books import GroupBooks
from groupsim.sim.output.columns import of_tuples
from groupsim.sim.tables import OUTPUT


def transaction_rows(group: GroupBooks) -> dict[str, list[Any]]:
    """One row for each incarnation of a producer."""
    books = group.transactions
    open_records: dict[int, int] = {}
    for one in books.open:
        records = sum(origin.last - origin.first for origin in one.origins)
        open_records[id(one.life)] = open_records.get(id(one.life), 0) + records
    lives = books.lives
    return {
        "group": [group.name] * len(lives),
        "member": [one.member for one in lives], "incarnation": [one.incarnation for one in lives],
        "transactional_id": [one.transactional_id for one in lives],
        "committed": [one.committed for one in lives], "aborted": [one.aborted for one in lives],
        "records_committed": [one.records_committed for one in lives],
        "records_aborted": [one.records_aborted for one in lives],
        "records_open": [open_records.get(id(one), 0) for one in lives],
        "took_us": [one.took_us for one in lives], "took_us_max": [one.took_us_max for one in lives],
        "ended_by": [one.ended_by for one in lives],
    }  # fmt: skip


def transaction_summary(group: GroupBooks) -> dict[str, list[float | None]]:
    """The column of ``summary`` about them: a group that produces nothing has no share."""
    lives = group.transactions.lives
    aborted = sum(one.aborted for one in lives)
    decided = aborted + sum(one.committed for one in lives)
    return {"aborted_share": [aborted / decided if decided else None]}


def output_rows(group: GroupBooks) -> dict[str, list[Any]]:
    """One row for each partition that was written to."""
    rows = group.transactions.output
    return {"group": [group.name] * len(rows)} | of_tuples((name for name in OUTPUT if name != "group"), rows)
