"""A client's requests on their way: the connection to its coordinator, and the number, latency and deadline of each.

Requests are numbered by kind, so that the latency of the n-th heartbeat has a name.
"""

from __future__ import annotations

from groupsim.sim.client.incarnation import Incarnation
from groupsim.sim.kernel.network import Connection, Exchange
from groupsim.sim.protocol.effects import Request
from groupsim.sim.protocol.messages import Api
from groupsim.sim.randomness import Draw
from groupsim.sim.units import FOREVER, S

_KINDS = {Api.HEARTBEAT: "heartbeat", Api.CONSUMER_GROUP_HEARTBEAT: "heartbeat", Api.OFFSET_COMMIT: "commit"}
_JOIN_GRACE_US = 5 * S
"""A JoinGroup is given up this long after the rebalance timeout (``AbstractCoordinator.sendJoinGroupRequest``)."""


class InFlight:
    """Requests in flight of one client.

    Parameters
    ----------
    client : Incarnation

    Attributes
    ----------
    connection : Connection or None
        To the coordinator.
    asked : dict of int to Connection
        To nodes that were asked for the coordinator, by broker id.
    pending : dict of Exchange to None
        In order of sending.
    numbers : dict of str to int
        The next request's number, by kind.
    preparations : dict of Api to Draw
        How long it takes to hand a request to the network, by its number; of the classic protocol.
    """

    def __init__(self, client: Incarnation) -> None:
        self._client = client
        self._joins = 0
        self.connection: Connection | None = None
        self.asked: dict[int, Connection] = {}
        self.pending: dict[Exchange, None] = {}
        self.numbers = {"heartbeat": 0, "commit": 0, "other": 0}
        timing, draw = client.world.timing, client.world.streams.draw
        self.preparations: dict[Api, Draw] = {}
        if client.config.group_protocol == "classic":
            self.preparations[Api.JOIN_GROUP] = draw(timing.join_prepare, "join-prepare", client.label)
            self.preparations[Api.SYNC_GROUP] = draw(timing.sync_prepare, "sync-prepare", client.label)

    @property
    def joins(self) -> int:
        """How many JoinGroups it has sent."""
        return self._joins

    def count_joins(self, more: int) -> None:
        """So many JoinGroups more."""
        self._joins += more
        self._client.life.rejoins += more

    def exchange(self, now: int, connection: Connection, api: Api, body: Request) -> Exchange:
        """The next request of its kind, on its way from now on."""
        return self.numbered(now, connection, api, body, self.take_number(_KINDS.get(api, "other")))

    def take_number(self, kind: str) -> int:
        """The next number of a kind."""
        number = self.numbers[kind]
        self.numbers[kind] = number + 1
        return number

    def trip(self) -> tuple[int, int]:
        """Latencies of the next request that is no heartbeat and no commit, there and back."""
        number, latency = self.take_number("other"), self._client.path.latency
        return latency("other", 2 * number), latency("other", 2 * number + 1)

    def numbered(self, sent: int, connection: Connection, api: Api, body: Request, number: int) -> Exchange:
        """The request of this number."""
        kind, latency = _KINDS.get(api, "other"), self._client.path.latency
        up, down = latency(kind, 2 * number), latency(kind, 2 * number + 1)
        if api in self.preparations:
            up += self.preparations[api](number)
        return self.timed(sent, connection, api, body, number, (up, down))

    def timed(
        self, sent: int, connection: Connection, api: Api, body: Request, number: int, latency: tuple[int, int]
    ) -> Exchange:
        """The request of this number, whose latencies are known: from ``sent`` to the broker, and back."""
        config, (up, down) = self._client.config, latency
        timeout = config.request_timeout_us
        if api is Api.JOIN_GROUP:
            timeout = max(timeout, config.rebalance_timeout_us + _JOIN_GRACE_US)
        return Exchange(connection, api, body, self._client.group.name, number, sent, up, down, sent + timeout)

    def hold(self, exchange: Exchange | None) -> None:
        """One request is in flight, which the broker has and does not answer yet; or (None) nothing is."""
        self.pending.clear()
        connection = self.connection
        assert connection is not None
        connection.busy = exchange is not None
        if exchange is not None:
            self.pending[exchange] = None

    @property
    def given_up_us(self) -> int:
        """When the first request in flight is given up, microseconds."""
        return min(exchange.given_up_us for exchange in self.pending) if self.pending else FOREVER

    def abandon(self) -> None:
        """The client is over: nobody waits for an answer."""
        for exchange in self.pending:
            exchange.abandoned = True
        self.pending.clear()

    def sever(self, nodes: frozenset[int]) -> None:
        """Connections to these brokers are dead, and nobody says so."""
        for connection in (self.connection, *self.asked.values()):
            if connection is not None and connection.node in nodes:
                connection.end()
