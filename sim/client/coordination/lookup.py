"""Coordinator lookup: ask any node for the coordinator, then connect to it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from groupsim.sim.client.in_flight import InFlight
from groupsim.sim.client.incarnation import Incarnation
from groupsim.sim.kernel.environment import Kind, deadline_key
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.protocol.effects import Send
from groupsim.sim.protocol.lookup import RECONNECT_MAX_US, RECONNECT_US, Backoff
from groupsim.sim.protocol.messages import Api, Error, FindCoordinatorResponse
from groupsim.sim.randomness import backoff_factor, hash64


class Lookup:
    """Coordinator lookups of one client.

    Parameters
    ----------
    client : Incarnation
    in_flight : InFlight
    deliver : callable
        What an answer is handed to, with its request.
    """

    def __init__(self, client: Incarnation, in_flight: InFlight, deliver: Callable[[Exchange, Any], None]) -> None:
        self._client = client
        self._in_flight = in_flight
        self._deliver = deliver
        self._node_key = client.world.streams.key("node", client.label)
        self._connecting = client.world.streams.draw(client.world.timing.connect, "connect", client.label)
        self._connections = 0
        self._connected_key = deadline_key(client.consumer.entity, Kind.TIMER)
        jitter = backoff_factor(client.world.streams.key("reconnect backoff", client.label))
        self._reconnecting = Backoff(RECONNECT_US, RECONNECT_MAX_US, jitter)
        self._refusals = 0

    def ask(self, now: int, effect: Send) -> None:
        """Ask the least loaded node: with idle connections that is any, so one is drawn.

        Not one whose connection has just ended: others are connected (``NetworkClient.leastLoadedNode``). If none is
        left, whoever is asked refuses the connection, and is not asked again before its backoff is over.
        """
        client, in_flight, world = self._client, self._in_flight, self._client.world
        nodes = world.live_nodes
        if not nodes:
            # Polls that end meanwhile have nobody to ask: none of them is an event.
            self._connect(now + self._reconnecting.after(self._refusals), None)
            self._refusals += 1
            return
        self._refusals = 0
        node = nodes[hash64(self._node_key, in_flight.numbers["other"]) % len(nodes)]
        connection = in_flight.asked.get(node)
        if connection is None or connection.broken:
            connection = in_flight.asked[node] = world.connect(client.consumer, node, self._deliver)
        exchange = in_flight.exchange(now, connection, Api.FIND_COORDINATOR, effect.body)
        if world.is_cut(client.consumer, node):
            exchange.given_up_us = now + client.config.connection_setup_timeout_us
        in_flight.pending[exchange] = None
        connection.send(exchange)

    def found(self, now: int, response: FindCoordinatorResponse) -> None:
        """A coordinator is named: connect to it."""
        client, world = self._client, self._client.world
        if response.error is not Error.NONE:
            client.do(now, client.machine.on_coordinator(now, None))
        elif world.is_cut(client.consumer, response.node):
            self._connected_at(now + client.config.connection_setup_timeout_us, None)
        else:
            client.hurry(now)
            # A broker that is down refuses the connection at once.
            node = response.node if response.node in world.live_nodes else None
            self._connect(now, node)

    def _connect(self, now: int, node: int | None) -> None:
        """Open a connection, which (None) is refused."""
        self._connected_at(now + self._connecting(self._connections), node)
        self._connections += 1

    def _connected_at(self, time: int, node: int | None) -> None:
        self._client.env.at(time, self._connected_key, self._connected, node)

    def _connected(self, node: int | None) -> None:
        """The connection is there, or (None) could not be made."""
        client, machine, now = self._client, self._client.machine, self._client.env.now
        if client.is_over:
            return
        if client.frozen is not None:
            client.late.append(partial(self._connected, node))
            return
        if node is not None and machine.coordinator is None:
            self._in_flight.connection = client.world.connect(client.consumer, node, self._deliver)
        client.do(now, machine.on_coordinator(now, node))
        client.drive(now)
