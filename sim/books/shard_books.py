"""What one shard of the group coordinator has done: where it was, its queue, and what assignors have taken of it."""

from __future__ import annotations

from array import array
from collections import Counter
from typing import NamedTuple

NOWHERE, LOADING, ACTIVE = "nowhere", "loading", "active"
"""States of a shard."""


class Place(NamedTuple):
    """From when on a shard is somewhere (broker id, -1: nowhere), and what it does there."""

    from_us: int
    node: int
    state: str


class ShardBooks:
    """Of one partition of ``__consumer_offsets``; what lies outside ``measure`` is not counted.

    Parameters
    ----------
    partition : int
    measure : (int, int), microseconds

    Attributes
    ----------
    groups : list of str
    places : list of Place
        In order of time.
    assignors_us : Counter of int
        How often an assignor of the coordinator has taken so long.
    waits_us : array of int
        Of each event that has had its turn.
    length, longest : int
        How many events wait now, and the most that ever did.
    waited_us : int
        The integral of ``length`` over time.
    busy_us : int
        For how long the event loop was at work; of a shard that is not metered, with assignors alone.
    """

    def __init__(self, partition: int, measure: tuple[int, int]) -> None:
        self.partition = partition
        self.measure = measure
        self.groups: list[str] = []
        self.places: list[Place] = []
        self.assignors_us: Counter[int] = Counter()
        self.waits_us = array("q")
        self.length = self.longest = self.waited_us = self.busy_us = 0
        self._changed_us = 0

    def enter(self, now: int) -> None:
        """An event has come."""
        self.advance(now)
        self.length += 1
        if self.length > self.longest and self._counts(now):
            self.longest = self.length

    def leave(self, now: int, wait_us: int) -> None:
        """An event has its turn, or is given up."""
        self.advance(now)
        self.length -= 1
        if self._counts(now):
            self.waits_us.append(wait_us)

    def work(self, begin: int, end: int) -> None:
        """The event loop is at work."""
        low, high = self.measure
        self.busy_us += max(min(end, high) - max(begin, low), 0)

    def run_assignor(self, now: int, duration_us: int) -> None:
        """An assignor has begun to run."""
        if self._counts(now):
            self.assignors_us[duration_us] += 1

    def advance(self, now: int) -> None:
        """Nothing comes or goes until ``now``."""
        low, high = self.measure
        self.waited_us += self.length * max(min(now, high) - max(self._changed_us, low), 0)
        self._changed_us = now

    def _counts(self, now: int) -> bool:
        low, high = self.measure
        return low <= now <= high
