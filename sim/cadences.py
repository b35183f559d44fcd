"""The poll loops of many members at once: `sim.cadence`, element by element.

A cadence in closed form is seven integers, so the polls of thousands are a few operations on columns. A drawn one has
to be asked itself. Whatever is asked for here, `Cadence` gives the same integer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sim.cadence import Cadence, DrawnCadence
from sim.units import FOREVER

Times = NDArray[np.int64]
Which = NDArray[np.intp]
"""Indices of the members that are meant. Shape (n,), like everything that goes with it."""


class Cadences:
    """Cadences as columns, as they are when this is made.

    Parameters
    ----------
    cadences : sequence of Cadence
    """

    def __init__(self, cadences: Sequence[Cadence]) -> None:
        self._cadences = cadences
        columns = [
            (
                one.start, one.held_until, one.full_passes,
                one.full_us, one.full_wait_us, one.steady_us, one.steady_wait_us,
            )
            for one in cadences
        ]  # fmt: skip
        table = np.array(columns, np.int64).reshape(-1, 7).T.copy()
        self._start, self._held_until, passes, self._full, self._full_wait, self._steady, self._steady_wait = table
        # A backlog that never ends has a billion passes; no instant is as late as this.
        self._switch = self._start + np.minimum(passes, FOREVER // 2 // self._full) * self._full
        self._is_drawn = np.array([isinstance(one, DrawnCadence) for one in cadences], np.bool_)

    def _passes_at(self, times: Times, which: Which) -> tuple[Times, Times, Times]:
        """Begin, wait and length of the passes under way at ``times`` (at least the start)."""
        start, switch = self._start[which], self._switch[which]
        full, steady = self._full[which], self._steady[which]
        is_full = times < switch
        begin = np.where(is_full, start + (times - start) // full * full, switch + (times - switch) // steady * steady)
        wait = np.where(is_full, self._full_wait[which], self._steady_wait[which])
        return begin, wait, np.where(is_full, full, steady)

    def next_polls(self, times: Times, which: Which) -> Times:
        """`Cadence.next_poll`."""
        start = self._start[which]
        begin, _, length = self._passes_at(times, which)
        polls = np.where(times <= start, start, np.where(begin == times, begin, begin + length))
        for index in np.flatnonzero(self._is_drawn[which]):
            polls[index] = self._cadences[which[index]].next_poll(int(times[index]))
        return polls

    def reactions(self, times: Times, which: Which) -> Times:
        """`Cadence.reaction`."""
        start = self._start[which]
        begin, wait, length = self._passes_at(times, which)
        inside = np.where(times <= start, times <= self._held_until[which], times <= begin + wait)
        polls = np.where(inside, times, np.where(times <= start, start, begin + length))
        for index in np.flatnonzero(self._is_drawn[which]):
            polls[index] = self._cadences[which[index]].reaction(int(times[index]))
        return polls

    def trains(self, polls: Times, intervals: Times, before: Times, which: Which) -> tuple[Times, Times]:
        """`Cadence.train`."""
        switch, is_drawn = self._switch[which], self._is_drawn[which]
        is_full = polls < switch
        length = np.where(is_full, self._full[which], self._steady[which])
        end = np.where(is_full, np.minimum(before, switch), before)
        strides = -(-intervals // length) * length
        more = np.maximum((end - 1 - polls) // strides, 0)
        return np.where(is_drawn, 0, more), np.where(is_drawn, intervals, strides)
