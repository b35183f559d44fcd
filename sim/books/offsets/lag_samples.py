"""Lag at sampling instants, worked out when something is about to change: for all instants since the last change."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from typing import Final

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.offsets.foretold import Foretold
from groupsim.sim.books.record import Rows

Times = NDArray[np.int64]
_AT_ONCE: Final = 64
"""So many samples at least."""
_CELLS: Final = 1 << 14
"""And more of few partitions, up to so many of both: what is larger is not at a processor's hand."""


class LagSamples:
    """Of one group.

    Parameters
    ----------
    lags : callable
        Records behind at some times, and ages of the oldest of them, microseconds: arrays of shape (k,).
    partitions : sized

    Attributes
    ----------
    foretold : dict of int to Foretold
        By slot, what is known of consumers at instants that are still to come.
    """

    def __init__(self, lags: Callable[[Times], tuple[Times, Times]], partitions: Sized) -> None:
        self._lags = lags
        self._partitions = partitions
        self._times: Sequence[int] = ()
        self._rows = Rows(3)
        self._taken = 0
        self.foretold: dict[int, Foretold] = {}

    def begin(self, times: Sequence[int], rows: Rows) -> None:
        """From now on, what holds at each of ``times`` goes to ``rows``; more are appended to ``times`` meanwhile."""
        self._times, self._rows = times, rows

    def put_foretold(self, times: Times, processed: Times) -> None:
        """Write into ``processed``, of shape (k, n_partitions), what was foretold of these times."""
        for one in self.foretold.values():
            one.put(times, processed)

    def settle(self) -> None:
        """Something is about to change, or nothing will any more: samples that are due are taken."""
        if self._taken == len(self._times):
            return
        at_once = max(_AT_ONCE, _CELLS // max(len(self._partitions), 1))
        for first in range(self._taken, len(self._times), at_once):
            times = np.array(self._times[first : first + at_once], np.int64)
            self._rows.add(times, *self._lags(times))
        self._taken = len(self._times)
