"""Records that are deleted because they are too old.

Brokers look every ``log.retention.check.interval.ms``, the first time 30 s after their start (``LogManager.startup``,
``LogManager.cleanupLogs``, Kafka 4.4), and raise log start offsets. A log deletes whole segments; here every segment
holds one record, so that nothing stays longer than it must.

A fetch below the log start is out of range: the consumer goes on where auto.offset.reset says
(``FetchCollector.handleInitializeErrors``). What nobody had processed by then is lost.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import numpy as np
import simpy

from groupsim.sim.kernel.environment import Kind, process_key
from groupsim.sim.randomness import name_hash
from groupsim.sim.units import FOREVER, S

if TYPE_CHECKING:
    from groupsim.sim.books.production import Offsets
    from groupsim.sim.client.consumer import Consumer
    from groupsim.sim.cluster.group_host import GroupHost
    from groupsim.sim.model import Topic
    from groupsim.sim.world import World

_FIRST_CHECK_US = 30 * S
"""``log.initial.task.delay.ms``."""


def limit_age(world: World, topic: Topic) -> None:
    """Have brokers look after the age of a topic's records from now on, if anything can get too old."""
    if topic.retention_us < FOREVER:
        world.env.process(Retention(world, topic).run())


class Retention:
    """What brokers do about the age of one topic's records.

    Parameters
    ----------
    world : World
    topic : Topic
        With a limited ``retention_us``.
    """

    def __init__(self, world: World, topic: Topic) -> None:
        self._world = world
        self._topic = topic
        self._created_us = world.env.now
        self._key = process_key(name_hash("retention", topic.name), Kind.FAULT)
        world.catalog.deleted_before_us[topic.name] = 0

    def run(self) -> Generator[simpy.Event, Any, None]:
        """Look again and again; not before anything can be too old."""
        world, every = self._world, self._world.scenario.cluster.log_retention_check_us
        oldest = self._created_us + self._topic.retention_us
        check = _FIRST_CHECK_US + max(0, -(-(oldest - _FIRST_CHECK_US) // every)) * every
        while check < world.scenario.horizon_us:
            yield world.env.until(check, self._key)
            world.catalog.deleted_before_us[self._topic.name] = check - self._topic.retention_us
            for name in sorted(world.groups):
                if self._topic.name in world.groups[name].partitions.topics:
                    self._delete(world.groups[name])
            check += every

    def _delete(self, group: GroupHost) -> None:
        group.ledger.delete(self._topic.name)
        _count_losses(group)
        for consumer in group.consumers:
            client = consumer.client
            if client is not None and client.fetcher.is_out_of_range(self._world.env.now):
                client.quiescence.wake()
                client.fetcher.repace(self._world.env.now)
                client.drive(self._world.env.now)


def _count_losses(group: GroupHost) -> None:
    """What nobody has processed and nobody will: frontiers are never below the log start."""
    ledger, now = group.ledger, group.now
    frontiers = [(ledger.frontier, ledger.processed(now))]
    if group.is_broadcast:
        frontiers = [_own_frontier(group, one, now) for one in group.consumers]
    for frontier, processed in frontiers:
        lost = np.where(frontier >= 0, np.maximum(ledger.log_start - processed, 0), 0)
        group.count("loss", "retention", int(lost.sum()))
        frontier[lost > 0] = ledger.log_start[lost > 0]


def _own_frontier(group: GroupHost, consumer: Consumer, now: int) -> tuple[Offsets, Offsets]:
    frontier, consumption = group.frontier_of(consumer.slot), consumer.consumption
    return frontier, consumption.processed(now) if consumption is not None else frontier
