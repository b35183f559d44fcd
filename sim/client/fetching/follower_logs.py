"""When readers of a follower see records: when its leader has told it the high watermark, and not before.

A follower's fetch is parked at the leader until something is appended to what it copies from there
(``DelayedFetch.tryComplete``: a follower waits for the log end offset, of whatever partition) or
``replica.fetch.wait.max.ms`` is over. That the high watermark has risen completes no fetch (KAFKA-9952 took that out
of ``DelayedFetch`` and ``ReplicaManager``). So a record comes to the follower at once; the next fetch says that it is
there, and with the slowest replica's the high watermark rises (``Partition.maybeIncrementLeaderHW``); whatever is
appended then answers the fetch, which brings it (``ReplicaFetcherThread.processPartitionData``), and fetches of
consumers that are parked there are answered (``completeDelayedFetchRequests``). Kafka 4.4.

With a round trip of the slowest replica `acknowledged`, a way `way` and the longest time between fetches `period`, a
record of `t` is seen at ``min(next append after t + acknowledged, t + period) + way``: arithmetic, as the rest of the
chain is.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from groupsim.sim.books.offsets.production import Offsets, Production
from groupsim.sim.catalog import Partitions
from groupsim.sim.cluster.shard.follower_fetch import between
from groupsim.sim.model import Cluster
from groupsim.sim.protocol.messages import Positions
from groupsim.sim.randomness import mean_of
from groupsim.sim.units import FOREVER, MS

_WAIT_US: Final = 500 * MS
"""``replica.fetch.wait.max.ms``: its default."""


class FollowerLogs:
    """What one client's partitions show where it reads them.

    Parameters
    ----------
    cluster : Cluster
    production : Production
    partitions : Partitions
    rack : str
        The client's.
    """

    def __init__(self, cluster: Cluster, production: Production, partitions: Partitions, rack: str) -> None:
        self._cluster = cluster
        self._production = production
        self._partitions = partitions
        self._rack = rack

    def around(self, at: Offsets, positions: Positions) -> tuple[Offsets, Offsets]:
        """When the last record that is seen at ``at`` came to be seen (0: none), and when the next one will be.

        Parameters
        ----------
        at : int64 array, shape (n,), microseconds
        positions : int32 array, shape (n,)

        Returns
        -------
        last, following : int64 arrays, shape (n,), microseconds
            As those of `Production.around`, which they are where the leader is read from.
        """
        last, following = self._production.around(at, positions)
        leaders, nodes = self._partitions.leader[positions], self._partitions.read_from(self._rack)[positions]
        elsewhere = leaders != nodes
        for leader, node in sorted(set(zip(leaders[elsewhere].tolist(), nodes[elsewhere].tolist(), strict=True))):
            these = np.flatnonzero((leaders == leader) & (nodes == node))
            link = _Link(self._cluster, self._production, self._partitions, leader, node)
            last[these], following[these] = link.around(at[these], positions[these])
        return last, following


class _Link:
    """What a follower copies from one leader.

    Parameters
    ----------
    cluster : Cluster
    production : Production
    partitions : Partitions
    leader, follower : int
        Broker ids.
    """

    def __init__(
        self, cluster: Cluster, production: Production, partitions: Partitions, leader: int, follower: int
    ) -> None:
        self._production = production
        self._copied, replicas = partitions.copied(leader, follower)
        self._way_us = _way_us(cluster, leader, follower)
        self._acknowledged_us = 2 * max(_way_us(cluster, leader, one) for one in replicas - {leader})
        cycle = 2 * self._way_us + _WAIT_US
        self._period_us = -(-self._acknowledged_us // cycle) * cycle

    def around(self, at: Offsets, positions: Positions) -> tuple[Offsets, Offsets]:
        """`FollowerLogs.around` of partitions that are read from this follower."""
        told = np.maximum(at - self._way_us, 0)
        known = np.maximum(self._appended(told)[0] - self._acknowledged_us - 1, told - self._period_us)
        last, following = self._production.around(np.maximum(known, 0), positions)
        # A rate that has changed since then makes older records look later than they were.
        return np.where(last > 0, np.minimum(self._seen(last), at), 0), self._seen(following)

    def _seen(self, times: Offsets) -> Offsets:
        """When records are seen that are appended at these times; `FOREVER` stays. Shape (n,)."""
        is_ever = times < FOREVER
        appended = np.where(is_ever, times, 0)
        answered = np.minimum(self._appended(appended + self._acknowledged_us)[1], appended + self._period_us)
        return np.where(is_ever, answered + self._way_us, FOREVER)

    def _appended(self, at: Offsets) -> tuple[Offsets, Offsets]:
        """When something was last appended to what the follower copies, up to each time, and when next."""
        times, which = np.unique(at, return_inverse=True)
        count = len(self._copied)
        last, following = self._production.around(np.repeat(times, count), np.tile(self._copied, len(times)))
        return last.reshape(-1, count).max(axis=1)[which], following.reshape(-1, count).min(axis=1)[which]


def _way_us(cluster: Cluster, one: int, other: int) -> int:
    return max(1, mean_of(between(cluster, one, other)))
