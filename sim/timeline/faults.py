"""Faults: pauses, hangs, slowness, cuts. Each function is what one firing of an entry does."""

from __future__ import annotations

from typing import Any

from groupsim.sim.client.consumer import Consumer
from groupsim.sim.model import Cut, GcPause, Slow, SlowHost, Stuck, Target
from groupsim.sim.timeline.broker_targets import meant_brokers
from groupsim.sim.timeline.dispatcher import Dispatcher
from groupsim.sim.timeline.zookeeper_servers import cut_from_zookeeper, servers
from groupsim.sim.units import FOREVER
from groupsim.sim.world import World


def gc_pause(dispatcher: Dispatcher) -> None:
    """All consumers of the process stand still."""
    verb = dispatcher.entry.verb
    assert isinstance(verb, GcPause)
    until = dispatcher.world.env.now + dispatcher.duration()
    for consumer in dispatcher.processes(verb.target):
        if consumer.client is not None:
            consumer.client.suspension.freeze(until)


def stuck(dispatcher: Dispatcher) -> None:
    """The processing thread hangs."""
    verb = dispatcher.entry.verb
    assert isinstance(verb, Stuck)
    length = dispatcher.duration()
    for consumer in dispatcher.targets(verb.target):
        if consumer.client is not None:
            consumer.client.suspension.hang(length)


def slow(dispatcher: Dispatcher) -> None:
    """Processing, or the whole host, slows down for a while."""
    verb, world = dispatcher.entry.verb, dispatcher.world
    assert isinstance(verb, Slow | SlowHost)
    whole = isinstance(verb, SlowHost)
    hit = dispatcher.processes(verb.target) if whole else dispatcher.targets(verb.target)
    name = f"{dispatcher.entry.id}#{dispatcher.number}"
    for consumer in hit:
        consumer.slowdowns[name] = (verb.factor, whole)
        consumer.repace(world.env.now)

    def over(_: Any) -> None:
        for consumer in hit:
            del consumer.slowdowns[name]
            consumer.repace(world.env.now)

    end = world.env.now + dispatcher.duration()
    if end < FOREVER:
        world.env.at(end, dispatcher.key, over)


def cut(dispatcher: Dispatcher) -> None:
    """Nothing gets through between two sets of nodes for a while."""
    verb, world = dispatcher.entry.verb, dispatcher.world
    assert isinstance(verb, Cut)
    sides = tuple(_nodes(dispatcher, target) for target in verb.between)
    world.cuts.append((sides[0], sides[1]))
    cut_from_zookeeper(dispatcher, sides)
    hit = [(consumer, nodes) for consumer in world.consumers.values() if (nodes := _cut_nodes(world, consumer, sides))]
    for consumer, nodes in hit:
        dispatcher.note(consumer.group.name, consumer.name)
        if consumer.client is not None:
            consumer.client.cut(nodes)

    _rewire(world)

    def heal(_: Any) -> None:
        world.cuts.remove((sides[0], sides[1]))
        for consumer, _ in hit:
            if consumer.client is not None:
                consumer.client.fetcher.heal()
        _rewire(world)

    world.env.at(world.env.now + dispatcher.duration(), dispatcher.key, heal)


def _nodes(dispatcher: Dispatcher, target: Target) -> frozenset[str]:
    world = dispatcher.world
    if target.kind == "broker":
        return frozenset(f"broker:{node}" for node in meant_brokers(dispatcher, target))
    if target.kind == "zookeeper":
        return frozenset(f"zookeeper:{number}" for number in servers(dispatcher, target))
    names = {one.name for one in dispatcher.meant(target)}
    if target.kind == "rack":
        names |= {f"broker:{one.id}" for one in world.scenario.cluster.brokers if one.rack == target.name}
    return frozenset(names)


def _rewire(world: World) -> None:
    """Brokers notice too, if somebody looks after them."""
    if world.controller is not None:
        world.controller.rewire()
        if world.transactions is not None:
            world.transactions.rewired()


def _cut_nodes(world: World, consumer: Consumer, sides: tuple[frozenset[str], ...]) -> frozenset[int]:
    far = [sides[1 - i] for i in (0, 1) if consumer.name in sides[i]]
    return frozenset(node for node in world.broker_ids if any(f"broker:{node}" in side for side in far))
