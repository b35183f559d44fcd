"""Rebalance listeners that wait for the application thread.

The background thread queues them (``BackgroundEventHandler``); the application runs, in each pass through poll(), those
that were queued before that pass began (``AsyncKafkaConsumer.processBackgroundEvents``, Kafka 4.4).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from groupsim.sim.protocol.effects import Effects, Listen
from groupsim.sim.protocol.messages import Positions


def nothing(now: int) -> Effects:
    """Nothing precedes, or follows."""
    return []


@dataclass(slots=True, eq=False)
class Call:
    """A listener to be called.

    Parameters
    ----------
    callback : {"revoked", "assigned", "lost"}
    positions : int32 array
    after : callable
        What follows when it has returned.
    before : callable
        What the application does first; None: the call is no longer wanted.
    """

    callback: Literal["revoked", "assigned", "lost"]
    positions: Positions
    after: Callable[[int], Effects]
    before: Callable[[int], Effects | None] = nothing


class Listeners:
    """Calls of one member, in order.

    Attributes
    ----------
    running : Call or None
        What keeps the application thread.
    """

    __slots__ = ("_due", "_queue", "running")

    def __init__(self) -> None:
        self._queue: deque[Call] = deque()
        self._due = 0
        self.running: Call | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether the next pass has something to run."""
        return bool(self._queue)

    def queue(self, call: Call) -> None:
        """To be run in the next pass."""
        self._queue.append(call)

    def begin_pass(self) -> None:
        """What is queued by now is run in this pass."""
        self._due = len(self._queue)

    def forget(self) -> None:
        """close(): nothing that is queued is run any more."""
        self._queue.clear()
        self._due = 0
        self.running = None

    def run(self, now: int) -> Effects:
        """Run the next one of this pass."""
        while self._due and self._queue:
            self._due -= 1
            call = self._queue.popleft()
            first = call.before(now)
            if first is not None:
                self.running = call
                return [*first, Listen(call.callback, call.positions)]
        return []

    def returned(self, now: int) -> Effects:
        """The one that runs has returned."""
        call, self.running = self.running, None
        return [] if call is None else call.after(now)
