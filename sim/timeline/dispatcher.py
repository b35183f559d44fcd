"""One entry of the timeline: when it fires, whom it means, and what is written down about it.

Targets are resolved when the event fires. Random ones are drawn by ranking member names, so that variants of a scenario
in which other members happen to be alive still hit the same ones. Dead members are skipped and counted; if none is
left, that is a warning in the result and no error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from simpy.events import ProcessGenerator

from groupsim.sim.client.consumer import Consumer
from groupsim.sim.kernel.environment import Kind, process_key
from groupsim.sim.model import (
    AddPartitions,
    Close,
    CrashAt,
    CreateTopic,
    Cut,
    DeleteGroup,
    DeleteOffsets,
    DeleteTopic,
    ElectLeaders,
    Entry,
    GcPause,
    Kill,
    Reassign,
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
from groupsim.sim.randomness import Draw, Streams, name_hash
from groupsim.sim.world import World

_SPELLED: dict[type, str] = {
    GcPause: "gc_pause", Stuck: "stuck", Slow: "slow", SlowHost: "slow_host", Cut: "cut", Kill: "kill", Close: "close",
    StartMembers: "start", Restart: "restart", RollingRestart: "rolling_restart", Scale: "scale",
    AddPartitions: "add_partitions", CreateTopic: "create_topic", DeleteTopic: "delete_topic", SetRate: "set_rate",
    Subscribe: "subscribe", Unsubscribe: "unsubscribe", SetConfig: "set_config", DeleteOffsets: "delete_offsets",
    DeleteGroup: "delete_group", ElectLeaders: "elect_leaders", Reassign: "reassign", CrashAt: "crash_at",
}  # fmt: skip
"""Verbs as a scenario file spells them."""


def firing_times(entry: Entry, streams: Streams, member: str, horizon_us: int) -> Iterator[int]:
    """When an entry fires, microseconds: at ``at_us``, or again and again before the horizon.

    Parameters
    ----------
    entry : Entry
    streams : Streams
    member : str
        For a stream of its own per member: whose it is; empty otherwise.
    horizon_us : int, microseconds
    """
    if entry.every is None:
        yield entry.at_us
        return
    gaps, time = streams.draw(entry.every, "every", entry.id, member), entry.at_us
    for number in range(1 << 62):
        time += max(gaps(number), 1)
        if time >= min(entry.until_us, horizon_us):
            return
        yield time


class Dispatcher:
    """Fires one entry at its times.

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

    def run(self, act: Callable[[Dispatcher], None]) -> ProcessGenerator:
        """Fire at ``at_us``, or again and again."""
        for time in self._times():
            yield self.world.env.until(time, self.key)
            self._fire(act)

    def run_in_turn(self, roll: Callable[[], ProcessGenerator]) -> ProcessGenerator:
        """Roll at ``at_us``, or again and again; whatever is due before the last one is done begins when that is."""
        for time in self._times():
            yield self.world.env.until(time, self.key)
            yield from roll()
            self.number += 1

    def _times(self) -> Iterator[int]:
        return firing_times(self.entry, self.world.streams, self.member, self.world.scenario.horizon_us)

    def _fire(self, act: Callable[[Dispatcher], None]) -> None:
        self.world.fault_until(self.world.env.now)
        act(self)
        self.number += 1

    def draw(self, purpose: str, *names: object) -> Draw:
        """A stream of durations of this entry's verb, by purpose: its ``duration`` or its ``down``."""
        distribution = getattr(self.entry.verb, purpose)
        return self.world.streams.draw(distribution, purpose, self.entry.id, self.member, *names)

    def duration(self) -> int:
        """How long this firing lasts, microseconds."""
        length = self.draw("duration")(self.number)
        self.world.fault_until(self.world.env.now + length)
        return length

    # --- targets ------------------------------------------------------------------------------------------------------

    def targets(self, target: Target, *, alive: bool = True) -> list[Consumer]:
        """Who is meant, by slot; with ``alive`` only those whose process runs."""
        meant = self.meant(target)
        found = [consumer for consumer in meant if consumer.is_open] if alive else meant
        if not found and alive:
            self.warn(f"no member of {target} is alive")
        elif target.pick == "random" and len(found) < target.count:
            self.warn(f"only {len(found)} of {target} are alive")
        for consumer in found:
            self.note(consumer.group.name, consumer.name)
        return found

    def meant(self, target: Target) -> list[Consumer]:
        """Who is meant, alive or not, by slot; nothing is written down."""
        world = self.world
        if self.member:
            return [one for one in [world.consumers.get(self.member)] if one is not None]
        candidates = world.candidates(target)
        if target.kind != "group" or target.pick in ("all", "index"):
            return [one for one in candidates if world.matches(target, one)]
        living = [one for one in candidates if one.is_open]
        if target.pick == "leader":
            leader = world.groups[target.name].machine.leader
            return [one for one in living if one.machine is not None and leader and one.machine.member_id == leader]
        count = target.count if target.pick == "random" else max(1, round(target.share * len(living)))
        key = world.streams.key("target", self.entry.id, self.number)
        chosen = sorted(living, key=lambda one: name_hash(key, one.name))[:count]
        return sorted(chosen, key=lambda one: one.slot)

    def processes(self, target: Target) -> list[Consumer]:
        """Who is meant, with everybody who lives in the same process."""
        targets = self.targets(target)
        hit = {consumer.process for consumer in targets}
        groups = sorted({consumer.group_name for consumer in targets})
        return [one for name in groups for one in self.world.members[name] if one.process in hit and one.is_open]

    def note(self, group: str, target: str) -> None:
        """Write down what was done to whom."""
        verb = _SPELLED[type(self.entry.verb)]
        self.world.groups[group].books.record.events.append((self.world.env.now, self.entry.id, verb, target))

    def note_all(self, target: str) -> None:
        """Write down something that concerns every group."""
        for group in self.world.groups:
            self.note(group, target)

    def note_progress(self, what: str, done: int, of: int) -> None:
        """Of a roll, which the end of the run may cut short."""
        key = (self.entry.id, what)
        self.world.rolls[key] = f"{self.entry.id}: {done} of {of} {what} had been restarted when the run ended"
        if done == of:
            del self.world.rolls[key]

    def warn(self, text: str) -> None:
        """A warning in the result."""
        self.world.warnings.append(f"{self.entry.id} at {self.world.env.told_us / 1e6:.3f} s: {text}")
