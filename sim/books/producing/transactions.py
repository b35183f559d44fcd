"""What becomes of the records that a group makes: in which transaction each was, and how often readers see it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from groupsim.sim.books.producing.coverage import Coverage
from groupsim.sim.books.record import GroupRecord
from groupsim.sim.protocol.producer.batches import Origin, RecordBatch
from groupsim.sim.protocol.transactions.messages import TV2, WriteTxnMarkers

LEVELS = ("read_committed", "read_uncommitted")
"""``isolation.level``."""


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


@dataclass(slots=True, eq=False)
class Transaction:
    """What was written in one transaction, and by whom.

    Parameters
    ----------
    life : ProducerLife
    origins : list of Origin
        Of what logs have, until it is decided.
    lost : list of Origin
        Of what logs had, until it is decided.
    is_committed : bool or None
        What its coordinator has decided; None: nothing yet.
    """

    life: ProducerLife
    origins: list[Origin] = field(default_factory=list)
    lost: list[Origin] = field(default_factory=list)
    is_committed: bool | None = None


@dataclass(slots=True, eq=False)
class Output:
    """A batch of records in the output topic.

    Parameters
    ----------
    life : ProducerLife
    origins : tuple of Origin
        What its records were made of.
    transaction : Transaction or None
        None: nobody has been shown it.
    verdict : bool or None
        Whether its log says that it is committed; None: it does not say otherwise than the coordinator.
    """

    life: ProducerLife
    origins: tuple[Origin, ...]
    transaction: Transaction | None = None
    verdict: bool | None = None

    @property
    def is_decided(self) -> bool:
        """Whether its coordinator has decided what becomes of it."""
        return self.transaction is not None and self.transaction.is_committed is not None

    @property
    def is_readable(self) -> bool:
        """Whether ``read_committed`` readers get it, now or when the marker is there."""
        if self.verdict is not None:
            return self.verdict
        return self.transaction is not None and self.transaction.is_committed is True


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
    origins : dict of isolation level to list of (Origin, int)
        Of which there is output once more (1) or less (-1); empty unless records are followed.
    """

    def __init__(self, *, follows_records: bool = False) -> None:
        self.lives: list[ProducerLife] = []
        self._open: dict[int, dict[int, Transaction]] = {}
        """Producer id -> epoch -> what is open."""
        self.coverage: dict[tuple[str, int], Coverage] = {}
        self.origins: dict[str, list[tuple[Origin, int]]] = {level: [] for level in LEVELS} if follows_records else {}
        self.output: list[tuple[str, int, int, int, int, int, int, int]] = []
        """Rows of table ``output`` without the group."""
        self._current: dict[str, ProducerLife] = {}
        self._fenced: dict[int, int] = {}
        """Producer id -> epoch of the last decision."""
        self._latest: dict[int, tuple[WriteTxnMarkers, Sequence[Transaction]]] = {}
        """Producer id -> that decision, and what it was about."""

    def begin(self, life: ProducerLife) -> None:
        """A producer has its id."""
        self.lives.append(life)
        self._current[life.transactional_id] = life

    def author(self, transactional_id: str) -> ProducerLife:
        """Who writes in the name of a transactional id now."""
        return self._current[transactional_id]

    def shown(self, output: Output, batch: RecordBatch) -> None:
        """Records are in the output topic, and everybody who reads uncommitted ones sees them.

        What was on its way to those in sync when the transaction was decided had no acknowledgement: it is aborted.
        """
        for origin in output.origins:
            self._cover("read_uncommitted", origin)
        if batch.epoch < self._fenced.get(batch.producer_id, -1):
            output.life.records_aborted += batch.records
            output.transaction = Transaction(output.life, is_committed=False)
        else:
            output.transaction = self._opened(output.life, batch)
            output.transaction.origins.extend(output.origins)

    # --- logs that are cut back ---------------------------------------------------------------------------------------

    def take_back(self, output: Output) -> None:
        """A log lacks it from now on, which readers have been shown: what comes of its transaction is nothing to it."""
        self._uncover("read_uncommitted", output.origins)
        if output.is_readable:
            self._uncover("read_committed", output.origins)
        elif output.transaction is not None and not output.is_decided:
            for origin in output.origins:
                output.transaction.origins.remove(origin)
            output.transaction.lost.extend(output.origins)

    def reopen(self, output: Output) -> None:
        """A log has it, and lacks the marker that has decided it: nobody sends that again."""
        if output.is_readable:
            self._uncover("read_committed", output.origins)
        output.verdict = False

    def mark(self, output: Output, *, is_committed: bool) -> None:
        """A log has a marker for it, perhaps that of a later transaction, which decides it there."""
        if not output.is_decided or output.is_readable == is_committed:
            return
        if not is_committed:
            self._uncover("read_committed", output.origins)
        for origin in output.origins if is_committed else ():
            self._cover("read_committed", origin)
            self._of("read_committed", origin.position).repeat(origin.first, origin.last)
        output.verdict = is_committed

    def truncated(self, position: int, first: int, last: int) -> None:
        """Some of [first, last) of the input is in no log any more."""
        for level in LEVELS if self.lives else ():
            self._of(level, position).truncate(first, last)

    def commits_lost(self, before: Mapping[int, int], after: Sequence[int]) -> None:
        """Offsets that transactions had committed are gone: what follows is read, and made, again."""
        for position, offset in before.items():
            for level in LEVELS if self.lives and offset > after[position] else ():
                self._of(level, position).repeat(max(after[position], 0), offset)

    def decisions_lost(self, producer_id: int, epoch: int) -> None:
        """The coordinator knows of nothing that it has decided since a producer had this epoch."""
        if producer_id in self._fenced:
            self._fenced[producer_id] = min(epoch, self._fenced[producer_id])

    def _uncover(self, level: str, origins: Iterable[Origin]) -> None:
        for origin in origins:
            self.coverage[level, origin.position].take_back(origin.first, origin.last)
            if self.origins:
                self.origins[level].append((origin, -1))

    # --- decisions ----------------------------------------------------------------------------------------------------

    @property
    def open(self) -> list[Transaction]:
        """All that are undecided."""
        return [one for epochs in self._open.values() for one in epochs.values()]

    def _opened(self, life: ProducerLife, batch: RecordBatch) -> Transaction:
        epochs = self._open.setdefault(batch.producer_id, {})
        if batch.epoch not in epochs:
            epochs[batch.epoch] = Transaction(life)
        return epochs[batch.epoch]

    def _of(self, level: str, position: int) -> Coverage:
        return self.coverage.setdefault((level, position), Coverage())

    def _cover(self, level: str, origin: Origin) -> None:
        self._of(level, origin.position).add(origin.first, origin.last)
        if self.origins:
            self.origins[level].append((origin, 1))

    def decided(self, markers: WriteTxnMarkers) -> None:
        """The coordinator has logged what becomes of the transaction."""
        if markers.epoch < self._fenced.get(markers.producer_id, -1) + (markers.version >= TV2):
            return  # it has lost what it had decided since
        epochs = self._open.get(markers.producer_id, {})
        mine = [epochs.pop(epoch) for epoch in [*epochs] if epoch <= markers.epoch]
        self._fenced[markers.producer_id] = markers.epoch
        self._contradict(markers)
        life = mine[0].life if mine else self._current[markers.transactional_id]
        records = sum(origin.last - origin.first for one in mine for origin in (*one.origins, *one.lost))
        if markers.is_committed:
            life.committed += 1
            life.records_committed += records
        else:
            life.aborted += 1
            life.records_aborted += records
        for one in mine:
            self._decide(one, is_committed=markers.is_committed)
        self._latest[markers.producer_id] = markers, mine

    def _decide(self, one: Transaction, *, is_committed: bool) -> None:
        one.is_committed = is_committed
        for origin in one.origins if is_committed else ():
            self._cover("read_committed", origin)
        for origin in one.lost if is_committed else ():
            self._of("read_committed", origin.position).lose(origin.first, origin.last)

    def _contradict(self, markers: WriteTxnMarkers) -> None:
        """What was decided last may have been lost, and be decided otherwise now: each log has what came first."""
        if markers.producer_id not in self._latest:
            return
        before, transactions = self._latest.pop(markers.producer_id)
        is_same = before.epoch == markers.epoch and before.version >= TV2
        if is_same and before.is_committed != markers.is_committed:
            for origin in [origin for one in transactions for origin in one.origins]:
                coverage = self._of("read_committed", origin.position)
                coverage.repeat(origin.first, origin.last)
                coverage.lose(origin.first, origin.last)
        for one in transactions:
            one.origins, one.lost = [], []

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
        """Write down what each isolation level sees twice, or never though it sees what follows, or has seen it."""
        for (level, _), coverage in sorted(self.coverage.items()):
            record.add_delivery("output duplicate", level, coverage.twice)
            record.add_delivery("output duplicate (unclean)", level, coverage.repeated)
            record.add_delivery("output loss", level, coverage.missing)
            record.add_delivery("output loss (unclean)", level, coverage.taken_back)
            record.add_delivery("output loss (truncated input)", level, coverage.never_made)
