"""Steps that are begun at once, and that somebody may wait for: neither beginning nor end is an event of its own."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import simpy

from groupsim.sim.kernel.environment import Environment


class Errand:
    """What a process does beside itself.

    Parameters
    ----------
    env : Environment
    steps : generator of simpy.Event
        Each still to come.

    Attributes
    ----------
    done : simpy.Event
        Happens at the end; who waits for it then goes on.
    """

    __slots__ = ("_env", "_steps", "done")

    def __init__(self, env: Environment, steps: Generator[simpy.Event, Any, None]) -> None:
        self._env, self._steps = env, steps
        self.done = env.event()
        self._go_on(None)

    def _go_on(self, event: simpy.Event | None) -> None:
        try:
            awaited = self._steps.send(None if event is None else event.value)
        except StopIteration:
            self._env.happen(self.done)
        else:
            awaited.callbacks.append(self._go_on)
