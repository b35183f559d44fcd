"""What becomes of the records that a group makes: in which transaction each was, and how often readers see it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field

from groupsim.sim.books.record import GroupRecord
from groupsim.sim.protocol.producer.batches import Origin, RecordBatch
from groupsim.sim.protocol.transactions.messages import WriteTxnMarkers

LEVELS = ("read_committed", "read_uncommitted")
"""``isolation.level``."""


class Coverage:
    """Offsets of one input partition of which there is output: disjoint stretches, ascending."""

    __slots__ = ("_first", "_last", "twice")

    def __init__(self) -> None:
        self._first: list[int] = []
        self._last: list[int] = []
        self.twice = 0
        """Records of which there is output again."""

    def add(self, first: int, last: int) -> None:
        """There is output of [first, last)."""
        if self._last and first == self._last[-1]:  # as always, but after an abort
            self._last[-1] = last
            return
        low = bisect_left(self._last, first)
        high = low
        while high < len(self._first) and self._first[high] <= last:
            self.twice += max(0, min(last, self._last[high]) - max(first, self._first[high]))
            high += 1
        if high > low:
            first, last = min(first, self._first[low]), max(last, self._last[high - 1])
        self._first[low:high], self._last[low:high] = [first], [last]

    @property
    def missing(self) -> int:
        """Records between the first and the last of which there is no output."""
        return sum(first - last for first, last in zip(self._first[1:], self._last[:-1], strict=True))


@dataclass(slots=True)
class ProducerLife:
    """One incarnation of a member as a producer. Times in microseconds.

    ``took_us`` is from the end of a batch until its transaction is committed, for the application.
    """

    member: str
    incarnation: int
    transactional_id: str
    committed: int = 0
    aborted: int = 0
    records_committed: int = 0
    records_aborted: int = 0
    took_us: int = 0
    took_us_max: int = 0
    ended_by: str = ""
    """The error that ended the producer; empty: none did."""

    def took(self, time_us: int) -> None:
        """A transaction is committed, as far as the application knows."""
        self.took_us += time_us
        self.took_us_max = max(self.took_us_max, time_us)


@dataclass(slots=True)
class OpenTransaction:
    """What was written in a transaction that is undecided, and by whom."""

    life: ProducerLife
    origins: list[Origin] = field(default_factory=list)


class TransactionBooks:
    """Of one group.

    Parameters
    ----------
    follows_records : bool
        Whether somebody asks about single records.

    Attributes
    ----------
    lives : list of ProducerLife
    coverage : dict of (isolation level, position) to Coverage
    origins : dict of isolation level to list of Origin
        Of which there is output, as often as there is; empty unless records are followed.
    """

    def __init__(self, *, follows_records: bool = False) -> None:
        self.lives: list[ProducerLife] = []
        self._open: dict[int, dict[int, OpenTransaction]] = {}
        """Producer id -> epoch -> what is open."""
        self.coverage: dict[tuple[str, int], Coverage] = {}
        self.origins: dict[str, list[Origin]] = {level: [] for level in LEVELS} if follows_records else {}
        self.output: list[tuple[str, int, int, int, int, int, int, int]] = []
        """Rows of table ``output`` without the group."""
        self._current: dict[str, ProducerLife] = {}
        self._fenced: dict[int, int] = {}
        """Producer id -> epoch of the last decision."""

    def begin(self, life: ProducerLife) -> None:
        """A producer has its id."""
        self.lives.append(life)
        self._current[life.transactional_id] = life

    def author(self, transactional_id: str) -> ProducerLife:
        """Who writes in the name of a transactional id now."""
        return self._current[transactional_id]

    def shown(self, life: ProducerLife, batch: RecordBatch, origins: Iterable[Origin]) -> None:
        """Records are in the output topic, and everybody who reads uncommitted ones sees them.

        What was on its way to those in sync when the transaction was decided had no acknowledgement: it is aborted.
        """
        records = 0
        for origin in origins:
            records += origin.last - origin.first
            self._cover("read_uncommitted", origin)
        if batch.epoch < self._fenced.get(batch.producer_id, -1):
            life.records_aborted += records
        else:
            self._opened(life, batch).origins.extend(origins)

    @property
    def open(self) -> list[OpenTransaction]:
        """All that are undecided."""
        return [one for epochs in self._open.values() for one in epochs.values()]

    def _opened(self, life: ProducerLife, batch: RecordBatch) -> OpenTransaction:
        epochs = self._open.setdefault(batch.producer_id, {})
        if batch.epoch not in epochs:
            epochs[batch.epoch] = OpenTransaction(life)
        return epochs[batch.epoch]

    def _cover(self, level: str, origin: Origin) -> None:
        self.coverage.setdefault((level, origin.position), Coverage()).add(origin.first, origin.last)
        if self.origins:
            self.origins[level].append(origin)

    def decided(self, markers: WriteTxnMarkers) -> None:
        """The coordinator has logged what becomes of the transaction."""
        epochs = self._open.get(markers.producer_id, {})
        mine = [epochs.pop(epoch) for epoch in [*epochs] if epoch <= markers.epoch]
        self._fenced[markers.producer_id] = markers.epoch
        life = mine[0].life if mine else self._current[markers.transactional_id]
        origins = [origin for one in mine for origin in one.origins]
        records = sum(origin.last - origin.first for origin in origins)
        if not markers.is_committed:
            life.aborted += 1
            life.records_aborted += records
            return
        life.committed += 1
        life.records_committed += records
        for origin in origins:
            self._cover("read_committed", origin)

    def pass_over(
        self, transactional_id: str, producer: tuple[int, int], transactions: int, stretches: Iterable[Origin]
    ) -> None:
        """So many transactions were committed in the name of an id; together they cover these stretches.

        ``producer``: its id, and the epoch that follows the last of them.
        """
        self._fenced[producer[0]] = producer[1]
        life = self.author(transactional_id)
        life.committed += transactions
        for one in stretches:
            life.records_committed += one.last - one.first
            for level in LEVELS:
                self._cover(level, one)

    def count(self, record: GroupRecord) -> None:
        """Write down what each isolation level sees twice, or never though it sees what follows."""
        for (level, _), coverage in sorted(self.coverage.items()):
            record.add_delivery("output duplicate", level, coverage.twice)
            record.add_delivery("output loss", level, coverage.missing)
