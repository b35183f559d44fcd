"""A broker: leads offsets partitions, and so hosts coordinators; answers FindCoordinator from what it knows."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import simpy

from groupsim.sim.cluster.coordinator import Coordinator, partition_for
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.protocol.messages import Acknowledgement, Api, Error, FindCoordinatorResponse

if TYPE_CHECKING:
    from groupsim.sim.world import World


class Broker:
    """One broker of the cluster.

    Parameters
    ----------
    world : World
    id_ : int
        ``broker.id``.
    """

    def __init__(self, world: World, id_: int) -> None:
        self.world = world
        self.id = id_
        self.coordinators: dict[int, Coordinator] = {}
        self.is_up = False
        self.stopped = world.env.event()
        world.env.process(self.run())

    def run(self) -> Generator[simpy.Event, Any, None]:
        """Up from the start, until somebody stops it."""
        self.is_up = True
        yield self.stopped
        self.is_up = False

    def host(self, coordinator: Coordinator) -> None:
        """Lead another partition of ``__consumer_offsets``."""
        self.coordinators[coordinator.partition] = coordinator

    def receive(self, exchange: Exchange) -> None:
        """A request has arrived; it belongs to a coordinator, unless it asks for one."""
        if exchange.api is Api.FIND_COORDINATOR:
            self._find(exchange)
            return
        group_id = exchange.group_id
        coordinator = self.coordinators.get(self._partition(group_id))
        if coordinator is None or not coordinator.is_active:
            leave = self.world.env.now + self.world.timing.service_us
            exchange.connection.reply(exchange, Acknowledgement(Error.NOT_COORDINATOR), leave)
            return
        coordinator.receive(exchange, group_id)

    def _partition(self, group_id: str) -> int:
        return partition_for(group_id, self.world.scenario.cluster.config.offsets_topic_num_partitions)

    def _find(self, exchange: Exchange) -> None:
        """``KafkaApis.getCoordinator``: any broker answers, from its own metadata."""
        group_id = exchange.body.group
        coordinator = self.world.coordinators.get(self._partition(group_id))
        if coordinator is None or not coordinator.is_active:
            response = FindCoordinatorResponse(Error.COORDINATOR_NOT_AVAILABLE)
        else:
            response = FindCoordinatorResponse(Error.NONE, coordinator.node)
        group = self.world.groups[group_id]
        group.requests.count(exchange, response.error)
        exchange.connection.reply(exchange, response, self.world.env.now + self.world.timing.service_us)
