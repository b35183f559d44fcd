"""From the log of a group's offsets to stretches: a partition, from when until when, and how its offsets move in it.

A stretch is a row of columns, cut to the time in which metrics count. Instants are whole microseconds, and what changes
at an instant has changed by then. Production and processed records of a stretch are the closed forms of
`sim.books.offsets.ledger`, to the last bit; both only ever grow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.offsets.levels import Levels, ends_in_sight
from groupsim.sim.books.offsets.offset_log import OffsetLog
from groupsim.sim.units import FOREVER, S

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


def begun_last(
    slots: Integers, begun: Integers, who: Integers, when: Integers, side: Literal["left", "right"]
) -> NDArray[np.intp]:
    """Index of what each of these had begun last at a time. Shape (n,).

    Parameters
    ----------
    slots, begun : int64 arrays, shape (m,)
        Who has begun something, and when.
    who, when : int64 arrays, shape (n,)
        Who has begun something by then.
    side : str
        Whether what begins at that very time counts (right) or not (left).
    """
    order = np.lexsort((begun, slots))
    span = max(int(begun.max(initial=0)), int(when.max(initial=0))) + 1
    last: NDArray[np.intp] = order[np.searchsorted((slots * span + begun)[order], who * span + when, side=side) - 1]
    return last


@dataclass(frozen=True, slots=True)
class Stretches:
    """Rows; arrays of shape (n,).

    Attributes
    ----------
    partition : int array
    begin, end : int64 array, microseconds
        First instant, and the first that no longer belongs to it.
    floor : int64 array
        Records below this need nobody any more; -1: nobody ever began.
    service : int array
        Index of who serves it, -1: nobody.
    offset, offered : int64 arrays
        Where the service began, and what was waiting then.
    production : int array
        Index of the production.
    place : int array
        Of the partition among those of all services (`Levels.places`), where there is a service.
    """

    partition: Integers
    begin: Integers
    end: Integers
    floor: Integers
    service: Integers
    offset: Integers
    offered: Integers
    production: Integers
    place: Integers

    def __len__(self) -> int:
        return len(self.partition)

    def __getitem__(self, rows: NDArray[np.bool_] | NDArray[np.intp] | slice) -> Stretches:
        if isinstance(rows, np.ndarray) and rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)  # found once, not for each column
        return Stretches(
            self.partition[rows], self.begin[rows], self.end[rows], self.floor[rows],
            self.service[rows], self.offset[rows], self.offered[rows], self.production[rows],
            self.place[rows],
        )  # fmt: skip

    def cut(self, begin: Integers | int, end: Integers | int) -> Stretches:
        """The part of each in [begin, end)."""
        low, high = np.maximum(self.begin, begin), np.minimum(self.end, end)
        return self.between(low, high)

    def between(self, begin: Integers, end: Integers) -> Stretches:
        """The same with other ends."""
        serving = self.service.copy(), self.offset, self.offered, self.production, self.place
        return Stretches(self.partition, begin, end, self.floor, *serving)

    @classmethod
    def none(cls) -> Stretches:
        """No rows."""
        return cls(*np.empty((9, 0), np.int64))

    @classmethod
    def joined(cls, parts: Sequence[Stretches]) -> Stretches:
        """The rows of several, one below the other."""
        parts = [part for part in parts if len(part)]
        if len(parts) < 2:
            return parts[0] if parts else cls.none()
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))


class Motion:
    """How offsets move: productions and services by index, and what they make of a stretch at any instant in it.

    Parameters
    ----------
    log : OffsetLog
    """

    def __init__(self, log: OffsetLog) -> None:
        self._log = log
        # The last element is nobody's: index -1.
        nobody = (-1, 0, 0.0, 0.0, 0.0)
        services = [np.append(column, one) for column, one in zip(log.services(), nobody, strict=True)]
        self.slot, self.since, self.backlog, self.rate, self.capacity = services
        self.produced_since, self.base, self.mrps = log.productions()
        self.caught_up = self._caught_up()
        self.lengths, self.load = lengths, load = log.loads()
        self._begins = np.cumsum(lengths) - lengths
        partitions, self._offered, mrps = load
        self.levels = Levels(self.capacity, lengths, partitions, self._offered, mrps)

    def _caught_up(self) -> Integers:
        """When each service has processed all that there is for the first time; nobody never. Shape (services + 1,)."""
        spare = self.capacity - self.rate
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = np.where(spare > 0, self.backlog / spare, np.inf)
        elapsed = np.ceil(np.minimum(needed, 1e17))
        is_ever = needed < 1e17
        for _ in range(3):
            if not (is_short := is_ever & ~self._is_through(elapsed)).any():
                break
            elapsed += is_short
        for _ in range(3):
            if not (is_long := (elapsed > 0) & is_ever & self._is_through(elapsed - 1)).any():
                break
            elapsed -= is_long
        return np.where(is_ever & (self.slot >= 0), self.since + elapsed, FOREVER).astype(np.int64)

    def _is_through(self, elapsed: Floats) -> NDArray[np.bool_]:
        return self.capacity * elapsed >= self.backlog + self.rate * elapsed

    def produced(self, production: Integers, at: Integers) -> Integers:
        """Log end offsets of productions at an instant each. Shape (n,)."""
        milli: Integers = self.base[production] + self.mrps[production] * (at - self.produced_since[production]) // S
        return milli // 1000

    def served(self, rows: Stretches, at: Integers) -> Integers:
        """Offsets that the service has got to, where there is one. Shape (n,)."""
        who = rows.service
        elapsed = at - self.since[who]
        offered, done = self.backlog[who] + self.rate[who] * elapsed, self.capacity[who] * elapsed
        produced = self.produced(rows.production, at)
        there = ends_in_sight(produced, self.mrps[rows.production], rows.offset, rows.offered)
        is_through = (done >= offered) & (elapsed > 0)
        if is_through.all():
            return there
        worked = self.levels.whole(who, rows.place, np.maximum(elapsed, 0).astype(np.float64), rows.offset, there)
        return np.where(is_through, there, worked)

    def places(self, services: Integers, partitions: Integers, ranks: Integers) -> Integers:
        """`Levels.places`; ``ranks``: how many partitions of each service come before that, if it has begun with all.

        Shape (n,).
        """
        places = self._begins[services] + ranks
        others = np.flatnonzero(self.load[0][places] != partitions)
        if others.size:
            places[others] = self.levels.places(services[others], partitions[others])
        return places

    def offered(self, places: Integers) -> Integers:
        """Records of partitions that waited for services when they began. Shape (n,)."""
        return self._offered[places].astype(np.int64)

    def unseen(self, rows: Stretches) -> Integers:
        """Records that have come in jumps since the service began, where there is one. Shape (n,)."""
        unseen = np.zeros(len(rows), np.int64)
        still = np.flatnonzero((rows.service >= 0) & (self.mrps[rows.production] == 0))
        there = self.base[rows.production[still]] // 1000
        unseen[still] = np.maximum(there - rows.offset[still] - rows.offered[still], 0)
        return unseen

    def processed(self, rows: Stretches, at: Integers) -> Integers:
        """Offsets below which nothing needs anybody any more, in stretches that `lagging` has made. Shape (n,)."""
        return np.where(rows.service >= 0, self.served(rows, at), rows.floor)

    def lag(self, rows: Stretches, at: Integers) -> Integers:
        """Records not processed. Shape (n,)."""
        lag: Integers = np.maximum(self.produced(rows.production, at) - self.processed(rows, at), 0)
        return lag

    def left(self, rows: Stretches, at: Integers) -> Floats:
        """What is unprocessed where somebody serves, if records were divisible. Shape (n,)."""
        who, which = rows.service, rows.production
        elapsed, rate = (at - self.since[who]).astype(np.float64), self.mrps[which] / 1e9
        begun = self.base[which] / 1e3 - rows.offset + rate * (at - self.produced_since[which])
        left: Floats = begun - np.minimum(self.levels.at(who, elapsed)[0], rows.offered + rate * elapsed)
        return left

    def arrival(self, production: Integers, record: Integers) -> Integers:
        """When so many records have been produced for the first time; `FOREVER` if they never are. Shape (n,)."""
        missing, mrps = record * 1000 - self.base[production], self.mrps[production]
        time = self.produced_since[production] - (-missing * S // np.maximum(mrps, 1))
        return np.where((mrps > 0) | (missing <= 0), time, FOREVER)

    def departure(self, rows: Stretches, record: Integers) -> Integers:
        """When the service has got to so many records, which it has by the end of the stretch. Shape (n,)."""
        near = self._near_departure(rows, record)
        low, high = np.clip(near - 2, rows.begin, rows.end - 1), np.clip(near + 2, rows.begin, rows.end - 1)
        before = np.where(self.served(rows, low) < record, low, rows.begin)
        by = np.where(self.served(rows, high) >= record, high, rows.end - 1)
        while (by - before > 1).any():
            middle = (before + by) // 2
            is_done = self.served(rows, middle) >= record
            before, by = np.where(is_done, before, middle), np.where(is_done, middle, by)
        return by

    def _near_departure(self, rows: Stretches, record: Integers) -> Integers:
        """The same but for rounding: the record has come, and the level is at it."""
        reached = self.levels.reached(rows.service, (record - rows.offset).astype(np.float64))
        by_level: Integers = self.since[rows.service] + np.minimum(np.ceil(reached), 1e16).astype(np.int64)
        return np.maximum(by_level, self.arrival(rows.production, record))

    def lagging(self, rows: Stretches, window: tuple[int, int]) -> Stretches:
        """Those parts of stretches within a window in which something is unprocessed, or can be.

        Where a service goes over what had been processed before, nothing moves until it is through with that: such a
        part is one that nobody serves. So is one in which a service is through, and something has come in a jump.
        """
        unseen = np.flatnonzero(self.unseen(rows))
        if unseen.size:
            rows = Stretches.joined([rows, self._left_over(rows[unseen])])
        begin = np.maximum(rows.begin, window[0])
        end = np.minimum(np.minimum(rows.end, self._caught_up_with(rows)), window[1] + 1)
        rests = np.flatnonzero(rows.service < 0)
        behind = self.arrival(rows.production[rests], rows.floor[rests] + 1)
        begin[rests] = np.maximum(begin[rests], behind)
        kept = np.flatnonzero(begin < end)
        found = rows[kept].between(begin[kept], end[kept])
        repeats = (found.service >= 0) & (found.floor > found.offset)
        if not repeats.any():
            return found
        return Stretches.joined([found[~repeats], *self._once_and_twice(found[repeats])])

    def _caught_up_with(self, rows: Stretches) -> Integers:
        """When nothing is unprocessed in a stretch any more that somebody serves; `FOREVER` elsewhere. Shape (n,)."""
        who = rows.service
        own = np.minimum(np.ceil(self.levels.caught_up[rows.place]), 1e17)
        is_served = (who >= 0) & (own < 1e17)
        times = np.where(is_served, self.since[who] + np.where(is_served, own, 0).astype(np.int64), FOREVER)
        return np.minimum(times, self.caught_up[who])

    def _left_over(self, rows: Stretches) -> Stretches:
        """The parts of served stretches in which all is processed but what the service does not see."""
        begin = np.minimum(np.maximum(rows.begin, self._caught_up_with(rows)), rows.end)
        floor, nobody = np.maximum(rows.floor, rows.offset + rows.offered), np.full(len(rows), -1)
        others = rows.offset, rows.offered, rows.production, rows.place
        return Stretches(rows.partition, begin, rows.end, floor, nobody, *others)

    def _once_and_twice(self, rows: Stretches) -> tuple[Stretches, Stretches]:
        """Served stretches, as parts that nobody seems to serve, and what comes after all has been read again."""
        is_through = self.served(rows, rows.end - 1) >= rows.floor
        through = np.where(is_through, self.departure(rows, rows.floor), rows.end)
        behind = self.arrival(rows.production, rows.floor + 1)
        again = rows.between(np.maximum(rows.begin, behind), through)
        again.service[:] = -1
        new = rows.between(through, rows.end)
        return again[again.begin < again.end], new[new.begin < new.end]
