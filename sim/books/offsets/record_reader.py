"""What one consumer reads, record by record: which poll() returned each record, and when it was processed.

Passes through the poll loop are known (`sim.client.polling.poll_schedule`), and so is what was produced by any time.
A poll() returns what there is, ``max.poll.records`` at most, and the application processes one record after the
other, each at its cost: what a pass has no time for delays what the next ones return. While poll() waits, a record is
returned when it is produced, or once the application is done with what passes before have returned. If there is more
than one poll() can return, it takes turns: one partition's fetch is handed out to its end, then the next partition's
(``FetchCollector.collectFetch``, ``FetchBuffer``, Kafka 4.4). So a member that cannot keep up gives each of its
partitions the same, however much is waiting in them.

Many passes are columns; only a pass that is full is worked out by itself.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.offsets.production import NOWHERE, Offsets, Production
from groupsim.sim.protocol.messages import NO_PARTITIONS, Positions
from groupsim.sim.units import FOREVER

_PASSES = 2_048
"""Passes that are worked on at once."""


class Passes(Protocol):
    """Passes through the poll loop (`sim.client.polling.poll_schedule.PollSchedule`)."""

    start: int
    held_until: int
    slowdown: float

    def passes(self, begin: int, until: int, most: int) -> tuple[Offsets, Offsets, Offsets]:
        """Begin, return of poll(), and end of passes of one kind from the one at ``begin`` on."""
        ...

    def costs(self, begins: Offsets, usual_us: float) -> Offsets:
        """What a record costs in passes that begin at these times; ``usual_us``: on average, undisturbed."""
        ...


class Appetite(NamedTuple):
    """How an application takes records.

    Parameters
    ----------
    poll_records, fetch_records : int
        What one poll() can return, and what a fetch holds of one partition.
    cost_us : float, microseconds
        Of a record, on average.
    wait_us : int, microseconds
        What the application waits for after each.
    poll_us : int, microseconds
        What poll() takes that finds records.
    """

    poll_records: int
    fetch_records: int
    cost_us: float
    wait_us: int = 0
    poll_us: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Records in the order in which they are processed; arrays of shape (n,).

    Parameters
    ----------
    partition : int32 array
    offset : int64 array
    fetched, done : int64 arrays, microseconds
        When poll() returned it, and when it was processed.
    """

    partition: Positions
    offset: Offsets
    fetched: Offsets
    done: Offsets

    def __len__(self) -> int:
        return len(self.partition)

    def part(self, rows: slice | NDArray[np.bool_]) -> Records:
        """Some of them."""
        return Records(self.partition[rows], self.offset[rows], self.fetched[rows], self.done[rows])

    @classmethod
    def joined(cls, parts: list[Records]) -> Records:
        """Those of several, one after the other."""
        columns = ("partition", "offset", "fetched", "done")
        return cls(*(np.concatenate([getattr(part, one) for part in parts]) for one in columns)) if parts else NOTHING


NOTHING = Records(NO_PARTITIONS, NOWHERE, NOWHERE, NOWHERE)


class RecordReader:
    """One incarnation of one consumer.

    Parameters
    ----------
    production : Production
    slot : int
        Index of the consumer in the group.
    charge : callable
        Called with how many records more are kept; it ends the run if they are too many.

    Attributes
    ----------
    stretches : list of (since, base, Records)
        Since when, what had been processed of each partition by then (shape (n_held,)), and what was processed after.
    """

    def __init__(self, production: Production, slot: int, charge: Callable[[int], None]) -> None:
        self._production = production
        self.slot = slot
        self._charge = charge
        self._appetite = Appetite(1, 1, 0.0)
        self._partitions: Positions = NO_PARTITIONS
        self._taken: Offsets = NOWHERE
        """The next offset that a poll() returns of each partition."""
        self.stretches: list[tuple[int, Offsets, Records]] = []
        self._schedule: Passes | None = None
        self._held: tuple[int, int] | None = None
        """A pass that was under way when the schedule began: begin and return."""
        self._next_us = 0
        self._in_hand = NOTHING
        """What poll() has returned and nobody is at work on; ``done``: how long each takes."""
        self._slowdown = 1.0
        """With which that was worked out."""
        self._begun_us = self._busy_us = 0
        """Since when, and until when, the application is at work on what it has."""
        self._anchored = 0
        """Stretches up to the last anchor."""
        self._turn, self._left = -1, 0
        """The partition whose fetch is being handed out, and how many records are left of that."""

    # --- what is read -------------------------------------------------------------------------------------------------

    def anchor(self, now: int, partitions: Positions, offset: Offsets) -> None:
        """From now on ``partitions`` are read, and have been processed up to ``offset``; `follow` must follow."""
        self.break_off(now)
        hand = self._in_hand
        at = np.minimum(np.searchsorted(partitions, hand.partition), len(partitions) - 1)
        goes_on = partitions[at] == hand.partition
        # Of a partition that is read from elsewhere on, nothing is in hand any more.
        first = np.full(len(partitions), -1, np.int64)
        first[at[goes_on][::-1]] = hand.offset[goes_on][::-1]
        goes_on[goes_on] = (first == offset)[at[goes_on]]
        self._in_hand, self._partitions = hand.part(goes_on), partitions
        self._taken = self._past(offset, self._in_hand.partition)
        self.stretches.append((now, offset, NOTHING))
        self._anchored = len(self.stretches)

    def follow(self, schedule: Passes, now: int, appetite: Appetite) -> None:
        """Polls come as ``schedule`` says from now on; the batch in hand is over when the first of them comes."""
        self._schedule, self._appetite, self._next_us = schedule, appetite, schedule.start
        begin = self._begun_us = self._busy_us = now
        if len(rest := self._in_hand):
            self._in_hand = NOTHING
            each = np.rint(rest.done * (schedule.slowdown / self._slowdown)).astype(np.int64)
            self._add(now, replace(rest, done=now + np.cumsum(each)))
            begin = self._busy_us
        self._slowdown = schedule.slowdown
        until = schedule.held_until
        # A poll() that something has ended by coming is the first one of the schedule.
        self._held = (begin, max(begin, until)) if until >= now and schedule.start > now else None

    def break_off(self, now: int) -> None:
        """The application stands still, or its pace changes: the rest of the batch in hand comes later."""
        self.advance(now)
        self._schedule = None
        rest = Records.joined(list(reversed(list(self._cut(now)))))
        is_fetched = rest.fetched < now
        self._taken = self._past(self._taken, rest.partition[~is_fetched], -1)
        rest = replace(rest, done=np.diff(rest.done, prepend=max(now, self._begun_us))).part(is_fetched)
        self._in_hand = Records.joined([self._in_hand, rest])

    def _cut(self, now: int) -> Iterator[Records]:
        """Take out what would be processed after ``now``, the latest first."""
        while self.stretches:
            since, base, records = self.stretches[-1]
            done = int(np.searchsorted(records.done, now, side="right"))
            if done == len(records):
                return
            yield records.part(slice(done, None))
            self._charge(done - len(records))
            self.stretches[-1] = (since, base, records.part(slice(0, done)))
            if done or len(self.stretches) == self._anchored:
                return
            self.stretches.pop()

    def positions(self, now: int) -> Offsets:
        """Processed so far (next offset), per partition. Shape (n_held,)."""
        self.advance(now)
        at = bisect_right(self.stretches, now, key=lambda stretch: stretch[0]) - 1
        _, base, records = self.stretches[max(at, 0)]
        done = int(np.searchsorted(records.done, now, side="right"))
        return self._past(base, records.partition[:done])

    def returned(self, until: int) -> Offsets:
        """What polls that were over before ``until`` have returned (next offset), per partition. Shape (n_held,).

        Who asks ahead does not know what comes in a wait that lasts until then.
        """
        self.advance(until - 1)
        returned = self._taken
        for index in range(len(self.stretches) - 1, self._anchored - 2, -1):
            records = self.stretches[index][2]
            is_later = records.fetched >= until
            returned = self._past(returned, records.partition[is_later], -1)
            if not is_later.all():
                break
        return returned

    def first_done(self, since: Mapping[int, int], until: int) -> tuple[int, int]:
        """The partition whose record is processed first since the last anchor, and when; -1 and `FOREVER`: none is.

        Of records from some offsets on, by partition, that poll() returns by ``until``.
        """
        self.advance(until)
        begins = np.array([since.get(one, FOREVER) for one in self._partitions.tolist()], np.int64)
        for _, _, records in self.stretches[self._anchored - 1 :]:
            which = np.searchsorted(self._partitions, records.partition)
            found = np.flatnonzero(records.offset >= begins[which])
            if found.size:
                return int(records.partition[found[0]]), int(records.done[found[0]])
        return -1, FOREVER

    def _past(self, base: Offsets, partitions: Positions, sign: int = 1) -> Offsets:
        """Offsets after one record more (or less) of each of these."""
        which = np.searchsorted(self._partitions, partitions)
        past: Offsets = base + sign * np.bincount(which, minlength=len(self._partitions))
        return past

    @property
    def _most_records(self) -> int:
        """What one poll() can return of what is held."""
        return min(self._appetite.poll_records, len(self._partitions) * self._appetite.fetch_records)

    def _add(self, since: int, records: Records) -> None:
        if not len(records):
            return
        begun, base, before = self.stretches[-1]
        if len(before):
            base = self._past(base, before.partition)
            self.stretches.append((max(since, self._busy_us), base, records))
        else:
            self.stretches[-1] = (begun, base, records)
        self._busy_us = int(records.done[-1])
        self._charge(len(records))

    # --- passes -------------------------------------------------------------------------------------------------------

    def advance(self, until: int) -> None:
        """Everything that poll() has returned by ``until`` is taken.

        Where few records come a wait inside poll() lasts until the next poll() begins: what has come in it counts then.
        """
        schedule = self._schedule
        if schedule is None or not self._partitions.size:
            return
        if self._held is not None:
            if self._held[1] > until:
                return
            begin, returned = (np.array([time]) for time in self._held)
            self._held = None
            self._take(begin, returned, self._costs(schedule, begin))
        while self._next_us < until:
            begins, returns, ends = schedule.passes(self._next_us, until, _PASSES)
            over = int(np.searchsorted(returns, until, side="right"))
            if not over:
                return
            self._next_us = int(ends[over - 1])
            self._take(begins[:over], returns[:over], self._costs(schedule, begins[:over]))

    def _costs(self, schedule: Passes, begins: Offsets) -> Offsets:
        """What each record of these passes keeps the application."""
        costs: Offsets = schedule.costs(begins, self._appetite.cost_us) + self._appetite.wait_us
        return costs

    def _take(self, begins: Offsets, returns: Offsets, costs: Offsets) -> None:
        """Passes, and what they return; ``costs``: of each record in them."""
        there = np.empty((len(begins), len(self._partitions)), np.int64)
        for column, position in enumerate(self._partitions.tolist()):
            # What comes in a jump while poll() waits ends that, and another pass begins.
            times = begins if self._production.comes_in_jumps(position) else returns
            there[:, column] = self._production.history(times, position)
        leaves = np.minimum(begins + self._appetite.poll_us, returns)
        index, window = 0, _PASSES
        while index < len(begins):
            gained = there[index : index + window] - self._taken
            np.maximum(gained, 0, out=gained)
            gained[1:] -= gained[:-1].copy()
            full = gained.sum(axis=1) > self._most_records
            fitting = int(full.argmax()) if full.any() else len(full)
            if fitting:
                rows = slice(index, index + fitting)
                self._take_all(begins[rows], leaves[rows], costs[rows], gained[:fitting])
                window *= 2
            else:
                self._take_turns(int(returns[index]), int(costs[index]), gained[0])
                fitting, window = 1, 8
            index += fitting

    def _take_all(self, begins: Offsets, leaves: Offsets, costs: Offsets, gained: Offsets) -> None:
        """Passes that return all that there is: ``gained``, of shape (n_passes, n_held), at these ``costs`` each.

        ``leaves``: when the application leaves poll() if something waits as that begins; else it does so with the
        first record, which may be what has made it a pass.
        """
        counts = gained.sum(axis=0)
        if not counts.any():
            return
        which = np.repeat(np.arange(len(counts)), counts)
        offset = np.arange(len(which)) + (self._taken - (np.cumsum(counts) - counts))[which]
        number = np.repeat(np.tile(np.arange(len(begins)), len(counts)), gained.T.ravel())
        partition = self._partitions[which]
        seen = self._production.seen_us(partition.astype(np.intp), offset)
        fetched = np.maximum(seen, np.where(seen == begins[number], seen, leaves[number]))
        order = np.lexsort((fetched, number))
        number, fetched = number[order], fetched[order]
        done = self._worked(fetched, costs[number])
        before = np.append(self._busy_us, done)
        first = np.flatnonzero(np.diff(number, prepend=-1))
        fetched = np.maximum(fetched, np.repeat(before[first], np.diff(first, append=len(number))))
        self._taken = self._taken + counts
        self._add(int(leaves[0]), Records(partition[order], offset[order], fetched, done))

    def _worked(self, fetched: Offsets, each: Offsets) -> Offsets:
        """When records are done that are taken one after the other, whatever is in hand first. Shape (n,)."""
        spent = np.cumsum(each)
        begun = np.maximum(np.maximum.accumulate(fetched - (spent - each)), self._busy_us)
        done: Offsets = begun + spent
        return done

    def _take_turns(self, returned: int, cost_us: int, waiting: Offsets) -> None:
        """A pass that returns as much as it can of what there is, ``waiting`` of shape (n_held,), at this cost each."""
        partitions, offsets = [], []
        need = self._most_records
        at = int(np.searchsorted(self._partitions, self._turn))
        if at == len(self._partitions) or self._partitions[at] != self._turn:
            at, self._left = at - 1, 0
        else:
            self._left = min(self._left, int(waiting[at]))
        while need:
            if not self._left:
                at = self._next_waiting(at, waiting)
                self._left = min(int(waiting[at]), self._appetite.fetch_records)
            count = min(self._left, need)
            partitions.append(np.full(count, self._partitions[at], np.int32))
            offsets.append(self._taken[at] + np.arange(count))
            self._taken[at] += count
            waiting[at] -= count
            self._left, need = self._left - count, need - count
        self._turn = int(self._partitions[at])
        size = self._most_records
        returned = max(returned, self._busy_us)
        done = returned + cost_us * np.arange(1, size + 1)
        fetched = np.full(size, returned)
        self._add(returned, Records(np.concatenate(partitions), np.concatenate(offsets), fetched, done))

    @staticmethod
    def _next_waiting(at: int, waiting: Offsets) -> int:
        """The next partition after ``at`` in which something waits."""
        found = np.flatnonzero(waiting > 0)
        later = int(np.searchsorted(found, at, side="right"))
        return int(found[later % len(found)])
