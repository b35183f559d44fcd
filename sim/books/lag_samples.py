"""Lag at sampling instants, worked out when something is about to change: for all instants since the last change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.int64]
_AT_ONCE: Final = 64
"""At most so many samples: more are larger than what a processor has at hand."""


class LagSamples:
    """Of one group.

    Parameters
    ----------
    lags : callable
        Records behind at some times, and ages of the oldest of them, microseconds: arrays of shape (k,).
    """

    def __init__(self, lags: Callable[[Times], tuple[Times, Times]]) -> None:
        self._lags = lags
        self._times: Sequence[int] = ()
        self._rows: list[tuple[int, int, int]] = []

    def begin(self, times: Sequence[int], rows: list[tuple[int, int, int]]) -> None:
        """From now on, what holds at each of ``times`` goes to ``rows``; more are appended to ``times`` meanwhile."""
        self._times, self._rows = times, rows

    def settle(self) -> None:
        """Something is about to change, or nothing will any more: samples that are due are taken."""
        if len(self._rows) == len(self._times):
            return
        for first in range(len(self._rows), len(self._times), _AT_ONCE):
            times = self._times[first : first + _AT_ONCE]
            records, ages = self._lags(np.array(times, np.int64))
            self._rows += zip(times, records.tolist(), ages.tolist(), strict=True)
