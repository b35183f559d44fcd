"""What one consumer consumes, and from where on."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.production import NOWHERE, Offsets
from groupsim.sim.protocol.messages import NO_PARTITIONS, Positions


@dataclass(slots=True, eq=False)
class Holding:
    """What one consumer consumes.

    Parameters
    ----------
    slot : int
        Index of the consumer in the group.
    partitions : int32 array, shape (n,), ascending
    offset : int64 array, shape (n,)
        Positions at ``since``.
    """

    slot: int
    capacity: float = 0.0
    partitions: Positions = field(default_factory=lambda: NO_PARTITIONS)
    offset: Offsets = field(default_factory=lambda: NOWHERE)
    offered: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    rate: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    since: int = 0
    backlog: float = 0.0
    total_rate: float = 0.0
    running: bool = False

    def clear(self, now: int) -> None:
        """Nothing is consumed any more."""
        self.partitions, self.offset, self.since, self.running = NO_PARTITIONS, NOWHERE, now, False
