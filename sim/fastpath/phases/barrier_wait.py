"""Members that wait at a barrier: their request is parked at the coordinator, and a phase has brought them there.

Until they are answered only three things can happen to one: a pause, a heartbeat, and that it gives the request up. The
group has one alarm for the first of all these; whose turn it is then watches its own timers again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.offsets.services import Slots
from groupsim.sim.client.client import Client
from groupsim.sim.fastpath.phases.columns import Column
from groupsim.sim.kernel.alarm import Alarm
from groupsim.sim.kernel.environment import Environment
from groupsim.sim.units import FOREVER

_FIRST_OF_AN_INSTANT = 0


class BarrierWait:
    """One group's.

    Parameters
    ----------
    env : Environment
    clients : sequence of Client or None
        By slot.
    slots : int
    """

    def __init__(self, env: Environment, clients: Sequence[Any], slots: int) -> None:
        self._env = env
        self._clients = clients
        self._due = np.full(slots, FOREVER, np.int64)
        """When something is due at first; who is not here has nothing due."""
        self._count = 0
        self._alarm = Alarm(env, _FIRST_OF_AN_INSTANT, self._fire)

    def holds(self, slot: int) -> bool:
        """Whether a member waits here."""
        return self._count > 0 and self._due.item(slot) < FOREVER

    def is_here(self, slots: Slots) -> NDArray[np.bool_]:
        """Which of these members wait here. Shape of ``slots``."""
        here: NDArray[np.bool_] = self._due[slots] < FOREVER
        return here

    def add(self, slots: Slots, due_us: Column) -> None:
        """These have just come to the barrier; until then nothing is due of each. `watch` must follow."""
        self._count += int(np.count_nonzero(self._due[slots] == FOREVER))
        self._due[slots] = due_us

    def take(self, slots: Slots) -> None:
        """These go on in a phase, as far as they wait here."""
        self._count -= int(np.count_nonzero(self._due[slots] < FOREVER))
        self._due[slots] = FOREVER

    def release(self, client: Client) -> None:
        """A member goes on by itself, if it waits here: it watches its own timers again."""
        client.elision.look()
        slot = client.consumer.slot
        if self.holds(slot):
            self._due[slot] = FOREVER
            self._count -= 1
            client.suspension.arm_pause()
            client.arm(self._env.now)

    def watch(self) -> None:
        """Watch those who are still here: most leave at the very instant at which they come."""
        self._alarm.set(int(self._due.min()) if self._count else FOREVER)

    def _fire(self, now: int) -> None:
        due = np.flatnonzero(self._due <= now)
        for slot in due[np.argsort(self._due[due], kind="stable")].tolist():
            self.release(self._clients[slot])
        self.watch()
