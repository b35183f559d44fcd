"""Whether what is appended to a partition of coordinators is committed: its high watermark follows, or stands still.

Source: ``CoordinatorRuntime.append`` and ``CoordinatorPartitionWriter`` (Kafka 4.4): coordinators append with acks=all.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.kernel.network import FollowerWait
from groupsim.sim.randomness import Draw, draws

InSync = tuple[int, ...]
"""Broker ids, the leader first."""


class Watermark:
    """Of one partition.

    Parameters
    ----------
    append_us : int, microseconds
        What the leader's append takes.
    delay_among : callable or None
        What else passes until it is in the log and those who are in sync have it, by the instant at which it is handed
        over; None: nothing.
    in_sync : tuple of int
        Who is, the leader first.
    commits : FollowerWait, optional
        What commits wait, which is drawn from the same law.
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
        self, append_us: int, delay_among: Callable[[InSync], Draw | None] | None = None, in_sync: InSync = (),
        commits: FollowerWait | None = None, flushes_us: Callable[[int], int] | None = None,
    ) -> None:  # fmt: skip
        self._append_us = append_us
        self._flushes_us = flushes_us
        self._delay_among = delay_among
        self._delay = None if delay_among is None else delay_among(in_sync)
        self._in_sync = in_sync
        self._commits = commits or FollowerWait()
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

    def passes_all(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        """`passes` at each of these times, where batches are flushed at once. Shape (n,)."""
        appended = times + self._append_us
        if self._delay is None:
            return appended
        keys = np.full(len(times), self._delay.key, np.uint64)
        return appended + draws(self._delay.distribution, keys, times)

    def await_only(self, in_sync: InSync, before: Callable[[], None]) -> None:
        """Others are in sync from now on (``Partition.maybeIncrementLeaderHW``); the leader first.

        ``before`` is called if commits wait otherwise from now on.
        """
        if self._delay_among is None or in_sync == self._in_sync:
            return
        delay = self._delay_among(in_sync)
        law = delay.distribution if delay is not None else None
        if law != self._commits.law:
            before()
            self._commits.law = law
        self._delay, self._in_sync = delay, in_sync

    def stall(self, *, is_stalled: bool, refuses: bool) -> None:
        """It stands still from now on, or follows."""
        self.is_stalled, self.refuses = is_stalled, refuses
        self.is_behind = self.is_behind and is_stalled
