"""Records that are deleted because they are too old.

Brokers look every ``log.retention.check.interval.ms``, the first time 30 s after their start (``LogManager.startup``,
``LogManager.cleanupLogs``, Kafka 4.4), and raise log start offsets. A log deletes whole segments; here every segment
holds one record, so that nothing stays longer than it must.

A fetch below the log start is out of range: the consumer goes on where auto.offset.reset says
(``FetchCollector.handleInitializeErrors``). What nobody had processed by then is lost.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

import numpy as np
import simpy

from groupsim.sim.books.group_books import GroupBooks
from groupsim.sim.books.offsets.production import Offsets
from groupsim.sim.catalog import Catalog
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.cluster.interface import Reader
from groupsim.sim.kernel.environment import Environment, Kind, process_key
from groupsim.sim.model import Topic
from groupsim.sim.randomness import name_hash
from groupsim.sim.units import S

_FIRST_CHECK_US = 30 * S
"""``log.initial.task.delay.ms``."""


class Retention:
    """What brokers do about the age of one topic's records.

    Parameters
    ----------
    env : Environment
    catalog : Catalog
    groups : mapping of str to GroupHost
    readers : mapping of str to sequence of Reader
        The consumers of each group.
    topic : Topic
        With a limited ``retention_us``.
    """

    def __init__(
        self, env: Environment, catalog: Catalog, groups: Mapping[str, GroupHost],
        readers: Mapping[str, Sequence[Reader]], topic: Topic,
    ) -> None:  # fmt: skip
        self._env = env
        self._catalog = catalog
        self._groups = groups
        self._readers = readers
        self._topic = topic
        self._created_us = env.now
        self._key = process_key(name_hash("retention", topic.name), Kind.FAULT)
        catalog.deleted_before_us[topic.name] = 0

    def run(self, every_us: int, horizon_us: int) -> Generator[simpy.Event, Any, None]:
        """Look every ``every_us`` (microseconds); not before anything can be too old."""
        oldest = self._created_us + self._topic.retention_us
        check = _FIRST_CHECK_US + max(0, -(-(oldest - _FIRST_CHECK_US) // every_us)) * every_us
        while check < horizon_us:
            yield self._env.until(check, self._key)
            if self._catalog.specs.get(self._topic.name) is not self._topic:
                return
            self._catalog.deleted_before_us[self._topic.name] = check - self._topic.retention_us
            for name in sorted(self._groups):
                if self._topic.name in self._groups[name].books.partitions.topics:
                    self._delete(name)
            check += every_us

    def _delete(self, group: str) -> None:
        books, now = self._groups[group].books, self._env.now
        books.ledger.delete(self._topic.name)
        count_losses(books, now, "retention")
        for reader in self._readers[group]:
            if reader.is_out_of_range(now):
                reader.repace(now)


def count_losses(books: GroupBooks, now: int, cause: str) -> None:
    """What nobody has processed and nobody will: frontiers are never below the log start."""
    ledger, delivery = books.ledger, books.delivery
    processed = ledger.processed(now)
    if books.is_broadcast:
        for slot, reading in books.handles.readings():
            own = delivery.frontier_of(slot)
            lost = _lost(ledger.log_start, own, reading.processed(now) if reading is not None else own)
            delivery.count("loss", cause, int(lost.sum()))
            own[lost > 0] = ledger.log_start[lost > 0]
    lost = _lost(ledger.log_start, processed, processed)
    if not books.is_broadcast:
        delivery.count("loss", cause, int(lost.sum()))
        ledger.lose(np.arange(len(lost), dtype=np.int32), processed, processed + lost, cause)
    gone = np.flatnonzero(lost).astype(np.int32)
    ledger.raise_frontier(now, gone, ledger.log_start[gone])


def _lost(log_start: Offsets, begun: Offsets, processed: Offsets) -> Offsets:
    """Deleted records of each partition that were not processed, where somebody ever began. Shape (n_partitions,)."""
    return np.where(begun >= 0, np.maximum(log_start - processed, 0), 0)
