"""What one shard of the group coordinator has done: where it was, its queue, and what assignors have taken of it."""

from __future__ import annotations

from array import array
from collections import Counter, deque
from dataclasses import dataclass
from typing import NamedTuple

NOWHERE, LOADING, ACTIVE = "nowhere", "loading", "active"
"""States of a shard."""


class Place(NamedTuple):
    """From when on a shard is somewhere (broker id, -1: nowhere), and what it does there."""

    from_us: int
    node: int
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardFigures:
    """A shard in figures: a row of table ``coordinators`` (`sim.tables.COORDINATORS` says what they are)."""

    node: int
    groups: int
    members: int
    requests: int
    basis: str
    utilisation: float
    queue_mean: float | None
    queue_max: int | None
    wait_p50_us: int | None
    wait_p99_us: int | None
    wait_max_us: int | None
    saturated_from: int | None
    starved_from: int | None
    loads: int
    loading_us: int


class ShardBooks:
    """Of one partition of ``__consumer_offsets``; what lies outside ``measure`` is not counted.

    Parameters
    ----------
    partition : int
    measure : (int, int), microseconds

    Attributes
    ----------
    groups : list of str
    figures : ShardFigures
        When the run is over.
    places : list of Place
        In order of time.
    assignors_us : Counter of int
        How often an assignor of the coordinator has taken so long.
    changes_us : Counter of int
        How often something has changed in a group that takes the loop so long, besides the requests.
    waits_us : array of int
        Of each event that has had its turn.
    left_us : array of int
        When that was.
    arrivals : deque of int
        When those came that wait now, in order.
    longest : int
        Most events that ever waited.
    waited_us : int
        The integral over time of how many wait.
    busy_us : int
        For how long the event loop was at work; of a shard that is not metered, with assignors alone.
    """

    figures: ShardFigures

    def __init__(self, partition: int, measure: tuple[int, int]) -> None:
        self.partition = partition
        self.measure = measure
        self.groups: list[str] = []
        self.places: list[Place] = []
        self.assignors_us: Counter[int] = Counter()
        self.changes_us: Counter[int] = Counter()
        self.waits_us = array("q")
        self.left_us = array("q")
        self.arrivals: deque[int] = deque()
        self.longest = self.waited_us = self.busy_us = 0
        self._changed_us = 0

    def enter(self, now: int) -> None:
        """An event has come."""
        self.advance(now)
        self.arrivals.append(now)
        if len(self.arrivals) > self.longest and self._counts(now):
            self.longest = len(self.arrivals)

    def leave(self, now: int) -> None:
        """The first that waits has its turn, or is given up."""
        self.advance(now)
        arrived = self.arrivals.popleft()
        if self._counts(now):
            self.waits_us.append(now - arrived)
            self.left_us.append(now)

    def work(self, begin: int, end: int) -> None:
        """The event loop is at work."""
        low, high = self.measure
        self.busy_us += max(min(end, high) - max(begin, low), 0)

    def run_assignor(self, now: int, duration_us: int) -> None:
        """An assignor has begun to run."""
        if self._counts(now):
            self.assignors_us[duration_us] += 1

    def change(self, now: int, duration_us: int) -> None:
        """Something changes in a group."""
        if duration_us and self._counts(now):
            self.changes_us[duration_us] += 1

    def advance(self, now: int) -> None:
        """Nothing comes or goes until ``now``."""
        low, high = self.measure
        self.waited_us += len(self.arrivals) * max(min(now, high) - max(self._changed_us, low), 0)
        self._changed_us = now

    def _counts(self, now: int) -> bool:
        low, high = self.measure
        return low <= now <= high
