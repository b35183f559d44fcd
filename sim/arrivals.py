"""Records that come to a topic in jumps, because somebody writes them one request after the other: who sees what when.

Offsets count the records that readers of one isolation level get: markers have none, and what is aborted has none for
``read_committed``. A record has two times: that at which it was produced, which is its timestamp, and that from which
readers see it. The second only grows along a partition; the first does as far as records come in order.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.units import FOREVER

Offsets = NDArray[np.int64]


def _no_times() -> array[int]:
    return array("q")


@dataclass(slots=True)
class _Shown:
    """What readers see of one partition, in the order of offsets; times in microseconds."""

    ends: list[int] = field(default_factory=lambda: [0])
    """Log end offset after each batch."""
    shown_us: list[int] = field(default_factory=lambda: [0])
    """Since when each batch is seen."""
    produced_us: array[int] = field(default_factory=_no_times)
    """Of each record."""
    newest_us: array[int] = field(default_factory=_no_times)
    """Of each record and those before it: when the last of them was produced."""


class Arrivals:
    """Of one topic, for readers of one isolation level."""

    def __init__(self) -> None:
        self._partitions: defaultdict[int, _Shown] = defaultdict(_Shown)

    def show(self, now: int, number: int, produced_us: Sequence[int]) -> None:
        """Readers see a batch from ``now`` on, whose records were produced at these times."""
        one = self._partitions[number]
        one.ends.append(one.ends[-1] + len(produced_us))
        one.shown_us.append(now)
        newest_us = one.newest_us[-1] if one.newest_us else 0
        for time in produced_us:
            newest_us = max(newest_us, time)
            one.produced_us.append(time)
            one.newest_us.append(newest_us)

    def ends(self, numbers: Sequence[int]) -> Offsets:
        """Log end offsets that readers see, of some partitions. Shape (n,)."""
        return np.array([self._partitions[number].ends[-1] for number in numbers], np.int64)

    def shown_us(self, numbers: Sequence[int]) -> Offsets:
        """Since when; 0: nothing has come. Shape (n,), microseconds."""
        return np.array([self._partitions[number].shown_us[-1] for number in numbers], np.int64)

    def shown_by(self, times: Offsets, number: int) -> Offsets:
        """Log end offsets of one partition that readers saw at these times. Shape (n,)."""
        one = self._partitions[number]
        return np.array([one.ends[bisect_right(one.shown_us, time) - 1] for time in times.tolist()], np.int64)

    def produced_by(self, times: Offsets, numbers: Sequence[int]) -> Offsets:
        """Offsets of the first records that were produced after these times, as far as they are seen. Shape (n,)."""
        found = [
            bisect_right(self._partitions[number].newest_us, time)
            for time, number in zip(times.tolist(), numbers, strict=True)
        ]  # fmt: skip
        return np.array(found, np.int64)

    def produced_us(self, numbers: Sequence[int], offsets: Offsets) -> Offsets:
        """When records at these offsets were produced; `FOREVER`: they have not come. Shape (n,), microseconds."""
        found = []
        for number, offset in zip(numbers, offsets.tolist(), strict=True):
            times = self._partitions[number].produced_us
            found.append(times[offset] if offset < len(times) else FOREVER)
        return np.array(found, np.int64)

    def seen_us(self, numbers: Sequence[int], offsets: Offsets) -> Offsets:
        """Since when readers see records, which have come. Shape (n,), microseconds."""
        found = []
        for number, offset in zip(numbers, offsets.tolist(), strict=True):
            one = self._partitions[number]
            found.append(one.shown_us[bisect_right(one.ends, offset)])
        return np.array(found, np.int64)

    def oldest_us(self, numbers: Sequence[int], offsets: Offsets) -> Offsets:
        """When the oldest record from these offsets on was produced; `FOREVER`: none has come. Shape (n,)."""
        found, which = np.full(len(offsets), FOREVER, np.int64), np.array(numbers, np.int64)
        for number in np.unique(which).tolist():
            times = np.array([*self._partitions[number].produced_us, FOREVER], np.int64)
            oldest = np.minimum.accumulate(times[::-1])[::-1]
            here = which == number
            found[here] = oldest[np.minimum(offsets[here], len(oldest) - 1)]
        return found
