"""Records that come to a topic in jumps, because somebody writes them one request after the other: who sees what when.

Offsets count the records that readers of one isolation level get: markers have none, and what is aborted has none for
``read_committed``. A record has two times: that of its append, which is its timestamp, and that from which readers see
it. Both only grow along a partition.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.units import FOREVER

Offsets = NDArray[np.int64]


@dataclass(slots=True)
class _Batches:
    """Of one partition, in the order of offsets: log end offset after each batch, and its times, microseconds."""

    ends: list[int] = field(default_factory=lambda: [0])
    appended_us: list[int] = field(default_factory=lambda: [0])
    shown_us: list[int] = field(default_factory=lambda: [0])


class Arrivals:
    """Of one topic, for readers of one isolation level."""

    def __init__(self) -> None:
        self._partitions: dict[int, _Batches] = {}

    def _of(self, number: int) -> _Batches:
        return self._partitions.setdefault(number, _Batches())

    def show(self, now: int, number: int, appended_us: int, records: int) -> None:
        """Readers see a batch from ``now`` on."""
        batches = self._of(number)
        batches.ends.append(batches.ends[-1] + records)
        batches.appended_us.append(appended_us)
        batches.shown_us.append(now)

    def ends(self, numbers: Sequence[int]) -> Offsets:
        """Log end offsets that readers see, of some partitions. Shape (n,)."""
        return np.array([self._of(number).ends[-1] for number in numbers], np.int64)

    def shown_us(self, numbers: Sequence[int]) -> Offsets:
        """Since when; 0: nothing has come. Shape (n,), microseconds."""
        return np.array([self._of(number).shown_us[-1] for number in numbers], np.int64)

    def appended_by(self, times: Offsets, numbers: Sequence[int]) -> Offsets:
        """Log end offsets of what was appended by these times, and is seen by now. Shape (n,)."""
        found = []
        for time, number in zip(times.tolist(), numbers, strict=True):
            batches = self._of(number)
            found.append(batches.ends[bisect_right(batches.appended_us, time) - 1] if time >= 0 else 0)
        return np.array(found, np.int64)

    def appended_us(self, numbers: Sequence[int], offsets: Offsets) -> Offsets:
        """When records at these offsets were appended; `FOREVER`: they have not come. Shape (n,), microseconds."""
        found = []
        for number, offset in zip(numbers, offsets.tolist(), strict=True):
            batches = self._of(number)
            is_there = offset < batches.ends[-1]
            found.append(batches.appended_us[bisect_right(batches.ends, offset)] if is_there else FOREVER)
        return np.array(found, np.int64)
