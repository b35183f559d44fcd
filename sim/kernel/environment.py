"""An integer-microsecond SimPy environment in which the order of one instant is part of the model.

Everything that happens at one instant is ordered by a key made of content, never by a sequence number, because an
event that was elided has none. The key is SimPy's integer priority::

    class (messages < processes < deadlines) | entity (hash of its name) | kind

Within one entity, kinds are ordered as listed in `Kind`. SimPy's own priorities (0 and 1, used by process start and by
``event.succeed()``) sort before all keys: what they wake happens at once.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from heapq import heappush
from typing import Any

import simpy

from groupsim.sim.errors import EventBudgetExceeded, ProtocolMisuse

_MESSAGE, _PROCESS, _DEADLINE = 1, 2, 3
_ENTITY_BITS, _KIND_BITS = 48, 6
_ENTITY_MASK = (1 << _ENTITY_BITS) - 1


class Kind(IntEnum):
    """What happens to an entity at an instant, in order within its class."""

    REQUEST = 0
    RESPONSE = 1
    START = 2
    KILL = 3
    FAULT = 4
    PAUSE = 5
    THAW = 6
    HEARTBEAT = 7
    METADATA = 8
    MAX_POLL = 9
    POLL = 10
    FETCH = 11
    TIMER = 12
    SAMPLE = 13


def _key(rank: int, entity: int, kind: Kind) -> int:
    return ((rank << _ENTITY_BITS | (entity & _ENTITY_MASK)) << _KIND_BITS) | kind


def message_key(entity: int, kind: Kind) -> int:
    """Key of a message's arrival. ``entity`` is `sim.randomness.name_hash` of the member."""
    return _key(_MESSAGE, entity, kind)


def process_key(entity: int, kind: Kind) -> int:
    """Key of a step of a process: faults, pauses, starts."""
    return _key(_PROCESS, entity, kind)


def deadline_key(entity: int, kind: Kind) -> int:
    """Key of a timer."""
    return _key(_DEADLINE, entity, kind)


Moment = tuple[int, int]
"""An instant and a key: where in the order of everything an event stands."""


class Occurrence(simpy.Event):
    """An event that is known to happen: at a time, with a key, calling ``action(argument)`` unless it was dropped.

    Parameters
    ----------
    env : Environment
    time : int, microseconds
    key : int
        From `message_key`, `process_key` or `deadline_key`.
    action : callable or None
        None for occurrences that a process yields.
    """

    __slots__ = ("action", "key")

    def __init__(
        self, env: Environment, time: int, key: int, action: Callable[[Any], None] | None, value: Any = None
    ) -> None:
        # As `simpy.Timeout` does: every attribute of `simpy.Event` is set here, which saves a call an event.
        self.env = env
        self.key = key
        self.action = action
        self._ok = True
        self._value = value
        self.callbacks = [_act]
        env.push(time, key, self)

    def drop(self) -> None:
        """Make sure that nothing is called; the event itself stays in the queue until due."""
        self.action = None


def _act(occurrence: Occurrence) -> None:
    occurrence.env.key = occurrence.key  # type: ignore[attr-defined]
    action = occurrence.action
    if action is not None:
        action(occurrence._value)


class Environment(simpy.Environment):
    """Virtual time in integer microseconds.

    Attributes
    ----------
    key : int
        Key of the occurrence that is being carried out.
    events : int
        Kernel events so far; another thread may read it at any time.
    replayed : int
        Those that were carried out late on top of that (`replay`).
    """

    now: int

    def __init__(self, event_budget: int) -> None:
        super().__init__(initial_time=0)
        self.key = 0
        self.events = 0
        self.replayed = 0
        self.event_budget = event_budget
        self.after_each: Callable[[], None] | None = None

    def push(self, time: int, key: int, event: simpy.Event) -> None:
        """Let an event happen at ``time``: `simpy.Environment.schedule` for an instant instead of a delay.

        Raises
        ------
        ProtocolMisuse
            That is in the past.
        """
        if time < self._now:
            raise ProtocolMisuse(f"an event for {time} us was asked for at {self._now} us")
        heappush(self._queue, (time, key, next(self._eid), event))  # type: ignore[misc]

    @property
    def moment(self) -> Moment:
        """Now, and the key of what is being carried out."""
        return (self.now, self.key)

    def at(self, time: int, key: int, action: Callable[[Any], None], value: Any = None) -> Occurrence:
        """Call ``action(value)`` at ``time``."""
        return Occurrence(self, time, key, action, value)

    def until(self, time: int, key: int) -> Occurrence:
        """Something for a process to yield: resumes it at ``time``.

        At this very instant it comes after what is being carried out, whatever its key: nobody can come too late.
        """
        if time > self.now:
            return Occurrence(self, time, key, None)
        return Occurrence(self, self.now, max(key, self.key), None)

    def run_before(self, horizon: int) -> None:
        """Carry out everything that happens before ``horizon``.

        Raises
        ------
        EventBudgetExceeded
            If that takes more kernel events than ``event_budget``.
        """
        step, queue, check = self.step, self._queue, self.after_each
        events, budget = self.events, self.event_budget
        while queue and queue[0][0] < horizon:
            self.events = events = events + 1
            if events > budget:
                raise EventBudgetExceeded(
                    f"more than {budget:,} events by {self.now / 1e6:.3f} s of virtual time: "
                    f"raise event_budget, or make the scenario smaller"
                )
            step()
            if check is not None:
                check()

    def replay(self, since: Moment, action: Callable[[], None]) -> None:
        """Carry out what an entity that touches nobody else has done since a moment of the past, late.

        ``action`` runs as of ``since``; what it and its consequences ask for is carried out up to the present moment,
        and what comes later joins the queue. Exact if nothing outside could tell the difference so far.

        Parameters
        ----------
        since : (microseconds, key)
        action : callable
        """
        queue, (now, key) = self._queue, self.moment
        self._queue, (self._now, self.key) = [], since
        try:
            action()
            while self._queue and self._queue[0][:2] < (now, key):
                self.replayed += 1
                self.step()
        finally:
            rest, self._queue, self._now, self.key = self._queue, queue, now, key
        for occurrence in rest:
            heappush(self._queue, occurrence)

    def close_at(self, horizon: int) -> None:
        """Stand at the horizon, before anything that would happen there."""
        self._now = horizon
        self.key = 0
