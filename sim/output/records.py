"""Every record of a group, and how long records took: tables of runs that follow each one (``data: exact``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.group_books import GroupBooks
from groupsim.sim.books.offsets.exact_ledger import ExactLedger
from groupsim.sim.books.offsets.production import Offsets
from groupsim.sim.books.offsets.record_reader import Records
from groupsim.sim.books.producing.transactions import LEVELS, TransactionBooks
from groupsim.sim.output.columns import of_tuples
from groupsim.sim.output.result import Text
from groupsim.sim.protocol.messages import Positions
from groupsim.sim.tables import RECORDS

Columns = dict[str, Any]
LOSSES: Final = (
    "", "kill", "zombie", "re-read", "reset", "retention", "expired offset", "deleted offset", "broadcast overwrite",
    "truncated log", "deleted topic",
)  # fmt: skip
"""Why nobody has processed a record; empty: somebody has, or still may."""
NEVER: Final = -1


def record_columns(group: GroupBooks, horizon: int) -> Columns:
    """A row per record and each time that it was processed, one for a record that never was; none of a flow."""
    ledger = group.ledger
    if not isinstance(ledger, ExactLedger):
        return dict.fromkeys(RECORDS, ())
    read, slots = ledger.deliveries()
    everything = np.arange(len(group.partitions), dtype=np.int32)
    ends = ledger.produced(horizon, everything)
    rests = _unread(read, ends)
    partition = np.concatenate([read.partition, rests[0]])
    offset = np.concatenate([read.offset, rests[1]])
    never = np.full(len(rests[0]), NEVER, np.int64)
    order = np.lexsort((np.concatenate([read.done, never]), offset, partition))
    partition, offset = partition[order], offset[order]
    topics = sorted(set(group.partitions.topic)) or [""]
    number = {topic: index for index, topic in enumerate(topics)}
    of_partition = np.array([number[topic] for topic in group.partitions.topic] or [0], np.int32)
    done = np.concatenate([read.done, never])[order]
    return {
        "group": Text([group.name], np.zeros(len(order), np.int8)), "topic": Text(topics, of_partition[partition]),
        "partition": group.partitions.number[partition], "offset": offset,
        "produced_us": -ledger.age(0, partition.astype(np.intp), offset),
        "delivery": np.where(done >= 0, _nth(partition, offset), 0),
        "fetched_us": np.concatenate([read.fetched, never])[order], "processed_us": done,
        "member": Text([*group.handles.names, ""], np.concatenate([slots, np.full(len(never), -1)])[order]),
        "committed_us": _committed(ledger, partition, offset),
        "lost": Text(LOSSES, np.where(done < 0, _lost(ledger, partition, offset), 0)),
        **{level: _outputs(group.transactions, level, np.cumsum(ends) - ends, partition, offset) for level in LEVELS},
    }  # fmt: skip


def _unread(read: Records, ends: Offsets) -> tuple[Positions, Offsets]:
    """Records below ``ends`` (n_partitions,) that nobody has processed. Shapes (n,)."""
    begins = np.cumsum(ends) - ends
    is_read = np.zeros(int(ends.sum()), np.bool_)
    is_read[begins[read.partition] + read.offset] = True
    rest = np.flatnonzero(~is_read)
    partition = np.searchsorted(np.cumsum(ends), rest, side="right").astype(np.int32)
    return partition, rest - begins[partition]


def _nth(partition: Positions, offset: Offsets) -> NDArray[np.int64]:
    """Which row of its record each row is, from 1 on; sorted rows. Shape (n,)."""
    rows = np.arange(len(offset))
    is_new = np.ones(len(offset), np.bool_)
    is_new[1:] = np.logical_or(partition[1:] != partition[:-1], offset[1:] != offset[:-1])
    nth: NDArray[np.int64] = rows - np.maximum.accumulate(np.where(is_new, rows, 0)) + 1
    return nth


def _committed(ledger: ExactLedger, partition: Positions, offset: Offsets) -> NDArray[np.int64]:
    """When an offset beyond each record was committed for the first time; sorted rows. Shape (n,)."""
    found = np.full(len(offset), NEVER, np.int64)
    if not ledger.commits:
        return found
    times = np.concatenate([np.full(len(one[1]), one[0]) for one in ledger.commits])
    which, what = (np.concatenate([one[column] for one in ledger.commits]) for column in (1, 2))
    order = np.lexsort((times, which))
    times, which, what = times[order], which[order], what[order]
    for index in np.unique(which):
        begin, end = np.searchsorted(which, [index, index + 1])
        highest = np.maximum.accumulate(what[begin:end])
        low, high = np.searchsorted(partition, [index, index + 1])
        at = np.searchsorted(highest, offset[low:high], side="right")
        found[low:high] = np.append(times[begin:end], NEVER)[at]
    return found


def _lost(ledger: ExactLedger, partition: Positions, offset: Offsets) -> NDArray[np.int64]:
    """The cause (`LOSSES`) of each record's loss, if it was skipped; sorted rows. Shape (n,)."""
    found = np.zeros(len(offset), np.int64)
    for positions, since, until, cause in ledger.losses:
        for one, begin, end in zip(positions.tolist(), since.tolist(), until.tolist(), strict=True):
            low, high = np.searchsorted(partition, [one, one + 1])
            first, last = low + np.searchsorted(offset[low:high], [begin, end])
            found[first:last] = LOSSES.index(cause)
    return found


def _outputs(
    books: TransactionBooks, level: str, begins: Offsets, partition: Positions, offset: Offsets
) -> NDArray[np.int64]:
    """How often a reader of this level gets what was made of each record; sorted rows. Shape (n,).

    `NEVER` in a group that produces nothing. ``begins``: how many records the partitions before each one have.
    """
    if not books.origins:
        return np.full(len(offset), NEVER, np.int64)
    made = [(one.position, one.first, one.last, times) for one, times in books.origins[level]]
    origins = np.array(made, np.int64).reshape(-1, 4)
    rows, first = begins[partition] + offset, begins[origins[:, 0]]
    changes = np.zeros(len(rows) + 1, np.int64)
    np.add.at(changes, np.searchsorted(rows, first + origins[:, 1]), origins[:, 3])
    np.add.at(changes, np.searchsorted(rows, first + origins[:, 2]), -origins[:, 3])
    return np.cumsum(changes[:-1])


def latency_columns(group: str, records: Columns, measure: tuple[int, int]) -> Columns:
    """How long records took that were processed first, or committed, within ``measure``: quantiles by span."""
    rows: list[tuple[Any, ...]] = []
    if len(records["offset"]):
        is_first = np.asarray(records["delivery"]) == 1
        produced, done, committed = (
            records[name][is_first] for name in ("produced_us", "processed_us", "committed_us")
        )
        for span, begin, end in (("processed", produced, done), ("committed", done, committed)):
            counts = np.logical_and(np.logical_and(measure[0] <= end, end <= measure[1]), end >= 0)
            # What is committed before it is processed, or read by others, has waited for nothing.
            rows.append((group, span, *_quantiles(np.maximum(end - begin, 0)[counts])))
    names = ("group", "span", "records", "p50_us", "p99_us", "max_us")
    return of_tuples(names, rows)


def _quantiles(spans: NDArray[np.int64]) -> Iterable[int]:
    """How many, and the median, 99th percentile (order statistics) and longest of them."""
    if not len(spans):
        return (0, 0, 0, 0)
    ranks = [-(-len(spans) * percent // 100) - 1 for percent in (50, 99)]
    ordered = np.partition(spans, [*ranks, len(spans) - 1])
    return (len(spans), *(int(ordered[rank]) for rank in ranks), int(ordered[-1]))
