"""What happens to a cluster: each entry of the timeline is a SimPy process that waits, picks its targets and acts."""

from __future__ import annotations

from collections.abc import Callable

from groupsim.sim.model import (
    AddPartitions,
    Close,
    CrashAt,
    CreateTopic,
    Cut,
    DeleteGroup,
    DeleteOffsets,
    DeleteTopic,
    Entry,
    GcPause,
    Kill,
    Restart,
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
from groupsim.sim.timeline.administration import delete_group, delete_offsets
from groupsim.sim.timeline.changes import (
    add_partitions,
    create_topic,
    delete_topic,
    set_config,
    set_rate,
    subscribe,
    unsubscribe,
)
from groupsim.sim.timeline.dispatcher import Dispatcher
from groupsim.sim.timeline.faults import cut, gc_pause, slow, stuck
from groupsim.sim.timeline.lifecycle import close, crash_at, kill, restart, scale, start
from groupsim.sim.world import World

ACTS: dict[type, Callable[[Dispatcher], None]] = {
    GcPause: gc_pause, Stuck: stuck, Slow: slow, SlowHost: slow, Cut: cut, Kill: kill, Close: close,
    StartMembers: start, Restart: restart, Scale: scale, AddPartitions: add_partitions, CreateTopic: create_topic,
    DeleteTopic: delete_topic, SetRate: set_rate, Subscribe: subscribe, Unsubscribe: unsubscribe,
    SetConfig: set_config, DeleteOffsets: delete_offsets, DeleteGroup: delete_group, CrashAt: crash_at,
}  # fmt: skip
"""What one firing of an entry does, by verb; a `RollingRestart` is a process of its own (`sim.timeline.rollout`)."""


def dispatch(world: World, entry: Entry) -> None:
    """Start the process, or the processes, of one entry."""
    verb = entry.verb
    act = ACTS[type(verb)]
    if not entry.per_member or entry.every is None:
        world.env.process(Dispatcher(world, entry).run(act))
    elif not isinstance(verb, GcPause):
        target: Target = getattr(verb, "target")  # noqa: B009 - a union member without target has no per_member
        for consumer in world.candidates(target):
            if world.matches(target, consumer):
                world.env.process(Dispatcher(world, entry, consumer.name).run(act))
