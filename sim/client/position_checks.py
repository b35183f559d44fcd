"""When positions are confirmed by their leaders, if each step of a client takes a pass through poll()."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.client.data_connections import DataConnections, Trips
from groupsim.sim.client.metadata import Metadata
from groupsim.sim.client.poll_loop import PollLoop


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
        asked = poll_loop.coming_pass(now)
        if not (connections.is_open(node) or metadata.has_asked(asked, node)):
            asked = poll_loop.coming_pass(asked + 1)
        sent = poll_loop.coming_pass(connections.answered(asked, node, trips))
        begun[leaders == node] = connections.fetched(sent, node, trips)
    return begun
