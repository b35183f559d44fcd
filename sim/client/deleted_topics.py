"""What the deletion of a topic does to a client that reads it.

The fetch that is parked at the leader is answered at once, with an error for which the client asks for metadata
(``ReplicaManager.stopPartitions``, ``FetchCollector.handleInitializeErrors``). It keeps the partitions, and its
positions in them, until an assignment takes them from it: so it goes on committing these
(``SubscriptionState.allConsumed``). Kafka 4.4.
"""

from __future__ import annotations

import numpy as np

from groupsim.sim.books.record import GONE
from groupsim.sim.client.client import Client
from groupsim.sim.protocol.messages import Positions


def lose_topic(client: Client, now: int, positions: Positions) -> None:
    """These partitions are no more."""
    fetcher, poll_loop = client.fetcher, client.poll_loop
    with_position = np.union1d(client.consumption.partitions, np.array([*fetcher.unread], np.int32))
    read = np.intersect1d(with_position, positions).astype(np.int32)
    if not read.size:
        return
    client.elision.wake()
    client.commits.without_topic.update(read.tolist())
    fetcher.drop(now, read, GONE)
    if poll_loop.schedule is None:
        poll_loop.begin_anew(now)
    client.metadata.hasten(now, fetcher.told_at(now))
    client.drive(now)
