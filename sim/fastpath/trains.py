"""Requests of one kind that a quiet member sends: how many, and which of them are recent."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from groupsim.sim.elementwise import least, most
from groupsim.sim.units import FOREVER


class Stretch(NamedTuple):
    """Requests of one kind, ``stride`` microseconds apart: when the first was sent, its number, how many."""

    first: int
    number: int
    stride: int
    length: int

    @property
    def last(self) -> int:
        """When the last was sent."""
        return self.first + (self.length - 1) * self.stride


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
        recent, stretch = self.recent, Stretch(first, self.number, stride, count)
        if recent and recent[-1].stride == stride and recent[-1].last + stride == first:
            before = recent.pop()
            stretch = Stretch(before.first, before.number, stride, before.length + count)
        recent.append(stretch)
        self._forget(stretch.last - self.keep_us)
        self.number += count
        self.count += count
        self.due = stretch.last + self.interval

    def extend(self, sent: Sequence[Stretch]) -> None:
        """Send all up to the last of ``sent``; of those before it some may be left out that are forgotten by then.

        All are measured, or none is.
        """
        latest, kept = sent[-1], len(sent) - 1
        last, count = latest.last, latest.number + latest.length - self.number
        while kept and sent[kept - 1].last >= last - self.keep_us:
            kept -= 1
        self.measured += count * (self.measure[0] <= last <= self.measure[1])
        self.recent.extend(sent[kept:])
        self._forget(last - self.keep_us)
        self.number += count
        self.count += count
        self.due = last + self.interval

    def _forget(self, before: int) -> None:
        recent = self.recent
        while recent[0].last < before:
            recent.popleft()

    def sent_within(self, low: int, high: int) -> list[tuple[int, int]]:
        """When those sent within [low, high] were sent, and their numbers."""
        found: list[tuple[int, int]] = []
        for first, number, stride, count in self.recent:
            begin = max(0, -(-(low - first) // stride))
            end = min(count, (high - first) // stride + 1)
            found += [(first + index * stride, number + index) for index in range(begin, end)]
        return found

    def last_before(self, time: int) -> int:
        """When the last before ``time`` was sent; `-FOREVER`: never."""
        for first, _, stride, count in reversed(self.recent):
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
        return replace(self, recent=deque(self.recent))


def terms_within(first: Any, stride: Any, count: Any, low: int, high: int) -> Any:
    """How many of ``first``, ``first + stride``, ... (``count`` of them) lie in [low, high]; of many, as columns."""
    begin = most(-(-(low - first) // stride), 0)
    return most(least((high - first) // stride + 1, count) - begin, 0)
