"""Whether what is appended to an offsets partition is committed: its high watermark follows, or stands still.

Source: ``CoordinatorRuntime.append`` and ``CoordinatorPartitionWriter`` (Kafka 4.4): coordinators append with acks=all.
"""

from __future__ import annotations


class Watermark:
    """Of one offsets partition.

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

    def __init__(self) -> None:
        self.is_stalled = False
        self.refuses = False
        self.is_behind = False
        self.committed_us = 0

    def stall(self, *, is_stalled: bool, refuses: bool) -> None:
        """It stands still from now on, or follows."""
        self.is_stalled, self.refuses = is_stalled, refuses
        self.is_behind = self.is_behind and is_stalled
