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
from heapq import heappop, heappush
from typing import Any

import simpy

from groupsim.sim.errors import EventBudgetExceeded, ProtocolMisuse
from groupsim.sim.units import FOREVER

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

    Raises
    ------
    ProtocolMisuse
        ``time`` is in the past.
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
        self.callbacks = []
        if time < env.now:
            raise ProtocolMisuse(f"an event for {time} us was asked for at {env.now} us")
        heappush(env._queue, (time, key, next(env._eid), self))  # type: ignore[misc]

    def drop(self) -> None:
        """Make sure that nothing is called: what stays in the queue until due is no event."""
        self.action = None

    @property
    def is_past(self) -> bool:
        """Whether its time has come, be it dropped or not."""
        return self.callbacks is None


def _is_process(key: int) -> bool:
    """Whether that is the key of a process, or SimPy's own; pauses concern one client alone."""
    rank, kind = key >> _ENTITY_BITS + _KIND_BITS, key & ((1 << _KIND_BITS) - 1)
    return rank < _MESSAGE or (rank == _PROCESS and kind not in (Kind.PAUSE, Kind.THAW))


def _is_dropped(event: simpy.Event) -> bool:
    return type(event) is Occurrence and event.action is None and not event.callbacks


class Environment(simpy.Environment):
    """Virtual time in integer microseconds.

    Attributes
    ----------
    now : int, microseconds
        A plain attribute, unlike SimPy's: it is read several times an event.
    key : int
        Key of the occurrence that is being carried out.
    events : int
        Kernel events so far, those that were carried out late included (`replay`); another thread may read it at any
        time.
    is_replaying : bool
        Whether the present moment is one of the past.
    origin_us : int
        What times are told from.
    """

    now: int = 0

    def __init__(self, event_budget: int, origin_us: int = 0) -> None:
        super().__init__(initial_time=0)
        self.origin_us = origin_us
        self.key = 0
        self.events = 0
        self.is_replaying = False
        self.event_budget = event_budget
        self.after_each: Callable[[], None] | None = None

    @property
    def _now(self) -> int:
        """Where SimPy keeps the time."""
        return self.now

    @_now.setter
    def _now(self, now: int) -> None:
        self.now = now

    @property
    def told_us(self) -> int:
        """Now, as everybody is told, microseconds."""
        return self.now - self.origin_us

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

    def happen(self, event: simpy.Event, value: Any = None) -> None:
        """Let those who wait for an event go on now; whoever calls this has nothing left to do in what it carries out.

        Without that, ``succeed()`` is right, after which they go on when this is done: an event more.
        """
        event._ok, event._value = True, value
        callbacks, event.callbacks = event.callbacks, None  # type: ignore[assignment]
        for callback in callbacks:
            callback(event)

    def next_process_us(self, at_least: int) -> int:
        """When a process takes its next step, other than a pause of a client, microseconds; `FOREVER`: none will.

        Whatever disturbs anybody from outside is such a step; messages and deadlines follow from what there is. If one
        comes before ``at_least`` it need not be the first that is told.
        """
        found = FOREVER
        for time, key, _, event in self._queue:
            if time < found and _is_process(key) and not _is_dropped(event):
                found = int(time)
                if found < at_least:
                    break
        return found

    def run_before(self, horizon: int) -> None:
        """Carry out everything that happens before ``horizon``.

        Raises
        ------
        EventBudgetExceeded
            If that takes more kernel events than ``event_budget``.
        """
        self._carry_out((horizon,), self.after_each)

    def _carry_out(self, limit: tuple[int, ...], check: Callable[[], None] | None) -> None:
        """Carry out what stands before ``limit``, and call ``check`` after each event."""
        queue = self._queue
        while queue and queue[0] < limit:
            event = queue[0][3]
            if type(event) is Occurrence:
                # As `simpy.Environment.step` does, for an event that cannot fail.
                self.now = heappop(queue)[0]  # type: ignore[assignment]
                callbacks, event.callbacks = event.callbacks, None  # type: ignore[assignment]
                action = event.action
                if action is None and not callbacks:
                    continue
                self.events += 1
                if self.events > self.event_budget:
                    raise self._too_many()
                self.key = event.key
                if action is not None:
                    action(event._value)
                for callback in callbacks:
                    callback(event)
            else:
                self.events += 1
                if self.events > self.event_budget:
                    raise self._too_many()
                self.step()
            if check is not None:
                check()

    def _too_many(self) -> EventBudgetExceeded:
        return EventBudgetExceeded(
            f"more than {self.event_budget:,} events by {self.told_us / 1e6:.3f} s of virtual time: "
            f"raise event_budget, or make the scenario smaller"
        )

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
        before, self.is_replaying = self.is_replaying, True
        self._queue, (self.now, self.key) = [], since
        try:
            action()
            self._carry_out((now, key), None)
        finally:
            rest, self._queue, self.now, self.key = self._queue, queue, now, key
            self.is_replaying = before
        for occurrence in rest:
            heappush(self._queue, occurrence)

    def close_at(self, horizon: int) -> None:
        """Stand at the horizon, before anything that would happen there."""
        self.now = horizon
        self.key = 0
