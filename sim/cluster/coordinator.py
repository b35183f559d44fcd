"""A group coordinator: one per partition of ``__consumer_offsets``, on the broker that leads it."""

from __future__ import annotations

from collections.abc import Generator
from functools import cache, partial
from typing import Any

import simpy

from groupsim.sim.cluster.event_loop import EventLoop
from groupsim.sim.cluster.group_host import GroupHost
from groupsim.sim.kernel.environment import Environment
from groupsim.sim.kernel.network import Exchange


@cache
def partition_for(group_id: str, partitions: int) -> int:
    """The offsets partition of a group (``GroupCoordinatorService.partitionFor``, Kafka 4.4).

    ``abs`` of Java's 32-bit string hash, where ``abs(Integer.MIN_VALUE)`` is 0, modulo the partition count.
    """
    units = group_id.encode("utf-16-be")
    code = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF
    signed = code - (1 << 32) if code >= 1 << 31 else code
    return 0 if signed == -(1 << 31) else abs(signed) % partitions


class Coordinator:
    """The groups of one offsets partition.

    Parameters
    ----------
    env : Environment
    partition : int
        Of ``__consumer_offsets``.
    node : int
        Broker that leads it.
    """

    def __init__(self, env: Environment, partition: int, node: int) -> None:
        self.env = env
        self.partition = partition
        self.node = node
        self.loop = EventLoop(env, partition)
        self.groups: dict[str, GroupHost] = {}
        self.is_active = False
        self.resigned = env.event()
        env.process(self.run())

    def run(self) -> Generator[simpy.Event, Any, None]:
        """Loaded (at once, here), active until the broker resigns."""
        self.is_active = True
        yield self.resigned
        self.is_active = False

    def adopt(self, group: GroupHost) -> None:
        """Host a group."""
        self.groups[group.name] = group

    def receive(self, exchange: Exchange) -> None:
        """A request for one of its groups."""
        group = self.groups[exchange.group_id]
        if self.loop.is_free:
            group.handle(exchange)
        else:
            self.loop.submit(partial(group.handle, exchange))
