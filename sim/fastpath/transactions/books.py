"""What transactions that were worked out ahead leave in the books, but for what their members write down themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.group_books import GroupBooks
from groupsim.sim.books.offsets.foretold import Foretold
from groupsim.sim.books.offsets.holding import Holding
from groupsim.sim.books.offsets.ledger import Ledger
from groupsim.sim.books.producing.output_history import MARKER
from groupsim.sim.fastpath.transactions.ahead import Told
from groupsim.sim.fastpath.transactions.columns import Column, Rows
from groupsim.sim.protocol.messages import Api, Error

_BY_REQUEST = (Api.PRODUCE, Api.PRODUCE, Api.TXN_OFFSET_COMMIT, Api.END_TXN)


class Writes(NamedTuple):
    """Batches and markers, as `OutputPartitions.pass_over` takes them (`sim.cluster.topics`). Shapes (n,)."""

    numbers: Column
    time: Column
    key: Column
    producer_id: Column
    records: Column


def tell_services(ledger: Ledger, told: Sequence[Told]) -> None:
    """Each has served its partitions from poll() to poll(), and stood still from there to the commit."""
    for one in told:
        members, held, batch = one.members, one.held, one.cycle.batch
        rows, parts = _which(one)
        positions, lengths = held.positions[parts], held.lengths[rows]
        ledger.log.serve_all(
            members.slots[rows], one.standing.back_us[rows], positions, batch.begun[parts], lengths,
            batch.backlog[rows], held.rate[rows], members.pace.capacity[rows],
            (positions, batch.offered[parts], held.mrps[parts]),
        )  # fmt: skip
        ledger.log.rest(batch.polls_us[rows], positions, batch.target[parts], lengths)


def _which(one: Told) -> tuple[Any, Any]:
    """Rows that count, and their partitions; all of them most often, so that the log shares their arrays."""
    if np.count_nonzero(one.counts) == len(one.counts):
        return slice(None), slice(None)
    return np.flatnonzero(one.counts), one.counts[one.held.member]


def tell_requests(books: GroupBooks, told: Sequence[Told], heartbeat: Api) -> None:
    """All were answered, and nothing was wrong."""
    for kind, api in enumerate(_BY_REQUEST):
        sent = np.concatenate([one.cycle.commit.sent_us[kind][one.counts] for one in told])
        books.requests.count_quietly(api, Error.NONE, sent[sent >= 0], 1)
    beats = [(beats, one.counts) for one in told for beats in one.cycle.beats]
    sent = np.concatenate([one.sent_us[one.is_sent & counts] for one, counts in beats])
    books.requests.count_quietly(heartbeat, Error.NONE, sent, 1)


def writes(told: Sequence[Told], shard_key: Column, request_key: Column) -> Writes:
    """Batches and markers in the output topic.

    ``shard_key``, ``request_key``, shape (n_rows,): where what a coordinator of transactions lets through stands in an
    instant, and what a leader takes from a request at once.
    """
    blocks = [block for one in told for block in _writes(one, shard_key[one.rows], request_key[one.rows])]
    return Writes(*(np.concatenate(column) for column in zip(*blocks, strict=True)))


def _writes(one: Told, shard_key: Column, request_key: Column) -> list[Writes]:
    batch, commit, held, producer_id = one.cycle.batch, one.cycle.commit, one.held, one.members.producer_id
    early = np.flatnonzero(batch.is_early & one.counts)
    rest = batch.rest
    parts = np.flatnonzero((rest > 0) & one.counts[held.member])
    member = held.member[parts]
    key = np.where(commit.asks, shard_key, request_key)
    output, marked = _touched(one)
    ones = np.ones(len(early), np.int64)
    return [
        Writes(
            held.output[batch.first[early]], commit.written_us[0][early], shard_key[early], producer_id[early], ones
        ),
        Writes(held.output[parts], commit.written_us[1][member], key[member], producer_id[member], rest[parts]),
        Writes(output, commit.marked_us[marked], shard_key[marked], producer_id[marked], np.full(len(marked), MARKER)),
    ]


def _touched(one: Told) -> tuple[Column, Rows]:
    """Output partitions that transactions have written to, and by which row, each once."""
    batch, (which, output, member) = one.cycle.batch, one.held.pairs
    parts = (batch.target > batch.begun) & one.counts[one.held.member]
    touched = np.flatnonzero(np.bincount(which[parts]))
    return output[touched], member[touched]


class Foretelling:
    """How far members will have got at sampling instants, from transactions that are told one after the other.

    Parameters
    ----------
    ledger : Ledger
    ticks : int64 array, shape (k,), microseconds
        When lag is sampled.
    """

    def __init__(self, ledger: Ledger, ticks: Column) -> None:
        self._ledger = ledger
        self._ticks = ticks
        self._slots: list[int] = []
        self._known: list[dict[int, NDArray[np.int64]]] = []

    def join(self, slots: Sequence[int]) -> None:
        """More members."""
        self._slots += slots
        self._known += [{} for _ in slots]

    def tell(self, now: int, told: Sequence[Told]) -> None:
        """Some transactions of some of them; of what was told before, samples that are due by now are taken."""
        samples = self._ledger.samples
        samples.settle()
        held: dict[int, NDArray[np.int32]] = {}
        for one in told:
            for row, tick, index in self._sampled(one):
                held[row] = one.held.positions[one.held.part(index)]
                self._known[row][tick] = _processed(self._ledger, one, index, tick)
        for row, positions in held.items():
            known = self._known[row] = {tick: at for tick, at in self._known[row].items() if tick >= now}
            samples.foretold[self._slots[row]] = Foretold(positions, np.array([*known]), np.array([*known.values()]))

    def _sampled(self, one: Told) -> Iterator[tuple[int, int, int]]:
        """Members that are sampled in a transaction of theirs: which, when, and which of those in ``one``."""
        begin, end = one.standing.back_us, one.cycle.after.back_us
        low, high = np.searchsorted(self._ticks, begin.min()), np.searchsorted(self._ticks, end.max(), side="right")
        for tick in self._ticks[low:high].tolist():
            for index in np.flatnonzero((begin <= tick) & (tick <= end) & one.counts).tolist():
                yield int(one.rows[index]), tick, index


def _processed(ledger: Ledger, one: Told, row: int, tick: int) -> Column:
    """How far a row has got at an instant of one transaction. Shape (n,)."""
    batch, held, part, began_us = one.cycle.batch, one.held, one.held.part(row), int(one.standing.back_us[row])
    if tick >= batch.polls_us[row]:
        return batch.target[part]
    capacity, rate = float(one.members.pace.capacity[row]), float(held.rate[row])
    service = Holding(
        int(one.members.slots[row]), capacity, held.positions[part], batch.begun[part], since=began_us,
        backlog=float(batch.backlog[row]), total_rate=rate, running=True,
    )  # fmt: skip
    service.share(batch.offered[part], held.mrps[part])
    return ledger.positions(service, tick)
