"""The follower that a client was told to read a partition from, and until when it asks nobody else (KIP-392).

A leader names a replica in its answer to a fetch, and the client keeps to it for metadata.max.age.ms. Then it asks the
leader again, and goes on in the same place if that says so: that changes nothing, and is no event. It asks at once when
the connection to the follower ends, the leader changes, or the follower answers with an error
(``SubscriptionState.preferredReadReplica``, ``AbstractFetch.selectReadReplica``, ``handleFetchFailure``,
``FetchCollector.handleInitializeErrors``; Kafka 4.4).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.client.fetching.data_connections import DataConnections
from groupsim.sim.client.fetching.parked_fetch import Times
from groupsim.sim.client.incarnation import Incarnation
from groupsim.sim.protocol.messages import Positions


class ReadReplicas:
    """Those of one client.

    Parameters
    ----------
    client : Incarnation
    connections : DataConnections
    """

    def __init__(self, client: Incarnation, connections: DataConnections) -> None:
        self._connections = connections
        self._leaders = client.books.partitions
        self._world = client.world
        self._age_us = max(client.config.metadata_max_age_us, 1)
        self._told: dict[int, tuple[int, int]] = {}
        """Partition -> the follower that it was told, and when."""

    def nodes(self, positions: Positions) -> NDArray[np.int32]:
        """Where leaders send it now, or the leaders themselves. Shape (n,)."""
        return self._connections.sources[positions]

    def needs(self, positions: Positions, nodes: frozenset[int]) -> NDArray[np.bool_]:
        """Whether to begin to read each of these takes one of some brokers, to ask or to read from. Shape (n,)."""
        if not nodes:
            return np.zeros(len(positions), np.bool_)
        some = list(nodes)
        return np.logical_or(np.isin(self._leaders.leader[positions], some), np.isin(self.nodes(positions), some))

    def note(self, now: int, positions: Positions) -> None:
        """The client begins to read these where it is sent."""
        if not self._told and self._connections.sources is self._leaders.leader:
            return  # everybody reads from leaders
        nodes, leaders = self.nodes(positions), self._leaders.leader[positions]
        for position, node, leader in zip(positions.tolist(), nodes.tolist(), leaders.tolist(), strict=True):
            if node != leader:
                self._told[position] = (node, now)
            else:
                self._told.pop(position, None)

    def has_left(self, positions: Positions) -> NDArray[np.bool_]:
        """Whether it was told another follower than it would be now. Shape (n,)."""
        nodes = self.nodes(positions)
        pairs = zip(positions.tolist(), nodes.tolist(), strict=True)
        told = np.array([self._told.get(position, (node, 0))[0] for position, node in pairs], np.int32)
        has_left: NDArray[np.bool_] = told != nodes
        return has_left

    def kept(self, positions: Positions) -> list[int]:
        """Those of these that it was told to read where it would be told to now."""
        return [p for p in positions[~self.has_left(positions)].tolist() if p in self._told]

    def asks_at(self, now: int, positions: Positions, cut_off: frozenset[int]) -> Times:
        """When it asks the leaders of these: not before it gives up a follower that it still reaches. Shape (n,).

        One that shuts down is given up at once, though its connections end only when it goes.
        """
        at = np.full(len(positions), now, np.int64)
        if not self._told:
            return at
        staying = self._world.staying_nodes
        for index in np.flatnonzero(self.has_left(positions)).tolist():
            node, since = self._told[int(positions[index])]
            if node in staying and node not in cut_off:
                at[index] = self._expires(now, since)
        return at

    def expiries(self, now: int, positions: Positions) -> Times:
        """When it asks the leaders of these again if nothing happens; ``now`` where it reads from them. Shape (n,)."""
        told = [self._told.get(position) for position in positions.tolist()]
        return np.array([now if one is None else self._expires(now, one[1]) for one in told], np.int64)

    def _expires(self, now: int, since: int) -> int:
        return since + -(-(now - since) // self._age_us) * self._age_us
