"""How long requests of many clients take to the broker and back (`InFlight.numbered`), as columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.offsets.services import Slots
from groupsim.sim.client.client import Client
from groupsim.sim.config import Timing
from groupsim.sim.fastpath.phases.columns import Column
from groupsim.sim.kernel.network import Path, round_trips, round_trips_alike
from groupsim.sim.model import Distribution
from groupsim.sim.protocol.messages import Api
from groupsim.sim.randomness import draws


class RequestTimes:
    """Of one group's clients, by slot.

    Parameters
    ----------
    timing : Timing
    slots : int
    """

    def __init__(self, timing: Timing, slots: int) -> None:
        self._paths: dict[int, Path] = {}
        self._keys = {kind: np.zeros(slots, np.uint64) for kind in ("heartbeat", "commit", "other")}
        self._laws: list[Distribution | None] = []
        self._preparations = {Api.JOIN_GROUP: timing.join_prepare, Api.SYNC_GROUP: timing.sync_prepare}
        self._preparation_keys = {api: np.zeros(slots, np.uint64) for api in self._preparations}

    def meet(self, slot: int, client: Client) -> None:
        """A client has this slot from now on."""
        self._paths[slot] = client.path
        for kind, column in self._keys.items():
            column[slot] = client.path.keys[kind]
        for api, column in self._preparation_keys.items():
            column[slot] = client.in_flight.preparations[api].key
        if not any(client.path.law is law for law in self._laws):
            self._laws.append(client.path.law)

    def round_trips(self, kind: str, slots: Slots, numbers: Column) -> NDArray[np.int64]:
        """`sim.kernel.network.round_trips` of these members."""
        law = self._laws[0]
        if law is None or len(self._laws) > 1:
            return round_trips([self._paths[slot] for slot in slots.tolist()], kind, numbers)
        waits = next(iter(self._paths.values())).waits(kind)
        return round_trips_alike(law, self._keys[kind][slots], numbers, waits)

    def prepared(self, api: Api, slots: Slots, numbers: Column) -> NDArray[np.int64]:
        """`round_trips` of JoinGroup or SyncGroup, each from when the client has reason to send it."""
        trips = self.round_trips("other", slots, numbers)
        trips[0] += draws(self._preparations[api], self._preparation_keys[api][slots], numbers)
        return trips
