"""The fetch that is parked at a broker: until when the connection to that broker answers nothing else.

A consumer has one connection to each broker that leads something it reads, and a broker answers a connection in order
(``SocketServer``: the channel is muted until the answer is sent). A member that has caught up always has one fetch
there (``AbstractFetch.prepareFetchRequests``: one a broker, sent again as soon as it is answered), and the broker parks
it until there are ``fetch.min.bytes``, one record as a rule, or ``fetch.max.wait.ms`` is over
(``ReplicaManager.fetchMessages``, ``DelayedFetch``). What is sent behind it waits: OffsetsForLeaderEpoch, ListOffsets,
the first fetch of new partitions, a metadata request.

So fetches of a connection form a chain. Each ends with the next record of what is read there, and without one they
follow each other by `period_us`. Where the chain stands at any time is arithmetic: it begins anew with every record,
and whenever something is added to what is read. Where a record is less than ``fetch.min.bytes``, links are as long as
so many bytes take at the rate of now (`Gathering`). A member with a backlog is answered at once.

All of that is written for many connections at a time, of one member or of many. Kafka 4.4.0.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.offsets.production import Production
from groupsim.sim.kernel.network import Path
from groupsim.sim.protocol.messages import Positions
from groupsim.sim.units import FOREVER, S

Times = NDArray[np.int64]
"""Microseconds, an entry a connection."""


class Logs(Protocol):
    """What those who read see of the records: all of them (`Production`), or what a follower knows to be safe."""

    def around(self, at: Times, positions: Positions) -> tuple[Times, Times]:
        """When the last record up to ``at`` came to be seen, and when the next one will be. Shapes (n,)."""


def period_us(path: Path, wait_us: int, service_us: int) -> int:
    """From one fetch to the next if there is no record: ``fetch.max.wait.ms``, and a round trip of mean length.

    0: fetches are never parked (``fetch.max.wait.ms=0``).
    """
    return wait_us + 2 * path.mean_us + service_us if wait_us else 0


class Gathering(NamedTuple):
    """How long fetches are parked until they have ``fetch.min.bytes``. Arrays of shape (n,), an entry a connection.

    Parameters
    ----------
    takes : int64 array, microseconds
        What comes in so long is enough; 0: each record is.
    since : int64 array, microseconds
        Since when it comes at this rate.
    """

    takes: Times
    since: Times


def gathering(
    production: Production, sizes: Times, partitions: Positions, begins: NDArray[np.intp], least: Times
) -> Gathering | None:
    """How long bytes of these connections take; None if a record is enough for each of them.

    It is not known how long where records have no size, or come as producers send them: there each is enough.

    Parameters
    ----------
    production : Production
    sizes : int64 array, shape (n_partitions,)
        Bytes of a record of each partition of the group; 0: not known.
    partitions, begins : arrays, shapes (k,), (n,)
        As those of `Chains`.
    least : int64 array, shape (n,)
        ``fetch.min.bytes``.
    """
    if least.max(initial=0) <= 1:
        return None
    rate, since = production.flow(partitions)
    size = np.where(rate < 0, 0, sizes[partitions])
    flow = np.add.reduceat(rate * size, begins)
    takes = np.where(flow > 0, -(-least * 1000 * S // np.maximum(flow, 1)), FOREVER)
    is_more = (np.minimum.reduceat(size, begins) > 0) & (np.maximum.reduceat(size, begins) < least)
    return Gathering(np.where(is_more, takes, 0), np.maximum.reduceat(since, begins))


def by_connection(members: NDArray[np.int64], brokers: NDArray[np.int32]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Partitions in an order in which those of one member at one broker are neighbours.

    Parameters
    ----------
    members, brokers : int arrays, shape (k,)
        Of each partition who reads it, and its leader.

    Returns
    -------
    order : intp array, shape (k,)
        By member, then by broker.
    begins : intp array, shape (n,)
        Where each connection begins in that order.
    """
    order = np.lexsort((brokers, members))
    members, brokers = members[order], brokers[order]
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = np.logical_or(members[1:] != members[:-1], brokers[1:] != brokers[:-1])
    return order, np.flatnonzero(is_first)


class Chains:
    """The chains of fetches of some connections.

    Parameters
    ----------
    logs : Logs
    partitions : int32 array, shape (k,)
        What is read, those of one connection next to one another.
    begins : intp array, shape (n,)
        Where the partitions of each connection begin.
    since : int64 array, shape (k,), microseconds
        Since when each partition is read.
    caught_up : int64 array, shape (n,), microseconds
        When the backlog of the member is gone.
    period : int64 array, shape (n,), microseconds
        `period_us`.
    gathering : Gathering or None
        Of these connections.
    """

    def __init__(
        self, logs: Logs, partitions: Positions, begins: NDArray[np.intp], since: Times, caught_up: Times,
        period: Times, gathering: Gathering | None,
    ) -> None:  # fmt: skip
        self._logs = logs
        self._partitions = partitions
        self._begins = begins
        self._lengths = np.diff(np.append(begins, len(partitions)))
        self._caught_up = caught_up
        self._period = period
        self._gathering = gathering
        self._since = np.maximum(np.maximum.reduceat(since, begins), caught_up)

    def parked_until(self, at: Times) -> Times:
        """When the fetch that is parked at ``at`` is answered, which is later; ``at`` where none is. Shape (n,)."""
        last, following = self._logs.around(np.repeat(at, self._lengths), self._partitions)
        over = self._next_link(at, np.maximum(self._since, np.maximum.reduceat(last, self._begins)), self._period)
        over = np.minimum(over, np.minimum.reduceat(following, self._begins))
        if self._gathering is not None:
            takes, since = self._gathering
            gathered = self._next_link(at, np.maximum(self._since, since), np.minimum(takes, self._period))
            over = np.where(takes > 0, gathered, over)
        return np.where(np.logical_or(self._period == 0, at < self._caught_up), at, over)

    @staticmethod
    def _next_link(at: Times, begun: Times, length: Times) -> Times:
        """When a chain of links of one length begins the next one. Shape (n,)."""
        following: Times = begun + ((at - begun) // np.maximum(length, 1) + 1) * length
        return following
