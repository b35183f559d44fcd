"""Who holds what, as Kafka keeps it: the member epoch of whoever has a partition, assigned or pending revocation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.protocol.messages import Positions

FREE = -1


class PartitionEpochs:
    """``ConsumerGroup.currentPartitionEpoch`` (Kafka 4.4) over all positions; `FREE` where nobody has the partition."""

    __slots__ = ("epochs",)

    def __init__(self) -> None:
        self.epochs: NDArray[np.int32] = np.empty(0, np.int32)

    def add(self, positions: Positions, epoch: int) -> None:
        """A member at ``epoch`` has these, ascending."""
        if positions.size:
            self._cover(int(positions[-1]) + 1)
            self.epochs[positions] = epoch

    def remove(self, positions: Positions, epoch: int) -> None:
        """A member that was at ``epoch`` no longer has these; what another one has meanwhile stays with it."""
        if positions.size:
            self.epochs[positions[self.epochs[positions] == epoch]] = FREE

    def are_free(self, positions: Positions) -> NDArray[np.bool_]:
        """Which of these, ascending, nobody has. Shape of ``positions``."""
        if positions.size:
            self._cover(int(positions[-1]) + 1)
        free: NDArray[np.bool_] = self.epochs[positions] == FREE
        return free

    def _cover(self, n_partitions: int) -> None:
        missing = n_partitions - len(self.epochs)
        if missing > 0:
            more = max(missing, len(self.epochs))
            self.epochs = np.concatenate([self.epochs, np.full(more, FREE, np.int32)])
