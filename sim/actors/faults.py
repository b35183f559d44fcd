"""Faults: pauses, hangs, slowness, cuts. Each function is what one firing of an entry does."""

from __future__ import annotations

from typing import Any

from groupsim.sim.actors.consumer import Consumer
from groupsim.sim.actors.teller import Teller
from groupsim.sim.actors.world import World
from groupsim.sim.model import Cut, GcPause, Slow, SlowHost, Stuck, Target
from groupsim.sim.units import FOREVER


def gc_pause(teller: Teller) -> None:
    """All consumers of the process stand still."""
    verb = teller.entry.verb
    assert isinstance(verb, GcPause)
    until = teller.world.env.now + teller.duration()
    for consumer in teller.processes(verb.target):
        if consumer.client is not None:
            consumer.client.standstill.freeze(until)


def stuck(teller: Teller) -> None:
    """The processing thread hangs."""
    verb = teller.entry.verb
    assert isinstance(verb, Stuck)
    length = teller.duration()
    for consumer in teller.targets(verb.target):
        if consumer.client is not None:
            consumer.client.standstill.hang(length)


def slow(teller: Teller) -> None:
    """Processing, or the whole host, slows down for a while."""
    verb, world = teller.entry.verb, teller.world
    assert isinstance(verb, Slow | SlowHost)
    whole = isinstance(verb, SlowHost)
    hit = teller.processes(verb.target) if whole else teller.targets(verb.target)
    name = f"{teller.entry.id}#{teller.number}"
    for consumer in hit:
        consumer.slowdowns[name] = (verb.factor, whole)
        consumer.repace(world.env.now)

    def over(_: Any) -> None:
        for consumer in hit:
            del consumer.slowdowns[name]
            consumer.repace(world.env.now)

    end = world.env.now + teller.duration()
    if end < FOREVER:
        world.env.at(end, teller.key, over)


def cut(teller: Teller) -> None:
    """Nothing gets through between two sets of nodes for a while."""
    verb, world = teller.entry.verb, teller.world
    assert isinstance(verb, Cut)
    sides = tuple(_nodes(teller, target) for target in verb.between)
    world.cuts.append((sides[0], sides[1]))
    hit = [(consumer, nodes) for consumer in world.consumers.values() if (nodes := _cut_nodes(world, consumer, sides))]
    for consumer, nodes in hit:
        teller.note(consumer.group.name, consumer.name)
        if consumer.client is not None:
            consumer.client.fetching.cut(nodes)

    def heal(_: Any) -> None:
        world.cuts.remove((sides[0], sides[1]))
        for consumer, _ in hit:
            if consumer.client is not None:
                consumer.client.fetching.heal()

    world.env.at(world.env.now + teller.duration(), teller.key, heal)


def _nodes(teller: Teller, target: Target) -> frozenset[str]:
    world = teller.world
    if target.kind == "broker":
        return frozenset({f"broker:{target.name}"})
    names = {one.name for one in teller.meant(target)}
    if target.kind == "rack":
        names |= {f"broker:{one.id}" for one in world.scenario.cluster.brokers if one.rack == target.name}
    return frozenset(names)


def _cut_nodes(world: World, consumer: Consumer, sides: tuple[frozenset[str], ...]) -> frozenset[int]:
    far = [sides[1 - i] for i in (0, 1) if consumer.name in sides[i]]
    return frozenset(node for node in world.broker_ids if any(f"broker:{node}" in side for side in far))
