"""Members that wait at a barrier: their request is parked at the coordinator, and they came there with a wave.

Until they are answered only three things can happen to one: a pause, a heartbeat, and that it gives the request up. The
group has one alarm for the first of all these; whose turn it is then watches its own timers again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sim.kernel.alarm import Alarm
from sim.kernel.environment import Environment
from sim.protocol.deadlines import Deadlines

if TYPE_CHECKING:
    from sim.actors.client import Client

_FIRST_OF_AN_INSTANT = 0


class Parked:
    """One group's.

    Parameters
    ----------
    env : Environment
    """

    def __init__(self, env: Environment) -> None:
        self._env = env
        self._clients: dict[str, Client] = {}
        self._due = Deadlines()
        self._alarm = Alarm(env, _FIRST_OF_AN_INSTANT, self._ring)

    def __contains__(self, client: Client) -> bool:
        return client.consumer.name in self._clients

    def add(self, clients: Iterable[Client]) -> None:
        """These have just come to the barrier; nobody watches their own timers."""
        for client in clients:
            name = client.consumer.name
            self._clients[name] = client
            self._due.arm(name, _first_due(client))
        self._alarm.set(self._due.earliest)

    def take(self, client: Client) -> None:
        """A member goes on with a wave, if it waits here."""
        name = client.consumer.name
        if self._clients.pop(name, None) is not None:
            self._due.cancel(name)

    def release(self, client: Client) -> None:
        """A member goes on by itself, if it waits here: it watches its own timers again."""
        if client in self:
            self.take(client)
            client.standstill.arm_pause()
            client.arm(self._env.now)

    def _ring(self, now: int) -> None:
        while (name := self._due.pop(now)) is not None:
            self.release(self._clients[name])
        self._alarm.set(self._due.earliest)


def _first_due(client: Client) -> int:
    return min(client.standstill.next_start, client.requests.given_up_us, client.machine.deadline)
