"""Requests of one kind that quiet members send: how many, and which of them are recent."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from groupsim.sim.elementwise import least, most, some
from groupsim.sim.units import FOREVER

Stretch = tuple[int, Sequence[int]]
"""Requests of one kind, one after the other: number of the first, and when each was sent (a range, if regularly)."""


@dataclass(slots=True)
class Train:
    """One kind of request: when the next is due, its number, and when the last two were sent (`-FOREVER`: never).

    Of one member (`RecentTrain`), or of many, whose numbers are columns of shape (n,).

    Parameters
    ----------
    due : int, microseconds
    number, first : int
        Of the next, and of the first since the member fell silent.
    interval : int, microseconds
        From one request to when the next is due.
    measure : (int, int), microseconds
        Requests sent within are counted in ``measured``.
    """

    due: Any
    number: Any
    first: Any
    interval: Any
    measure: tuple[int, int]
    measured: Any = 0
    older: Any = -FOREVER
    newer: Any = -FOREVER

    @property
    def sent(self) -> Any:
        """How many since the member fell silent."""
        return self.number - self.first

    @classmethod
    def of(cls, trains: Sequence[Train], measure: tuple[int, int]) -> Train:
        """Those of many as columns."""
        columns = [(one.due, one.number, one.first, one.interval, one.measured, one.older, one.newer) for one in trains]
        due, number, first, interval, *rest = np.array(columns, np.int64).reshape(-1, 7).T.copy()
        return Train(due, number, first, interval, measure, *rest)

    @classmethod
    def begun(cls, due: Any, number: Any, interval: Any, measure: tuple[int, int]) -> Train:
        """Columns of those of which nothing is sent yet."""
        never = np.full(len(due), -FOREVER)
        return Train(due, number, number.copy(), interval, measure, np.zeros_like(due), never, never.copy())

    def followed_by(self, other: Train) -> Train:
        """Columns of these, and then of others."""
        mine, theirs = self._columns(), other._columns()
        due, number, first, interval, *rest = map(np.concatenate, zip(mine, theirs, strict=True))
        return Train(due, number, first, interval, self.measure, *rest)

    def _columns(self) -> tuple[Any, ...]:
        return self.due, self.number, self.first, self.interval, self.measured, self.older, self.newer

    def send_at_polls(self, schedule: Any, before: Any) -> None:
        """Send each at the first poll from when it is due on, if that is before ``before`` (microseconds).

        ``schedule``: `PollSchedule` of one member, `PollSchedules` of many.
        """
        while some(self.due < before):
            poll = schedule.next_poll(least(self.due, before))
            is_sent = poll < before
            if not some(is_sent):
                return
            more, stride = schedule.train(poll, self.interval, before)
            self.add(poll, stride, (more + 1) * is_sent)

    def add(self, first: Any, stride: Any, count: Any) -> None:
        """``count`` requests from ``first`` on, ``stride`` apart; the next is due an interval after the last."""
        last, is_sent = first + (count - 1) * stride, count > 0
        self.measured += terms_within(first, stride, count, *self.measure)
        self.older += is_sent * (self.newer - self.older)
        self.older += (count > 1) * (last - stride - self.older)
        self.newer += is_sent * (last - self.newer)
        self.due += is_sent * (last + self.interval - self.due)
        self.number += count


@dataclass(slots=True)
class RecentTrain(Train):
    """Requests of one member, and which were the recent ones.

    Parameters
    ----------
    keep_us : int, microseconds
        What was sent longer before the last one than that is forgotten.
    """

    due: int
    number: int
    interval: int
    newer: int = -FOREVER
    keep_us: int = FOREVER
    recent: deque[Stretch] = field(default_factory=deque)

    def add(self, first: int, stride: int, count: int) -> None:
        """``count`` requests, one at least, from ``first`` on."""
        begun, number, recent = first, self.number, self.recent
        Train.add(self, first, stride, count)
        if recent:
            earlier, times = recent[-1]
            if isinstance(times, range) and times.step == stride and times[-1] + stride == first:
                recent.pop()
                begun, number = times.start, earlier
        recent.append((number, range(begun, self.newer + 1, stride)))
        self._forget()

    def add_each(self, times: Sequence[int]) -> None:
        """Requests at these times, ascending."""
        if times:
            opens, closes = self.measure
            self.measured += bisect_right(times, closes) - bisect_left(times, opens)
            forgotten = bisect_left(times, times[-1] - self.keep_us)
            self._send([(self.number + forgotten, times[forgotten:])], times[-2] if len(times) > 1 else self.newer)

    def extend(self, sent: Sequence[Stretch]) -> None:
        """Send all up to the last of ``sent``; of those before it some may be left out that are forgotten by then.

        All are measured, or none is.
        """
        number, times = sent[-1]
        last, kept = times[-1], len(sent) - 1
        self.measured += (number + len(times) - self.number) * (self.measure[0] <= last <= self.measure[1])
        while kept and sent[kept - 1][1][-1] >= last - self.keep_us:
            kept -= 1
        before = sent[-2][1] if len(sent) > 1 else (self.newer,)
        self._send(sent[kept:], times[-2] if len(times) > 1 else before[-1])

    def _send(self, sent: Sequence[Stretch], older: int) -> None:
        """Send these; ``older``: the last but one."""
        number, times = sent[-1]
        self.older, self.newer = older, times[-1]
        self.number, self.due = number + len(times), times[-1] + self.interval
        self.recent += sent
        self._forget()

    def _forget(self) -> None:
        recent, before = self.recent, self.newer - self.keep_us
        while recent[0][1][-1] < before:
            recent.popleft()

    def sent_within(self, low: int, high: int) -> list[tuple[int, int]]:
        """When those sent within [low, high] were sent, and their numbers."""
        found: list[tuple[int, int]] = []
        for number, times in self.recent:
            begin = bisect_left(times, low)
            sent = times[begin : bisect_right(times, high)]
            found += zip(sent, range(number + begin, number + begin + len(sent)), strict=True)
        return found

    def last_before(self, time: int) -> int:
        """When the last before ``time`` was sent; `-FOREVER`: never."""
        for _, times in reversed(self.recent):
            if times[0] < time:
                return times[bisect_left(times, time) - 1]
        return -FOREVER

    def number_of(self, sent: int) -> int:
        """Number of the one sent at ``sent``: the last one, or one to come before which no pause comes."""
        return self.number - 1 if sent < self.due else self.number + (sent - self.due) // self.interval

    def fork(self) -> RecentTrain:
        """The same, to go on by itself."""
        return RecentTrain(
            self.due, self.number, self.first, self.interval, self.measure, self.measured, self.older, self.newer,
            self.keep_us, deque(self.recent),
        )  # fmt: skip


def terms_within(first: Any, stride: Any, count: Any, low: int, high: int) -> Any:
    """How many of ``first``, ``first + stride``, ... (``count`` of them) lie in [low, high]; of many, as columns."""
    begin = most(-(-(low - first) // stride), 0)
    return most(least((high - first) // stride + 1, count) - begin, 0)
