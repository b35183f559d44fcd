"""Members that wait at a barrier: their request is parked at the coordinator, and they came there with a wave.

Until they are answered only three things can happen to one: a pause, a heartbeat, and that it gives the request up. The
group has one alarm for the first of all these; whose turn it is then watches its own timers again.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from sim.kernel.alarm import Alarm
from sim.kernel.environment import Environment
from sim.units import FOREVER

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
        self._waiting: dict[int, tuple[int, Client]] = {}
        """By slot: when something is due at first, and who waits."""
        self._due: list[tuple[int, int]] = []
        """A heap of times and slots; those who have gone since are still in it."""
        self._alarm = Alarm(env, _FIRST_OF_AN_INSTANT, self._ring)

    def __contains__(self, client: Client) -> bool:
        return client.consumer.slot in self._waiting

    def add(self, clients: Sequence[Client], due_us: Sequence[int]) -> None:
        """These have just come to the barrier; so long nothing is due of each. `watch` must follow."""
        for client, due in zip(clients, due_us, strict=True):
            slot = client.consumer.slot
            self._waiting[slot] = (due, client)
            heappush(self._due, (due, slot))

    def take(self, clients: Sequence[Client]) -> None:
        """These go on with a wave, as far as they wait here."""
        for client in clients:
            self._waiting.pop(client.consumer.slot, None)

    def release(self, client: Client) -> None:
        """A member goes on by itself, if it waits here: it watches its own timers again."""
        if self._waiting.pop(client.consumer.slot, None) is not None:
            client.standstill.arm_pause()
            client.arm(self._env.now)

    def watch(self) -> None:
        """Watch those who are still here: most leave at the very instant at which they come."""
        if not self._waiting:
            self._due.clear()
        self._alarm.set(self._due[0][0] if self._due else FOREVER)

    def _ring(self, now: int) -> None:
        while self._due and self._due[0][0] <= now:
            due, client = self._waiting.get(heappop(self._due)[1], (FOREVER, None))
            if client is not None and due <= now:
                self.release(client)
        self.watch()
