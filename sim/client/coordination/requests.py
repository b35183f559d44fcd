"""A client's requests: sent to its coordinator, and their answers read by whichever thread is there to do so.

A request that is not answered in time takes the connection with it (``NetworkClient``); with the connection goes
everything in flight on it.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from groupsim.sim.client.coordination.lookup import Lookup
from groupsim.sim.client.fetching.fetcher import Fetcher
from groupsim.sim.client.fetching.metadata import Metadata
from groupsim.sim.client.in_flight import InFlight
from groupsim.sim.client.incarnation import Incarnation
from groupsim.sim.client.polling.poll_loop import PollLoop
from groupsim.sim.kernel.environment import Kind, deadline_key
from groupsim.sim.kernel.network import Connection, Exchange
from groupsim.sim.protocol.effects import Disconnect, Request, Send
from groupsim.sim.protocol.interface import MemberMachine
from groupsim.sim.protocol.messages import (
    Api,
    Error,
    FindCoordinator,
    JoinGroup,
    OffsetCommit,
    OffsetFetch,
    failed,
)
from groupsim.sim.randomness import hash64


class Requests:
    """Requests of one client.

    Parameters
    ----------
    client : Incarnation
    in_flight : InFlight
    poll_loop : PollLoop
    fetcher : Fetcher
        Hears of committed offsets.
    metadata : Metadata
        Hears of every JoinGroup response: a leader's refreshes are watched.
    """

    def __init__(
        self, client: Incarnation, in_flight: InFlight, poll_loop: PollLoop, fetcher: Fetcher, metadata: Metadata
    ) -> None:
        self._client = client
        self._in_flight = in_flight
        self._poll_loop = poll_loop
        self._fetcher = fetcher
        self._metadata = metadata
        self._env = client.env
        self._machine: MemberMachine[Any, Any] = client.machine
        self._reset_key = deadline_key(client.consumer.entity, Kind.TIMER)
        self._lookup = Lookup(client, in_flight, self.deliver)

    # --- sending ------------------------------------------------------------------------------------------------------

    def send(self, now: int, effect: Send) -> None:
        """What the machine wants sent."""
        body = effect.body
        if isinstance(body, FindCoordinator):
            self._lookup.ask(now, effect)
            return
        if isinstance(body, JoinGroup):
            self._in_flight.count_joins(1)
            if not body.member_id:
                body.fresh_id = self._fresh_id()
        self.request(now, effect.api, body)

    def _fresh_id(self) -> str:
        """A member id as a broker makes it up, named by who asks and how often.

        Source: ``ConsumerConfig.maybeOverrideClientId`` and ``ClassicGroup.generateMemberId`` (Kafka 4.4).
        """
        client = self._client
        client_id = client.consumer.instance_id or client.config.client_id or f"consumer-{client.group.name}-1"
        key = self._client.world.streams.key("member-id", self._client.label, self._in_flight.joins)
        text = f"{hash64(key, 0):016x}{hash64(key, 1):016x}"
        return f"{client_id}-{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def request(self, now: int, api: Api, body: Request) -> None:
        """Ask the coordinator, if there is a connection to it."""
        in_flight, client = self._in_flight, self._client
        connection = in_flight.connection
        if connection is None:
            return
        exchange = in_flight.exchange(now, connection, api, body)
        in_flight.pending[exchange] = None
        connection.send(exchange)
        if connection.broken and not client.world.is_cut(client.consumer, connection.node):
            # The broker is back and knows nothing of this connection: it answers with a reset.
            self._env.at(now + exchange.up_us, self._reset_key, self._reset_by_peer, connection)

    def _reset_by_peer(self, connection: Connection) -> None:
        client, now = self._client, self._env.now
        if client.is_over or connection is not self._in_flight.connection:
            return
        if client.frozen is not None:
            client.late.append(partial(self._reset_by_peer, connection))
            return
        client.do(now, self._machine.mark_coordinator_unknown(now))
        client.drive(now)

    # --- answers ------------------------------------------------------------------------------------------------------

    def deliver(self, exchange: Exchange, response: Any) -> None:
        """An answer has arrived at this machine."""
        if exchange.abandoned:
            return
        client = self._client
        client.elision.look()
        # What has arrived can no longer time out, however long it waits to be read.
        self._in_flight.pending.pop(exchange, None)
        if client.frozen is not None:
            client.inbox.append((exchange, response))
            return
        now = self._env.now
        self._read_or_keep(now, exchange, response)
        client.drive(now)

    def _read_or_keep(self, now: int, exchange: Exchange, response: Any) -> None:
        """Read an answer if a thread is there to do so."""
        machine, poll_loop = self._machine, self._poll_loop
        if (machine.reads_in_background and not poll_loop.holds_monitor) or poll_loop.reaction(now) == now:
            self.read(now, exchange, response)
        else:
            self._client.inbox.append((exchange, response))

    def read_waiting(self, now: int) -> None:
        """What came during a freeze, in order of arrival, as far as a thread is there to read it."""
        waiting = list(self._client.inbox)
        self._client.inbox.clear()
        for exchange, response in waiting:
            if self._client.is_over:
                return
            self._read_or_keep(now, exchange, response)

    def read(self, now: int, exchange: Exchange, response: Any) -> None:
        """Let the machine have an answer."""
        if exchange.abandoned:
            return
        self._in_flight.pending.pop(exchange, None)
        request = exchange.body
        if isinstance(request, FindCoordinator):
            self._lookup.found(now, response)
        elif isinstance(request, OffsetFetch):
            self._fetcher.on_offsets(now, request, response)
        else:
            self._client.do(now, self._machine.on_response(now, request, response))
            if isinstance(request, OffsetCommit):
                self._client.commit_answered(now, request, response.error)
            if isinstance(request, JoinGroup):
                self._metadata.arm(now)

    # --- failures -----------------------------------------------------------------------------------------------------

    def lose_broker(self, now: int, node: int) -> None:
        """A broker's process has ended: its host closes all connections, which the client hears of a little later."""
        in_flight, client = self._in_flight, self._client
        in_flight.sever(frozenset({node}))
        self._fetcher.disconnect(frozenset({node}))
        asked = in_flight.asked.pop(node, None)
        waiting = any(exchange.connection is asked for exchange in in_flight.pending)
        connection = in_flight.connection
        if waiting or (connection is not None and connection.node == node):
            number = in_flight.take_number("other")
            self._env.at(
                now + client.path.latency("other", 2 * number + 1), self._reset_key, self._closed_by_peer,
                (connection, asked),
            )  # fmt: skip

    def _closed_by_peer(self, closed: tuple[Connection | None, Connection | None]) -> None:
        """Connections to the coordinator, and to a node that was asked for it, have ended."""
        client, now, (connection, asked) = self._client, self._env.now, closed
        if client.is_over:
            return
        if client.frozen is not None:
            client.late.append(partial(self._closed_by_peer, closed))
            return
        for exchange in [one for one in self._in_flight.pending if one.connection is asked]:
            exchange.abandoned = True
            del self._in_flight.pending[exchange]
            client.do(now, self._machine.on_coordinator(now, None))
        if connection is not None and connection.broken and connection is self._in_flight.connection:
            client.do(now, self._machine.mark_coordinator_unknown(now))
        client.drive(now)

    def disconnect(self, now: int, _: Disconnect) -> None:
        """Everything in flight to the coordinator fails with a disconnect."""
        in_flight = self._in_flight
        lost = [exchange for exchange in in_flight.pending if exchange.connection is in_flight.connection]
        in_flight.connection = None
        for exchange in lost:
            exchange.abandoned = True
            del in_flight.pending[exchange]
        for exchange in lost:
            self._fail(now, exchange)

    def _fail(self, now: int, exchange: Exchange) -> None:
        client, request = self._client, exchange.body
        if not client.is_over:
            client.do(now, self._machine.on_response(now, request, failed(request, Error.DISCONNECTED)))
            if isinstance(request, OffsetCommit):
                client.commit_answered(now, request, Error.DISCONNECTED)

    def on_timeout(self, now: int) -> None:
        """Requests that were not answered in time take their connection with them (``NetworkClient``)."""
        client, machine = self._client, self._machine
        if client.frozen is not None:
            return
        for exchange in [one for one in self._in_flight.pending if one.given_up_us <= now]:
            exchange.abandoned = True
            self._in_flight.pending.pop(exchange, None)
            if client.is_over:
                continue
            if isinstance(exchange.body, FindCoordinator):
                client.do(now, machine.on_coordinator(now, None))
            elif exchange.connection is self._in_flight.connection:
                self._fail(now, exchange)
                if not client.is_over:
                    client.do(now, machine.mark_coordinator_unknown(now))
        client.drive(now)
