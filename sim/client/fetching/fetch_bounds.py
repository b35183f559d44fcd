"""How much a client can fetch: by the size of its fetches, and by what brokers have left for each partition.

To each broker there is one fetch under way at a time (``AbstractFetch.prepareFetchRequests``, Kafka 4.4). It brings
fetch.max.bytes at most, and max.partition.fetch.bytes of each partition; so much comes with each round trip, and takes
as long on the wire as the broker's bandwidth has it. Processing goes on meanwhile: the slower of the two decides.
"""

from __future__ import annotations

import numpy as np

from groupsim.sim.client.fetching.data_connections import DataConnections
from groupsim.sim.client.incarnation import Incarnation
from groupsim.sim.protocol.messages import Positions
from groupsim.sim.randomness import mean_of

UNBOUNDED = float("inf")


class FetchBounds:
    """Those of one client.

    Parameters
    ----------
    client : Incarnation
    connections : DataConnections

    Attributes
    ----------
    are_felt : bool
        Whether they can ever be less than what the application processes; else nobody asks.
    """

    def __init__(self, client: Incarnation, connections: DataConnections) -> None:
        self._client = client
        self._connections = connections
        self._bandwidth = client.world.bandwidth
        self._trip_us = 2 * client.path.mean_us + client.world.timing.service_us
        size = client.world.catalog.record_bytes_max
        self.are_felt = self._bandwidth.is_given or (size > 0 and self._bind(size))

    def _bind(self, size: int) -> bool:
        """Whether fetches of one partition with records of so many bytes hold up an application at its fastest."""
        client = self._client
        most, timing, fetched = client.config.max_poll_records, client.world.timing, self._fetched(1, size)
        pass_us = timing.poll_us + most * mean_of(client.processing.per_record)
        return fetched < most * size or fetched / self._trip_us < most * size / pass_us

    def _fetched(self, partitions: int, size: float) -> float:
        """Bytes of a fetch from one broker; the first record comes whatever its size."""
        config = self._client.config
        return max(min(config.fetch_max_bytes, partitions * config.max_partition_fetch_bytes), size)

    def records_per_fetch(self) -> int:
        """Records of one partition that a fetch returns, of the largest that are read."""
        held = self._client.consumption.partitions
        size = self._client.books.partitions.record_bytes[held].max(initial=0)
        return int(self._fetched(1, size) // size) if size else self._client.world.timing.records_per_fetch

    def rate(self, positions: Positions) -> float:
        """Records per microsecond that can be fetched of these partitions together; infinite: nothing is known."""
        sizes = self._client.books.partitions.record_bytes[positions]
        if not self.are_felt or not sizes.size or not sizes.all():
            return UNBOUNDED
        nodes, total = self._connections.sources[positions], 0.0
        for node in np.unique(nodes).tolist():
            here = sizes[nodes == node]
            fetched = self._fetched(len(here), float(here.max()))
            sent_us = fetched / (len(here) * self._bandwidth.share(node))
            total += fetched / (self._trip_us + sent_us) / float(here.mean())
        return total
