"""The log of one group, as far as time goes: what has been appended, and when the high watermark will have passed it.

Source: ``CoordinatorRuntime.append``, ``DeferredEventQueue`` (Kafka 4.4): batches are committed in order.
"""

from __future__ import annotations

from collections import deque

from groupsim.sim.protocol.interface import Batch
from groupsim.sim.units import FOREVER


class GroupLog:
    """Batches that a group machine waits for.

    Parameters
    ----------
    append_us : int, microseconds
        From handing records to the log until the high watermark has passed them.

    Attributes
    ----------
    due : int, microseconds
        When the next batch is committed; `FOREVER` if none is open.
    """

    def __init__(self, append_us: int) -> None:
        self._append_us = append_us
        self._open: deque[tuple[int, int]] = deque()
        self.due = FOREVER

    def append(self, now: int, batch: Batch) -> None:
        """Take a batch; one that nobody waits for needs no event."""
        if batch.is_awaited:
            self._open.append((now + self._append_us, batch.number))
            self.due = self._open[0][0]

    def pop(self, now: int) -> int | None:
        """The number of a batch that is committed by ``now``, oldest first; None if there is none."""
        if self.due > now or not self._open:
            return None
        _, number = self._open.popleft()
        self.due = self._open[0][0] if self._open else FOREVER
        return number
