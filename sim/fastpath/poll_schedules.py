"""The poll loops of many members at once: `sim.client.poll_schedule`, element by element.

A schedule in closed form is seven integers, so the polls of thousands are a few operations on columns. A drawn one has
to be asked itself. Whatever is asked for here, `PollSchedule` gives the same integer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.client.poll_schedule import ENDLESS, DrawnPollSchedule, PollSchedule
from groupsim.sim.model import Processing
from groupsim.sim.randomness import mean_of
from groupsim.sim.units import FOREVER

Times = NDArray[np.int64]
Floats = NDArray[np.float64]
Which = NDArray[np.intp]
"""Indices of the members that are meant. Shape (n,), like everything that goes with it."""


class PollSchedules:
    """Poll schedules as columns, as they are when this is made.

    Parameters
    ----------
    table : int64 array, shape (7, n)
        In closed form: start, held_until, full passes; a full pass and the wait in it; a steady pass and its wait.
    drawn : mapping of int to DrawnCadence
        Those that have to be asked themselves, by index.
    """

    def __init__(self, table: Times, drawn: Mapping[int, DrawnPollSchedule]) -> None:
        self._table, self._drawn = table, drawn
        self._start, self._held_until, passes, self._full, self._full_wait, self._steady, self._steady_wait = table
        # A backlog that never ends has a billion passes; no instant is as late as this.
        self._passes = np.minimum(passes, FOREVER // 2 // self._full)
        self._switch = self._start + self._passes * self._full
        self._is_drawn = np.zeros(table.shape[1], np.bool_)
        self._is_drawn[list(drawn)] = True

    @classmethod
    def of(cls, schedules: Sequence[PollSchedule]) -> PollSchedules:
        """Columns of these."""
        columns = [
            (
                one.start, one.held_until, one.full_passes,
                one.full_us, one.full_wait_us, one.steady_us, one.steady_wait_us,
            )
            for one in schedules
        ]  # fmt: skip
        drawn = {index: one for index, one in enumerate(schedules) if isinstance(one, DrawnPollSchedule)}
        return cls(np.array(columns, np.int64).reshape(-1, 7).T.copy(), drawn)

    def followed_by(self, other: PollSchedules) -> PollSchedules:
        """These, and then others."""
        n = self._table.shape[1]
        drawn = {**self._drawn, **{n + index: one for index, one in other._drawn.items()}}
        return PollSchedules(np.concatenate([self._table, other._table], axis=1), drawn)

    def _passes_at(self, times: Times, which: Which) -> tuple[Times, Times, Times]:
        """Begin, wait and length of the passes under way at ``times`` (at least the start)."""
        start, switch = self._start[which], self._switch[which]
        full, steady = self._full[which], self._steady[which]
        is_full = times < switch
        begin = np.where(is_full, start + (times - start) // full * full, switch + (times - switch) // steady * steady)
        wait = np.where(is_full, self._full_wait[which], self._steady_wait[which])
        return begin, wait, np.where(is_full, full, steady)

    def next_polls(self, times: Times, which: Which) -> Times:
        """`PollSchedule.next_poll`."""
        start = self._start[which]
        begin, _, length = self._passes_at(times, which)
        polls = np.where(times <= start, start, np.where(begin == times, begin, begin + length))
        for index in np.flatnonzero(self._is_drawn[which]):
            polls[index] = self._drawn[int(which[index])].next_poll(int(times[index]))
        return polls

    @property
    def start(self) -> Times:
        """The first polls."""
        start: Times = self._start
        return start

    @property
    def is_drawn(self) -> NDArray[np.bool_]:
        """Who has to be asked itself: the next three are not for these."""
        return self._is_drawn

    @property
    def shortest_us(self) -> Times:
        """`PollSchedule.shortest_us`."""
        shortest: Times = np.where(self._passes > 0, np.minimum(self._full, self._steady), self._steady)
        return shortest

    def count_before(self, times: Times) -> Times:
        """How many polls each has had before its time."""
        full = -(-(times - self._start) // self._full)
        steady = self._passes - (self._switch - times) // self._steady
        count: Times = np.maximum(np.where(times <= self._switch, full, steady), 0)
        return count

    def polls(self, numbers: Times, which: Which) -> Times:
        """When the polls of these numbers are, from 0 on. Shape (n, k), like ``numbers``."""
        start, full, passes = self._start[which, None], self._full[which, None], self._passes[which, None]
        steady = self._switch[which, None] + (numbers - passes) * self._steady[which, None]
        polls: Times = np.where(numbers < passes, start + numbers * full, steady)
        return polls

    def reactions(self, times: Times, which: Which) -> Times:
        """`PollSchedule.reaction`."""
        start = self._start[which]
        begin, wait, length = self._passes_at(times, which)
        inside = np.where(times <= start, times <= self._held_until[which], times <= begin + wait)
        polls = np.where(inside, times, np.where(times <= start, start, begin + length))
        for index in np.flatnonzero(self._is_drawn[which]):
            polls[index] = self._drawn[int(which[index])].reaction(int(times[index]))
        return polls

    def trains(self, polls: Times, intervals: Times, before: Times, which: Which) -> tuple[Times, Times]:
        """`PollSchedule.train`."""
        switch, is_drawn = self._switch[which], self._is_drawn[which]
        is_full = polls < switch
        length = np.where(is_full, self._full[which], self._steady[which])
        end = np.where(is_full, np.minimum(before, switch), before)
        strides = -(-intervals // length) * length
        more = np.maximum((end - 1 - polls) // strides, 0)
        return np.where(is_drawn, 0, more), np.where(is_drawn, intervals, strides)


class Paces(NamedTuple):
    """`sim.client.poll_schedule.Pace` of many members, and how many full passes they need. Each of shape (n,).

    Parameters
    ----------
    full_us, steady_us, steady_wait_us, full_passes : int64 arrays
    capacity : float64 array, records per microsecond
    """

    full_us: Times
    steady_us: Times
    steady_wait_us: Times
    full_passes: Times
    capacity: Floats

    @property
    def shortest_us(self) -> Times:
        """`PollSchedule.shortest_us`."""
        return np.where(self.full_passes > 0, np.minimum(self.full_us, self.steady_us), self.steady_us)

    @property
    def longest_us(self) -> Times:
        """`PollSchedule.longest_us`."""
        return np.where(self.full_passes > 0, np.maximum(self.full_us, self.steady_us), self.steady_us)


def paces(
    processing: Processing, most_records: Times, poll_us: int, rates: Floats, backlogs: Floats, slowdown: Floats
) -> Paces:
    """`sim.client.poll_schedule.pace` of many members that process alike: the same integers, and the same doubles.

    Parameters
    ----------
    processing : Processing
    most_records : int64 array, shape (n,)
    poll_us : int, microseconds
    rates, backlogs : float64 arrays, shape (n,)
        Their loads: records per microsecond, and records.
    slowdown : float64 array, shape (n,)
    """
    cost, timeout = mean_of(processing.per_record) * slowdown, processing.poll_timeout_us
    each = processing.per_poll_us * slowdown
    fixed = poll_us + each
    most = np.maximum(np.rint(fixed + most_records * cost), 1)
    fewest = np.minimum(most_records, np.maximum(np.rint(backlogs), 1))
    records = np.where(rates * most >= most_records, most_records, fewest)
    full = np.maximum(np.rint(fixed + records * cost), 1)
    is_idle, spare = rates * timeout < 1, 1 - rates * cost
    with np.errstate(divide="ignore", invalid="ignore"):
        least = np.maximum(np.maximum(fixed / spare, fixed + cost), 1 / rates)
    length = np.maximum(np.rint(np.where(spare <= 0, most, np.minimum(most, least))), 1)
    batch = np.rint(each + rates * length * cost)
    wait = np.minimum(np.where(length < most, np.maximum(length - batch, 0), poll_us), length)
    steady, capacity = np.where(is_idle, timeout, length), most_records / most
    passes = _full_passes(full, np.maximum(rates * steady, 1), capacity, rates, backlogs)
    steady_wait = np.where(is_idle, timeout, wait)
    full_us, steady_us, wait_us, full_passes = (one.astype(np.int64) for one in (full, steady, steady_wait, passes))
    return Paces(full_us, steady_us, wait_us, full_passes, capacity)


def _full_passes(full_us: Floats, batch: Floats, capacity: Floats, rates: Floats, backlogs: Floats) -> Floats:
    """`sim.client.poll_schedule._full_passes`."""
    spare = capacity - rates
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.minimum(np.floor(backlogs / spare / full_us) + 1, ENDLESS)
    return np.where(spare <= 0, ENDLESS, np.where(backlogs <= batch, 0, needed))
