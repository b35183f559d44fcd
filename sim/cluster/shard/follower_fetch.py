"""How long a write of a coordinator waits for followers: until the last one in sync has fetched it and says so.

Source: ``Partition.maybeIncrementLeaderHW``, ``DelayedFetch`` and ``AbstractFetcherThread`` (Kafka 4.4). A follower's
fetch is parked at the leader and answered as soon as something is appended; the follower appends it, and its next
fetch says that it has. So each takes a way there, an append and a way back, and the high watermark waits for the
slowest. Without followers only the leader's own append is waited for.

Recorded from "Assignment received" to the first onPartitionsAssigned (5, 50 and 90 %): 1.0, 2.3 and 6.2 ms with one
replica, 4.0, 8.0 and 24 ms with three (`tests/golden`), where one way took 2.4 ms in the middle.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Final

import numpy as np

from groupsim.sim.distributions import ZERO, Distribution
from groupsim.sim.model import Cluster
from groupsim.sim.randomness import quantiles

_CELLS: Final = 256
"""Of each way's distribution: what is beyond the last one's middle, 1 of 512, is not drawn."""
_QUANTILES: Final = 512


def follower_fetch(cluster: Cluster, replicas: Sequence[int]) -> Distribution | None:
    """What a write waits beyond the leader's append; None: nothing.

    Parameters
    ----------
    cluster : Cluster
    replicas : sequence of int
        Broker ids, the leader first; all are taken to be in sync.
    """
    leader, *followers = replicas
    if not followers:
        return None
    law = cluster.timing.follower_fetch
    if law is None:
        laws = tuple(sorted((between(cluster, leader, one) for one in followers), key=repr))
        return _slowest(laws, cluster.timing.append_us)
    return None if law == ZERO else law


def both(first: Distribution | None, second: Distribution | None) -> Distribution | None:
    """One wait after the other."""
    if first is None or second is None:
        return first or second
    ways = [quantiles(one, 64) for one in (first, second)]
    sums = sorted(one + other for one in ways[0] for other in ways[1])
    return Distribution("empirical", tuple(sums[len(sums) // _QUANTILES // 2 :: len(sums) // _QUANTILES]))


def between(cluster: Cluster, a: int, b: int) -> Distribution:
    """One way between two brokers."""
    racks = {one.id: one.rack for one in cluster.brokers}
    here, there = ({f"broker:{id_}", f"rack:{racks[id_]}"} for id_ in (a, b))
    for link in cluster.network.links:
        first, second = link.between
        if (first in here and second in there) or (second in here and first in there):
            return link.latency
    return cluster.network.latency


@lru_cache(maxsize=512)
def _slowest(laws: tuple[Distribution, ...], append_us: int) -> Distribution:
    """The longest of as many fetches, by the laws of their ways."""
    if all(law.kind == "constant" for law in laws):
        return Distribution.constant(2 * max(law.values[0] for law in laws) + append_us)
    fetches = [_fetch(law, append_us) for law in laws]
    found: list[int] = []
    values = iter(sorted({value for fetch in fetches for value in fetch}))
    reached, value = 0, 0
    for quantile in range(_QUANTILES):
        while 2 * reached < (2 * quantile + 1) * _QUANTILES ** (len(laws) - 1):
            value = next(values)
            reached = prod(bisect_right(fetch, value) for fetch in fetches)
        found.append(value)
    return Distribution("empirical", tuple(found))


@lru_cache(maxsize=512)
def _fetch(law: Distribution, append_us: int) -> list[int]:
    """Quantiles of one follower's way there, append and way back, ascending."""
    ways = np.array(quantiles(law, _CELLS))
    sums = np.sort(np.add.outer(ways, ways), axis=None)
    step = len(sums) // _QUANTILES
    found: list[int] = (append_us + sums[step // 2 :: step]).tolist()
    return found
