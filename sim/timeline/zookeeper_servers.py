"""What happens to ZooKeeper's servers: they die, and start again."""

from __future__ import annotations

from collections.abc import Sequence

from simpy.events import ProcessGenerator

from groupsim.sim.client.zookeeper.zookeeper_client import ZookeeperClient
from groupsim.sim.cluster.groups.group_protocols import ZOOKEEPER_ONLY
from groupsim.sim.cluster.zookeeper import Zookeeper
from groupsim.sim.model import Kill, Target
from groupsim.sim.timeline.dispatcher import Dispatcher


def _ensemble(dispatcher: Dispatcher) -> Zookeeper:
    found = dispatcher.world.zookeeper
    assert found is not None  # scenarios without one have no such targets
    return found


def servers(dispatcher: Dispatcher, target: Target) -> list[int]:
    """Numbers of the servers that are meant now."""
    if target.pick != "leader":
        return list(target.indices)
    leader = _ensemble(dispatcher).ensemble.leader
    if leader is None:
        dispatcher.warn("no ZooKeeper server leads")
    return [] if leader is None else [leader]


def kill_servers(dispatcher: Dispatcher) -> None:
    """Servers die, and are perhaps started again."""
    verb, world = dispatcher.entry.verb, dispatcher.world
    assert isinstance(verb, Kill)
    for number in servers(dispatcher, verb.target):
        _ensemble(dispatcher).stop(number)
        dispatcher.note_all(f"zookeeper:{number}")
        if verb.down is not None:
            down_us = dispatcher.draw("down", number)(dispatcher.number)
            world.fault_until(world.env.now + down_us)
            world.env.process(_start_after(dispatcher, number, down_us))


def _start_after(dispatcher: Dispatcher, number: int, down_us: int) -> ProcessGenerator:
    env = dispatcher.world.env
    yield env.until(env.now + down_us, dispatcher.key)
    _ensemble(dispatcher).start(number)


def start_servers(dispatcher: Dispatcher, numbers: Sequence[int]) -> None:
    """Servers start, if they are down."""
    for number in numbers:
        dispatcher.note_all(f"zookeeper:{number}")
        _ensemble(dispatcher).start(number)


def cut_from_zookeeper(dispatcher: Dispatcher, sides: Sequence[frozenset[str]]) -> None:
    """Nothing gets through between some consumers and some servers: the connections between them are dead."""
    world = dispatcher.world
    for consumer in world.consumers.values():
        if consumer.group.protocols == ZOOKEEPER_ONLY and any(
            consumer.name in side and any(place.startswith("zookeeper:") for place in sides[1 - one])
            for one, side in enumerate(sides)
        ):
            dispatcher.note(consumer.group.name, consumer.name)
            if isinstance(consumer.client, ZookeeperClient) and consumer.client.session is not None:
                consumer.client.session.sever()
