"""Requests of one transaction of each of many members, one after the other, and what a cluster is to them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.cluster.shard.watermark import Watermark
from groupsim.sim.fastpath.transactions.columns import Column
from groupsim.sim.kernel.network import Waits
from groupsim.sim.model import Distribution

_ATTEMPTS = 4
"""So often a leader asks for a transaction that cannot begin yet; who has to wait longer takes its steps as events."""


class Surface(NamedTuple):
    """What a cluster is to these members: times in microseconds.

    Parameters
    ----------
    poll_us, trip_us, service_us, append_us, retry_us : int
        Of a pass through poll(), of a message between brokers, of a request at a broker, of an append, and until a
        leader asks its coordinator again.
    watermark : Watermark
        Of the group's offsets partition.
    law : Distribution
        Of latencies.
    beat_waits : Waits
        Of heartbeats at the broker.
    is_punctual : bool
        Whether the thread that beats waits for nobody (consumer protocol).
    """

    poll_us: int
    trip_us: int
    service_us: int
    append_us: int
    retry_us: int
    watermark: Watermark
    law: Distribution
    beat_waits: Waits
    is_punctual: bool


class Chain:
    """Of some members.

    Parameters
    ----------
    surface : Surface
    trips : int64 array, shape (2, 4, n)
        Latencies there and back of the next requests.
    free_us : int64 array, shape (n,)
        Before that none of its partitions can be added.
    """

    def __init__(self, surface: Surface, trips: Column, free_us: Column) -> None:
        self._surface = surface
        self._trips = trips
        # At that very instant what was sent earlier comes first: the question, or the append that makes it free.
        self._free_us = free_us + (surface.trip_us > surface.append_us)
        self._every = np.arange(len(free_us))
        self.sent = np.zeros(len(free_us), np.int64)
        """How many."""
        self.is_short = np.ones(len(free_us), np.bool_)
        """Whether nobody has to wait for its last transaction for long."""

    def _next(self, is_sent: NDArray[np.bool_] | bool) -> tuple[Column, Column]:
        up, down = self._trips[:, self.sent, self._every]
        self.sent = self.sent + is_sent
        return up, down

    def produce(self, sent_us: Column, is_sent: NDArray[np.bool_], asks: NDArray[np.bool_]) -> tuple[Column, Column]:
        """When what is sent is written, and when that is acknowledged; ``asks``: it adds partitions."""
        up, down = self._next(is_sent)
        arrived = sent_us + up
        written = np.where(asks, self._added(arrived, asks), arrived)
        return written, written + self._surface.service_us + self._surface.append_us + down

    def _added(self, arrived: Column, asks: NDArray[np.bool_] | bool = False) -> Column:
        """When a leader that a request has reached hears that its partitions are in the transaction."""
        surface, asked = self._surface, arrived + self._surface.trip_us
        for _ in range(_ATTEMPTS):
            is_early = asks & (asked < self._free_us)
            if not np.count_nonzero(is_early):
                break
            asked = asked + is_early * (surface.service_us + 2 * surface.trip_us + surface.retry_us)
        else:
            self.is_short &= ~is_early
        return asked + surface.append_us + surface.service_us + surface.trip_us

    def commit(self, sent_us: Column) -> tuple[Column, Column]:
        """When offsets are written, their partition having been added, and when that is answered."""
        up, down = self._next(True)
        written = self._added(sent_us + up)
        return written, self._surface.watermark.passes_all(written) + self._surface.service_us + down

    def end(self, sent_us: Column) -> tuple[Column, Column, Column]:
        """When EndTxn is there, when it is decided, and when that is answered."""
        up, down = self._next(True)
        decided = sent_us + up + self._surface.append_us
        return sent_us + up, decided, decided + self._surface.service_us + down
