"""What one consumer consumes, and from where on."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from groupsim.sim.books.offsets.levels import Floats, Levels
from groupsim.sim.books.offsets.production import NOWHERE, Offsets
from groupsim.sim.protocol.messages import NO_PARTITIONS, Positions

_FIRST = np.zeros(1, np.intp)


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
    offered: Floats = field(default_factory=lambda: np.empty(0))
    mrps: Offsets = field(default_factory=lambda: NOWHERE)
    _shares: Levels | None = None
    since: int = 0
    backlog: float = 0.0
    total_rate: float = 0.0
    running: bool = False

    def share(self, offered: Floats, mrps: Offsets) -> None:
        """It begins with so much waiting in each partition, and so much that comes."""
        self.offered, self.mrps, self._shares = offered, mrps, None

    def change_capacity(self, capacity: float) -> None:
        """It has just begun, with another capacity."""
        self.capacity, self._shares = capacity, None

    @property
    def shares(self) -> Levels:
        """What of its capacity each partition gets."""
        if self._shares is None:
            capacity, lengths = np.array([self.capacity]), np.array([len(self.partitions)])
            self._shares = Levels(capacity, lengths, self.partitions, self.offered, self.mrps)
        return self._shares

    def is_behind(self, elapsed: int) -> bool:
        """Whether less than all that has been there has been processed ``elapsed`` microseconds after it began."""
        return self.capacity * elapsed < self.backlog + self.total_rate * elapsed

    def level(self, elapsed: int) -> float:
        """Up to how many records it has processed of each partition since it began."""
        return float(self.shares.at(_FIRST, np.array([elapsed], np.float64))[0][0])

    def clear(self, now: int) -> None:
        """Nothing is consumed any more."""
        self.partitions, self.offset, self.since, self.running = NO_PARTITIONS, NOWHERE, now, False
