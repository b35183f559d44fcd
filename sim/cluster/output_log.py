"""A partition of an output topic, and how long its readers have waited for open transactions."""

from __future__ import annotations

from groupsim.sim.protocol.messages import Error
from groupsim.sim.protocol.producer.batches import RecordBatch
from groupsim.sim.protocol.producer.log import PartitionLog
from groupsim.sim.protocol.transactions.messages import WriteTxnMarkers


class OutputLog:
    """What is appended is committed at once.

    Parameters
    ----------
    group : str
        Whose members write to it.

    Attributes
    ----------
    log : PartitionLog
    blocked_us, blocked_us_max : int, microseconds
        How long ``read_committed`` readers could not read to the end: in all, and for how long at most what stood
        first had to wait.
    lag_max : int
        High watermark less last stable offset, at most.
    """

    def __init__(self, group: str) -> None:
        self.group = group
        self.log = PartitionLog()
        self.blocked_us = self.blocked_us_max = self.lag_max = 0
        self._is_blocked = False
        self._since_us = 0
        self._written_us: dict[int, int] = {}
        """When each batch was written that is not stable yet, by its offset."""

    def append(self, now: int, batch: RecordBatch) -> Error:
        """``appendAsLeader``."""
        response = self.log.append(now, batch)
        if response.error is Error.NONE:
            self._written_us.setdefault(response.offset, now)
            self._advance(now)
        return response.error

    def mark(self, now: int, markers: WriteTxnMarkers) -> None:
        """A marker is written."""
        self.log.mark(now, markers)
        self._advance(now)

    def _advance(self, now: int) -> None:
        self.log.advance()
        stable = self.log.last_stable_offset
        self.lag_max = max(self.lag_max, self.log.end - stable)
        for offset in [offset for offset in self._written_us if offset < stable]:
            self.blocked_us_max = max(self.blocked_us_max, now - self._written_us.pop(offset))
        self._count(now)

    def _count(self, now: int) -> None:
        """Time in which something stood behind the last stable offset."""
        if self._is_blocked:
            self.blocked_us += now - self._since_us
        self._is_blocked, self._since_us = bool(self._written_us), now

    def finish(self, horizon: int) -> None:
        """The horizon cuts what is open."""
        for written in self._written_us.values():
            self.blocked_us_max = max(self.blocked_us_max, horizon - written)
        self._count(horizon)
