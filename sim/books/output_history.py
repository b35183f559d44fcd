"""What has been written to output partitions, in order, and what ``read_committed`` readers have seen of it.

A transaction is open in a partition from its first batch there to its marker; while any is, nothing after the first
record of the oldest of them can be read (``UnifiedLog.lastStableOffset``, Kafka 4.4). All that there is to say of it
follows from batches and markers in the order of their offsets, so it is worked out once, at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.portions import portions
from groupsim.sim.kernel.environment import Moment
from groupsim.sim.protocol.transactions.messages import TopicPartition

Column = NDArray[np.int64]
MARKER: Final = 0
"""Instead of a number of records."""
_COLUMNS: Final = 6
_AT_ONCE: Final = 1 << 15
"""So many rows at least are worked on at once: more are not at a processor's hand."""


class OutputFigures(NamedTuple):
    """Of one partition, over the whole run.

    Parameters
    ----------
    high_watermark, last_stable_offset, markers : int
        At the horizon.
    lag_max : int
        High watermark less last stable offset, at most.
    blocked_us, blocked_us_max : int, microseconds
        How long readers could not read to the end: in all, and for how long at most what stood first had to wait.
    """

    high_watermark: int
    last_stable_offset: int
    markers: int
    lag_max: int
    blocked_us: int
    blocked_us_max: int

    def after(self, former: OutputFigures) -> OutputFigures:
        """Of a log that has begun anew: what it has come to, and what readers have waited for in all."""
        return self._replace(
            lag_max=max(self.lag_max, former.lag_max), blocked_us=self.blocked_us + former.blocked_us,
            blocked_us_max=max(self.blocked_us_max, former.blocked_us_max),
        )  # fmt: skip


NOTHING_WRITTEN = OutputFigures(0, 0, 0, 0, 0, 0)


class _Block(NamedTuple):
    """Rows of one place after the other: their columns, and how many there are up to the end of each place."""

    columns: tuple[Column, ...]
    ends: Column

    @classmethod
    def of(cls, place: Column, *columns: Column) -> _Block:
        """Rows in any order."""
        order = np.argsort(place.astype(np.min_scalar_type(place.max(initial=0))), kind="stable")
        return cls(tuple(column[order] for column in (place, *columns)), np.cumsum(np.bincount(place)))

    def part(self, first: int, end: int) -> tuple[Column, ...]:
        """Those of some places."""
        first, end = (int(self.ends[min(one, len(self.ends)) - 1]) if one else 0 for one in (first, end))
        return tuple(column[first:end] for column in self.columns)


class OutputHistory:
    """Of all output partitions of a cluster. A log that lacks what readers have seen begins anew, at another place."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, ...]] = []
        self._blocks: list[_Block] = []
        self._places: dict[TopicPartition, int] = {}
        self._of: list[TopicPartition] = []
        """The partition of each place."""
        self._ended_us: dict[int, int] = {}
        """Places whose log has begun anew -> when."""

    def place_of(self, partition: TopicPartition) -> int:
        """Where a partition is."""
        if partition not in self._places:
            self._places[partition] = len(self._of)
            self._of.append(partition)
        return self._places[partition]

    def begin_anew(self, partition: TopicPartition, now: int) -> None:
        """What readers have been shown of a partition so far is over; what its log has is noted again."""
        self._ended_us[self._places.pop(partition)] = now
        self.place_of(partition)

    def note(self, partition: TopicPartition, moment: Moment, written_us: int, producer_id: int, records: int) -> None:
        """A batch, or a `MARKER`, is committed now, and was written then."""
        self._rows.append((self.place_of(partition), *moment, written_us, producer_id, records))

    def note_all(self, place: Column, time: Column, key: Column, producer_id: Column, records: Column) -> None:
        """`note`, of many that are committed when they are written. Shapes (n,), n > 0."""
        self._blocks.append(_Block.of(place, time, key, time, producer_id, records))

    def figures(self, horizon: int) -> dict[TopicPartition, OutputFigures]:
        """Of each partition that has been written to."""
        found, by_place = dict[TopicPartition, OutputFigures](), self._figures(horizon)
        for place, partition in enumerate(self._of):
            figures = by_place.get(place, NOTHING_WRITTEN)
            found[partition] = figures.after(found[partition]) if partition in found else figures
        return found

    def _figures(self, horizon: int) -> dict[int, OutputFigures]:
        """Of each place."""
        rows = np.array(self._rows, np.int64).reshape(-1, _COLUMNS)
        blocks = [*self._blocks, _Block.of(*rows.T)] if self._rows else self._blocks
        figures: dict[int, OutputFigures] = {}
        until_us = np.full(len(self._of), horizon, np.int64)
        until_us[[*self._ended_us]] = [*self._ended_us.values()]
        for first, end in portions(_ends(blocks), _AT_ONCE):
            parts = zip(*(block.part(first, end) for block in blocks), strict=True)
            found = [np.concatenate(columns) for columns in parts]
            order = _order(*found[:3])
            figures |= _Ordered([column[order] for column in found], until_us).figures()
        return figures


def _ends(blocks: Sequence[_Block]) -> Column:
    """Rows of all blocks up to the end of each place."""
    ends = np.zeros(max((len(block.ends) for block in blocks), default=0), np.int64)
    for block in blocks:
        ends += np.append(block.ends, np.full(len(ends) - len(block.ends), block.ends[-1]))
    return ends


def _order(place: Column, time: Column, key: Column) -> NDArray[np.intp]:
    """By place, time and key: most rows are nearly in order, and few have the time of another one."""
    moment = (place - place.min()) * (time.max() + 1) + time
    order = np.argsort(moment, kind="stable")
    moment, key = moment[order], key[order]
    is_tied = moment[1:] == moment[:-1]
    tied = np.flatnonzero(np.append(is_tied, False) | np.append(False, is_tied))
    order[tied] = order[tied][np.lexsort((key[tied], moment[tied]))]
    return order


class _Ordered:
    """Rows in the order of places and offsets; indices of rows stand for moments."""

    def __init__(self, columns: Sequence[Column], until_us: Column) -> None:
        self._place, self._time, self._key, self._written_us, self._producer, self._records = columns
        is_first = np.append(True, self._place[1:] != self._place[:-1])
        self._begins = np.flatnonzero(is_first)
        self._until_us = until_us[self._place[self._begins]]
        self._ends = np.append(self._begins[1:], len(self._place))
        """After the last row of each place."""
        written = np.cumsum(np.maximum(self._records, 1))
        before = np.append(0, written)[self._begins]
        self._offset: Column = written - np.repeat(before, self._ends - self._begins)
        """Log end offset after each row."""
        self._opened, self._closed = self._transactions()
        self._stable = np.maximum.accumulate(self._closed)
        """By when each transaction, and all that began before it, is over."""

    def _transactions(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows by which transactions begin, ascending, and the row of each one's marker; or the end of its place."""
        order = np.argsort(self._producer, kind="stable")
        place, producer, is_marker = self._place[order], self._producer[order], self._records[order] == MARKER
        is_other = np.append(True, (place[1:] != place[:-1]) | (producer[1:] != producer[:-1]))
        opens = ~is_marker & (is_other | np.append(True, is_marker[:-1]))
        rows = np.arange(len(order))
        following = np.minimum.accumulate(np.where(is_marker, rows, len(order))[::-1])[::-1][opens]
        run = np.cumsum(is_other)
        has_marker = following < len(order)
        has_marker[has_marker] = run[following[has_marker]] == run[opens][has_marker]
        ends = self._ends[np.searchsorted(self._ends, order[opens], side="right")]
        closed = np.where(has_marker, order[np.minimum(following, len(order) - 1)], ends)
        by_row = np.argsort(order[opens])
        return order[opens][by_row], closed[by_row]

    def figures(self) -> dict[int, OutputFigures]:
        """Of each place."""
        lag = self._lags()
        blocked, waited = np.zeros(len(self._ends), np.int64), np.zeros(len(self._ends), np.int64)
        if self._opened.size:
            where = np.searchsorted(self._ends, self._opened, side="right")
            is_stable = self._stable < self._ends[where]
            stable_us = np.where(is_stable, self._time[np.where(is_stable, self._stable, 0)], self._until_us[where])
            np.maximum.at(waited, where, stable_us - self._written_us[self._opened])
            begins = np.append(True, self._stable[:-1] <= self._opened[1:])
            last = np.append(np.flatnonzero(begins)[1:] - 1, len(begins) - 1)
            np.add.at(blocked, where[begins], stable_us[last] - self._time[self._opened[begins]])
        columns: list[Any] = [
            self._offset[self._ends - 1], self._offset[self._ends - 1] - lag[self._ends - 1],
            np.add.reduceat(self._records == MARKER, self._begins),
            np.maximum.reduceat(np.where(self._is_counted(), lag, 0), self._begins), blocked, waited,
        ]  # fmt: skip
        figures = (OutputFigures(*row) for row in zip(*(column.tolist() for column in columns), strict=True))
        return dict(zip(self._place[self._begins].tolist(), figures, strict=True))

    def _lags(self) -> Column:
        """Log end offset less last stable offset after each row."""
        rows = np.arange(len(self._place))
        oldest = np.searchsorted(self._stable, rows, side="right")
        opened = np.append(self._opened, len(rows))[oldest]
        is_open = opened <= rows
        first = self._offset[opened[is_open]] - np.maximum(self._records[opened[is_open]], 1)
        lag = np.zeros(len(rows), np.int64)
        lag[is_open] = self._offset[is_open] - first
        return lag

    def _is_counted(self) -> NDArray[np.bool_]:
        """Rows after which readers can look: the last of those that are committed together."""
        same = [column[1:] == column[:-1] for column in (self._place, self._time, self._key)]
        return np.append(~np.logical_and.reduce(same), True)
