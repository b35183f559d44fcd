"""The lag of groups, each summed over its partitions: its exact peak, and the last instant at which it is at a limit.

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
Windows = tuple[Integers, Integers]
"""First and last instants, microseconds. Shapes (n,)."""
Condition = Callable[[Stretches], NDArray[np.bool_]]
"""Says of each of some stretches whether it is wanted."""
_PARTS = 64
_STEPS = 1 << 13
"""So many steps are written out at once, or four for each stretch if that is more."""
_PORTION = 1 << 16
"""So many steps of different sums are written out at once."""
_AT_ONCE = 16
"""So many parts of the time are read at once, at most: the stretches of all of them are in memory then."""


class Bounds:
    """Upper bounds of sums in equal parts of a window, from stretches that are added bit by bit.

    Parameters
    ----------
    window : (int, int)
    parts : int
    sums : int
    """

    def __init__(self, window: Window, parts: int, sums: int = 1) -> None:
        self._first, self._last = window
        self._width = -(-(self._last + 1 - self._first) // parts)
        self._count = -(-(self._last + 1 - self._first) // self._width)
        self._stretches = 0
        self._within = np.zeros((sums, self._count))
        self._level, self._slope = np.zeros((2, sums, self._count + 1))

    def window(self, index: int) -> Window:
        """First and last instant of a part."""
        begin, last = self.parts(np.array(index))
        return int(begin), int(last)

    def parts(self, indices: Integers) -> Windows:
        """First and last instants of some parts. Shapes of ``indices``."""
        begins = self._first + indices * self._width
        return begins, np.minimum(begins + self._width - 1, self._last)

    def add(self, rows: Stretches, level: Floats, slope: Floats, whose: Integers) -> None:
        """Stretches within the window, a line above each (`line_above`), and to which sum each belongs."""
        self._stretches += len(rows)
        begin, last = rows.begin - self._first, rows.end - 1 - self._first
        first_part, last_part = begin // self._width, last // self._width
        ends = np.minimum(last, (first_part + 1) * self._width - 1)
        _add_at(self._within, whose, first_part, np.maximum(level, level + slope * (ends - begin)))
        long = np.flatnonzero(last_part > first_part)
        begin, last, level, slope, whose = begin[long], last[long], level[long], slope[long], whose[long]
        first_part, last_part = first_part[long] + 1, last_part[long]
        at_last = level + slope * (last_part * self._width - begin)
        _add_at(self._within, whose, last_part, np.maximum(at_last, level + slope * (last - begin)))
        for total, values in ((self._level, level - slope * begin), (self._slope, slope)):
            _add_at(total, whose, first_part, values)
            _add_at(total, whose, last_part, -values)

    def values(self) -> Floats:
        """A bound for each part of each sum. Shape (sums, parts)."""
        level, slope = np.cumsum(self._level, axis=1)[:, :-1], np.cumsum(self._slope, axis=1)[:, :-1]
        begin = np.arange(self._count) * self._width
        end = begin + self._width - 1
        # Half a record is more than the floating point of the sums can be wrong by, and less than would be looked for.
        values: Floats = self._within + np.maximum(level + slope * begin, level + slope * end) + 0.5
        return values

    def blocks(self, values: Floats, at_once: int) -> tuple[Floats, Windows]:
        """Parts one after the other as one, with the highest of their ``values``: shape (sums, n), and n windows.

        At any instant ``at_once`` stretches last. In a block at least as many begin, most often: to look at all blocks
        one by one is no more than twice the work of looking at all stretches, however little parts are.
        """
        size = -(-at_once * self._count // max(self._stretches, 1))
        firsts = np.arange(0, self._count, max(size, 1))
        lasts = np.append(firsts[1:], self._count) - 1
        return np.maximum.reduceat(values, firsts, axis=1), (self.parts(firsts)[0], self.parts(lasts)[1])


def _add_at(totals: Floats, row: Integers, column: Integers, values: Floats) -> None:
    width = totals.shape[1]
    totals += np.bincount(row * width + column, values, totals.size).reshape(totals.shape)


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


class GroupLags:
    """The summed lag of each of some groups over a window.

    Parameters
    ----------
    motion : Motion
    stretches : callable
        All stretches in which something can be unprocessed and for which a condition holds, in blocks. It is a reading
        of the whole log each time.
    bounds : Bounds
        Of all of them, with a sum for each group.
    group : intp array, shape (n_partitions,)
        Of which group each partition is.
    """

    def __init__(
        self, motion: Motion, stretches: Callable[[Condition], Iterable[Stretches]], bounds: Bounds,
        group: NDArray[np.intp],
    ) -> None:  # fmt: skip
        self._motion = motion
        self._stretches = stretches
        self._bounds = bounds
        self._group = group
        self._values = bounds.values()
        self._blocks, self._windows = bounds.blocks(self._values, len(group))

    def peaks(self, best: Integers) -> Integers:
        """The highest value of each, records; at least ``best``, which one partition has alone. Shape (groups,)."""
        first = np.argmax(self._values, axis=1)
        best = self._raised(best, self._values, self._bounds.parts(np.arange(self._values.shape[1])), first[None])
        turns = np.argsort(-self._blocks, axis=1, kind="stable").T
        return self._raised(best, self._blocks, self._windows, turns)

    def _raised(self, best: Integers, values: Floats, windows: Windows, turns: Integers) -> Integers:
        """The same, if only these windows are looked at, which the sums of each group do not exceed ``values`` in."""
        every = np.arange(len(best))

        def can_be_higher(turn: Integers) -> NDArray[np.bool_]:
            return (best > 0) & (values[every, turn] > best)

        for turn, rows in self._readings(turns, windows, can_be_higher):
            if not (looked_at := can_be_higher(turn)).any():
                break
            rows = rows[looked_at[self._group[rows.partition]]]
            within_us = (windows[0][turn], windows[1][turn])
            best = highest_of_each(self._motion, rows, self._group[rows.partition], within_us, best)
        return best

    def last_at_least(self, group: int, limit: int, since: int) -> int | None:
        """The last instant from ``since`` on at which that of a group is ``limit`` or more; None if there is none."""
        blocks = np.flatnonzero(self._blocks[group] >= limit)[::-1]
        is_it = np.arange(len(self._values)) == group
        turns = np.repeat(blocks[:, None], len(is_it), axis=1)
        for turn, rows in self._readings(turns, self._windows, lambda _: is_it):
            begin, end = (int(one[turn[group]]) for one in self._windows)
            if end < since:
                break
            window = (max(begin, since), end)
            if (found := latest(self._motion, within(rows, window), window, limit)) is not None:
                return found
        return None

    def _readings(
        self, turns: Integers, windows: Windows, are_open: Callable[[Integers], NDArray[np.bool_]]
    ) -> Iterator[tuple[Integers, Stretches]]:
        """In turn a window for each group, and the stretches of each of those groups that ``are_open`` cut to it.

        Mostly the first turn is all that is needed.
        """
        begin, count = 0, 1
        while begin < len(turns):
            some = turns[begin : begin + count]
            cuts = [(windows[0][one], windows[1][one]) for one in some]
            yield from zip(some, self._in(cuts, are_open(some[0])), strict=True)
            begin, count = begin + count, _AT_ONCE

    def _in(self, windows: Sequence[Windows], is_open: NDArray[np.bool_]) -> list[Stretches]:
        """The stretches in each turn's windows, cut to them."""

        def meet(rows: Stretches) -> NDArray[np.bool_]:
            group = self._group[rows.partition]
            met = [(rows.begin <= lasts[group]) & (rows.end > begins[group]) for begins, lasts in windows]
            wanted: NDArray[np.bool_] = is_open[group] & np.logical_or.reduce(met)
            return wanted

        found: list[list[Stretches]] = [[Stretches.none()] for _ in windows]
        for rows in self._stretches(meet):
            group = self._group[rows.partition]
            for some, (begins, lasts) in zip(found, windows, strict=True):
                some.append(within(rows, (begins[group], lasts[group])))
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
    (values,) = bounds.values()
    for part in np.argsort(-values, kind="stable").tolist():
        if values[part] <= best:
            break
        inner = bounds.window(part)
        best = highest(motion, within(rows, inner), inner, best)
    return best


def highest_of_each(motion: Motion, rows: Stretches, whose: Integers, windows: Windows, best: Integers) -> Integers:
    """The peak of each of some sums, if it is above ``best``; else ``best``. Shape (n_sums,).

    Parameters
    ----------
    motion : Motion
    rows : Stretches
    whose : int array, shape (n,)
        To which sum each stretch belongs.
    windows : (int64 array, int64 array), shapes (n_sums,)
        The stretches of each sum are within its window.
    best : int64 array, shape (n_sums,)
    """
    peaks, counts = best.copy(), np.bincount(whose, Steps(motion, rows).counts, len(best)).astype(np.int64)
    are_few = counts <= _STEPS
    for one in np.flatnonzero(~are_few).tolist():
        window = (int(windows[0][one]), int(windows[1][one]))
        peaks[one] = highest(motion, rows[whose == one], window, int(peaks[one]))
    few = np.flatnonzero(are_few[whose])
    few = few[np.argsort(whose[few], kind="stable")]
    portions = (np.cumsum(np.where(are_few, counts, 0)) // _PORTION)[whose[few]]
    for some in np.split(few, np.flatnonzero(np.diff(portions)) + 1):
        if some.size:
            which, values = Steps(motion, rows[some]).peaks(whose[some])
            peaks[which] = np.maximum(peaks[which], values)
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
    for part in np.flatnonzero(bounds.values()[0] >= limit)[::-1].tolist():
        inner = bounds.window(part)
        if (found := latest(motion, within(rows, inner), inner, limit)) is not None:
            return found
    return None


def _divided(motion: Motion, rows: Stretches, window: Window) -> Bounds:
    bounds = Bounds(window, _PARTS)
    bounds.add(rows, *line_above(motion, rows), np.zeros(len(rows), np.intp))
    return bounds


def within(rows: Stretches, window: Window | Windows) -> Stretches:
    """The stretches that a window, or the window of each, meets, cut to it."""
    begin, end = window[0], window[1] + 1
    met = np.flatnonzero((rows.begin < end) & (rows.end > begin))
    if isinstance(begin, np.ndarray) and isinstance(end, np.ndarray):
        begin, end = begin[met], end[met]
    return rows[met].cut(begin, end)


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

    def peaks(self, whose: Integers) -> tuple[Integers, Integers]:
        """Which sums there are if stretches belong to those of ``whose`` (n,), and the highest value of each."""
        times, changes, row = self._changes()
        whose = whose[row]
        order = np.lexsort((times, whose))
        times, whose = times[order], whose[order]
        # What a stretch has come to is taken away at its end: the next sum begins at nothing.
        values = np.cumsum(changes[order])
        is_last = np.append((times[1:] != times[:-1]) | (whose[1:] != whose[:-1]), True)
        values, whose = values[is_last], whose[is_last]
        begins = np.flatnonzero(np.append(True, whose[1:] != whose[:-1]))
        return whose[begins], np.maximum.reduceat(values, begins)

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
