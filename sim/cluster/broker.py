"""A broker: leads offsets partitions, and so hosts coordinators; answers FindCoordinator from what it knows."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

import simpy

from groupsim.sim.cluster.groups.coordinator import Coordinator, partition_for
from groupsim.sim.cluster.shard.worker_threads import WorkerThreads
from groupsim.sim.kernel.environment import Environment
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.model import Cluster
from groupsim.sim.protocol.controller.partition import NO_LEADER, Name
from groupsim.sim.protocol.messages import Error, FindCoordinator, FindCoordinatorResponse, failed


class Broker:
    """One broker of the cluster.

    Parameters
    ----------
    env : Environment
    cluster : Cluster
    id_ : int
        ``broker.id``.
    coordinators : mapping of int to Coordinator
        All of the cluster's, by offsets partition.

    Attributes
    ----------
    threads : WorkerThreads
        Those that work on events of its shards.
    leaders : mapping of Name to int
        Leaders of partitions of coordinators by its metadata, where it has been told: who led first still leads all
        others.
    is_leaving : bool
        Its shutdown has been granted: it follows nobody any more, and is about to go.
    incarnation : int
        How often it has been started again.
    """

    def __init__(self, env: Environment, cluster: Cluster, id_: int, coordinators: Mapping[int, Coordinator]) -> None:
        self._env = env
        self._offsets_partitions = cluster.config.offsets_topic_num_partitions
        self._service_us = cluster.timing.service_us
        self._coordinators = coordinators
        self.id = id_
        self.threads = WorkerThreads(env, id_, cluster.config.coordinator_threads)
        self.leaders: Mapping[Name, int] = {}
        self.is_leaving = False
        self.incarnation = 0
        self.stopped = env.event()
        env.process(self.run())

    def run(self) -> Generator[simpy.Event, Any, None]:
        """Up from the start, until somebody stops it; `start` makes it run again."""
        yield self.stopped

    @property
    def is_up(self) -> bool:
        """Whether its process runs and takes requests."""
        return not self.stopped.triggered

    def stop(self) -> None:
        """The process ends, one way or another."""
        self.stopped.succeed()

    def start(self, leaders: Mapping[Name, int]) -> None:
        """The process runs again and has caught up with the metadata."""
        self.incarnation += 1
        self.is_leaving = False
        self.leaders = leaders
        self.stopped = self._env.event()
        self._env.process(self.run())

    def receive(self, exchange: Exchange) -> None:
        """A request has arrived; it belongs to a coordinator, unless it asks for one."""
        if isinstance(exchange.body, FindCoordinator):
            self._find(exchange)
            return
        coordinator = self._coordinator_of(exchange.group_id)
        if coordinator.node == self.id:
            coordinator.receive(exchange)
        else:
            coordinator.refuse(exchange, failed(exchange.body, Error.NOT_COORDINATOR))

    def _coordinator_of(self, group_id: str) -> Coordinator:
        """The coordinator of the group's offsets partition, wherever it is."""
        return self._coordinators[partition_for(group_id, self._offsets_partitions)]

    def _find(self, exchange: Exchange) -> None:
        """``KafkaApis.getCoordinator``: any broker answers, from its own metadata."""
        coordinator = self._coordinator_of(exchange.body.group)
        node = self.leaders.get(coordinator.name, coordinator.first_node)
        if node == NO_LEADER:
            response = FindCoordinatorResponse(Error.COORDINATOR_NOT_AVAILABLE)
        else:
            response = FindCoordinatorResponse(Error.NONE, node)
        coordinator.groups[exchange.body.group].books.requests.count(exchange, response.error)
        exchange.connection.reply(exchange, response, self._env.now + self._service_us)
