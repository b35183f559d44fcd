"""What is produced for several groups, whose partitions are numbered through: one group after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.offsets.production import Offsets, Production


class JoinedProduction:
    """That of the ledgers of some groups.

    Parameters
    ----------
    ledgers : sequence of Production
    partitions : sequence of int
        How many each has.

    Attributes
    ----------
    groups : int
    begins : intp array, shape (n_groups + 1,)
        Number of the first partition of each, and of all.
    group : intp array, shape (n_partitions,)
        Of which group each partition is.
    """

    def __init__(self, ledgers: Sequence[Production], partitions: Sequence[int]) -> None:
        self._ledgers = ledgers
        self.groups = len(ledgers)
        self.begins = np.cumsum([0, *partitions])
        self.group = np.repeat(np.arange(self.groups), partitions)

    def age(self, now: Offsets, partitions: NDArray[np.intp], offset: Offsets) -> Offsets:
        """See `Production.age`. Shape (n,)."""
        return self._by_group([one.age for one in self._ledgers], now, partitions, offset)

    def age_at_most(self, now: Offsets, partitions: NDArray[np.intp], offset: Offsets) -> Offsets:
        """See `Production.age_at_most`. Shape (n,)."""
        return self._by_group([one.age_at_most for one in self._ledgers], now, partitions, offset)

    def _by_group(
        self, asked: Sequence[Callable[[Offsets, NDArray[np.intp], Offsets], Offsets]], now: Offsets,
        partitions: NDArray[np.intp], offset: Offsets,
    ) -> Offsets:  # fmt: skip
        found, group = np.empty(len(partitions), np.int64), self.group[partitions]
        for one in np.unique(group).tolist():
            which = np.flatnonzero(group == one)
            found[which] = asked[one](now[which], partitions[which] - self.begins[one], offset[which])
        return found
