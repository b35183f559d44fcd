"""What each consumer of a group serves: since when, with what backlog, and how fast, as vectors over consumers."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.offsets.holding import Holding
from groupsim.sim.books.offsets.levels import Floats, Levels, Which
from groupsim.sim.books.offsets.offset_log import Load
from groupsim.sim.books.offsets.production import NOWHERE, Offsets
from groupsim.sim.protocol.messages import NO_PARTITIONS
from groupsim.sim.units import FOREVER

_ENDLESS_US = 1e15
Slots: TypeAlias = NDArray[np.intp]
"""Consumers, by their index in the group."""


class Services:
    """Of one group.

    Parameters
    ----------
    slots : int
        Number of consumers the group can have.

    Attributes
    ----------
    since : int64 array, shape (slots,), microseconds
        When each service began.
    until : int64 array, shape (slots,), microseconds
        When a consumer that still has a holding has stopped, or will; `FOREVER`: not known.
    """

    def __init__(self, slots: int) -> None:
        self.since: Offsets = np.zeros(slots, np.int64)
        self.until: Offsets = np.full(slots, FOREVER, np.int64)
        self._loads: list[Load] = [(NO_PARTITIONS, np.empty(0), NOWHERE)] * slots
        """Partitions of each service, with what they offered when it began, and their rates."""
        self._backlog = np.zeros(slots)
        self._total = np.zeros(slots)
        self._capacity = np.zeros(slots)

    def begin(self, holding: Holding, load: Load) -> None:
        """A consumer serves what it holds."""
        slot = holding.slot
        self._loads[slot], self.since[slot] = load, holding.since
        self._backlog[slot], self._total[slot] = holding.backlog, holding.total_rate
        self._capacity[slot] = holding.capacity

    def change_capacity(self, slot: int, capacity: float) -> None:
        """What has just begun has another capacity."""
        self._capacity[slot] = capacity

    def begin_all(
        self, slots: Slots, times: Offsets, load: Load, lengths: NDArray[np.int64], capacity: Floats
    ) -> tuple[Floats, Floats]:
        """The same of many consumers; their backlogs, and what comes for each in a microsecond. Shapes (n,).

        Parameters
        ----------
        slots : intp array, shape (n,)
        times : int64 array, shape (n,), microseconds
        load : Load
            Of one consumer after the other, ``lengths`` of its rows each, at least one.
        capacity : float64 array, shape (n,), records per microsecond
        """
        ends = np.cumsum(lengths)
        begins, (partitions, offered, mrps) = ends - lengths, load
        for slot, begin, end in zip(slots.tolist(), begins.tolist(), ends.tolist(), strict=True):
            self._loads[slot] = partitions[begin:end], offered[begin:end], mrps[begin:end]
        self.since[slots], self._capacity[slots] = times, capacity
        self._backlog[slots] = backlog = np.add.reduceat(offered, begins)
        self._total[slots] = total = np.add.reduceat(mrps, begins) / 1e9
        return backlog, total

    def halt(self, slot: int, now: int) -> None:
        """A consumer stands still: it never catches up."""
        self.since[slot], self._capacity[slot], self._backlog[slot] = now, 0.0, np.inf

    def of(self, slot: int) -> tuple[float, float, float]:
        """Backlog of a service when it began, what comes in a microsecond, and its capacity."""
        return float(self._backlog[slot]), float(self._total[slot]), float(self._capacity[slot])

    def are_behind(self, slots: Which, elapsed: Floats) -> NDArray[np.bool_]:
        """`Holding.is_behind`; ``elapsed`` can have a row for each of several times."""
        behind: NDArray[np.bool_] = (
            self._capacity[slots] * elapsed < self._backlog[slots] + self._total[slots] * elapsed
        )
        return behind

    def worked(self, slots: Which, partitions: Which, elapsed: Floats, begun: Offsets, there: Offsets) -> Offsets:
        """Next offsets of partitions, the services of which are behind. Shape (k,).

        Parameters
        ----------
        slots, partitions : int arrays, shape (k,)
        elapsed : float64 array, shape (k,), microseconds
        begun, there : int64 arrays, shape (k,)
            Offsets at which each service began, and at which there is nothing more to process.
        """
        busy, which = np.unique(slots, return_inverse=True)
        loads = [self._loads[slot] for slot in busy.tolist()]
        lengths = np.array([len(load[0]) for load in loads])
        levels = Levels(self._capacity[busy], lengths, *map(np.concatenate, zip(*loads, strict=True)))
        return levels.whole(which, levels.places(which, partitions), elapsed, begun, there)

    def caught_up(self, slots: Slots) -> Offsets:
        """When consumers have no backlog any more; 0: they had none, `FOREVER`: never at this pace. Shape (n,)."""
        backlog, spare = self._backlog[slots], self._capacity[slots] - self._total[slots]
        needed = np.divide(backlog, spare, out=np.full(len(slots), np.inf), where=spare > 0)
        is_endless = needed >= _ENDLESS_US
        over = self.since[slots] + np.ceil(np.where(is_endless, 0, needed)).astype(np.int64)
        times: Offsets = np.where(backlog < 1, 0, np.where(is_endless, FOREVER, over))
        return times
