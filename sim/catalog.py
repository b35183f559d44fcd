"""Topics of the cluster as clients see them, and a group's partitions as positions in a vector.

Positions are handed out once and never move: partitions that come into being later get the next numbers. So an
assignment, an offset or a rate of one moment can be compared with one of another moment.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from sim.model import Rate, Topic
from sim.protocol.messages import NO_PARTITIONS, Positions
from sim.randomness import name_hash


class Catalog:
    """Every topic with its partition count, now and at any earlier time.

    Parameters
    ----------
    topics : sequence of Topic
    broker_ids : sequence of int
        Leaders of data partitions are dealt out over them.
    """

    def __init__(self, topics: Sequence[Topic], broker_ids: Sequence[int]) -> None:
        self._brokers = tuple(sorted(broker_ids))
        self.rates: dict[str, tuple[int, Rate]] = {}
        """Topic -> since when which rate holds."""
        self.former_rates: dict[str, list[tuple[int, Rate]]] = {}
        for topic in topics:
            self.set_rate(0, topic.name, topic.rate)
        self.deleted_before_us: dict[str, int] = {}
        """Topic that keeps records for a limited time -> what was produced before this is deleted."""
        self.created_us: dict[str, list[int]] = {topic.name: [0] * topic.partitions for topic in topics}
        self._times: list[int] = [0]
        self._counts: list[Mapping[str, int]] = [self._view()]

    def _view(self) -> Mapping[str, int]:
        return MappingProxyType({name: len(self.created_us[name]) for name in sorted(self.created_us)})

    @property
    def counts(self) -> Mapping[str, int]:
        """Topic -> number of partitions, now."""
        return self._counts[-1]

    @property
    def version(self) -> int:
        """Number of changes so far."""
        return len(self._times)

    def counts_at(self, time: int) -> Mapping[str, int]:
        """What a metadata request that a broker answered at ``time`` has seen."""
        return self._counts[max(bisect_right(self._times, time) - 1, 0)]

    def grow(self, now: int, topic: str, to: int) -> None:
        """Create a topic, or add partitions to it."""
        created = self.created_us.setdefault(topic, [])
        created.extend([now] * (to - len(created)))
        self._times.append(now)
        self._counts.append(self._view())

    def set_rate(self, now: int, topic: str, rate: Rate) -> None:
        """A topic is produced to with another rate from now on."""
        if topic in self.rates:
            self.former_rates.setdefault(topic, []).append(self.rates[topic])
        self.rates[topic] = (now, rate)

    def leader(self, topic: str, number: int) -> int:
        """Broker id that leads a data partition."""
        return self._brokers[(name_hash(topic) + number) % len(self._brokers)]


class Partitions:
    """The partitions that matter to one group, by position.

    Attributes
    ----------
    topic : list of str, length n
    number : int32 array, shape (n,)
    created_us : int64 array, shape (n,)
    leader : int32 array, shape (n,), broker ids
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._positions: dict[str, Positions] = {}
        self.topic: list[str] = []
        self.number: NDArray[np.int32] = np.empty(0, np.int32)
        self.created_us: NDArray[np.int64] = np.empty(0, np.int64)
        self.leader: NDArray[np.int32] = np.empty(0, np.int32)

    def __len__(self) -> int:
        return len(self.topic)

    def cover(self, topics: Sequence[str]) -> int:
        """Make sure that all partitions of ``topics`` have positions; the number of new ones."""
        before = len(self)
        for topic in sorted(topics):
            created = self._catalog.created_us.get(topic, [])
            known = self._positions.get(topic, NO_PARTITIONS)
            new = range(len(known), len(created))
            if not new:
                continue
            start = len(self.topic)
            self.topic += [topic] * len(new)
            self._positions[topic] = np.concatenate([known, np.arange(start, start + len(new), dtype=np.int32)])
            self.number = np.concatenate([self.number, np.array(new, dtype=np.int32)])
            self.created_us = np.concatenate([self.created_us, np.array(created[new.start :], dtype=np.int64)])
            leaders = [self._catalog.leader(topic, number) for number in new]
            self.leader = np.concatenate([self.leader, np.array(leaders, dtype=np.int32)])
        return len(self) - before

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics that have positions."""
        return tuple(self._positions)

    def of(self, topic: str) -> Positions:
        """Positions of a topic's partitions, by partition number."""
        return self._positions.get(topic, NO_PARTITIONS)

    def mask(self, positions: Positions) -> NDArray[np.bool_]:
        """Which of all positions are among these. Shape (n,)."""
        mask = np.zeros(len(self), np.bool_)
        mask[positions] = True
        return mask
