"""Producers of a topic: a process that changes the production rate step by step."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import simpy

from groupsim.sim.kernel.environment import Kind, process_key
from groupsim.sim.randomness import name_hash

if TYPE_CHECKING:
    from groupsim.sim.client.client import Client
    from groupsim.sim.cluster.group_host import GroupHost
    from groupsim.sim.world import World


class Producer:
    """Everything that writes to one topic.

    Parameters
    ----------
    world : World
    topic : str
    """

    def __init__(self, world: World, topic: str) -> None:
        self.world = world
        self.topic = topic
        self._key = process_key(name_hash("producer", topic), Kind.FAULT)

    def run(self) -> Generator[simpy.Event, Any, None]:
        """Follow the steps of the current rate until they end, or another rate is set."""
        world = self.world
        since, rate = world.catalog.rates[self.topic]
        for offset in rate.times_us[1:]:
            if since + offset >= world.scenario.horizon_us:
                return
            yield world.env.until(since + offset, self._key)
            if world.catalog.rates[self.topic][1] is not rate:
                return
            self.apply()

    def apply(self) -> None:
        """The rate of now holds from now on, for every group that reads the topic."""
        now = self.world.env.now
        for name in sorted(self.world.groups):
            group = self.world.groups[name]
            if self.topic not in group.partitions.topics:
                continue
            readers = _readers(group, self.topic)
            # What they have committed so far was read at the old rate.
            for client in readers:
                client.quiescence.wake()
            changed = group.partitions.mask(group.ledger.set_rate(now, self.topic))
            for client in readers:
                if changed[client.consumption.partitions].any():
                    client.fetcher.repace(now)
                client.drive(now)


def _readers(group: GroupHost, topic: str) -> list[Client]:
    """Consumers that consume some of a topic, or are about to."""
    group.cohort.settle()
    mine = group.partitions.mask(group.partitions.of(topic))
    clients = [consumer.client for consumer in group.consumers if consumer.client is not None]
    return [client for client in clients if mine[client.consumption.partitions].any()]
