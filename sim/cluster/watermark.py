"""Whether what is appended to a partition of coordinators is committed: its high watermark follows, or stands still.

Source: ``CoordinatorRuntime.append`` and ``CoordinatorPartitionWriter`` (Kafka 4.4): coordinators append with acks=all.
"""

from __future__ import annotations

from collections.abc import Callable

from groupsim.sim.randomness import Draw


class Watermark:
    """Of one partition.

    Parameters
    ----------
    append_us : int, microseconds
        What the leader's append takes.
    delay : Draw or None
        What else passes until it is in the log and followers have it, by the instant at which it is handed over.
    flushes_us : callable or None
        When the batch is flushed that takes what is handed over at an instant; None: then.

    Attributes
    ----------
    is_stalled : bool
        What is appended is not committed: somebody who counts as in sync does not fetch, or too few are in sync.
    refuses : bool
        Nothing is appended: fewer than ``min.insync.replicas`` are in sync.
    is_behind : bool
        Something has been appended and is not committed: who writes nothing waits for it too.
    committed_us : int, microseconds
        When all is committed that has been appended, while it follows.
    """

    def __init__(
        self, append_us: int, delay: Draw | None = None, flushes_us: Callable[[int], int] | None = None
    ) -> None:
        self._append_us = append_us
        self._flushes_us = flushes_us
        self._delay = delay
        self.is_stalled = False
        self.refuses = False
        self.is_behind = False
        self.committed_us = 0

    def appends(self, now: int) -> int:
        """When the leader has appended what is handed to the log at ``now``, without the delay, microseconds."""
        return (now if self._flushes_us is None else self._flushes_us(now)) + self._append_us

    def passes(self, now: int) -> int:
        """When it passes what is handed to the log at ``now``, while it follows, microseconds."""
        return self.appends(now) + (self._delay(now) if self._delay is not None else 0)

    def stall(self, *, is_stalled: bool, refuses: bool) -> None:
        """It stands still from now on, or follows."""
        self.is_stalled, self.refuses = is_stalled, refuses
        self.is_behind = self.is_behind and is_stalled
