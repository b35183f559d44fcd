"""The log of one group: what is in it, and when the high watermark will have passed what has been appended.

Source: ``CoordinatorRuntime.append``, ``DeferredEventQueue`` (Kafka 4.4): batches are committed in order. While the
high watermark stands still, because somebody who counts as in sync is dead, nothing is committed, and who waits for it
is told so after ``offsets.commit.timeout.ms``.

Whoever leads later has what was appended, unless it was elected though it was neither in sync nor eligible
(`sim.protocol.controller`): then it has what the log had when it fell behind. Of records with the same key only the
last one is kept, as compaction does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

from groupsim.sim.cluster.shard.log_bytes import GroupBytes
from groupsim.sim.cluster.shard.watermark import Watermark
from groupsim.sim.protocol.classic.records import GroupTombstone
from groupsim.sim.protocol.interface import Batch
from groupsim.sim.protocol.messages import Positions
from groupsim.sim.protocol.offsets.records import CommittedOffsets, OffsetTombstones
from groupsim.sim.protocol.offsets.table import OffsetTable
from groupsim.sim.units import FOREVER


class Held(NamedTuple):
    """A batch that is not committed in time, perhaps, and when its waiters are told so, microseconds."""

    batch: Batch
    expires_us: int


class GroupLog:
    """Records of one group, and batches that its machine waits for.

    Parameters
    ----------
    timeout_us : int, microseconds
        ``offsets.commit.timeout.ms``.
    watermark : Watermark
        Of its partition.
    offsets : OffsetTable
        What is committed.

    Attributes
    ----------
    due : int, microseconds
        When the next batch is committed, or the waiters of one are told that it is not; `FOREVER` if none is open.
    size : GroupBytes or None
        How much is written; None: nobody will ever ask.
    """

    def __init__(self, timeout_us: int, watermark: Watermark, offsets: OffsetTable) -> None:
        self._timeout_us = timeout_us
        self._open: deque[tuple[int, int]] = deque()
        self._held: deque[Held] = deque()
        self._last: dict[tuple[Any, ...], Any] = {}
        self._marks: dict[int, tuple[dict[tuple[Any, ...], Any], int]] = {}
        """Replica that follows no more -> what it has, and how many bytes were written by then."""
        self._watermark = watermark
        self._offsets = offsets
        self.due = FOREVER
        self.size: GroupBytes | None = None

    @property
    def written(self) -> int:
        """Bytes that are in the log, or were until they were cleaned."""
        return 0 if self.size is None else self.size.written

    @property
    def left(self) -> int:
        """Bytes of all that a cleaner leaves."""
        return 0 if self.size is None else self.size.left(self.records)

    @property
    def records(self) -> tuple[Any, ...]:
        """All that a new coordinator reads, but for offsets, which are kept elsewhere."""
        return tuple(self._last.values())

    @property
    def is_empty(self) -> bool:
        """Whether a new coordinator would read nothing at all, offsets included."""
        return not self._last and not self._offsets.known().size

    def append(self, now: int, batch: Batch) -> None:
        """Take a batch; one that nobody waits for needs no event."""
        self.write(batch)
        if self._watermark.is_stalled:
            self._watermark.is_behind = True
            self._held.append(Held(batch, now + self._timeout_us))
        elif batch.is_awaited:
            earlier = self._open[-1][0] if self._open else 0
            self._open.append((max(earlier, self._watermark.passes(now)), batch.number))
        self._set_due()

    def is_instant(self, now: int) -> bool:
        """Whether what is appended at ``now`` is committed at once."""
        return self._watermark.passes(now) == now

    def write(self, batch: Batch) -> None:
        """Keep the records of a batch."""
        if self.size is not None:
            self.size.write(batch)
        for record in batch.records:
            if not isinstance(record, (CommittedOffsets, OffsetTombstones)):
                self._last.pop(record.key, None)
                if not _is_tombstone(record):
                    self._last[record.key] = record

    def commit_quietly(self, times: int, positions: Positions) -> None:
        """A quiet member has committed these partitions so often; below 0: that was counted, and is a message now."""
        if self.size is not None:
            self.size.commit(times, positions)

    def commit_each(self, times: Iterable[int], parts: Iterable[Positions]) -> None:
        """`commit_quietly` of several members."""
        if self.size is not None:
            for count, positions in zip(times, parts, strict=True):
                self.size.commit(int(count), positions)

    def fall_behind(self, replica: int) -> None:
        """A replica has what there is now, and nothing that comes."""
        self._marks.setdefault(replica, (dict(self._last), self.written))
        self._offsets.mark(replica)

    def catch_up(self, replica: int) -> None:
        """A replica has everything."""
        self._marks.pop(replica, None)
        self._offsets.catch_up(replica)

    def cut_back(self, replica: int) -> None:
        """A replica leads that lacks something: that is gone."""
        records, written = self._marks.pop(replica, (self._last, self.written))
        self._last = dict(records)
        if self.size is not None:
            self.size.written = written
        self._offsets.cut_back(replica)

    def hold(self, now: int, batch: Batch) -> None:
        """Somebody who writes nothing waits until all that was written is committed."""
        self._held.append(Held(batch, now + self._timeout_us))
        self._set_due()

    def pop(self, now: int) -> int | None:
        """The number of a batch that is committed by ``now``, oldest first; None if there is none."""
        if not self._open or self._open[0][0] > now:
            return None
        _, number = self._open.popleft()
        self._set_due()
        return number

    def expired(self, now: int) -> list[Batch]:
        """Batches whose waiters are told by ``now`` that they are not committed."""
        expired = []
        while self._held and self._held[0].expires_us <= now:
            expired.append(self._held.popleft().batch)
        self._set_due()
        return expired

    def release(self) -> list[Batch]:
        """What has been held, oldest first: it is committed, or the coordinator is somewhere else."""
        held = [one.batch for one in self._held]
        self._held.clear()
        self._set_due()
        return held

    def clear(self) -> list[Batch]:
        """Nobody waits for anything any more; what has been held."""
        self._open.clear()
        return self.release()

    def _set_due(self) -> None:
        committed = self._open[0][0] if self._open else FOREVER
        self.due = min(committed, self._held[0].expires_us) if self._held else committed


def _is_tombstone(record: Any) -> bool:
    return isinstance(record, GroupTombstone) or getattr(record, "value", record) is None
