"""From what was written down to the summary of a group: the definitions of the metrics, each in one function.

Times are integer microseconds until the last step; seconds appear only in the summary.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.causes import UNOWNED, coarse
from groupsim.sim.tables import CAUSES

Rows = NDArray[np.int64]
"""Unavailability: columns position, from, to, cause. Shape (n, 4)."""


def _taken(rows: Rows, which: NDArray[Any]) -> Rows:
    """Some of the rows, column by column: there can be millions, and to touch fresh memory costs more than to sort."""
    return rows.T[:, which].T


def clip(rows: Rows, low: int, high: int, begin: int, end: int) -> Rows:
    """Cut columns ``begin`` and ``end`` to [low, high]; rows outside are gone."""
    if (
        len(rows)
        and low <= rows[:, begin].min()
        and rows[:, end].max() <= high
        and (rows[:, begin] < rows[:, end]).all()
    ):
        return rows
    cut = _taken(rows, np.maximum(rows[:, begin], low) < np.minimum(rows[:, end], high))
    np.maximum(cut[:, begin], low, out=cut[:, begin])
    np.minimum(cut[:, end], high, out=cut[:, end])
    return cut


def merge_touching(rows: Rows) -> Rows:
    """Sort by position and time, and join rows of one position, cause and detail that touch."""
    if not len(rows):
        return rows
    rows = _taken(rows, np.lexsort((rows[:, 1], rows[:, 0])))
    same = (rows[1:, 0] == rows[:-1, 0]) & (rows[1:, 3] == rows[:-1, 3]) & (rows[1:, 1] == rows[:-1, 2])
    if not same.any():
        return rows
    begins = np.flatnonzero(np.concatenate([[True], ~same]))
    ends = np.concatenate([begins[1:] - 1, [len(rows) - 1]])
    merged = _taken(rows, begins)
    merged[:, 2] = rows[ends, 2]
    return merged


def gaps(rows: Rows) -> Rows:
    """Longest stretches of one position without service: rows that touch are one gap. Columns position, from, to."""
    if not len(rows):
        return np.empty((0, 3), np.int64)
    same = (rows[1:, 0] == rows[:-1, 0]) & (rows[1:, 1] == rows[:-1, 2])
    begins = np.flatnonzero(np.concatenate([[True], ~same]))
    ends = np.concatenate([begins[1:] - 1, [len(rows) - 1]])
    return np.stack([rows[begins, 0], rows[begins, 1], rows[ends, 2]], axis=-1)


def never_served(
    rows: Rows, clock_us: NDArray[np.int64], ends_us: NDArray[np.int64], begun_us: int, end_us: int
) -> Rows:
    """Unavailability of partitions that nobody ever serves: unowned from each one's clock until anybody asks to join.

    Parameters
    ----------
    rows : Rows
        What was written down from then on.
    clock_us : int64 array, shape (partitions,)
        When each partition's clock starts.
    ends_us : int64 array, shape (partitions,)
        When each partition was deleted.
    begun_us : int
        The group's first JoinGroup.
    end_us : int
    """
    positions = np.arange(len(clock_us))
    ends = np.minimum(ends_us, min(begun_us, end_us))
    unasked = np.stack([positions, clock_us, ends, np.full(len(clock_us), UNOWNED)], axis=-1)
    found = np.concatenate([unasked, rows])
    found[:, 1] = np.maximum(found[:, 1], clock_us[found[:, 0]])
    return _taken(found, found[:, 1] < found[:, 2])


def unavailable_us(rows: Rows, partitions: int) -> NDArray[np.int64]:
    """Total per partition and code of the cause (`sim.books.causes.coarse`), from 0 on. Shape (partitions, codes)."""
    codes = len(CAUSES) + 1
    cells = rows[:, 0] * codes + coarse(rows[:, 3])
    totals = np.bincount(cells, rows[:, 2] - rows[:, 1], minlength=partitions * codes)
    return totals.astype(np.int64).reshape(partitions, codes)


def longest_gaps_us(gap: Rows, partitions: int) -> NDArray[np.int64]:
    """The longest of the `gaps` of each partition. Shape (partitions,)."""
    longest = np.zeros(partitions, np.int64)
    begins = np.flatnonzero(np.diff(gap[:, 0], prepend=-1))
    if len(begins):
        longest[gap[begins, 0]] = np.maximum.reduceat(gap[:, 2] - gap[:, 1], begins)
    return longest


def stop_the_world_us(
    rows: Rows, gap: Rows, clock_us: NDArray[np.int64], ends_us: NDArray[np.int64], first_service_us: int
) -> int:
    """Time from the first service on in which no partition of a group with members is served.

    Parameters
    ----------
    rows : Rows
        Unavailability.
    gap : Rows
        Its `gaps`.
    clock_us : int64 array, shape (partitions,)
        When each partition's clock starts.
    ends_us : int64 array, shape (partitions,)
        When each partition was deleted.
    first_service_us : int
    """
    unowned = rows[rows[:, 3] == UNOWNED]
    times = np.sort(np.concatenate([gap[:, 1], gap[:, 2], unowned[:, 1], unowned[:, 2], clock_us, ends_us]))
    exist = _passed(clock_us, times) - _passed(ends_us, times)
    unserved = _passed(gap[:, 1], times) - _passed(gap[:, 2], times)
    without = _passed(unowned[:, 1], times) - _passed(unowned[:, 2], times)
    stopped = (unserved == exist) & (without < exist)
    length = np.maximum(times[1:] - np.maximum(times[:-1], first_service_us), 0)
    return int(length[stopped[:-1]].sum())


def _passed(instants: NDArray[np.int64], times: NDArray[np.int64]) -> NDArray[np.intp]:
    """How many of the instants have come by each of the times. Shape of ``times``."""
    return np.searchsorted(np.sort(instants), times, side="right")


def quantile(values: NDArray[np.int64], q: float) -> float:
    """Linear interpolation between order statistics, bit-equal to `numpy.quantile`; 0 for nothing."""
    if not len(values):
        return 0.0
    place = (len(values) - 1) * q
    index = int(place)
    low, high = np.sort(values)[[index, min(index + 1, len(values) - 1)]].tolist()
    part = place - index
    return float(high - (high - low) * (1 - part)) if part >= 0.5 else float(low + (high - low) * part)
