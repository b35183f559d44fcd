"""When the application is inside poll(), if a record costs a random time: passes are drawn, and summed up."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Any

import numpy as np

from groupsim.sim.client.polling.pace import Load, Pace
from groupsim.sim.client.polling.poll_schedule import NOT_INSIDE, PollSchedule
from groupsim.sim.client.polling.settling import Settling
from groupsim.sim.elementwise import least, most
from groupsim.sim.randomness import Draw, longest, shortest
from groupsim.sim.units import FOREVER

_BLOCK = 256


def busy_us(costs: Any, records: Any, slowdown: Any, record_wait_us: Any, fixed_us: Any) -> Any:
    """How long the application is at work on batches of so many records, if each of them costs what is drawn.

    All are columns of shape (n,), or the same for all; the result is microseconds.
    """
    each = costs * slowdown + record_wait_us
    return np.maximum(np.rint(each * records).astype(np.int64) + fixed_us, 1)


class DrawnPollSchedule(PollSchedule):
    """Polls whose batches cost a random time per record, one draw a batch.

    Parameters
    ----------
    cost : Draw
        Mean cost of a record of batch n, microseconds.
    first : int
        Number of the first batch.
    fixed_us : int
        Cost of a batch beside its records.
    record_wait_us : int
        What is waited for after each record, however dear it is.
    """

    __slots__ = ("_begins", "_cost", "_first", "_fixed_us", "_record_wait_us", "_records", "_waits")

    def __init__(
        self,
        start: int,
        pace: Pace,
        load: Load,
        before: int | None = None,
        held_until: int = NOT_INSIDE,
        fetch_us: int = FOREVER,
        *,
        cost: Draw,
        first: int,
        fixed_us: int,
        record_wait_us: int = 0,
    ) -> None:
        super().__init__(start, pace, load, before, held_until, fetch_us)
        self._cost, self._first, self._fixed_us, self._record_wait_us = cost, first, fixed_us, record_wait_us
        settling = self.settling if self.settling is not None else Settling((), ())
        self._records = [pace.full_records, *settling.records, pace.steady_records]
        self._waits = [self.full_wait_us, *settling.waits, self.steady_wait_us]
        self._begins = array("q", [0])

    def _extend(self, elapsed: int) -> None:
        begins = self._begins
        while begins[-1] <= elapsed:
            number = len(begins) - 1
            costs = self._cost.range(self._first + number, _BLOCK)
            kinds = self._kinds(np.arange(number, number + _BLOCK))
            records, wait = np.array(self._records)[kinds], np.array(self._waits)[kinds]
            busy = busy_us(costs, records, self.slowdown, self._record_wait_us, self._fixed_us)
            begins.frombytes((begins[-1] + np.cumsum(busy + wait)).tobytes())

    def _kinds(self, numbers: Any) -> Any:
        """Which records and waits passes have; of one number, or of many."""
        return least(most(numbers - self.full_passes + 1, 0), len(self._waits) - 1)

    def pass_at(self, time: int) -> tuple[int, int, int]:
        """Begin, wait and length of the pass under way at ``time`` (at least ``start``)."""
        elapsed = time - self.start
        self._extend(elapsed)
        index = bisect_right(self._begins, elapsed) - 1
        begin = self._begins[index]
        return self.start + begin, self._waits[self._kinds(index)], self._begins[index + 1] - begin

    def _restart_at(self, upcoming: int) -> None:
        done = self._passes_before(upcoming)
        self._first += done
        over = min(max(0, done - self.full_passes), len(self._waits) - 2)
        del self._records[1 : 1 + over], self._waits[1 : 1 + over]
        self.settling = self.settling.from_pass(over) if self.settling is not None else None
        self.full_passes = max(0, self.full_passes - done)
        self._begins = array("q", [begin - self._begins[done] for begin in self._begins[done:]])

    def _passes_before(self, time: int) -> int:
        if time <= self.start:
            return 0
        self._extend(time - self.start)
        return bisect_right(self._begins, time - self.start - 1)

    def passes_before(self, begin: int) -> Iterator[tuple[int, int, bool]]:
        """How many that wait alike come before the pass at ``begin``, the wait, whether they are the settled ones."""
        count, waits = self._passes_before(begin), self._waits
        yield min(count, self.full_passes), waits[0], False
        settling = waits[1:-1][: max(count - self.full_passes, 0)]
        yield from ((1, wait, False) for wait in settling)
        yield max(count - self.full_passes - len(settling), 0), waits[-1], True

    def is_settled(self, time: int) -> bool:
        """Whether passes from ``time`` on differ by their draws alone."""
        return bool(self._passes_before(time) >= self.full_passes + len(self._waits) - 2)

    def passes(self, begin: int, until: int, most: int) -> tuple[Any, Any, Any]:
        """Passes from the one that begins at ``begin`` on, full ones or others."""
        self._extend(until - self.start)
        first = bisect_right(self._begins, begin - self.start) - 1
        last = min(bisect_left(self._begins, until - self.start), first + most)
        begins = self.start + np.array(self._begins[first : last + 1], np.int64)
        waits = np.array(self._waits)[self._kinds(np.arange(first, last))]
        return begins[:-1], begins[:-1] + waits, begins[1:]

    def costs(self, begins: Any, usual_us: float) -> Any:
        """What a record costs in passes that begin at these times, as drawn; the pass under way at first included."""
        self._extend(int(begins[-1]) - self.start)
        past = np.searchsorted(self._begins, begins - self.start, side="right") - 1
        numbers = np.maximum(self._first + past, 0)
        drawn = self._cost.range(int(numbers[0]), int(numbers[-1] - numbers[0]) + 1)
        return np.rint(drawn[numbers - numbers[0]] * self.slowdown).astype(np.int64)

    def number_at(self, time: int) -> int:
        """Number of the first batch at or after ``time``."""
        return self._first + self._passes_before(time)

    def polls(self, since: int, before: int) -> array[int]:
        """All from ``since`` on that are before ``before``."""
        first, start = self._passes_before(since), self.start
        return array("q", [start + begin for begin in self._begins[first : self._passes_before(before)]])

    def train(self, poll: int, interval: int, before: int) -> tuple[int, int]:
        """Passes differ: no stride is constant."""
        return 0, interval

    @property
    def law(self) -> tuple[object, ...]:
        """What decides how long passes without a backlog are, draws aside."""
        return (
            self._cost.distribution,
            self._records[-1],
            self.slowdown,
            self._fixed_us,
            self._record_wait_us,
            self.steady_wait_us,
        )

    @property
    def shortest_us(self) -> int:
        """Shortest pass that can be drawn, microseconds."""
        return int(min(self._lengths(shortest(self._cost.distribution))))

    def shortest_from(self, time: int) -> int:
        """The same of passes that begin from ``time`` on: once it is known to be settled others do not count."""
        begins, others = self._begins, self.full_passes + len(self._waits) - 2
        if others < len(begins) and begins[others] <= time - self.start:
            return int(self._lengths(shortest(self._cost.distribution))[-1])
        return self.shortest_us

    @property
    def longest_us(self) -> int:
        """Longest pass that can be drawn, microseconds."""
        return round(max(self._lengths(longest(self._cost.distribution))))

    def _lengths(self, cost_us: int) -> list[float]:
        """Lengths of passes to come, the settled ones last, if a record costs so much."""
        each_us = cost_us * self.slowdown + self._record_wait_us
        passes = zip(self._waits, self._records, strict=True)
        lengths = [wait + self._fixed_us + records * each_us for wait, records in passes]
        return lengths if self.full_passes else lengths[1:]

    def passes_from(self, time: int) -> None:
        """Passes differ."""
        return

    def waits(self, low: int, high: int) -> list[tuple[int, int]]:
        """Begin and end of the wait inside poll() of the pass under way at ``low``, and of those up to ``high``."""
        start = self.start
        self._extend(high - start)
        first, until = bisect_right(self._begins, low - start) - 1, bisect_right(self._begins, high - start)
        begins = self._begins[first:until]
        return [
            (start + begin, start + begin + self._waits[self._kinds(number)])
            for number, begin in enumerate(begins, first)
        ]
