"""Coordinator lookup: ask any node for the coordinator, then connect to it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from groupsim.sim.kernel.environment import Kind, deadline_key
from groupsim.sim.kernel.network import Connection
from groupsim.sim.protocol.effects import Send
from groupsim.sim.protocol.messages import Api, Error, FindCoordinatorResponse
from groupsim.sim.randomness import hash64

if TYPE_CHECKING:
    from groupsim.sim.client.client import Client
    from groupsim.sim.client.requests import Requests


class Lookup:
    """Coordinator lookups of one client.

    Parameters
    ----------
    client : Client
    requests : Requests
        Of that client.

    Attributes
    ----------
    connections : dict of int to Connection
        To nodes that were asked, by broker id.
    """

    def __init__(self, client: Client, requests: Requests) -> None:
        self._client = client
        self._requests = requests
        self._world = client.world
        self._node_key = client.world.streams.key("node", client.label)
        self._connected_key = deadline_key(client.consumer.entity, Kind.TIMER)
        self.connections: dict[int, Connection] = {}

    def ask(self, now: int, effect: Send) -> None:
        """Ask the least loaded node: with idle connections that is any, so one is drawn."""
        client, requests, world = self._client, self._requests, self._world
        nodes = world.broker_ids
        node = nodes[hash64(self._node_key, requests.numbers["other"]) % len(nodes)]
        connection = self.connections.get(node)
        if connection is None or connection.broken:
            connection = self.connections[node] = world.connect(client.consumer, node, requests.deliver)
        exchange = requests.exchange(now, connection, Api.FIND_COORDINATOR, effect.body)
        if world.is_cut(client.consumer, node):
            exchange.given_up_us = now + client.config.connection_setup_timeout_us
        requests.pending[exchange] = None
        connection.send(exchange)

    def found(self, now: int, response: FindCoordinatorResponse) -> None:
        """A coordinator is named: connect to it."""
        client, world = self._client, self._world
        if response.error is not Error.NONE:
            client.do(now, client.machine.on_coordinator(now, None))
        elif world.is_cut(client.consumer, response.node):
            self._connected_at(now + client.config.connection_setup_timeout_us, None)
        else:
            self._connected_at(now + world.timing.connect_us, response.node)

    def _connected_at(self, time: int, node: int | None) -> None:
        self._client.env.at(time, self._connected_key, self._connected, node)

    def _connected(self, node: int | None) -> None:
        """The connection is there, or (None) could not be made."""
        client, machine, now = self._client, self._client.machine, self._client.env.now
        if client.is_over:
            return
        if client.suspension.frozen is not None:
            client.suspension.postpone(partial(self._connected, node))
            return
        if node is not None and machine.coordinator is None:
            self._requests.connection = self._world.connect(client.consumer, node, self._requests.deliver)
        client.do(now, machine.on_coordinator(now, node))
        client.drive(now)
