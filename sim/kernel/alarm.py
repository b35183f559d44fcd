"""A deadline that can be moved freely: only an earlier one costs an event."""

from __future__ import annotations

from collections.abc import Callable

from groupsim.sim.kernel.environment import Environment, Occurrence
from groupsim.sim.units import FOREVER


class Alarm:
    """Calls ``action(now)``, as it is by then, at its deadline.

    Without a deadline, what is queued is dropped, and taken up again if the next deadline is not before it. Moving the
    deadline later leaves the queued event where it is; when that surfaces too early, the alarm queues itself
    again. So a session that is renewed every few seconds costs one event per session timeout.

    Parameters
    ----------
    env : Environment
    key : int
        Key of the deadline (`sim.kernel.environment.deadline_key`).
    action : callable
        Called with the current time in microseconds.
    """

    __slots__ = ("_env", "_key", "_queued", "_queued_for", "action", "deadline")

    def __init__(self, env: Environment, key: int, action: Callable[[int], None]) -> None:
        self._env = env
        self._key = key
        self.action = action
        self._queued: Occurrence | None = None
        self._queued_for = FOREVER
        self.deadline = FOREVER

    def set(self, deadline: int) -> None:
        """Ring at ``deadline`` (microseconds; `FOREVER` = never), at once if that has passed, and at no other time."""
        if deadline == self.deadline:
            return
        queued = self._queued
        if deadline == FOREVER:
            self.deadline = deadline
            if queued is not None:
                queued.drop()
            return
        now = self._env.now
        self.deadline = deadline = deadline if deadline > now else now
        if queued is None or queued.is_past:
            self._queue()
        elif deadline < self._queued_for:
            queued.drop()
            self._queue()
        else:
            queued.action = self._surface

    def _queue(self) -> None:
        self._queued = Occurrence(self._env, self.deadline, self._key, self._surface)
        self._queued_for = self.deadline

    def _surface(self, _: object) -> None:
        self._queued = None
        now, deadline = self._env.now, self.deadline
        if deadline > now:
            self._queue()
            return
        self.deadline = FOREVER
        self.action(now)
