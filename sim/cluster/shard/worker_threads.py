"""The threads of a broker that work on events of shards: ``group.coordinator.threads``."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

from groupsim.sim.kernel.environment import Environment, Kind, message_key
from groupsim.sim.randomness import hash64, name_hash


class WorkerThreads:
    """Of one broker.

    A thread takes one event of any shard that has events and that no other thread works on, whichever: Kafka draws it
    (``EventAccumulator.poll``, Kafka 4.4), and so is it drawn here, by the number of the draw.

    Parameters
    ----------
    env : Environment
    node : int
        Broker id.
    threads : int
    """

    def __init__(self, env: Environment, node: int, threads: int) -> None:
        self._env = env
        self._threads = threads
        self._entity = name_hash("worker threads", str(node))
        self._key = message_key(self._entity, Kind.REQUEST)
        self._ends: list[int] = []
        """When those are done that are at work."""
        self._ready: dict[int, Callable[[], None]] = {}
        """Shards that wait for a thread, and what lets each go on."""
        self._draws = 0
        self._wakes_us = -1

    @property
    def has_idle(self) -> bool:
        """Whether a thread can begin at once."""
        while self._ends and self._ends[0] <= self._env.now:
            heappop(self._ends)
        return len(self._ends) < self._threads and not self._ready

    def work(self, until: int) -> None:
        """A thread is at work."""
        heappush(self._ends, until)

    def wait(self, partition: int, go_on: Callable[[], None]) -> None:
        """A shard waits for a thread."""
        self._ready[partition] = go_on
        self._watch()

    def forget(self, partition: int) -> None:
        """A shard is somewhere else now."""
        self._ready.pop(partition, None)

    def _watch(self) -> None:
        if self._ends and self._wakes_us < self._env.now:
            self._wakes_us = self._ends[0]
            self._env.at(self._wakes_us, self._key, self._deal)

    def _deal(self, _: Any) -> None:
        self._wakes_us = -1
        while self._ends and self._ends[0] <= self._env.now:
            heappop(self._ends)
        while self._ready and len(self._ends) < self._threads:
            shards = sorted(self._ready)
            go_on = self._ready.pop(shards[hash64(self._entity, self._draws) % len(shards)])
            self._draws += 1
            go_on()
        if self._ready:
            self._watch()
