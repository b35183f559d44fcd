"""The event loop of one shard: one event at a time, the others wait in order.

Source: ``CoordinatorRuntime``, ``MultiThreadedEventProcessor``, ``EventAccumulator`` (Kafka 4.4): events of one offsets
partition are never worked on side by side. What an event takes is part of the service time of every answer; only an
assignor that runs in it takes so long that others have to wait.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from groupsim.sim.kernel.environment import Environment, Kind, message_key
from groupsim.sim.randomness import name_hash


class EventLoop:
    """Of one partition of ``__consumer_offsets``.

    Parameters
    ----------
    env : Environment
    partition : int

    Attributes
    ----------
    free_us : int, microseconds
        When it has worked on the event that it is at, or was at last.
    """

    def __init__(self, env: Environment, partition: int) -> None:
        self._env = env
        self._key = message_key(name_hash("shard", str(partition)), Kind.REQUEST)
        self._waiting: deque[Callable[[], object]] = deque()
        self.free_us = 0

    @property
    def is_free(self) -> bool:
        """Whether an event can be worked on at once."""
        return self.free_us <= self._env.now and not self._waiting

    def occupy(self, duration_us: int) -> None:
        """The event that is being worked on takes so long, microseconds."""
        if duration_us:
            self.free_us = self._env.now + duration_us
            self._env.at(self.free_us, self._key, self._go_on)

    def submit(self, work: Callable[[], object]) -> None:
        """Let an event be worked on in its turn."""
        self._waiting.append(work)

    def clear(self) -> list[Callable[[], object]]:
        """The groups are somewhere else from now on: nothing is worked on here any more. What waited, in order."""
        waiting = list(self._waiting)
        self._waiting.clear()
        self.free_us = self._env.now
        return waiting

    def _go_on(self, _: Any) -> None:
        while self._waiting and self.free_us <= self._env.now:
            self._waiting.popleft()()
