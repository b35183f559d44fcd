"""The cluster over time: rows of tables ``brokers``, ``shards`` and ``queues``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from groupsim.sim.books.broker_books import BrokerBooks
from groupsim.sim.books.shard_books import ShardBooks
from groupsim.sim.output.columns import Columns, of_tuples
from groupsim.sim.tables import BROKERS, QUEUES, SHARDS


def broker_rows(books: BrokerBooks, horizon: int) -> Columns:
    """Columns of a row a stretch in which a broker was in one state and led as many partitions."""
    return of_tuples(BROKERS, _broker_stretches(books, horizon))


def _broker_stretches(books: BrokerBooks, horizon: int) -> Iterator[tuple[Any, ...]]:
    for node, states in books.states.items():
        for one, end in zip(states, _ends([one.from_us for one in states], horizon), strict=True):
            yield node, one.from_us, end, one.state, one.leaders


def shard_rows(shards: Sequence[ShardBooks], horizon: int) -> Columns:
    """Columns of a row a stretch in which a shard was on one broker, or nowhere."""
    return of_tuples(SHARDS, _shard_stretches(shards, horizon))


def _shard_stretches(shards: Sequence[ShardBooks], horizon: int) -> Iterator[tuple[Any, ...]]:
    for shard in shards:
        for place, end in zip(shard.places, _ends([one.from_us for one in shard.places], horizon), strict=True):
            if place.from_us < end:
                yield shard.partition, len(shard.groups), place.node, place.from_us, end, place.state


def queue_rows(shards: Sequence[ShardBooks], every_us: int) -> Columns:
    """Columns of a row a shard whose requests take their turn, and stretch of this length in which any had it."""
    metered = [one for one in shards if one.figures.basis == "queue" and one.waits_us]
    return of_tuples(QUEUES, (row for shard in metered for row in _waits(shard, every_us)))


def _waits(shard: ShardBooks, every_us: int) -> Iterator[tuple[Any, ...]]:
    left, waits = np.frombuffer(shard.left_us, np.int64), np.frombuffer(shard.waits_us, np.int64)
    slots = left // every_us
    edges = [0, *(np.flatnonzero(np.diff(slots)) + 1).tolist(), len(slots)]
    for first, last in pairwise(edges):
        begin, some = int(slots[first]) * every_us, waits[first:last]
        median, most = (int(np.quantile(some, q, method="inverted_cdf")) for q in (0.5, 0.99))
        yield shard.partition, begin, begin + every_us, len(some), median, most, int(some.max())


def _ends(begins: Sequence[int], horizon: int) -> list[int]:
    return [*begins, horizon][1:]
