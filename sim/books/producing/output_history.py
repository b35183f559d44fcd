"""What has been written to output partitions, in order, and what ``read_committed`` readers have seen of it.

A transaction is open in a partition from its first batch there to its marker; while any is, nothing after the first
record of the oldest of them can be read (``UnifiedLog.lastStableOffset``, Kafka 4.4). All that there is to say of it
follows from batches and markers in the order of their offsets. It is worked out for many of them at once, up to where
none can come any more; then they are forgotten, but for transactions that readers still wait for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.offsets.portions import portions
from groupsim.sim.books.offsets.sorting import order_of
from groupsim.sim.kernel.environment import Moment
from groupsim.sim.protocol.transactions.messages import TopicPartition
from groupsim.sim.units import FOREVER

Column = NDArray[np.int64]
MARKER: Final = 0
"""Instead of a number of records."""
_COLUMNS: Final = 6
_AT_ONCE: Final = 1 << 15
"""So many rows at least are worked on at once: more are not at a processor's hand."""
_KEPT: Final = 1 << 20
"""So many rows at least are kept until they are worked on."""
_OVER: Final = -1
"""Instead of a producer id: the transaction is over."""


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
    """Rows of one place after the other: their columns, and how many there are up to the end of each place.

    Columns are place, time, key, when it was written, producer id and number of records; a transaction that readers
    wait for has -1 less its first offset instead of that.
    """

    columns: tuple[Column, ...]
    ends: Column

    @classmethod
    def of(cls, place: Column, *columns: Column) -> _Block:
        """Rows in any order."""
        order = order_of(place)
        return cls.in_order(tuple(column[order] for column in (place, *columns)))

    @classmethod
    def in_order(cls, columns: tuple[Column, ...]) -> _Block:
        """Rows that are by place."""
        return cls(columns, np.cumsum(np.bincount(columns[0])))

    def part(self, first: int, end: int) -> tuple[Column, ...]:
        """Those of some places."""
        first, end = (int(self.ends[min(one, len(self.ends)) - 1]) if one else 0 for one in (first, end))
        return tuple(column[first:end] for column in self.columns)

    def parted(self, until: int) -> tuple[_Block, _Block]:
        """Those before a time, and those that are not."""
        is_before = self.columns[1] < until
        are_all = np.count_nonzero(is_before) == len(is_before)
        masks: Any = (slice(None), slice(0)) if are_all else (is_before, ~is_before)
        before, after = (_Block.in_order(tuple(column[mask] for column in self.columns)) for mask in masks)
        return before, after


class OutputHistory:
    """Of all output partitions of a cluster. A log that lacks what readers have seen begins anew, at another place.

    Parameters
    ----------
    sure_us : callable
        Before that time nothing can be told any more, microseconds.
    """

    def __init__(self, sure_us: Callable[[], int]) -> None:
        self._sure_us = sure_us
        self._rows: list[tuple[int, ...]] = []
        self._blocks: list[_Block] = []
        self._places: dict[TopicPartition, int] = {}
        self._of: list[TopicPartition] = []
        """The partition of each place."""
        self._ended_us: dict[int, int] = {}
        """Places whose log has begun anew -> when."""
        self._figures = _Figures()

    @property
    def kept(self) -> int:
        """How many batches, markers and transactions are kept."""
        return len(self._rows) + sum(len(block.columns[0]) for block in self._blocks)

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
        if len(self._rows) > _KEPT:
            self.settle()

    def note_all(self, place: Column, time: Column, key: Column, producer_id: Column, records: Column) -> None:
        """`note`, of many that are committed when they are written. Shapes (n,), n > 0."""
        self._blocks.append(_Block.of(place, time, key, time, producer_id, records))

    def settle(self) -> None:
        """Work on what is kept, if that is much."""
        if self.kept > _KEPT:
            self._settle_before(self._sure_us(), None)

    def figures(self, horizon: int) -> dict[TopicPartition, OutputFigures]:
        """Of each partition that has been written to."""
        ends_us = np.full(len(self._of), horizon, np.int64)
        ends_us[[*self._ended_us]] = [*self._ended_us.values()]
        self._settle_before(FOREVER, ends_us)
        found, by_place = dict[TopicPartition, OutputFigures](), self._figures.by_place()
        for place, partition in enumerate(self._of):
            figures = by_place.get(place, NOTHING_WRITTEN)
            found[partition] = figures.after(found[partition]) if partition in found else figures
        return found

    def _settle_before(self, until: int, ends_us: Column | None) -> None:
        """Work on all before a time; with ``ends_us``, shape (n_places,), those end what is open then."""
        rows = np.array(self._rows, np.int64).reshape(-1, _COLUMNS)
        blocks = [*self._blocks, _Block.of(*rows.T)] if self._rows else self._blocks
        parted = [block.parted(until) for block in blocks]
        found, left = ([pair[which] for pair in parted if len(pair[which].ends)] for which in (0, 1))
        waiting: list[tuple[Column, ...]] = []
        for first, end in portions(_ends(found), _AT_ONCE):
            parts = zip(*(block.part(first, end) for block in found), strict=True)
            ordered = _Ordered([np.concatenate(column) for column in parts], self._figures, ends_us)
            ordered.count()
            waiting.append(ordered.waiting())
        if waiting and len((kept := _Block.in_order(tuple(map(np.concatenate, zip(*waiting, strict=True))))).ends):
            left.append(kept)
        self._rows, self._blocks = [], left


def _ends(blocks: Sequence[_Block]) -> Column:
    """Rows of all blocks up to the end of each place."""
    ends = np.zeros(max((len(block.ends) for block in blocks), default=0), np.int64)
    for block in blocks:
        ends += np.append(block.ends, np.full(len(ends) - len(block.ends), block.ends[-1]))
    return ends


def _order(place: Column, time: Column, key: Column) -> NDArray[np.intp]:
    """By place, time and key: most rows are nearly in order, and few have the time of another one."""
    since = time.min()
    moment = (place - place.min()) * (time.max() + 1 - since) + (time - since)
    order = order_of(moment)
    moment, key = moment[order], key[order]
    is_tied = moment[1:] == moment[:-1]
    tied = np.flatnonzero(np.append(is_tied, False) | np.append(False, is_tied))
    order[tied] = order[tied][np.lexsort((key[tied], moment[tied]))]
    return order


class _Figures:
    """Of all places, as far as they are worked out; columns are those of `OutputFigures`.

    Attributes
    ----------
    columns : int64 array, shape (6, n_places)
        With the lag at the end instead of the last stable offset.
    until : int64 array, shape (n_places,), microseconds
        When those transactions are over that count.
    """

    def __init__(self) -> None:
        self.columns = np.zeros((len(OutputFigures._fields), 0), np.int64)
        self.until = np.zeros(0, np.int64)

    def cover(self, places: int) -> None:
        """Make room for so many places."""
        more = max(places - len(self.until), 0)
        self.columns, self.until = np.pad(self.columns, ((0, 0), (0, more))), np.pad(self.until, (0, more))

    def by_place(self) -> dict[int, OutputFigures]:
        """What they come to."""
        columns = self.columns.copy()
        columns[1] = columns[0] - columns[1]
        return {place: OutputFigures(*row) for place, row in enumerate(columns.T.tolist())}


class _Ordered:
    """Rows in the order of places and offsets; indices of rows stand for moments."""

    def __init__(self, columns: Sequence[Column], figures: _Figures, ends_us: Column | None) -> None:
        place, time, self._key, self._written_us, producer, records = self._columns = columns
        # Where each row is in the columns: few are asked for their keys, or when they were written.
        self._row = row = _order(place, time, self._key)
        self._place, time, self._producer, self._records = place[row], time[row], producer[row], records[row]
        self._time, self._ends_us = time, ends_us
        is_first = np.append(True, self._place[1:] != self._place[:-1])
        self._begins = np.flatnonzero(is_first)
        self._ends = np.append(self._begins[1:], len(self._place))
        """After the last row of each place."""
        self._places = self._place[self._begins]
        self._index = np.repeat(np.arange(len(self._places)), self._ends - self._begins)
        """Of each row, of its place."""
        figures.cover(int(self._places[-1]) + 1)
        self._figures = figures
        is_waiting = self._records < MARKER
        sizes = np.where(is_waiting, 0, np.maximum(self._records, 1))
        written = np.cumsum(sizes)
        before = np.append(0, written)[self._begins] - figures.columns[0, self._places]
        self._offset: Column = written - before[self._index]
        """Log end offset after each row."""
        self._first: Column = np.where(is_waiting, -1 - self._records, self._offset - sizes)
        self._opened, self._closed = self._transactions()
        self._stable = np.maximum.accumulate(self._closed)
        """By when each transaction, and all that began before it, is over."""
        self._where = self._index[self._opened]
        self._is_settled = self._stable < self._ends[self._where]

    def _transactions(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows by which transactions begin, ascending, and the row of each one's marker; or the end of its place."""
        order = order_of(self._producer - _OVER)
        place, producer, is_marker = self._place[order], self._producer[order], self._records[order] == MARKER
        is_other = np.append(True, (place[1:] != place[:-1]) | (producer[1:] != producer[:-1]))
        is_over = producer == _OVER
        opens = ~is_marker & (is_other | np.append(True, is_marker[:-1]) | is_over)
        rows = np.arange(len(order))
        following = np.minimum.accumulate(np.where(is_marker, rows, len(order))[::-1])[::-1][opens]
        run = np.cumsum(is_other)
        has_marker = following < len(order)
        has_marker[has_marker] = run[following[has_marker]] == run[opens][has_marker]
        opened = order[opens]
        closed = np.where(has_marker, order[np.minimum(following, len(order) - 1)], self._ends[self._index[opened]])
        closed_by = np.full(len(order), -1)
        closed_by[opened] = np.where(is_over[opens], opened, closed)
        in_order = np.flatnonzero(closed_by >= 0)
        return in_order, closed_by[in_order]

    def count(self) -> None:
        """Add all of this to the figures."""
        (offset, lag_now, markers, lag_max, *_), places, lag = self._figures.columns, self._places, self._lags()
        offset[places], lag_now[places] = self._offset[self._ends - 1], lag[self._ends - 1]
        markers[places] += np.add.reduceat(self._records == MARKER, self._begins)
        counted = np.where(self._is_counted(), lag, 0)
        lag_max[places] = np.maximum(lag_max[places], np.maximum.reduceat(counted, self._begins))
        self._count_waits(np.flatnonzero(self._is_settled | (self._ends_us is not None)))

    def _count_waits(self, over: NDArray[np.intp]) -> None:
        """How long readers waited for transactions, and all that began before them; those are over."""
        if not over.size:
            return
        place, opened = self._places[self._where[over]], self._opened[over]
        stable_us = self._time[np.minimum(self._stable[over], len(self._time) - 1)]
        if self._ends_us is not None:
            stable_us = np.where(self._is_settled[over], stable_us, self._ends_us[place])
        is_first = np.append(True, place[1:] != place[:-1])
        since = np.where(is_first, self._figures.until[place], np.append(0, stable_us[:-1]))
        *_, blocked, waited = self._figures.columns
        np.add.at(blocked, place, stable_us - np.maximum(self._time[opened], since))
        np.maximum.at(waited, place, stable_us - self._written_us[self._row[opened]])
        self._figures.until[place] = stable_us

    def waiting(self) -> tuple[Column, ...]:
        """Transactions, as rows, that readers wait for at the end."""
        which = ~self._is_settled & (self._ends_us is None)
        opened, closed, end = self._opened[which], self._closed[which], self._ends[self._where[which]]
        place, time, key, written_us, producer, _ = (column[self._row[opened]] for column in self._columns)
        return place, time, key, written_us, np.where(closed < end, _OVER, producer), -1 - self._first[opened]

    def _lags(self) -> Column:
        """Log end offset less last stable offset after each row."""
        rows = np.arange(len(self._place))
        oldest = np.cumsum(np.bincount(self._stable, minlength=len(rows) + 1))[:-1]
        opened = np.append(self._opened, len(rows))[oldest]
        is_open = opened <= rows
        lag = np.zeros(len(rows), np.int64)
        lag[is_open] = self._offset[is_open] - self._first[opened[is_open]]
        return lag

    def _is_counted(self) -> NDArray[np.bool_]:
        """Rows after which readers can look: the last of those that are committed together."""
        is_same = (self._place[1:] == self._place[:-1]) & (self._time[1:] == self._time[:-1])
        same = np.flatnonzero(is_same)
        is_same[same] = self._key[self._row[same]] == self._key[self._row[same + 1]]
        return np.append(~is_same, True)
