"""When positions are confirmed by their leaders, if each step of a client takes a pass through poll()."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.client.fetching.data_connections import DataConnections, Trips
from groupsim.sim.client.fetching.metadata import Metadata
from groupsim.sim.client.polling.poll_loop import PollLoop


def asked_at(connections: DataConnections, poll_loop: PollLoop, metadata: Metadata, now: int, node: int) -> int:
    """When a broker is asked for positions: in the next pass, or in the one after that if it opens the connection."""
    asked = poll_loop.coming_pass(now)
    if connections.is_open(node) or metadata.has_asked(asked, node):
        return asked
    return poll_loop.coming_pass(asked + 1)


def confirmed(
    connections: DataConnections, poll_loop: PollLoop, metadata: Metadata,
    now: int, leaders: NDArray[np.int32], trips: Trips,
) -> NDArray[np.int64]:  # fmt: skip
    """When partitions are read whose committed offsets came at ``now``. Shape (n,), as of ``leaders``.

    The first pass asks the leader whether it knows the offset, or opens the connection and leaves that to the
    second; the next one fetches (``OffsetFetcherUtils``, ``OffsetsRequestManager.updateFetchPositions``, Kafka
    4.4).
    """
    begun = np.empty(len(leaders), np.int64)
    for node in sorted(set(leaders.tolist())):
        asked = asked_at(connections, poll_loop, metadata, now, node)
        sent = poll_loop.coming_pass(connections.answered(asked, node, trips))
        begun[leaders == node] = connections.fetched(sent, node, trips)
    return begun
