"""Requests of one kind that a quiet member sends: how many, and which of them are recent."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from groupsim.sim.elementwise import least, most
from groupsim.sim.units import FOREVER

Stretch = tuple[int, int, int, int, int]
"""Requests of one kind: when the first was sent, its number, how far apart they are, how many, when the last was."""


@dataclass(slots=True)
class Train:
    """One kind of request: when the next is due, its number, how many there were, and the recent ones.

    Parameters
    ----------
    due, number : int
    interval : int, microseconds
        From one request to when the next is due.
    measure : (int, int), microseconds
        Requests sent within are counted in ``measured``.
    keep_us : int, microseconds
        What was sent longer before the last one than that is forgotten.
    """

    due: int
    number: int
    interval: int
    measure: tuple[int, int]
    keep_us: int
    count: int = 0
    measured: int = 0
    recent: deque[Stretch] = field(default_factory=deque)

    def add(self, first: int, stride: int, count: int) -> None:
        """``count`` requests from ``first`` on, ``stride`` apart; the next is due an interval after the last."""
        self.measured += terms_within(first, stride, count, *self.measure)
        recent, last = self.recent, first + (count - 1) * stride
        begun, number, length = first, self.number, count
        if recent:
            earlier, earliest_number, apart, many, end = recent[-1]
            if apart == stride and end + stride == first:
                recent.pop()
                begun, number, length = earlier, earliest_number, many + count
        recent.append((begun, number, stride, length, last))
        self._send(last, count)

    def extend(self, sent: Sequence[Stretch]) -> None:
        """Send all up to the last of ``sent``; of those before it some may be left out that are forgotten by then.

        All are measured, or none is.
        """
        _, number, _, length, last = sent[-1]
        kept, count = len(sent) - 1, number + length - self.number
        while kept and sent[kept - 1][4] >= last - self.keep_us:
            kept -= 1
        self.measured += count * (self.measure[0] <= last <= self.measure[1])
        self.recent += sent[kept:]
        self._send(last, count)

    def _send(self, last: int, count: int) -> None:
        """So many more are sent, the last of them at ``last``."""
        recent, before = self.recent, last - self.keep_us
        while recent[0][4] < before:
            recent.popleft()
        self.number += count
        self.count += count
        self.due = last + self.interval

    def sent_within(self, low: int, high: int) -> list[tuple[int, int]]:
        """When those sent within [low, high] were sent, and their numbers."""
        found: list[tuple[int, int]] = []
        for first, number, stride, count, _ in self.recent:
            begin = max(0, -(-(low - first) // stride))
            end = min(count, (high - first) // stride + 1)
            found += [(first + index * stride, number + index) for index in range(begin, end)]
        return found

    def last_before(self, time: int) -> int:
        """When the last before ``time`` was sent; `-FOREVER`: never."""
        for first, _, stride, count, _ in reversed(self.recent):
            if first < time:
                return first + min(count - 1, (time - 1 - first) // stride) * stride
        return -FOREVER

    def number_of(self, sent: int) -> int:
        """Number of the one sent at ``sent``: the last one, or one to come before which no pause comes."""
        return self.number - 1 if sent < self.due else self.number + (sent - self.due) // self.interval

    @property
    def first_number(self) -> int:
        """Number of the first since the member fell silent."""
        return self.number - self.count

    def fork(self) -> Train:
        """The same, to go on by itself."""
        return Train(
            self.due, self.number, self.interval, self.measure, self.keep_us, self.count, self.measured,
            deque(self.recent),
        )  # fmt: skip


def terms_within(first: Any, stride: Any, count: Any, low: int, high: int) -> Any:
    """How many of ``first``, ``first + stride``, ... (``count`` of them) lie in [low, high]; of many, as columns."""
    begin = most(-(-(low - first) // stride), 0)
    return most(least((high - first) // stride + 1, count) - begin, 0)
