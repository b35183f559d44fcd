"""What happens to a cluster: each entry of the timeline is a SimPy process that waits, picks its targets and acts.

Targets are resolved when the event fires. Random ones are drawn by ranking member names, so that variants of a scenario in
which other members happen to be alive still hit the same ones. Dead members are skipped and counted; if none is left,
that is a warning in the result and no error.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import simpy

from sim.actors.consumer import Consumer
from sim.actors.world import World
from sim.kernel.environment import Kind, process_key
from sim.model import (
    AddPartitions,
    Close,
    CreateTopic,
    Cut,
    Entry,
    GcPause,
    Kill,
    Restart,
    RollingRestart,
    Scale,
    SetConfig,
    SetRate,
    Slow,
    SlowHost,
    StartMembers,
    Stuck,
    Subscribe,
    Target,
    Unsubscribe,
)
from sim.randomness import Draw, name_hash
from sim.units import FOREVER

Story = Generator[simpy.Event, Any, None]


class Teller:
    """Tells the story of one entry.

    Parameters
    ----------
    world : World
    entry : Entry
    member : str
        For a stream of its own per member: whose it is; empty otherwise.
    """

    def __init__(self, world: World, entry: Entry, member: str = "") -> None:
        self.world = world
        self.entry = entry
        self.member = member
        self.number = 0
        self.key = process_key(name_hash("entry", entry.id, member), Kind.FAULT)

    def run(self, act: Callable[[Teller], None]) -> Story:
        """Fire at ``at_us``, or again and again."""
        world, entry = self.world, self.entry
        if entry.every is None:
            yield world.env.until(entry.at_us, self.key)
            self._fire(act)
            return
        gaps = world.streams.draw(entry.every, "every", entry.id, self.member)
        time = entry.at_us
        for number in range(1 << 62):
            time += max(gaps(number), 1)
            if time >= min(entry.until_us, world.scenario.horizon_us):
                return
            yield world.env.until(time, self.key)
            self._fire(act)

    def _fire(self, act: Callable[[Teller], None]) -> None:
        self.over_at(self.world.env.now)
        act(self)
        self.number += 1

    def over_at(self, time: int) -> None:
        """This fault lasts until ``time``: recovery counts from the last one's end."""
        self.world.last_fault_us = max(time, self.world.last_fault_us or 0)

    def draw(self, purpose: str, *names: object) -> Draw:
        """A stream of durations of this entry's verb, by purpose: its ``duration`` or its ``down``."""
        distribution = getattr(self.entry.verb, purpose)
        return self.world.streams.draw(distribution, purpose, self.entry.id, self.member, *names)

    def duration(self) -> int:
        """How long this firing lasts, microseconds."""
        length = self.draw("duration")(self.number)
        self.over_at(self.world.env.now + length)
        return length

    # --- targets ------------------------------------------------------------------------------------------------------

    def targets(self, target: Target, *, alive: bool = True) -> list[Consumer]:
        """Who is meant, by slot; with ``alive`` only those whose process runs."""
        meant = self._meant(target)
        found = [consumer for consumer in meant if consumer.is_open] if alive else meant
        if not found and alive:
            self.warn(f"no member of {target} is alive")
        for consumer in found:
            self.note(consumer.group.name, consumer.name)
        return found

    def _meant(self, target: Target) -> list[Consumer]:
        world = self.world
        everybody = sorted(world.consumers.values(), key=lambda one: (one.group.name, one.slot))
        if self.member:
            return [one for one in everybody if one.name == self.member]
        if target.kind != "group" or target.pick in ("all", "index"):
            return [one for one in everybody if world.matches(target, one)]
        group = [one for one in everybody if one.group.name == target.name]
        living = [one for one in group if one.is_open]
        if target.pick == "leader":
            leader = world.groups[target.name].machine.roster.leader
            return [one for one in living if one.machine is not None and leader and one.machine.member_id == leader]
        count = target.count if target.pick == "random" else max(1, round(target.share * len(living)))
        key = world.streams.key("target", self.entry.id, self.number)
        chosen = sorted(living, key=lambda one: name_hash(key, one.name))[:count]
        return sorted(chosen, key=lambda one: one.slot)

    def processes(self, target: Target) -> list[Consumer]:
        """Who is meant, with everybody who lives in the same process."""
        hit = {consumer.process for consumer in self.targets(target)}
        return [one for one in self.world.consumers.values() if one.process in hit and one.is_open]

    def note(self, group: str, target: str) -> None:
        """Write down what was done to whom."""
        verb = _SPELLED[type(self.entry.verb)]
        self.world.groups[group].record.events.append((self.world.env.now, self.entry.id, verb, target))

    def note_all(self, target: str) -> None:
        """Write down something that concerns every group."""
        for group in self.world.groups:
            self.note(group, target)

    def warn(self, text: str) -> None:
        """A warning in the result."""
        self.world.warnings.append(f"{self.entry.id} at {self.world.env.now / 1e6:.3f} s: {text}")


# --- faults -----------------------------------------------------------------------------------------------------------


def gc_pause(teller: Teller) -> None:
    """All consumers of the process stand still."""
    verb = teller.entry.verb
    assert isinstance(verb, GcPause)
    until = teller.world.env.now + teller.duration()
    for consumer in teller.processes(verb.target):
        consumer.freeze(until)


def stuck(teller: Teller) -> None:
    """The processing thread hangs."""
    verb = teller.entry.verb
    assert isinstance(verb, Stuck)
    length = teller.duration()
    for consumer in teller.targets(verb.target):
        consumer.hang(length)


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
        consumer.cut(nodes)

    def heal(_: Any) -> None:
        world.cuts.remove((sides[0], sides[1]))
        for consumer, nodes in hit:
            consumer.heal(nodes)

    world.env.at(world.env.now + teller.duration(), teller.key, heal)


def _nodes(teller: Teller, target: Target) -> frozenset[str]:
    world = teller.world
    if target.kind == "broker":
        return frozenset({f"broker:{target.name}"})
    names = {one.name for one in teller._meant(target)}
    if target.kind == "rack":
        names |= {f"broker:{one.id}" for one in world.scenario.cluster.brokers if one.rack == target.name}
    return frozenset(names)


def _cut_nodes(world: World, consumer: Consumer, sides: tuple[frozenset[str], ...]) -> frozenset[int]:
    far = [sides[1 - i] for i in (0, 1) if consumer.name in sides[i]]
    return frozenset(node for node in world.broker_ids if any(f"broker:{node}" in side for side in far))


# --- processes come and go --------------------------------------------------------------------------------------------


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
    yield world.env.until(world.env.now + down_us, process_key(consumer.entity, Kind.START))
    consumer.start()


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
    yield world.env.until(world.env.now + delay_us, process_key(consumer.entity, Kind.FAULT))
    terminate(world, consumer, grace_us)


# --- topics, rates, subscriptions, configuration ----------------------------------------------------------------------


def add_partitions(teller: Teller) -> None:
    """A topic grows."""
    verb = teller.entry.verb
    assert isinstance(verb, AddPartitions)
    _grow(teller, verb.topic, verb.to)


def create_topic(teller: Teller) -> None:
    """A topic comes into being, with its rate."""
    verb, world = teller.entry.verb, teller.world
    assert isinstance(verb, CreateTopic)
    world.catalog.rates[verb.topic.name] = (world.env.now, verb.topic.rate)
    _grow(teller, verb.topic.name, verb.topic.partitions)
    world.env.process(world.producers[verb.topic.name].run())


def _grow(teller: Teller, topic: str, to: int) -> None:
    world = teller.world
    world.catalog.grow(world.env.now, topic, to)
    teller.note_all(topic)
    for name in sorted(world.groups):
        group = world.groups[name]
        if topic in group.partitions.topics:
            group.cover((topic,))
    for consumer in world.consumers.values():
        consumer.metadata_changed()


def set_rate(teller: Teller) -> None:
    """A topic's production changes."""
    verb, world = teller.entry.verb, teller.world
    assert isinstance(verb, SetRate)
    teller.note_all(verb.topic)
    world.catalog.rates[verb.topic] = (world.env.now, verb.rate)
    world.producers[verb.topic].apply()
    world.env.process(world.producers[verb.topic].run())


def subscribe(teller: Teller) -> None:
    """Members call subscribe() with something else."""
    verb = teller.entry.verb
    assert isinstance(verb, Subscribe)
    for consumer in teller.targets(verb.target):
        consumer.resubscribe(verb.subscription)


def unsubscribe(teller: Teller) -> None:
    """Members call unsubscribe()."""
    verb = teller.entry.verb
    assert isinstance(verb, Unsubscribe)
    for consumer in teller.targets(verb.target):
        consumer.unsubscribe()


def set_config(teller: Teller) -> None:
    """Another configuration, with each member's next restart."""
    verb = teller.entry.verb
    assert isinstance(verb, SetConfig)
    for consumer in teller.targets(verb.target, alive=False):
        consumer.client = verb.client
        consumer.processing = verb.processing or consumer.processing
        consumer.static = consumer.static if verb.static is None else verb.static


ACTS: dict[type, Callable[[Teller], None]] = {
    GcPause: gc_pause, Stuck: stuck, Slow: slow, SlowHost: slow, Cut: cut, Kill: kill, Close: close,
    StartMembers: start, Restart: restart, Scale: scale, AddPartitions: add_partitions, CreateTopic: create_topic,
    SetRate: set_rate, Subscribe: subscribe, Unsubscribe: unsubscribe, SetConfig: set_config,
}  # fmt: skip

_SPELLED: dict[type, str] = {
    **{verb: act.__name__ for verb, act in ACTS.items()}, SlowHost: "slow_host", RollingRestart: "rolling_restart",
}  # fmt: skip


def tell(world: World, entry: Entry) -> None:
    """Start the process, or the processes, of one entry."""
    verb = entry.verb
    act = ACTS[type(verb)]
    if not entry.per_member or entry.every is None:
        world.env.process(Teller(world, entry).run(act))
    elif not isinstance(verb, GcPause):
        target: Target = getattr(verb, "target")  # noqa: B009 - a union member without target has no per_member
        for consumer in world.consumers.values():
            if world.matches(target, consumer):
                world.env.process(Teller(world, entry, consumer.name).run(act))
