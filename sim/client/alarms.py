"""A consumer's timers, one of each kind for its whole life.

They outlive incarnations, so that what one of them left in the queue serves the next. A timer that rings while nobody
lives is ignored.
"""

from __future__ import annotations

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


def _ignore(now: int) -> None:
    """Nobody lives."""


class Alarms:
    """When a consumer must be looked at again, by reason.

    Parameters
    ----------
    env : Environment
    entity : int
        `sim.randomness.name_hash` of the consumer.
    """

    def __init__(self, env: Environment, entity: int) -> None:
        self.heartbeat = Alarm(env, deadline_key(entity, Kind.HEARTBEAT), _ignore)
        self.poll = Alarm(env, deadline_key(entity, Kind.POLL), _ignore)
        self.max_poll = Alarm(env, deadline_key(entity, Kind.MAX_POLL), _ignore)
        self.timeout = Alarm(env, deadline_key(entity, Kind.TIMER), _ignore)
        self.metadata = Alarm(env, deadline_key(entity, Kind.METADATA), _ignore)
        self.pause = Alarm(env, process_key(entity, Kind.PAUSE), _ignore)

    def ring_for(self, listener: Listener | None) -> None:
        """An incarnation opens, or (None) nobody lives any more."""
        self.heartbeat.action = _ignore if listener is None else listener.on_deadline
        self.poll.action = _ignore if listener is None else listener.on_poll
        self.max_poll.action = _ignore if listener is None else listener.on_poll_expired
        self.timeout.action = _ignore if listener is None else listener.on_timeout
        self.metadata.action = _ignore if listener is None else listener.on_metadata_due
        self.pause.action = _ignore if listener is None else listener.on_pause

    def watch_member(self, heartbeat: int, poll: int, max_poll: int, timeout: int) -> None:
        """When each timer of a loud member rings, microseconds (`FOREVER`: never); most stay as they are."""
        if heartbeat != self.heartbeat.deadline:
            self.heartbeat.set(heartbeat)
        if poll != self.poll.deadline:
            self.poll.set(poll)
        if max_poll != self.max_poll.deadline:
            self.max_poll.set(max_poll)
        if timeout != self.timeout.deadline:
            self.timeout.set(timeout)

    def disarm_member(self) -> None:
        """A quiet member has no timers of its own; pauses and metadata are still watched."""
        self.watch_member(FOREVER, FOREVER, FOREVER, FOREVER)

    def disarm(self) -> None:
        """Nobody lives."""
        self.disarm_member()
        self.metadata.set(FOREVER)
        self.pause.set(FOREVER)
