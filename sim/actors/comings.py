"""Comings and goings: processes start, stop and start again."""

from __future__ import annotations

from typing import Any

from groupsim.sim.actors.consumer import Consumer
from groupsim.sim.actors.teller import Story, Teller
from groupsim.sim.actors.world import World
from groupsim.sim.kernel.environment import Kind, process_key
from groupsim.sim.model import Close, Group, Kill, Restart, Scale, StartMembers
from groupsim.sim.randomness import Streams


def kill(teller: Teller) -> None:
    """SIGKILL, and perhaps a restart."""
    verb, world = teller.entry.verb, teller.world
    assert isinstance(verb, Kill)
    for consumer in teller.processes(verb.target):
        consumer.kill(world.env.now)
        if verb.down is not None:
            world.env.process(_start_after(world, consumer, teller.draw("down", consumer.name)(teller.number)))


def close(teller: Teller) -> None:
    """SIGTERM, and SIGKILL when the grace period is over."""
    verb = teller.entry.verb
    assert isinstance(verb, Close)
    for consumer in teller.processes(verb.target):
        terminate(teller.world, consumer, verb.grace_us)


def terminate(world: World, consumer: Consumer, grace_us: int) -> None:
    """Ask a consumer to close; kill this incarnation if it has not by then."""
    incarnation, now = consumer.incarnation, world.env.now

    def lose_patience(_: Any) -> None:
        if consumer.is_open and consumer.incarnation == incarnation:
            consumer.kill(world.env.now)

    world.env.at(now + grace_us, process_key(consumer.entity, Kind.KILL), lose_patience)
    consumer.close()


def _start_after(world: World, consumer: Consumer, down_us: int) -> Story:
    world.fault_until(world.env.now + down_us)
    yield world.env.until(world.env.now + down_us, process_key(consumer.entity, Kind.START))
    consumer.start()


def start(teller: Teller) -> None:
    """Start members that are not running, one every so often."""
    verb, world = teller.entry.verb, teller.world
    assert isinstance(verb, StartMembers)
    waiting = [one for one in teller.targets(verb.target, alive=False) if not one.is_running]
    for index, consumer in enumerate(waiting):
        world.env.process(_start_after(world, consumer, index * verb.every_us))


def restart(teller: Teller) -> None:
    """Stop all at once; each starts again after its own down time."""
    verb, world = teller.entry.verb, teller.world
    assert isinstance(verb, Restart)
    for consumer in teller.processes(verb.target):
        down = teller.draw("down", consumer.name)(teller.number)
        world.env.process(stop_and_start(world, consumer, verb.stop, verb.grace_us, down))


def stop_and_start(world: World, consumer: Consumer, stop: str, grace_us: int, down_us: int) -> Story:
    """Stop one consumer, wait until its process is gone, wait ``down_us``, start it."""
    if consumer.is_open:
        gone = consumer.gone
        if stop == "kill":
            consumer.kill(world.env.now)
        else:
            terminate(world, consumer, grace_us)
        yield gone
    yield from _start_after(world, consumer, down_us)


def scale(teller: Teller) -> None:
    """Out: the lowest free indices start. In: the highest running ones close."""
    verb, world = teller.entry.verb, teller.world
    assert isinstance(verb, Scale)
    group = sorted(world.groups[verb.target.name].consumers, key=lambda one: one.slot)
    running = [one for one in group if one.is_running]
    idle = [one for one in group if not one.is_running]
    for index, consumer in enumerate(idle[: max(0, verb.to - len(running))]):
        teller.note(consumer.group.name, consumer.name)
        world.env.process(_start_after(world, consumer, index * verb.every_us))
    for index, consumer in enumerate(reversed(running[verb.to :])):
        teller.note(consumer.group.name, consumer.name)
        world.env.process(_stop_after(world, consumer, index * verb.every_us, verb.grace_us))


def _stop_after(world: World, consumer: Consumer, delay_us: int, grace_us: int) -> Story:
    world.fault_until(world.env.now + delay_us)
    yield world.env.until(world.env.now + delay_us, process_key(consumer.entity, Kind.FAULT))
    terminate(world, consumer, grace_us)


def first_start(world: World, spec: Group, index: int) -> Story:
    """A member starts for the first time, as its group's ``members.start`` says."""
    consumer = world.consumers[f"{spec.name}/{index}"]
    yield world.env.until(first_start_us(world.streams, spec, index), process_key(consumer.entity, Kind.START))
    consumer.start()


def first_start_us(streams: Streams, spec: Group, index: int) -> int:
    """When that is, microseconds."""
    start = spec.members.start
    if start.kind == "within":
        number = streams.key("start", f"{spec.name}/{index}")
        return start.offset_us + ((number & 0xFFFFFFFFFFFFFFFF) * start.value_us >> 64)
    return start.offset_us + start.value_us * (index if start.kind == "every" else 1)
