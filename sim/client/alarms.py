"""A consumer's timers, one of each kind for its whole life.

They outlive incarnations, so that what one of them left in the queue serves the next. A timer that rings while nobody
lives is ignored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from groupsim.sim.client.client import Client
from groupsim.sim.kernel.alarm import Alarm
from groupsim.sim.kernel.environment import Kind, deadline_key, process_key
from groupsim.sim.units import FOREVER

if TYPE_CHECKING:
    from groupsim.sim.client.consumer import Consumer


class Alarms:
    """When a consumer must be looked at again, by reason.

    Parameters
    ----------
    consumer : Consumer
    """

    def __init__(self, consumer: Consumer) -> None:
        def alarm(key: int, fire: Callable[[Client, int], None]) -> Alarm:
            def fire_client(now: int) -> None:
                client = consumer.client
                if client is not None:
                    fire(client, now)

            return Alarm(consumer.env, key, fire_client)

        entity = consumer.entity
        self.heartbeat = alarm(deadline_key(entity, Kind.HEARTBEAT), Client.on_deadline)
        self.poll = alarm(deadline_key(entity, Kind.POLL), Client.on_poll)
        self.max_poll = alarm(deadline_key(entity, Kind.MAX_POLL), Client.on_poll_expired)
        self.timeout = alarm(deadline_key(entity, Kind.TIMER), lambda client, now: client.requests.on_timeout(now))
        self.metadata = alarm(deadline_key(entity, Kind.METADATA), lambda client, now: client.metadata.on_due(now))
        self.pause = alarm(process_key(entity, Kind.PAUSE), lambda client, now: client.suspension.on_pause(now))

    def disarm_member(self) -> None:
        """A quiet member has no timers of its own; pauses and metadata are still watched."""
        for alarm in (self.heartbeat, self.poll, self.max_poll, self.timeout):
            alarm.set(FOREVER)

    def disarm(self) -> None:
        """Nobody lives."""
        self.disarm_member()
        self.metadata.set(FOREVER)
        self.pause.set(FOREVER)
