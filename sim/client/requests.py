"""A client's requests: the connection to its coordinator, what is in flight on it, and who reads the answers.

Requests are numbered by kind, so that the latency of the n-th heartbeat has a name. A request that is not answered in
time takes the connection with it (``NetworkClient``); with the connection goes everything in flight on it.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from groupsim.sim.client.lookup import Lookup
from groupsim.sim.kernel.environment import Kind, deadline_key
from groupsim.sim.kernel.network import Connection, Exchange
from groupsim.sim.protocol.effects import Disconnect, Request, Send
from groupsim.sim.protocol.messages import (
    Api,
    Error,
    FindCoordinatorResponse,
    JoinGroup,
    JoinResponse,
    OffsetFetchResponse,
    SyncResponse,
)
from groupsim.sim.randomness import hash64
from groupsim.sim.units import FOREVER, S

if TYPE_CHECKING:
    from groupsim.sim.client.client import Client

_KINDS = {Api.HEARTBEAT: "heartbeat", Api.OFFSET_COMMIT: "commit"}
_JOIN_GRACE_US = 5 * S
"""A JoinGroup is given up this long after the rebalance timeout (``AbstractCoordinator.sendJoinGroupRequest``)."""


class Requests:
    """Requests of one client.

    Parameters
    ----------
    client : Client

    Attributes
    ----------
    connection : Connection or None
        To the coordinator.
    pending : dict of Exchange to None
        In flight, in order of sending.
    inbox : deque of (Exchange, response)
        Arrived, and nobody was there to read it.
    numbers : dict of str to int
        The next request's number, by kind.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._env = client.env
        self._world = client.world
        self._machine = client.machine
        self._config = client.config
        self._reset_key = deadline_key(client.consumer.entity, Kind.TIMER)
        self._lookup = Lookup(client, self)
        self._joins = 0
        self.connection: Connection | None = None
        self.pending: dict[Exchange, None] = {}
        self.inbox: deque[tuple[Exchange, Any]] = deque()
        self.numbers = {"heartbeat": 0, "commit": 0, "other": 0}

    # --- sending ------------------------------------------------------------------------------------------------------

    def send(self, now: int, effect: Send) -> None:
        """What the machine wants sent."""
        if effect.api is Api.FIND_COORDINATOR:
            self._lookup.ask(now, effect)
            return
        body = effect.body
        if isinstance(body, JoinGroup):
            self.count_joins(1)
            if not body.member_id:
                body.fresh_id = self._fresh_id()
        self.request(now, effect.api, body)

    def count_joins(self, more: int) -> None:
        """So many JoinGroups more."""
        self._joins += more
        self._client.life.rejoins += more

    def _fresh_id(self) -> str:
        """A member id as a broker makes it up: client id and a UUID, named by who asks and how often."""
        consumer = self._client.consumer
        client_id = consumer.instance_id or f"consumer-{self._client.group.name}-1"
        key = self._world.streams.key("member-id", self._client.label, self._joins)
        text = f"{hash64(key, 0):016x}{hash64(key, 1):016x}"
        return f"{client_id}-{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def request(self, now: int, api: Api, body: Request) -> None:
        """Ask the coordinator, if there is a connection to it."""
        connection = self.connection
        if connection is None:
            return
        exchange = self.exchange(now, connection, api, body)
        self.pending[exchange] = None
        connection.send(exchange)
        if connection.broken and not self._world.is_cut(self._client.consumer, connection.node):
            # The broker is back and knows nothing of this connection: it answers with a reset.
            self._env.at(now + exchange.up_us, self._reset_key, self._reset_by_peer, connection)

    def exchange(self, now: int, connection: Connection, api: Api, body: Request) -> Exchange:
        """The next request of its kind, on its way from now on."""
        return self.numbered(now, connection, api, body, self.take_number(_KINDS.get(api, "other")))

    def take_number(self, kind: str) -> int:
        """The next number of a kind."""
        number = self.numbers[kind]
        self.numbers[kind] = number + 1
        return number

    def numbered(self, sent: int, connection: Connection, api: Api, body: Request, number: int) -> Exchange:
        """The request of this number."""
        kind, latency = _KINDS.get(api, "other"), self._client.path.latency
        return self.timed(
            sent, connection, api, body, number, (latency(kind, 2 * number), latency(kind, 2 * number + 1))
        )

    def timed(
        self, sent: int, connection: Connection, api: Api, body: Request, number: int, latency: tuple[int, int]
    ) -> Exchange:
        """The request of this number, whose latencies there and back are known."""
        timeout, (up, down) = self._config.request_timeout_us, latency
        if api is Api.JOIN_GROUP:
            timeout = max(timeout, self._config.rebalance_timeout_us + _JOIN_GRACE_US)
            up += self._world.timing.join_prepare_us
        return Exchange(connection, api, body, self._client.group.name, number, sent, up, down, sent + timeout)

    def hold(self, exchange: Exchange | None) -> None:
        """One request is in flight, which the broker has and does not answer yet; or (None) nothing is."""
        self.pending.clear()
        connection = self.connection
        assert connection is not None
        connection.busy = exchange is not None
        if exchange is not None:
            self.pending[exchange] = None

    def _reset_by_peer(self, connection: Connection) -> None:
        client, now = self._client, self._env.now
        if client.is_over or connection is not self.connection:
            return
        if client.suspension.frozen is not None:
            client.suspension.postpone(partial(self._reset_by_peer, connection))
            return
        client.do(now, self._machine.mark_coordinator_unknown(now))
        client.drive(now)

    # --- answers ------------------------------------------------------------------------------------------------------

    def deliver(self, exchange: Exchange, response: Any) -> None:
        """An answer has arrived at this machine."""
        if exchange.abandoned:
            return
        client = self._client
        client.catch_up()
        # What has arrived can no longer time out, however long it waits to be read.
        self.pending.pop(exchange, None)
        if client.suspension.frozen is not None:
            self.inbox.append((exchange, response))
            return
        now = self._env.now
        self._read_or_keep(now, exchange, response)
        client.drive(now)

    def _read_or_keep(self, now: int, exchange: Exchange, response: Any) -> None:
        """Read an answer if a thread is there to do so."""
        machine, poll_loop = self._machine, self._client.poll_loop
        background = machine.config.behaviour.background_heartbeat and machine.heartbeats_enabled
        if (background and not poll_loop.holds_monitor) or poll_loop.reaction(now) == now:
            self.read(now, exchange, response)
        else:
            self.inbox.append((exchange, response))

    def read_waiting(self, now: int) -> None:
        """What came during a freeze, in order of arrival, as far as a thread is there to read it."""
        waiting = list(self.inbox)
        self.inbox.clear()
        for exchange, response in waiting:
            if self._client.is_over:
                return
            self._read_or_keep(now, exchange, response)

    def read(self, now: int, exchange: Exchange, response: Any) -> None:
        """Let the machine have an answer."""
        if exchange.abandoned:
            return
        client, body = self._client, exchange.body
        self.pending.pop(exchange, None)
        if isinstance(response, OffsetFetchResponse):
            client.fetcher.on_offsets(now, body, response)
        elif isinstance(response, FindCoordinatorResponse):
            self._lookup.found(now, response)
        else:
            client.do(now, self._machine.on_response(now, body, response))

    # --- failures -----------------------------------------------------------------------------------------------------

    def disconnect(self, now: int, _: Disconnect) -> None:
        """Everything in flight to the coordinator fails with a disconnect."""
        failed = [exchange for exchange in self.pending if exchange.connection is self.connection]
        self.connection = None
        for exchange in failed:
            exchange.abandoned = True
            del self.pending[exchange]
        for exchange in failed:
            self._fail(now, exchange)

    def _fail(self, now: int, exchange: Exchange) -> None:
        client, machine, body = self._client, self._machine, exchange.body
        if client.is_over:
            return
        lost = Error.DISCONNECTED
        match exchange.api:
            case Api.JOIN_GROUP:
                client.do(now, machine.on_join_response(now, JoinResponse(lost)))
            case Api.SYNC_GROUP:
                client.do(now, machine.on_sync_response(now, SyncResponse(lost), body.generation))
            case Api.HEARTBEAT:
                client.do(now, machine.on_heartbeat_response(now, lost, body.generation))
            case Api.OFFSET_COMMIT:
                client.do(now, machine.on_commit_response(now, lost, body.generation))
            case Api.OFFSET_FETCH:
                client.do(now, machine.on_offsets(now, OffsetFetchResponse(lost, np.empty(0, np.int64))))
            case _:
                pass

    @property
    def given_up_us(self) -> int:
        """When the first request in flight is given up, microseconds."""
        return min(exchange.given_up_us for exchange in self.pending) if self.pending else FOREVER

    def on_timeout(self, now: int) -> None:
        """Requests that were not answered in time take their connection with them (``NetworkClient``)."""
        client, machine = self._client, self._machine
        if client.suspension.frozen is not None:
            return
        for exchange in [one for one in self.pending if one.given_up_us <= now]:
            exchange.abandoned = True
            self.pending.pop(exchange, None)
            if client.is_over:
                continue
            if exchange.api is Api.FIND_COORDINATOR:
                client.do(now, machine.on_coordinator(now, None))
            elif exchange.connection is self.connection:
                self._fail(now, exchange)
                if not client.is_over:
                    client.do(now, machine.mark_coordinator_unknown(now))
        client.drive(now)

    def abandon(self) -> None:
        """The client is over: nobody waits for an answer."""
        for exchange in self.pending:
            exchange.abandoned = True
        self.pending.clear()

    def sever(self, nodes: frozenset[int]) -> None:
        """Connections to these brokers are dead, and nobody says so."""
        for connection in (self.connection, *self._lookup.connections.values()):
            if connection is not None and connection.node in nodes:
                connection.end()
