"""What one firing of an entry does to real members, as `sim.timeline` does it in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from groupsim.sim.model import (
    AddPartitions,
    Close,
    CreateTopic,
    GcPause,
    Kill,
    Restart,
    RollingRestart,
    Scale,
    SetConfig,
    SetRate,
    Slow,
    StartMembers,
    Stuck,
    Subscribe,
    Unsubscribe,
)
from tests.oracle.cast import Member
from tests.oracle.rollout import roll
from tests.oracle.timetable import Firing

if TYPE_CHECKING:
    from tests.oracle.play import Play

Act = Callable[["Play", Firing], Coroutine[Any, Any, None]]


def _meant(play: Play, firing: Firing, *, is_open: bool = True) -> list[Member]:
    members = [play.cast.members[name] for name in firing.targets]
    return [one for one in members if one.is_open] if is_open else members


def _processes(play: Play, firing: Firing) -> list[Member]:
    """One member of each process that is meant."""
    return list({one.plan.process: one for one in reversed(_meant(play, firing))}.values())[::-1]


def _drawn_us(play: Play, firing: Firing, purpose: str, *names: str) -> int:
    """The duration of this firing that `sim.timeline.dispatcher.Dispatcher.draw` would give."""
    distribution = getattr(firing.entry.verb, purpose)
    return play.streams.draw(distribution, purpose, firing.entry.id, "", *names)(firing.number)


# --- faults -----------------------------------------------------------------------------------------------------------


async def gc_pause(play: Play, firing: Firing) -> None:
    """SIGSTOP, and SIGCONT when the longest freeze of that process is over."""
    length_us = _drawn_us(play, firing, "duration")
    until_us = play.elapsed_us() + length_us
    frozen = []
    for member in _processes(play, firing):
        jvm = member.jvm
        assert jvm is not None
        play.note(firing, "gc_pause", member.name, for_us=length_us)
        jvm.freeze()
        play.frozen_until[jvm] = max(until_us, play.frozen_until.get(jvm, 0))
        frozen.append((member, jvm))
    await play.until(until_us)
    for member, jvm in frozen:
        if jvm.is_alive and jvm.is_frozen and play.frozen_until[jvm] <= until_us:
            play.note(firing, "thaw", member.name)
            jvm.thaw()


async def stuck(play: Play, firing: Firing) -> None:
    """The application thread hangs as soon as it comes out of poll(); it tells itself when, and when it goes on."""
    length_us = _drawn_us(play, firing, "duration")
    for member in _meant(play, firing):
        assert member.jvm is not None
        play.note(firing, "stuck", member.name, for_us=length_us)
        member.jvm.tell("hang", member=member.name, entry=firing.entry.id, for_us=length_us)


async def slow(play: Play, firing: Firing) -> None:
    """Processing takes longer for a while."""
    verb = firing.entry.verb
    assert isinstance(verb, Slow)
    length_us = _drawn_us(play, firing, "duration")
    until_us = play.elapsed_us() + length_us
    hit = _meant(play, firing)
    for member in hit:
        play.note(firing, "slow", member.name, factor=verb.factor, for_us=length_us)
        member.slowdowns[firing.entry.id, firing.number] = verb.factor
        _repace(member)
    await play.until(until_us)
    for member in hit:
        play.note(firing, "unslow", member.name)
        del member.slowdowns[firing.entry.id, firing.number]
        _repace(member)


def _repace(member: Member) -> None:
    if member.is_open and member.jvm is not None:
        member.jvm.tell("slow", member=member.name, factor=member.slowness)


# --- lifecycle -----------------------------------------------------------------------------------------------


async def start(play: Play, firing: Firing) -> None:
    """Members that are not running start, one every so often."""
    verb = firing.entry.verb
    assert isinstance(verb, StartMembers)
    waiting = [one for one in _meant(play, firing, is_open=False) if not one.is_running]
    for index, member in enumerate(waiting):
        play.spawn(_start_at(play, firing, member, firing.at_us + index * verb.every_us))


async def _start_at(play: Play, firing: Firing, member: Member, at_us: int) -> None:
    await play.until(at_us)
    await play.start(member, firing)


async def kill(play: Play, firing: Firing) -> None:
    """SIGKILL, and perhaps a start later."""
    verb = firing.entry.verb
    assert isinstance(verb, Kill)
    for member in _processes(play, firing):
        for one in (one for one in play.cast.in_process(member) if one.is_running):
            play.note(firing, "kill", one.name)
            if verb.down is not None:
                at_us = play.elapsed_us() + _drawn_us(play, firing, "down", one.name)
                play.spawn(_start_at(play, firing, one, at_us))
        play.kill(member)


async def close(play: Play, firing: Firing) -> None:
    """SIGTERM, and SIGKILL when the grace period is over."""
    verb = firing.entry.verb
    assert isinstance(verb, Close)
    for member in _meant(play, firing):
        play.note(firing, "close", member.name)
        play.spawn(play.close(member, verb.grace_us))


async def restart(play: Play, firing: Firing) -> None:
    """Stop all at once; each starts again after its own down time."""
    verb = firing.entry.verb
    assert isinstance(verb, Restart)
    for member in _meant(play, firing):
        down_us = _drawn_us(play, firing, "down", member.name)
        play.spawn(stop_and_start(play, firing, member, down_us))


async def stop_and_start(play: Play, firing: Firing, member: Member, down_us: int) -> None:
    """Stop one member, wait until its process is gone, wait ``down_us``, start it."""
    verb = firing.entry.verb
    assert isinstance(verb, Restart | RollingRestart)
    play.note(firing, verb.stop, member.name, down_us=down_us)
    if verb.stop == "kill":
        play.kill(member)
    else:
        await play.close(member, verb.grace_us)
    await _start_at(play, firing, member, play.elapsed_us() + down_us)


async def scale(play: Play, firing: Firing) -> None:
    """Out: the lowest free indices start. In: the highest running ones close."""
    verb = firing.entry.verb
    assert isinstance(verb, Scale)
    group = play.cast.of_group(verb.target.name)
    running = [one for one in group if one.is_running]
    idle = [one for one in group if not one.is_running]
    for index, member in enumerate(idle[: max(0, verb.to - len(running))]):
        play.spawn(_start_at(play, firing, member, firing.at_us + index * verb.every_us))
    for index, member in enumerate(reversed(running[verb.to :])):
        play.spawn(_close_at(play, firing, member, firing.at_us + index * verb.every_us, verb.grace_us))


async def _close_at(play: Play, firing: Firing, member: Member, at_us: int, grace_us: int) -> None:
    await play.until(at_us)
    play.note(firing, "close", member.name)
    await play.close(member, grace_us)


async def rolling_restart(play: Play, firing: Firing) -> None:
    """Restart a group batch by batch, as conditions of the real group allow."""
    await roll(play, firing, stop_and_start)


# --- changes ----------------------------------------------------------------------------------------------------------


async def add_partitions(play: Play, firing: Firing) -> None:
    """A topic grows."""
    verb = firing.entry.verb
    assert isinstance(verb, AddPartitions)
    play.note(firing, "add_partitions", verb.topic, to=verb.to)
    play.supply.grow(f"{play.prefix}.{verb.topic}", verb.to)


async def create_topic(play: Play, firing: Firing) -> None:
    """A topic comes into being, with its rate."""
    verb = firing.entry.verb
    assert isinstance(verb, CreateTopic)
    play.note(firing, "create_topic", verb.topic.name, partitions=verb.topic.partitions)
    play.supply.begin(f"{play.prefix}.{verb.topic.name}", verb.topic.partitions)
    await play.produce(verb.topic, firing.at_us)


async def set_rate(play: Play, firing: Firing) -> None:
    """A topic's production changes."""
    verb = firing.entry.verb
    assert isinstance(verb, SetRate)
    play.note(firing, "set_rate", verb.topic)
    await play.rate(verb.topic, verb.rate, 0, firing.at_us)


async def subscribe(play: Play, firing: Firing) -> None:
    """Members call subscribe() with something else."""
    verb = firing.entry.verb
    assert isinstance(verb, Subscribe)
    for member in _meant(play, firing):
        assert member.jvm is not None
        member.plan.subscription = verb.subscription
        play.note(firing, "subscribe", member.name)
        member.jvm.tell("subscribe", member=member.name, **play.cast.subscription(member.plan))


async def unsubscribe(play: Play, firing: Firing) -> None:
    """Members call unsubscribe()."""
    for member in _meant(play, firing):
        assert member.jvm is not None
        play.note(firing, "unsubscribe", member.name)
        member.jvm.tell("unsubscribe", member=member.name)


async def set_config(play: Play, firing: Firing) -> None:
    """Another configuration, with each member's next start."""
    verb = firing.entry.verb
    assert isinstance(verb, SetConfig)
    for member in _meant(play, firing, is_open=False):
        plan = member.plan
        play.note(firing, "set_config", member.name)
        plan.config = play.plan.changes[firing.entry.id]
        plan.processing = verb.processing or plan.processing
        plan.static = plan.static if verb.static is None else verb.static


ACTS: dict[type, Act] = {
    GcPause: gc_pause, Stuck: stuck, Slow: slow, Kill: kill, Close: close, StartMembers: start, Restart: restart,
    RollingRestart: rolling_restart, Scale: scale, AddPartitions: add_partitions, CreateTopic: create_topic,
    SetRate: set_rate, Subscribe: subscribe, Unsubscribe: unsubscribe, SetConfig: set_config,
}  # fmt: skip
"""What one firing does, by verb."""
