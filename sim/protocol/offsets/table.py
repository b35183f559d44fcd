"""Committed offsets of one group, as columns over its partitions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.protocol.messages import Positions
from groupsim.sim.units import FOREVER

Column = NDArray[np.int64]
_NOTHING: Column = np.empty(0, np.int64)


class OffsetTable:
    """What the log says of each partition's offset (``OffsetAndMetadata``, as far as it decides anything).

    Attributes
    ----------
    offset : int64 array, shape (n_partitions,)
        Committed offset, -1: there is none.
    commit_us : int64 array, shape (n_partitions,), microseconds
        When it was committed.
    expire_us : int64 array, shape (n_partitions,), microseconds
        When it expires whatever the retention is; `FOREVER`: nobody said so.
    written : int64 array, shape (n_partitions,)
        Place of its record in the log; only the order counts.
    """

    __slots__ = ("_marks", "commit_us", "expire_us", "offset", "written")

    def __init__(self) -> None:
        self.offset = self.commit_us = self.expire_us = self.written = _NOTHING
        self._marks: dict[int, tuple[Column, ...]] = {}
        """Replica of the log that follows no more -> what it has."""

    def cover(self, partitions: int) -> None:
        """Make room for so many partitions."""
        new = partitions - len(self.offset)
        if new > 0:
            self.offset = np.concatenate([self.offset, np.full(new, -1, np.int64)])
            self.commit_us = np.concatenate([self.commit_us, np.zeros(new, np.int64)])
            self.expire_us = np.concatenate([self.expire_us, np.full(new, FOREVER, np.int64)])
            self.written = np.concatenate([self.written, np.zeros(new, np.int64)])

    def commit(
        self, positions: Positions, offset: Column, commit_us: Any, expire_us: Any = FOREVER, written: Any = 0
    ) -> None:
        """Offsets that were committed at ``commit_us`` (one instant, or one for each)."""
        self.offset[positions], self.commit_us[positions] = offset, commit_us
        self.expire_us[positions], self.written[positions] = expire_us, written

    def shift(self, positions: Positions, records: Column) -> None:
        """So many records after these offsets are gone: they count as read."""
        self.offset[positions] += records

    def mark(self, replica: int) -> None:
        """A replica of the log has what there is now, and nothing that comes."""
        columns = (self.offset, self.commit_us, self.expire_us, self.written)
        self._marks.setdefault(replica, tuple(column.copy() for column in columns))

    def catch_up(self, replica: int) -> None:
        """A replica of the log has everything."""
        self._marks.pop(replica, None)

    def cut_back(self, replica: int) -> None:
        """A replica of the log leads that lacks something: that is gone."""
        if replica in self._marks:
            had, partitions = self._marks.pop(replica), len(self.offset)
            self.offset, self.commit_us, self.expire_us, self.written = had
            self.cover(partitions)

    def forget(self, positions: Positions) -> None:
        """There are none any more."""
        self.offset[positions] = -1

    def known(self) -> Positions:
        """Partitions that have one, ascending. Shape (n,)."""
        return np.flatnonzero(self.offset >= 0).astype(np.int32)
