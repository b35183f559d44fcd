"""What ZooKeeper has done for a group: the row of table ``zookeeper``."""

from __future__ import annotations

from typing import Any, Final

from groupsim.sim.books.group_books import GroupBooks
from groupsim.sim.books.record import GroupRecord
from groupsim.sim.protocol.zookeeper.messages import READS, WRITES, Op
from groupsim.sim.protocol.zookeeper.states import Phase
from groupsim.sim.tables import ZOOKEEPER

_COUNTED: Final = {
    "watch_notifications": "watch_notifications",
    "stale_reads": "stale_reads",
    "conflicts": "conflicts",
    "failed_tries": f"zookeeper {Phase.BACKOFF.value}",
    "failed_rebalances": f"zookeeper {Phase.GIVEN_UP.value}",
    "stale_settlements": "stale_settlements",
}
"""Columns, and what they are counted under."""


def zookeeper_row(group: GroupBooks, unread_us: int) -> dict[str, list[Any]]:
    """Columns of one row, or of none if the group has nothing to do with ZooKeeper; ``unread_us``: partition-time."""
    record, readers = group.record, group.double_readers
    if readers is None:
        return {column: [] for column in ZOOKEEPER}
    return {
        "group": [group.name],
        "reads": [_asked(record, READS)], "writes": [_asked(record, WRITES)],
        "pings": [_asked(record, frozenset({Op.PING}))],
        **{column: [record.counts[counted]] for column, counted in _COUNTED.items()},
        "two_readers_us": [readers.total_us], "no_reader_us": [unread_us],
        "utilisation_max": [max(record.zookeeper_busy)],
        "utilisation_mean": [sum(record.zookeeper_busy) / len(record.zookeeper_busy)],
    }  # fmt: skip


def _asked(record: GroupRecord, ops: frozenset[Op]) -> int:
    names = {op.value for op in ops}
    return sum(count for (api, _), count in record.requests.items() if api in names)
