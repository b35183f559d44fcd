"""What leaders and in-sync replicas mean for readers and writers: the catalog, and coordinators that cannot commit.

A partition can be read beyond what is there already if somebody leads it and its high watermark follows: so neither
without a leader, nor while a broker that counts as in sync is dead. A coordinator's appends wait as long.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from groupsim.sim.catalog import Catalog
from groupsim.sim.cluster.broker import Broker
from groupsim.sim.cluster.coordinator import Coordinator
from groupsim.sim.cluster.interface import Audience
from groupsim.sim.model import Cluster
from groupsim.sim.protocol.controller.replication import NO_LEADER, OFFSETS_TOPIC, Name, ReplicationControl


class ClusterPartitions:
    """All partitions of a cluster.

    Parameters
    ----------
    cluster : Cluster
    catalog : Catalog
    brokers : mapping of int to Broker
        By id, ascending.
    coordinators : mapping of int to Coordinator
    audience : Audience

    Attributes
    ----------
    control : ReplicationControl
    """

    def __init__(
        self, cluster: Cluster, catalog: Catalog, brokers: Mapping[int, Broker],
        coordinators: Mapping[int, Coordinator], audience: Audience,
    ) -> None:  # fmt: skip
        self._catalog = catalog
        self._brokers = brokers
        self._coordinators = coordinators
        self._audience = audience
        self.control = ReplicationControl()
        config, nodes = cluster.broker_config, tuple(brokers)
        copies = min(config.offsets_replication_factor, len(nodes))
        for partition in range(cluster.config.offsets_topic_num_partitions):
            replicas = tuple(nodes[(partition + copy) % len(nodes)] for copy in range(copies))
            self.control.add((OFFSETS_TOPIC, partition), replicas, config.min_insync_replicas)
        self.cover()

    def cover(self) -> None:
        """Take in data partitions that have come into being."""
        for topic, created in self._catalog.created_us.items():
            for number in range(len(created)):
                if (topic, number) not in self.control.partitions:
                    replicas = tuple(self._catalog.replicas(topic, number))
                    self.control.add((topic, number), replicas, self._catalog.min_insync[topic])

    def held_by(self, node: int) -> list[Name]:
        """Partitions of which a broker counts as in sync."""
        return [name for name, state in self.control.partitions.items() if node in state.isr]

    def is_in_sync(self, node: int) -> bool:
        """Whether a broker is in sync in all that it has a replica of."""
        return all(node in state.isr for state in self.control.partitions.values() if node in state.replicas)

    def apply(self, names: Iterable[Name]) -> None:
        """These have changed, or somebody has died who matters to them."""
        data = [name for name in names if name[0] != OFFSETS_TOPIC]
        # Whose process does not run, whether the controller knows or not.
        dead = {id_ for id_, broker in self._brokers.items() if not broker.is_up}
        for name in data:
            self._apply(name, dead)
        if data:
            self._audience.partitions_changed(data)
        for number, coordinator in self._coordinators.items():
            stalled = not self.control.partitions[OFFSETS_TOPIC, number].advances(dead)
            if stalled != coordinator.is_stalled:
                self._audience.disturb(coordinator.groups)
                coordinator.stall(is_stalled=stalled)

    def _apply(self, name: Name, dead: Iterable[int]) -> None:
        """Write down who leads, and whether it can be read."""
        state, catalog = self.control.partitions[name], self._catalog
        if state.leader != NO_LEADER:
            catalog.moved[name] = state.leader
        if state.advances(dead):
            catalog.unreadable.discard(name)
        else:
            catalog.unreadable.add(name)
