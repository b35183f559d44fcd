"""How far consumers have got that share their capacity over partitions as a consumer does: each gets the same.

A poll() hands out one partition's fetch after the other, so that of a backlog every partition gets as many records as
the next one, up to what it has (``FetchCollector.collectFetch``, Kafka 4.4). Of a flow that is a level: a partition
that offers ``o`` records and gets ``r`` a microsecond more has been served ``min(level, o + r e)`` after ``e``. The
level rises as fast as the capacity, less what those need that are caught up, shared by the others. It has a kink
whenever a partition is caught up; none falls behind again, since the level rises faster and faster.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.offsets.portions import portions
from groupsim.sim.books.offsets.production import Offsets
from groupsim.sim.protocol.messages import Positions

Floats = NDArray[np.float64]
Which = NDArray[np.integer[Any]]
"""Indices, or partitions."""
_Piece = tuple[NDArray[np.intp], Floats, Floats, Floats]
_PLACES = 1 << 32
_AT_ONCE = 1 << 16
"""Partitions of services that are worked on at once."""


def ends_in_sight(produced: Offsets, mrps: Offsets, begun: Offsets, offered: NDArray[Any]) -> Offsets:
    """How far services can get in their partitions: to what a rate has produced by now, or to what was there at first.

    What comes in a jump is returned by a later poll(), and so served from the next anchor on.

    Parameters
    ----------
    produced : int64 array, shape (..., n)
        Log end offsets.
    mrps, begun, offered : arrays, shape (n,)
        Milli-records a second that come, and where each service began, with how many records waiting.
    """
    ends: Offsets = np.maximum(produced, begun)
    if np.count_nonzero(mrps) < len(mrps):
        without_rate = np.flatnonzero(mrps == 0)
        ends[..., without_rate] = begun[without_rate] + offered[without_rate]
    return ends


class Levels:
    """Those of some services, each of which is a consumer that serves the same partitions for a while.

    Parameters
    ----------
    capacity : float64 array, shape (n,), records per microsecond
    lengths : int array, shape (n,)
        Partitions of each.
    partitions : int32 array, shape (k,)
        Of one service after the other, ascending in each.
    offered : float64 array, shape (k,)
        Records that wait in each at first.
    mrps : int64 array, shape (k,)
        Milli-records a second that come.

    Attributes
    ----------
    caught_up : float64 array, shape (k,), microseconds
        How long it takes until nothing waits in each; infinite: that never is.
    """

    def __init__(
        self, capacity: Floats, lengths: NDArray[np.int64], partitions: Positions, offered: Floats, mrps: Offsets
    ) -> None:
        self._keys = np.repeat(np.arange(len(lengths)), lengths) * _PLACES + partitions
        self.caught_up = np.full(len(partitions), np.inf)
        ends = np.cumsum(lengths)
        pieces = list[_Piece]()
        for first, end in portions(ends, _AT_ONCE):
            rows = slice(int(ends[first - 1]) if first else 0, int(ends[end - 1]))
            shares = capacity[first:end], lengths[first:end], offered[rows], mrps[rows]
            pieces += _pieces(first, *shares, self.caught_up[rows])
        columns = [np.concatenate(column) for column in zip(*pieces, strict=True)]
        order = np.argsort(columns[0], kind="stable")
        one, self._since, self._level, self._rise = (column[order] for column in columns)
        counts = np.bincount(one, minlength=len(lengths))
        self._begins = np.cumsum(counts) - counts
        self._last = np.maximum(self._begins + counts - 1, 0)

    def _piece(self, which: Which, column: Floats, value: Floats) -> Which:
        """The last piece of each service whose ``column`` is at most ``value``, or its first one. Shape (n,)."""
        low, high = self._begins[which], self._last[which]
        while np.count_nonzero(low < high):
            middle = (low + high + 1) // 2
            is_below = column[middle] <= value
            low, high = np.where(is_below, middle, low), np.where(is_below, high, middle - 1)
        return low

    def at(self, which: Which, elapsed: Floats) -> tuple[Floats, Floats]:
        """The levels of some services, each after some time, and how fast they rise then. Shapes (n,)."""
        piece = self._piece(which, self._since, elapsed)
        rise = self._rise[piece]
        return self._level[piece] + rise * (elapsed - self._since[piece]), rise

    def reached(self, which: Which, level: Floats) -> Floats:
        """How long it takes until each level is reached; infinite: it never is. Shape (n,)."""
        piece = self._piece(which, self._level, level)
        rise, missing = self._rise[piece], level - self._level[piece]
        more = np.divide(missing, rise, out=np.where(missing > 0, np.inf, 0.0), where=rise > 0)
        reached: Floats = self._since[piece] + more
        return reached

    def outpaced(self, which: Which, rate: Floats) -> Floats:
        """How long it takes until each level rises faster than ``rate``; infinite: it never does. Shape (n,)."""
        piece = self._piece(which, self._rise, rate)
        is_slower = self._rise[piece] <= rate
        following = np.minimum(piece + 1, self._last[which])
        since = np.where(is_slower, self._since[following], 0.0)
        return np.where(self._rise[following] > rate, since, np.inf)

    def places(self, which: Which, partitions: Which) -> Which:
        """Where each partition of each service is among all of them. Shape (n,)."""
        return np.minimum(np.searchsorted(self._keys, which * _PLACES + partitions), len(self._keys) - 1)

    def whole(self, which: Which, places: Which, elapsed: Floats, begun: Offsets, produced: Offsets) -> Offsets:
        """Whole records processed (next offset) of partitions that began at ``begun``. Shape (n,).

        Parameters
        ----------
        which, places : intp arrays, shape (n,)
            Service, and its partition (`places`).
        elapsed : float64 array, shape (n,), microseconds
        begun, produced : int64 arrays, shape (n,)
            Where the service began in the partition, and the end of the log now: not before that.
        """
        level = np.floor(self.at(which, elapsed)[0]).astype(np.int64)
        is_caught_up = elapsed >= self.caught_up[places]
        whole: Offsets = np.where(is_caught_up, produced, np.minimum(begun + level, produced))
        return whole


def _pieces(
    first: int, capacity: Floats, lengths: NDArray[np.int64], offered: Floats, mrps: Offsets, caught_up: Floats
) -> list[_Piece]:
    """Stretches between two kinks: whose, numbered from ``first``, since when, the level then, and how fast it rises.

    ``caught_up``, shape (k,), is written to.
    """
    row, service = np.arange(len(offered)), np.repeat(np.arange(len(lengths)), lengths)
    rate = mrps / 1e9
    since, level, settled = np.zeros(len(lengths)), np.zeros(len(lengths)), np.zeros(len(lengths))
    pieces = []
    while len(row):
        counts = np.bincount(service)
        one = np.flatnonzero(counts)
        waiting, mine = counts[one], rate[row]
        begins = np.cumsum(waiting) - waiting
        rise = (capacity[one] - settled[one] / 1e9) / waiting
        pieces.append((one + first, since[one], level[one], rise))
        gain = np.repeat(rise, waiting) - mine
        missing = np.maximum(offered[row] + mine * since[service] - level[service], 0)
        needed = np.divide(missing, gain, out=np.full(len(row), np.inf), where=gain > 0)
        soonest = np.minimum.reduceat(needed, begins)
        is_over = np.isinf(soonest)
        if np.count_nonzero(is_over) == len(is_over):
            break
        soonest[is_over] = 0
        since[one] += soonest
        level[one] += rise * soonest
        caught = needed <= np.repeat(soonest, waiting)
        caught[np.repeat(is_over, waiting)] = False
        caught_up[row[caught]] = since[service[caught]]
        settled += np.bincount(service[caught], mrps[row[caught]], len(settled))
        kept = ~caught & ~np.repeat(is_over, waiting)
        row, service = row[kept], service[kept]
    return pieces
