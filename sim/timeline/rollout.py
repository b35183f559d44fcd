"""A rolling restart as Kubernetes does it: batch by batch, with or without surge."""

from __future__ import annotations

from collections.abc import Sequence

from simpy.events import Process, ProcessGenerator

from groupsim.sim.client.consumer import Consumer
from groupsim.sim.kernel.environment import Kind, process_key
from groupsim.sim.model import RollingRestart
from groupsim.sim.randomness import name_hash
from groupsim.sim.timeline.dispatcher import Dispatcher
from groupsim.sim.timeline.lifecycle import stop, stop_and_start
from groupsim.sim.units import MS

PROBE_US = 100 * MS
"""How often the rollout looks whether the new members are ready."""


class Rollout:
    """One rolling restart.

    Parameters
    ----------
    dispatcher : Dispatcher
        Of the entry; its verb is a `RollingRestart`.
    """

    def __init__(self, dispatcher: Dispatcher) -> None:
        verb = dispatcher.entry.verb
        assert isinstance(verb, RollingRestart)
        self.verb = verb
        self.dispatcher = dispatcher
        self.world = dispatcher.world
        self._probe_key = process_key(name_hash("rollout", dispatcher.entry.id), Kind.TIMER)
        self._done = self._of = 0
        """Members that it has restarted, and all of them."""

    def replace(self) -> ProcessGenerator:
        """Replace batch after batch."""
        members = self.dispatcher.targets(self.verb.target)
        self._done, self._of = 0, len(members)
        batches = [members[i : i + self.verb.batch] for i in range(0, len(members), self.verb.batch)]
        replace = self._with_surge(members) if self.verb.surge else self._in_place(batches)
        yield from replace
        self.world.fault_until(self.world.env.now)

    def _in_place(self, batches: Sequence[Sequence[Consumer]]) -> ProcessGenerator:
        for batch in batches:
            restarts = [self._restart(consumer) for consumer in batch]
            self._count(batch)
            yield from self._ready(batch, restarts)

    def _count(self, batch: Sequence[Consumer]) -> None:
        self._done += len(batch)
        self.dispatcher.note_progress("members", self._done, self._of)

    def _restart(self, consumer: Consumer) -> Process:
        verb, world = self.verb, self.world
        down = self.dispatcher.draw("down", consumer.name)(self.dispatcher.number)
        self.dispatcher.note(consumer.group.name, consumer.name)
        return world.env.process(stop_and_start(world, consumer, verb, down))

    def _with_surge(self, members: Sequence[Consumer]) -> ProcessGenerator:
        """New before old: spare names start, and each name that has stopped is the next spare."""
        verb, world = self.verb, self.world
        group = verb.target.name
        spare = [one for one in world.members[group] if not one.is_running][: verb.surge]
        for first in range(0, len(members), max(len(spare), 1)):
            old = members[first : first + len(spare)]
            new = spare[: len(old)]
            for consumer in new:
                self.dispatcher.note(group, consumer.name)
                consumer.start()
            yield from self._ready(new)
            for consumer in old:
                yield from self._stop(consumer)
            self._count(old)
            spare = list(old)

    def _stop(self, consumer: Consumer) -> ProcessGenerator:
        if consumer.is_open:
            self.dispatcher.note(consumer.group.name, consumer.name)
            yield from stop(self.world, consumer, self.verb)

    def _ready(self, batch: Sequence[Consumer], restarts: Sequence[Process] = ()) -> ProcessGenerator:
        """Wait until the next batch may begin: nobody looks before ``restarts`` have started all of this one."""
        env, verb, begun = self.world.env, self.verb, self.world.env.now
        if verb.next_ == "gap":
            yield env.until(env.now + verb.gap_us, self._probe_key)
            return
        before = {consumer.name: consumer.incarnation for consumer in batch}
        yield from restarts
        if restarts:  # looks keep their instants, each `PROBE_US` from when the batch was stopped
            yield env.until(env.now + PROBE_US - (env.now - begun) % PROBE_US, self._probe_key)
        while not all(self._is_ready(consumer, before[consumer.name]) for consumer in batch):
            yield env.until(env.now + PROBE_US, self._probe_key)

    def _is_ready(self, consumer: Consumer, old: int) -> bool:
        fresh = consumer.is_open and (consumer.incarnation > old or bool(self.verb.surge))
        if not fresh or self.verb.next_ == "running":
            return fresh
        stable = consumer.group.machine.is_stable
        return consumer.is_assigned and (self.verb.next_ != "stable" or stable)
