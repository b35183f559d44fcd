"""A client's connections to the brokers that it reads from: with what they are busy, when requests get through.

No message on them is an event: a fetch that is answered changes nothing but for the first one of a partition, and when
that is answered is arithmetic (`sim.client.fetching.parked_fetch`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.client.fetching.follower_logs import FollowerLogs
from groupsim.sim.client.fetching.parked_fetch import Chains, Times, by_connection, gathering, period_us
from groupsim.sim.client.incarnation import Incarnation
from groupsim.sim.protocol.messages import Positions, within

_ONE: Final = np.zeros(1, np.intp)
"""Where the partitions of the only connection begin."""


class FirstFetch(NamedTuple):
    """How partitions come to be read, in microseconds: one time each, or columns of one shape.

    Parameters
    ----------
    worked
        The broker works on the request for their positions.
    begun
        The first fetch is answered.
    """

    worked: Times
    begun: Times


class Trips(NamedTuple):
    """Latencies in microseconds of the request for positions and of the first fetch, there and back."""

    up: int | Times
    down: int | Times
    there: int | Times
    back: int | Times


def first_fetch(worked: Times, resent: Times, trips: Trips, service_us: int) -> FirstFetch:
    """When partitions are read whose positions a broker works on at ``worked``.

    ``resent``: when the answer to the fetch that is parked then leaves the broker; the next one has the new partitions.
    """
    return FirstFetch(worked, resent + trips.down + trips.there + service_us + trips.back)


class DataConnections:
    """Those of one client.

    Parameters
    ----------
    client : Incarnation

    Attributes
    ----------
    period_us : int
        `sim.client.fetching.parked_fetch.period_us`.
    parked : dict of int to int, microseconds
        Broker from which nothing is read any more -> when the last fetch from it is answered.
    restarted_us : int
        When the client last went on after it had stood still.
    """

    def __init__(self, client: Incarnation) -> None:
        timing = client.world.timing
        self._consumption = client.consumption
        self._ledger = client.books.ledger
        self._partitions = client.books.partitions
        self._rack = client.config.client_rack
        self._logs = FollowerLogs(client.group.cluster, self._ledger, self._partitions, self._rack)
        self._service_us = timing.service_us
        self.period_us = period_us(client.path, client.config.fetch_max_wait_us, timing.service_us)
        self._least_bytes = client.config.fetch_min_bytes
        self.parked: dict[int, int] = {}
        self.restarted_us = 0

    @property
    def sources(self) -> NDArray[np.int32]:
        """The broker that each partition of the group is read from, if this client reads it. Shape (n_partitions,)."""
        return self._partitions.read_from(self._rack)

    @property
    def nodes(self) -> list[int]:
        """Brokers that something is read from, ascending."""
        return sorted(set(self.sources[self._consumption.partitions].tolist()))

    def stop(self, now: int, positions: Positions, *, at_once: bool = False) -> None:
        """These are read no longer: the fetch that is parked for the last ones at a broker stays until it is over.

        ``at_once``: it is over now.
        """
        held = self._consumption.partitions
        keep = ~within(held, positions)
        node = self.sources[held]
        silent = np.setdiff1d(node, node[keep])
        if silent.size:
            until = np.full(len(silent), now)
            until = until if at_once else self._parked_until(until, silent)
            self.parked.update(zip(silent.tolist(), until.tolist(), strict=True))

    def end(self, nodes: frozenset[int]) -> None:
        """Connections to these brokers are gone."""
        for node in nodes:
            self.parked.pop(node, None)

    def _parked_until(self, at: Times, nodes: NDArray[np.int32]) -> Times:
        """When the fetches that are parked at some of the `nodes` are answered."""
        node = self.sources[self._consumption.partitions]
        which = np.flatnonzero(within(node, nodes))
        order, begins = by_connection(np.zeros(len(which), np.int64), node[which])
        return self._chains(which[order], begins).parked_until(at)

    def _chains(self, which: NDArray[np.intp], begins: NDArray[np.intp]) -> Chains:
        """The fetches of some of what is read, those of one connection next to one another, which begin at these."""
        consumption = self._consumption
        partitions = consumption.partitions[which]
        least = np.full(len(begins), self._least_bytes)
        return Chains(
            self._logs, partitions, begins, np.maximum(consumption.since[which], self.restarted_us),
            np.repeat(self._ledger.services.caught_up(np.array([consumption.slot])), len(begins)),
            np.full(len(begins), self.period_us),
            gathering(self._ledger, self._partitions.record_bytes, partitions, begins, least),
        )  # fmt: skip

    def free_at(self, at: int, node: int) -> int:
        """When a request is worked on that reaches a broker at ``at``, as it looks now."""
        held = self._consumption.partitions
        if held.size and (which := (self.sources[held] == node).nonzero()[0]).size:
            return int(self._chains(which, _ONE).parked_until(np.array([at]))[0])
        return max(at, self.parked.get(node, 0))

    def is_open(self, node: int) -> bool:
        """Whether there is a connection to a broker, because something is, or was, read from it."""
        return node in self.parked or self._is_read(node)

    def _is_read(self, node: int) -> bool:
        held = self._consumption.partitions
        return held.size > 0 and bool(np.count_nonzero(self.sources[held] == node))

    def answered(self, asked: int, node: int, trips: Trips) -> int:
        """When the answer to a request for positions is here that is sent at ``asked``."""
        return self.free_at(asked + int(trips.up), node) + self._service_us + int(trips.down)

    def fetched(self, sent: int, node: int, trips: Trips) -> int:
        """When a first fetch is answered that the client can send from ``sent`` on.

        To a broker that something is read from already there is one at a time: it waits for the answer to that.
        """
        there, back = int(trips.there), int(trips.back)
        arrived = self.free_at(sent + there, node)
        if self._is_read(node):
            arrived += back + there
        return arrived + self._service_us + back

    def first_fetches(self, known: int, positions: Positions, trips: Trips) -> FirstFetch:
        """When partitions are read whose positions are asked for at ``known``. Arrays of shape (n_positions,)."""
        leaders = self._partitions.leader[positions]
        nodes = np.array(sorted(set(leaders.tolist())), np.int32)
        which = np.searchsorted(nodes, leaders)
        arrived = known + trips.up
        worked = np.array([max(arrived, self.parked.get(node, 0)) for node in nodes.tolist()])
        resent = worked + self._service_us
        reading = within(nodes, np.array(self.nodes, np.int32))
        if np.count_nonzero(reading):
            worked[reading] = self._parked_until(np.full(np.count_nonzero(reading), arrived), nodes[reading])
            resent[reading] = self._parked_until(worked[reading] + self._service_us, nodes[reading])
        fetch = first_fetch(worked, resent, trips, self._service_us)
        return FirstFetch(fetch.worked[which], fetch.begun[which])

    def redirected(self, begun: Times, positions: Positions, trip: Callable[[], tuple[int, int]]) -> Times:
        """When partitions are read that leaders are asked for at first; those of others answer with a follower.

        A leader that names a replica answers at once and without records, and the fetch that follows goes there
        (``ReplicaManager.fetchMessages``, ``FetchCollector.handleInitializeSuccess``,
        ``AbstractFetch.selectReadReplica``; Kafka 4.4).

        Parameters
        ----------
        begun : int64 array, shape (n,), microseconds
            Leaders' answers.
        positions : int32 array, shape (n,)
        trip : callable
            Latencies of the next request, there and back.
        """
        if self.sources is self._partitions.leader:
            return begun
        nodes, result = self.sources[positions], begun.copy()
        is_sent = nodes != self._partitions.leader[positions]
        if not np.count_nonzero(is_sent):
            return result
        for node in np.unique(nodes[is_sent]).tolist():
            there, back = trip()
            these = is_sent & (nodes == node)
            for time in np.unique(begun[these]).tolist():
                result[these & (begun == time)] = self.fetched(time, node, Trips(0, 0, there, back))
        return result
