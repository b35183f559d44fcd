"""Producers of a topic: a process that changes the production rate step by step."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

import simpy

from groupsim.sim.catalog import Catalog
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.cluster.interface import Reader
from groupsim.sim.kernel.environment import Environment, Kind, process_key
from groupsim.sim.randomness import name_hash


class Producer:
    """Everything that writes to one topic.

    Parameters
    ----------
    env : Environment
    catalog : Catalog
    groups : mapping of str to GroupHost
    readers : mapping of str to sequence of Reader
        The consumers of each group.
    topic : str
    """

    def __init__(
        self, env: Environment, catalog: Catalog, groups: Mapping[str, GroupHost],
        readers: Mapping[str, Sequence[Reader]], topic: str,
    ) -> None:  # fmt: skip
        self._env = env
        self._catalog = catalog
        self._groups = groups
        self._readers = readers
        self.topic = topic
        self._key = process_key(name_hash("producer", topic), Kind.FAULT)

    def run(self, horizon_us: int) -> Generator[simpy.Event, Any, None]:
        """Follow the steps of the current rate until they end, or another rate is set."""
        since, rate = self._catalog.rates[self.topic]
        for offset in rate.times_us[1:]:
            if since + offset >= horizon_us:
                return
            yield self._env.until(since + offset, self._key)
            if self._catalog.rates[self.topic][1] is not rate:
                return
            self.apply()

    def apply(self) -> None:
        """The rate of now holds from now on, for every group that reads the topic."""
        now = self._env.now
        for name in sorted(self._groups):
            group = self._groups[name]
            partitions = group.books.partitions
            if self.topic not in partitions.topics:
                continue
            readers = self._reading(group)
            # What they have committed so far was read at the old rate.
            for reader in readers:
                reader.wake()
            changed = frozenset(group.books.ledger.set_rate(now, self.topic).tolist())
            for reader in readers:
                if reader.reads(changed):
                    reader.repace(now)
                else:
                    reader.drive(now)

    def _reading(self, group: GroupHost) -> list[Reader]:
        """Consumers that consume some of the topic, or are about to."""
        group.fast_path.settle()
        mine = frozenset(group.books.partitions.of(self.topic).tolist())
        return [reader for reader in self._readers[group.name] if reader.reads(mine)]
