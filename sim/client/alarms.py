"""A consumer's timers, one of each kind for its whole life.

They outlive incarnations, so that what one of them left in the queue serves the next. A timer that rings while nobody
lives is ignored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from groupsim.sim.kernel.alarm import Alarm
from groupsim.sim.kernel.environment import Environment, Kind, deadline_key, process_key
from groupsim.sim.units import FOREVER


class Listener(Protocol):
    """An incarnation whose timers these are."""

    def on_deadline(self, now: int) -> None:
        """A timer of the machine is due."""
        ...

    def on_poll(self, now: int) -> None:
        """The application must be looked at."""
        ...

    def on_poll_expired(self, now: int) -> None:
        """max.poll.interval.ms is over."""
        ...

    def on_timeout(self, now: int) -> None:
        """A request is given up."""
        ...

    def on_metadata_due(self, now: int) -> None:
        """Metadata is metadata.max.age.ms old."""
        ...

    def on_pause(self, now: int) -> None:
        """A pause begins that was known beforehand."""
        ...


class Alarms:
    """When a consumer must be looked at again, by reason.

    Parameters
    ----------
    env : Environment
    entity : int
        `sim.randomness.name_hash` of the consumer.
    current : callable
        The incarnation that is open, or None.
    """

    def __init__(self, env: Environment, entity: int, current: Callable[[], Listener | None]) -> None:
        def alarm(key: int, fire: Callable[[Listener, int], None]) -> Alarm:
            def fire_current(now: int) -> None:
                listener = current()
                if listener is not None:
                    fire(listener, now)

            return Alarm(env, key, fire_current)

        self.heartbeat = alarm(deadline_key(entity, Kind.HEARTBEAT), lambda it, now: it.on_deadline(now))
        self.poll = alarm(deadline_key(entity, Kind.POLL), lambda it, now: it.on_poll(now))
        self.max_poll = alarm(deadline_key(entity, Kind.MAX_POLL), lambda it, now: it.on_poll_expired(now))
        self.timeout = alarm(deadline_key(entity, Kind.TIMER), lambda it, now: it.on_timeout(now))
        self.metadata = alarm(deadline_key(entity, Kind.METADATA), lambda it, now: it.on_metadata_due(now))
        self.pause = alarm(process_key(entity, Kind.PAUSE), lambda it, now: it.on_pause(now))

    def disarm_member(self) -> None:
        """A quiet member has no timers of its own; pauses and metadata are still watched."""
        for alarm in (self.heartbeat, self.poll, self.max_poll, self.timeout):
            alarm.set(FOREVER)

    def disarm(self) -> None:
        """Nobody lives."""
        self.disarm_member()
        self.metadata.set(FOREVER)
        self.pause.set(FOREVER)
