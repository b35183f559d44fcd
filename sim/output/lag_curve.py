"""The lag of a group, summed over its partitions: its exact peak, and the last instant at which it is at a limit.

The sum is a step function of whole microseconds with a step for every record, far too many to visit. In a stretch a
line bounds the lag of a partition from above, and lines can be summed by the million: time is divided, what cannot
hold what is looked for is left out, and what remains is divided again until its steps are few enough to be written out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.output.stretches import Floats, Integers, Motion, Stretches

Window = tuple[int, int]
"""First and last instant, microseconds."""
_PARTS = 64
_STEPS = 1 << 13
"""So many steps are written out at once, or four for each stretch if that is more."""
_AT_ONCE = 16
"""So many parts of the time are read at once, at most: the stretches of all of them are in memory then."""


class Bounds:
    """Upper bounds of the sum in equal parts of a window, from stretches that are added bit by bit.

    Parameters
    ----------
    window : (int, int)
    parts : int
    """

    def __init__(self, window: Window, parts: int) -> None:
        self._first, self._last = window
        self._width = -(-(self._last + 1 - self._first) // parts)
        self._count = -(-(self._last + 1 - self._first) // self._width)
        self._within = np.zeros(self._count)
        self._level, self._slope = np.zeros(self._count + 1), np.zeros(self._count + 1)

    def part(self, index: int) -> Window:
        """First and last instant of a part."""
        begin = self._first + index * self._width
        return begin, min(begin + self._width - 1, self._last)

    def add(self, rows: Stretches, level: Floats, slope: Floats) -> None:
        """Stretches within the window, and a line above each (`line_above`)."""
        begin, last = rows.begin - self._first, rows.end - 1 - self._first
        first_part, last_part = begin // self._width, last // self._width
        ends = np.minimum(last, (first_part + 1) * self._width - 1)
        self._add_within(first_part, level, level + slope * (ends - begin))
        long = np.flatnonzero(last_part > first_part)
        begin, last, level, slope = begin[long], last[long], level[long], slope[long]
        first_part, last_part = first_part[long] + 1, last_part[long]
        at_last = level + slope * (last_part * self._width - begin)
        self._add_within(last_part, at_last, level + slope * (last - begin))
        for total, values in ((self._level, level - slope * begin), (self._slope, slope)):
            total += np.bincount(first_part, values, len(total)) - np.bincount(last_part, values, len(total))

    def _add_within(self, part: Integers, one: Floats, other: Floats) -> None:
        self._within += np.bincount(part, np.maximum(one, other), self._count)

    def values(self) -> Floats:
        """A bound for each part."""
        level, slope = np.cumsum(self._level)[:-1], np.cumsum(self._slope)[:-1]
        begin = np.arange(self._count) * self._width
        end = begin + self._width - 1
        # Half a record is more than the floating point of the sums can be wrong by, and less than would be looked for.
        values: Floats = self._within + np.maximum(level + slope * begin, level + slope * end) + 0.5
        return values


def line_above(motion: Motion, rows: Stretches) -> tuple[Floats, Floats]:
    """A line that the lag of each stretch never exceeds: its value at the beginning, and its slope a microsecond.

    Where nobody serves, that is production without its whole records. Where somebody works off a backlog, what is
    left of a partition is concave in time, and below any tangent; whole records and the record that is being produced
    add less than two.
    """
    rate = motion.mrps[rows.production] / 1e9
    ahead = rows.begin - motion.produced_since[rows.production]
    level = motion.base[rows.production] / 1e3 + rate * ahead - rows.floor + 1e-3
    slope = rate.copy()
    busy = np.flatnonzero(rows.service >= 0)
    if busy.size:
        level[busy], slope[busy] = _line_above_work(motion, rows[busy], rate[busy])
    return level, slope


def _line_above_work(motion: Motion, rows: Stretches, rate: Floats) -> tuple[Floats, Floats]:
    begin, last = rows.begin - motion.since[rows.service], rows.end - 1 - motion.since[rows.service]
    middle = (begin + last) / 2
    level, rise = motion.levels.at(rows.service, middle)
    left, slope = np.maximum(rows.offered + rate * middle - level, 0) + motion.unseen(rows), rate - rise
    return left + slope * (begin - middle) + 2, slope


class GroupLag:
    """The summed lag of a group over a window.

    Parameters
    ----------
    motion : Motion
    stretches : callable
        All stretches of some windows in which something can be unprocessed, in blocks; others may be among them. It is
        a reading of the whole log each time.
    bounds : Bounds
        Of all of them.
    """

    def __init__(
        self, motion: Motion, stretches: Callable[[Sequence[Window]], Iterable[Stretches]], bounds: Bounds
    ) -> None:
        self._motion = motion
        self._stretches = stretches
        self._bounds = bounds
        self._values = bounds.values()

    def peak(self, best: int) -> int:
        """The highest value, records; at least ``best``, which one partition has alone."""
        if not best:
            return 0
        parts = np.argsort(-self._values, kind="stable").tolist()
        readings = self._readings(parts)
        for part in parts:
            if self._values[part] <= best:
                break
            window, rows = next(readings)
            best = highest(self._motion, rows, window, best)
        return best

    def last_at_least(self, limit: int, since: int) -> int | None:
        """The last instant from ``since`` on at which it is ``limit`` or more; None if there is none."""
        parts = np.flatnonzero(self._values >= limit)[::-1].tolist()
        for (begin, end), rows in self._readings(parts):
            if end < since:
                break
            window = (max(begin, since), end)
            if (found := latest(self._motion, within(rows, window), window, limit)) is not None:
                return found
        return None

    def _readings(self, parts: Sequence[int]) -> Iterator[tuple[Window, Stretches]]:
        """Windows of these parts, in their order, and the stretches of each: mostly the first is all that is needed."""
        begin, count = 0, 1
        while begin < len(parts):
            windows = [self._bounds.part(part) for part in parts[begin : begin + count]]
            yield from zip(windows, self._in(windows), strict=True)
            begin, count = begin + count, _AT_ONCE

    def _in(self, windows: Sequence[Window]) -> list[Stretches]:
        """The stretches of each window, cut to it."""
        found: list[list[Stretches]] = [[Stretches.none()] for _ in windows]
        for rows in self._stretches(windows):
            for some, window in zip(found, windows, strict=True):
                some.append(within(rows, window))
        return [Stretches.joined(some) for some in found]


# --- dividing ---------------------------------------------------------------------------------------------------------


def highest(motion: Motion, rows: Stretches, window: Window, best: int) -> int:
    """The peak of the sum of some stretches within a window, if it is above ``best``; else ``best``."""
    if not len(rows):
        return best
    steps = Steps(motion, rows)
    if steps.are_few or window[0] == window[1]:
        return max(best, int(steps.written_out()[1].max()))
    bounds = _divided(motion, rows, window)
    values = bounds.values()
    for part in np.argsort(-values, kind="stable").tolist():
        if values[part] <= best:
            break
        inner = bounds.part(part)
        best = highest(motion, within(rows, inner), inner, best)
    return best


def highest_of_each(motion: Motion, rows: Stretches, best: Integers) -> Integers:
    """The peak of each stretch by itself, if it is above ``best``; else ``best``. Shape (n,)."""
    peaks, counts = best.copy(), Steps(motion, rows).counts
    for row in np.flatnonzero(counts > _STEPS).tolist():
        one = rows[row : row + 1]
        peaks[row] = highest(motion, one, (int(one.begin[0]), int(one.end[0]) - 1), int(peaks[row]))
    few = np.flatnonzero(counts <= _STEPS)
    portions = np.cumsum(counts[few]) // _STEPS
    for some in np.split(few, np.flatnonzero(np.diff(portions)) + 1):
        if some.size:
            peaks[some] = np.maximum(peaks[some], Steps(motion, rows[some]).peaks())
    return peaks


def latest(motion: Motion, rows: Stretches, window: Window, limit: int) -> int | None:
    """The last instant of a window at which the sum of some stretches within it is ``limit`` or more."""
    if not len(rows):
        return None
    steps = Steps(motion, rows)
    if steps.are_few or window[0] == window[1]:
        times, values = steps.written_out()
        high = np.flatnonzero(values >= limit)
        return int(np.append(times, window[1] + 1)[high[-1] + 1]) - 1 if high.size else None
    bounds = _divided(motion, rows, window)
    for part in np.flatnonzero(bounds.values() >= limit)[::-1].tolist():
        inner = bounds.part(part)
        if (found := latest(motion, within(rows, inner), inner, limit)) is not None:
            return found
    return None


def _divided(motion: Motion, rows: Stretches, window: Window) -> Bounds:
    bounds = Bounds(window, _PARTS)
    bounds.add(rows, *line_above(motion, rows))
    return bounds


def within(rows: Stretches, window: Window) -> Stretches:
    """The stretches that a window meets, cut to it."""
    begin, end = window[0], window[1] + 1
    return rows[(rows.begin < end) & (rows.end > begin)].cut(begin, end)


# --- step by step -----------------------------------------------------------------------------------------------------


class Steps:
    """The sum of some stretches, record by record.

    Parameters
    ----------
    motion : Motion
    rows : Stretches
    """

    def __init__(self, motion: Motion, rows: Stretches) -> None:
        self._motion, self._rows = motion, rows
        ends = (rows.begin, rows.end - 1)
        self._produced = [motion.produced(rows.production, at) for at in ends]
        self._processed = [motion.processed(rows, at) for at in ends]
        self._arrivals = self._produced[1] - self._produced[0]
        self._departures = self._processed[1] - self._processed[0]

    @property
    def counts(self) -> Integers:
        """How many steps each stretch has. Shape (n,)."""
        return self._arrivals + self._departures

    @property
    def are_few(self) -> bool:
        """Whether they can be written out at once."""
        return int(self.counts.sum()) <= max(_STEPS, 4 * len(self._rows))

    def written_out(self) -> tuple[Integers, Integers]:
        """The sum is ``values[i]`` from ``times[i]`` until before the next. Shapes (n,)."""
        times, changes, _ = self._changes()
        order = np.argsort(times, kind="stable")
        times, values = times[order], np.cumsum(changes[order])
        is_last = np.append(times[1:] != times[:-1], True)
        return times[is_last], values[is_last]

    def peaks(self) -> Integers:
        """The highest value of each stretch by itself. Shape (n,)."""
        times, changes, row = self._changes()
        order = np.lexsort((times, row))
        times, row = times[order], row[order]
        # What a stretch has come to is taken away at its end: the next one begins at nothing.
        values = np.cumsum(changes[order])
        is_last = np.append((times[1:] != times[:-1]) | (row[1:] != row[:-1]), True)
        values, row = values[is_last], row[is_last]
        highest: Integers = np.maximum.reduceat(values, np.flatnonzero(np.append(True, row[1:] != row[:-1])))
        return highest

    def _changes(self) -> tuple[Integers, Integers, Integers]:
        """When the sum changes, by how much, and because of which stretch. Shapes (n,)."""
        motion, rows = self._motion, self._rows
        came, record = counted(self._produced[0], self._arrivals)
        arrived = motion.arrival(rows.production[came], record)
        went, record = counted(self._processed[0], self._departures)
        departed = motion.departure(rows[went], record)
        begun, left = self._produced[0] - self._processed[0], self._processed[1] - self._produced[1]
        times = np.concatenate([rows.begin, rows.end, arrived, departed])
        changes = np.concatenate([begun, left, np.ones(len(came), np.int64), np.full(len(went), -1)])
        every = np.arange(len(rows))
        return times, changes, np.concatenate([every, every, came, went])


def counted(first: Integers, counts: Integers) -> tuple[NDArray[np.intp], Integers]:
    """So many numbers from above ``first`` on for each row, and whose each is."""
    row = np.repeat(np.arange(len(first)), counts)
    return row, np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts - first - 1, counts)
