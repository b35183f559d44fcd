"""What leaders and in-sync replicas mean for readers and writers: the catalog, and coordinators that cannot commit.

A partition can be read beyond what is there already if somebody leads it and its high watermark follows: so neither
without a leader, nor while a broker that counts as in sync is dead. A coordinator's appends wait as long.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from groupsim.sim.catalog import Catalog
from groupsim.sim.cluster.broker import Broker
from groupsim.sim.cluster.coordinator import Coordinator
from groupsim.sim.cluster.interface import Audience
from groupsim.sim.model import Cluster, Topic
from groupsim.sim.protocol.controller.partition import NO_LEADER, OFFSETS_TOPIC, Name
from groupsim.sim.protocol.controller.replication import Replicated, ReplicationControl

_WITH_ELR: Final = ("4.4", "4.3", "4.2", "4.1")
"""Clusters that are made by these have ``eligible.leader.replicas.version`` 1 (``EligibleLeaderReplicasVersion``)."""


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
        self.control = ReplicationControl(has_elr=cluster.config.version in _WITH_ELR)
        config, nodes = cluster.broker_config, tuple(brokers)
        copies = min(config.offsets_replication_factor, len(nodes))
        offsets = Replicated(min_insync=config.min_insync_replicas, is_unclean=config.unclean_leader_election)
        for partition in range(cluster.config.offsets_topic_num_partitions):
            replicas = tuple(nodes[(partition + copy) % len(nodes)] for copy in range(copies))
            self.control.add((OFFSETS_TOPIC, partition), replicas, offsets)
        self.cover()

    def cover(self) -> None:
        """Take in data partitions that have come into being."""
        for topic, created in self._catalog.created_us.items():
            for number in range(len(created)):
                if (topic, number) not in self.control.partitions:
                    replicas = tuple(self._catalog.replicas(topic, number))
                    self.control.add((topic, number), replicas, _replicated(self._catalog.specs[topic]))

    def held_by(self, node: int) -> list[Name]:
        """Partitions of which a broker counts as in sync."""
        return [name for name, state in self.control.partitions.items() if node in state.isr]

    def lagging(self, names: Iterable[Name]) -> list[int]:
        """Brokers that run, and are not in sync with a leader that runs, in some of these; ascending."""
        states, dead = [self.control.partitions[name] for name in names], {*self.dead, NO_LEADER}
        led = [state for state in states if state.leader not in dead]
        return sorted({one for state in led for one in state.replicas if one not in state.isr} - dead)

    def followed_by(self, node: int) -> list[Name]:
        """Partitions of which a broker is a replica, and whose leader runs."""
        dead = {*self.dead, NO_LEADER}
        return [
            name for name, one in self.control.partitions.items() if node in one.replicas and one.leader not in dead
        ]

    def is_in_sync(self, node: int) -> bool:
        """Whether a broker is in sync in all that it has a replica of."""
        return all(node in state.isr for state in self.control.partitions.values() if node in state.replicas)

    @property
    def dead(self) -> set[int]:
        """Whose process does not run, whether the controller knows or not."""
        return {id_ for id_, broker in self._brokers.items() if not broker.is_up}

    def apply(self, names: Iterable[Name]) -> None:
        """These have changed, or somebody has died who matters to them."""
        data = [name for name in names if name[0] != OFFSETS_TOPIC]
        dead = self.dead
        for name in data:
            self._apply(name, dead)
        if data:
            self._audience.partitions_changed(data)
        for number, coordinator in self._coordinators.items():
            state, watermark = self.control.partitions[OFFSETS_TOPIC, number], coordinator.watermark
            stalled, refuses = not state.advances(dead), not state.accepts
            if (stalled, refuses) != (watermark.is_stalled, watermark.refuses):
                self._audience.disturb(coordinator.groups)
                coordinator.stall(is_stalled=stalled, refuses=refuses)

    def _apply(self, name: Name, dead: Iterable[int]) -> None:
        """Write down who leads, and whether it can be read."""
        state, catalog = self.control.partitions[name], self._catalog
        if state.leader != NO_LEADER:
            catalog.moved[name] = state.leader
        if state.advances(dead):
            catalog.unreadable.discard(name)
        else:
            catalog.unreadable.add(name)


def _replicated(topic: Topic) -> Replicated:
    return Replicated(min_insync=topic.min_insync_replicas, is_unclean=topic.unclean_leader_election)
