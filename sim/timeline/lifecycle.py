"""Lifecycle of consumer processes: they start, stop and start again."""

from __future__ import annotations

from functools import partial
from typing import Any

from simpy.events import ProcessGenerator

from groupsim.sim.client.consumer import Consumer
from groupsim.sim.kernel.environment import Kind, process_key
from groupsim.sim.model import (
    Close,
    Closing,
    CrashAt,
    Distribution,
    Group,
    Kill,
    Restart,
    RollingRestart,
    Scale,
    StartMembers,
)
from groupsim.sim.protocol.interface import CloseOperation
from groupsim.sim.randomness import Streams
from groupsim.sim.timeline.dispatcher import Dispatcher
from groupsim.sim.timeline.zookeeper_servers import kill_servers, servers, start_servers
from groupsim.sim.world import World


def kill(dispatcher: Dispatcher) -> None:
    """SIGKILL, and perhaps a restart."""
    verb, world = dispatcher.entry.verb, dispatcher.world
    assert isinstance(verb, Kill)
    if verb.target.kind == "zookeeper":
        kill_servers(dispatcher)
        return
    for consumer in dispatcher.processes(verb.target):
        consumer.kill(world.env.now)
        _come_back(dispatcher, consumer, verb.down)


def crash_at(dispatcher: Dispatcher) -> None:
    """SIGKILL at a point of the next transaction."""
    verb, world = dispatcher.entry.verb, dispatcher.world
    assert isinstance(verb, CrashAt)
    for consumer in dispatcher.targets(verb.target):
        consumer.crash = (verb.point, partial(_crashed, dispatcher, consumer, verb.down))
        world.fault_until(world.env.now)


def _crashed(dispatcher: Dispatcher, consumer: Consumer, down: Distribution | None) -> None:
    dispatcher.world.fault_until(dispatcher.world.env.now)
    _come_back(dispatcher, consumer, down)


def _come_back(dispatcher: Dispatcher, consumer: Consumer, down: Distribution | None) -> None:
    """Who was killed starts again, if it is to, when it has been down for as long as is drawn."""
    if down is not None:
        down_us = dispatcher.draw("down", consumer.name)(dispatcher.number)
        dispatcher.world.env.process(_start_after(dispatcher.world, consumer, down_us))


def close(dispatcher: Dispatcher) -> None:
    """SIGTERM, and SIGKILL when the grace period is over."""
    verb = dispatcher.entry.verb
    assert isinstance(verb, Close)
    for consumer in dispatcher.processes(verb.target):
        terminate(dispatcher.world, consumer, verb.grace_us, verb.close)


def terminate(world: World, consumer: Consumer, grace_us: int, closing: Closing = "default") -> None:
    """Ask a consumer to close; kill this incarnation if it has not by then."""
    incarnation, now = consumer.incarnation, world.env.now

    def lose_patience(_: Any) -> None:
        if consumer.is_open and consumer.incarnation == incarnation:
            consumer.kill(world.env.now)

    world.env.at(now + grace_us, process_key(consumer.entity, Kind.KILL), lose_patience)
    consumer.close(CloseOperation(closing))


def _start_after(world: World, consumer: Consumer, down_us: int) -> ProcessGenerator:
    world.fault_until(world.env.now + down_us)
    yield world.env.until(world.env.now + down_us, process_key(consumer.entity, Kind.START))
    consumer.start()


def start(dispatcher: Dispatcher) -> None:
    """Start members that are not running, one every so often."""
    verb, world = dispatcher.entry.verb, dispatcher.world
    assert isinstance(verb, StartMembers)
    if verb.target.kind == "zookeeper":
        start_servers(dispatcher, servers(dispatcher, verb.target))
        return
    waiting = [one for one in dispatcher.targets(verb.target, alive=False) if not one.is_running]
    for index, consumer in enumerate(waiting):
        world.env.process(_start_after(world, consumer, index * verb.every_us))


def restart(dispatcher: Dispatcher) -> None:
    """Stop all at once; each starts again after its own down time."""
    verb, world = dispatcher.entry.verb, dispatcher.world
    assert isinstance(verb, Restart)
    for consumer in dispatcher.processes(verb.target):
        down = dispatcher.draw("down", consumer.name)(dispatcher.number)
        world.env.process(stop_and_start(world, consumer, verb, down))


def stop(world: World, consumer: Consumer, verb: Restart | RollingRestart) -> ProcessGenerator:
    """Stop one consumer as the verb says, and wait until its process is gone."""
    if consumer.is_open:
        gone = consumer.gone
        if verb.stop == "kill":
            consumer.kill(world.env.now)
        else:
            terminate(world, consumer, verb.grace_us, verb.close)
        yield gone


def stop_and_start(world: World, consumer: Consumer, verb: Restart | RollingRestart, down_us: int) -> ProcessGenerator:
    """Stop one consumer, wait until its process is gone, wait ``down_us``, start it."""
    yield from stop(world, consumer, verb)
    yield from _start_after(world, consumer, down_us)


def scale(dispatcher: Dispatcher) -> None:
    """Out: the lowest free indices start. In: the highest running ones close."""
    verb, world = dispatcher.entry.verb, dispatcher.world
    assert isinstance(verb, Scale)
    group = world.members[verb.target.name]
    running = [one for one in group if one.is_running]
    idle = [one for one in group if not one.is_running]
    for index, consumer in enumerate(idle[: max(0, verb.to - len(running))]):
        dispatcher.note(consumer.group.name, consumer.name)
        world.env.process(_start_after(world, consumer, index * verb.every_us))
    for index, consumer in enumerate(reversed(running[verb.to :])):
        dispatcher.note(consumer.group.name, consumer.name)
        world.env.process(_stop_after(world, consumer, index * verb.every_us, verb.grace_us))


def _stop_after(world: World, consumer: Consumer, delay_us: int, grace_us: int) -> ProcessGenerator:
    world.fault_until(world.env.now + delay_us)
    yield world.env.until(world.env.now + delay_us, process_key(consumer.entity, Kind.FAULT))
    terminate(world, consumer, grace_us)


def first_start(world: World, spec: Group, index: int) -> None:
    """Let a member start for the first time, as its group's ``members.start`` says."""
    consumer = world.consumers[f"{spec.name}/{index}"]
    at_us, key = first_start_us(world.streams, spec, index), process_key(consumer.entity, Kind.START)
    world.env.at(at_us, key, lambda _: consumer.start())


def first_start_us(streams: Streams, spec: Group, index: int) -> int:
    """When that is, microseconds."""
    start = spec.members.start
    if start.kind == "aged":
        return start.offset_us
    if start.kind == "within":
        number = streams.key("start", f"{spec.name}/{index}")
        return start.offset_us + ((number & 0xFFFFFFFFFFFFFFFF) * start.value_us >> 64)
    return start.offset_us + start.value_us * (index if start.kind == "every" else 1)
