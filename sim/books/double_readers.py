"""How long partitions have two readers or more at a time, who process and do not just hold them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.protocol.messages import Positions


class DoubleReaders:
    """Partition-time of one group with more than one reader, within ``measure``.

    Parameters
    ----------
    measure : (int, int), microseconds

    Attributes
    ----------
    total_us : int
        Summed over partitions, up to the last change of each.
    """

    def __init__(self, measure: tuple[int, int]) -> None:
        self._measure = measure
        self._readers: NDArray[np.int64] = np.empty(0, np.int64)
        self._since: NDArray[np.int64] = np.empty(0, np.int64)
        self.total_us = 0

    def cover(self, partitions: int) -> None:
        """Make room for new positions."""
        new = np.zeros(partitions - len(self._readers), np.int64)
        self._readers, self._since = np.concatenate([self._readers, new]), np.concatenate([self._since, new])

    def change(self, now: int, positions: Positions, more: int) -> None:
        """One reader more, or less, of each of these."""
        low, high = self._measure
        shared = positions[self._readers[positions] > 1]
        self.total_us += int(np.maximum(min(now, high) - np.maximum(self._since[shared], low), 0).sum())
        self._since[positions] = now
        self._readers[positions] += more

    def finish(self, horizon: int) -> None:
        """Count what is under way."""
        self.change(horizon, np.arange(len(self._readers), dtype=np.int32), 0)
