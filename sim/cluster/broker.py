"""A broker: leads offsets partitions, and so hosts coordinators; answers FindCoordinator from what it knows."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

import simpy

from groupsim.sim.cluster.coordinator import Coordinator, partition_for
from groupsim.sim.kernel.environment import Environment
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.model import Cluster
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
        All of the cluster's, by offsets partition: what its metadata says.
    """

    def __init__(self, env: Environment, cluster: Cluster, id_: int, coordinators: Mapping[int, Coordinator]) -> None:
        self._env = env
        self._offsets_partitions = cluster.config.offsets_topic_num_partitions
        self._service_us = cluster.timing.service_us
        self._coordinators = coordinators
        self.id = id_
        self.is_up = False
        self.stopped = env.event()
        env.process(self.run())

    def run(self) -> Generator[simpy.Event, Any, None]:
        """Up from the start, until somebody stops it."""
        self.is_up = True
        yield self.stopped
        self.is_up = False

    def receive(self, exchange: Exchange) -> None:
        """A request has arrived; it belongs to a coordinator, unless it asks for one."""
        if isinstance(exchange.body, FindCoordinator):
            self._find(exchange)
            return
        coordinator = self._coordinator_of(exchange.group_id)
        if coordinator is None or coordinator.node != self.id:
            leave = self._env.now + self._service_us
            exchange.connection.reply(exchange, failed(exchange.body, Error.NOT_COORDINATOR), leave)
            return
        coordinator.receive(exchange)

    def _coordinator_of(self, group_id: str) -> Coordinator | None:
        """The coordinator that leads the group's offsets partition, if it is active."""
        coordinator = self._coordinators.get(partition_for(group_id, self._offsets_partitions))
        return coordinator if coordinator is not None and coordinator.is_active else None

    def _find(self, exchange: Exchange) -> None:
        """``KafkaApis.getCoordinator``: any broker answers, from its own metadata."""
        coordinator = self._coordinator_of(exchange.body.group)
        if coordinator is None:
            response = FindCoordinatorResponse(Error.COORDINATOR_NOT_AVAILABLE)
        else:
            response = FindCoordinatorResponse(Error.NONE, coordinator.node)
            coordinator.groups[exchange.body.group].books.requests.count(exchange, response.error)
        exchange.connection.reply(exchange, response, self._env.now + self._service_us)
