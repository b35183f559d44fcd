"""Passes through the poll loop between the last full one and those that are all alike: how a member catches up.

Whoever has less than a batch before it takes all of that, and in the next pass what has come meanwhile: each batch is
as long as what was produced during the one before. At 80 % load they shrink by a fifth each, until a batch is what a
settled one is, less than a record apart.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.elementwise import choose, most, nearest, some
from groupsim.sim.units import FOREVER

MOST_PASSES = 256
"""A member that works nearly all the time is settled after so many, whatever is left to settle."""

Columns = NDArray[np.int64]


class Batch(NamedTuple):
    """What a batch takes, microseconds; of many members, as columns of shape (n,).

    Parameters
    ----------
    fixed_us, record_us : float
        Beside its records, poll() included, and for each of them.
    fetched : float, records per microsecond
        No more can be fetched: a pass waits inside poll() until its records are there.
    poll_us : int
        Of a pass through poll() itself.
    """

    fixed_us: Any = 0.0
    record_us: Any = 0.0
    fetched: Any = inf
    poll_us: Any = 0

    def lasts(self, records: Any) -> tuple[Any, Any]:
        """How long a pass with so many records is, and the wait inside poll() in it."""
        busy = most(nearest(self.fixed_us + records * self.record_us), 1)
        length = most(busy, nearest(records / self.fetched))
        return length, self.poll_us + length - busy


class Settling:
    """Settling passes of one member.

    Parameters
    ----------
    lengths, waits : sequences of int, microseconds
        Of each pass, and of the wait inside poll() at its beginning.
    records : sequence of float
        In each batch.
    """

    __slots__ = ("_begins", "lengths", "records", "span_us", "waits")

    def __init__(self, lengths: Sequence[int], waits: Sequence[int], records: Sequence[float] = ()) -> None:
        self.lengths, self.waits, self.records = lengths, waits, records
        self._begins = list(accumulate(lengths, initial=0))
        self.span_us = self._begins[-1]

    @property
    def shortest_us(self) -> int:
        """Shortest pass, microseconds."""
        return min(self.lengths, default=FOREVER)

    @property
    def longest_us(self) -> int:
        """Longest pass, microseconds."""
        return max(self.lengths, default=0)

    def pass_at(self, elapsed: int) -> tuple[int, int, int]:
        """Begin, wait and length of the pass under way then; from the first one on."""
        index = bisect_right(self._begins, elapsed, 1, len(self.lengths)) - 1
        return self._begins[index], self.waits[index], self.lengths[index]

    def waits_before(self, elapsed: int) -> Sequence[int]:
        """The waits inside poll() of those that have begun before."""
        return self.waits[: bisect_left(self._begins[:-1], elapsed)]

    def from_pass(self, number: int) -> Settling | None:
        """Without those before that."""
        if number >= len(self.lengths):
            return None
        return Settling(self.lengths[number:], self.waits[number:], self.records[number:])

    def after(self, elapsed: int) -> Settling | None:
        """Without those that have begun before."""
        return self.from_pass(sum(begin < elapsed for begin in self._begins))


class SettlingColumns:
    """Settling passes of many members, as columns.

    Parameters
    ----------
    lengths, waits : int64 arrays, shape (most, n), microseconds
        Ends with zeros for those who have fewer than ``most``.
    records : float64 array, shape (most, n), optional
        In each batch, if that was worked out for all of them.
    """

    def __init__(self, lengths: Columns, waits: Columns, records: NDArray[np.float64] | None = None) -> None:
        self.lengths, self.waits, self.records = lengths, waits, records
        self._begins: Columns = np.concatenate([np.zeros_like(lengths[:1]), np.cumsum(lengths, axis=0)])
        self.span_us: Columns = self._begins[-1]
        self.count: Columns = np.count_nonzero(lengths, axis=0)

    @classmethod
    def of(cls, several: Sequence[Settling | None]) -> SettlingColumns | None:
        """Columns of these; None: nobody has any."""
        deepest = max((len(one.lengths) for one in several if one is not None), default=0)
        if not deepest:
            return None
        table = np.zeros((2, deepest, len(several)), np.int64)
        for index, one in enumerate(several):
            if one is not None:
                table[:, : len(one.lengths), index] = one.lengths, one.waits
        return cls(table[0], table[1])

    @property
    def shortest_us(self) -> Columns:
        """Shortest pass, microseconds."""
        shortest: Columns = np.where(self.lengths > 0, self.lengths, FOREVER).min(axis=0)
        return shortest

    @property
    def longest_us(self) -> Columns:
        """Longest pass, microseconds."""
        longest: Columns = self.lengths.max(axis=0)
        return longest

    def pass_at(self, elapsed: Columns) -> tuple[Columns, Columns, Columns]:
        """`Settling.pass_at`, each at its own time."""
        index = np.minimum((self._begins[1:] <= elapsed).sum(axis=0), np.maximum(self.count - 1, 0))
        members = np.arange(len(index))
        return self._begins[index, members], self.waits[index, members], self.lengths[index, members]

    def count_before(self, elapsed: Columns) -> Columns:
        """How many have begun before."""
        count: Columns = np.minimum((self._begins[:-1] < elapsed).sum(axis=0), self.count)
        return count

    def begins(self, numbers: Columns, which: NDArray[np.intp]) -> Columns:
        """When the passes of these numbers begin. Shape (n, k), like ``numbers``."""
        begins: Columns = self._begins[np.clip(numbers, 0, len(self.lengths)), which[:, None]]
        return begins

    def some(self, which: NDArray[np.intp]) -> SettlingColumns:
        """Those of some members."""
        return SettlingColumns(self.lengths[:, which], self.waits[:, which])

    def of_one(self, index: int) -> Settling | None:
        """Those of one member."""
        count = int(self.count[index])
        return Settling(self.lengths[:count, index].tolist(), self.waits[:count, index].tolist()) if count else None

    @classmethod
    def of_both(
        cls, mine: SettlingColumns | None, n: int, theirs: SettlingColumns | None, m: int
    ) -> SettlingColumns | None:
        """Those of ``n`` members, and then of ``m`` others; None: nobody has any."""
        if mine is None and theirs is None:
            return None
        none = np.zeros((2, 0, n + m), np.int64)
        tables = [
            np.stack([one.lengths, one.waits]) if one is not None else none[:, :, :count]
            for one, count in ((mine, n), (theirs, m))
        ]
        deepest = max(table.shape[1] for table in tables)
        padded = [np.pad(one, ((0, 0), (0, deepest - one.shape[1]), (0, 0))) for one in tables]
        return cls(*np.concatenate(padded, axis=2))


def settle(batch: Batch, rate: Any, records: Any, settled: Any, is_on: Any) -> Any:
    """How a member gets from its last full pass to those that are alike; or many, as columns.

    Parameters
    ----------
    batch : Batch
    rate : float, records per microsecond
    records : float
        There for the first of them, less than can be taken at once.
    settled : float
        In a batch of those that are alike.
    is_on : bool
        Whether there is such a pass at all.

    Returns
    -------
    Settling, SettlingColumns or None
    """
    lengths, waits, batches = list[Any](), list[Any](), list[Any]()
    records = choose(is_on, records, 0.0)  # who cannot keep up may have more than any clock counts
    while some(is_on) and len(lengths) < MOST_PASSES:
        length, wait = batch.lasts(records)
        lengths.append(length * is_on)
        waits.append(wait * is_on)
        batches.append(records)
        following = rate * length
        is_on = is_on & (following >= settled + 1) & (following < records)
        records = choose(is_on, following, 0.0)
    if not lengths:
        return None
    if isinstance(is_on, np.ndarray):
        return SettlingColumns(np.array(lengths), np.array(waits), np.array(batches))
    return Settling(lengths, waits, batches)
