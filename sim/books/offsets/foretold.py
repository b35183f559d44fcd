"""How far a consumer will have got at sampling instants that are still to come, since nobody can disturb it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from groupsim.sim.books.offsets.production import Offsets
from groupsim.sim.protocol.messages import Positions


class Foretold(NamedTuple):
    """Of one consumer.

    Parameters
    ----------
    positions : int32 array, shape (n,)
    times : int64 array, shape (k,), microseconds, ascending
    processed : int64 array, shape (k, n)
        Next offsets.
    """

    positions: Positions
    times: Offsets
    processed: Offsets

    def put(self, times: Offsets, processed: Offsets) -> None:
        """Write into ``processed``, of shape (m, n_partitions), what holds at those of ``times`` that are known."""
        if not self.times.size:
            return
        where = np.minimum(np.searchsorted(self.times, times), len(self.times) - 1)
        known = np.flatnonzero(self.times[where] == times)
        processed[known[:, None], self.positions] = self.processed[where[known]]
