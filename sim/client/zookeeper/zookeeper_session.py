"""A client's session with ZooKeeper: a SimPy process that connects, keeps the session alive, and connects again.

As ``ClientCnxn`` does (ZooKeeper 3.4): a ping when nothing was sent for a while, another server when nothing was heard
for two thirds of the session's timeout. What was asked and not answered is asked again (``ZkClient``,
``retryUntilConnected``), after an expired session under the next one.
"""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import Any

import simpy

from groupsim.sim.client.incarnation import Incarnation
from groupsim.sim.kernel.environment import Kind, deadline_key
from groupsim.sim.kernel.network import Connection, Exchange
from groupsim.sim.protocol.zookeeper.messages import Answer, Code, Fired, Op, Request, Watch, Watched
from groupsim.sim.protocol.zookeeper.waits import Ask
from groupsim.sim.randomness import hash64
from groupsim.sim.units import FOREVER, MS, S

_MOST_PING_US = 10 * S
"""``MAX_SEND_PING_INTERVAL``."""


class ZookeeperSession:
    """The session of one client.

    Parameters
    ----------
    client : Incarnation
    timeout_us : int
        ``zookeeper.session.timeout.ms``.
    """

    def __init__(self, client: Incarnation, timeout_us: int) -> None:
        self._client = client
        self._env = client.env
        assert client.world.zookeeper is not None
        self._zookeeper = client.world.zookeeper
        self._path = client.world.path_to_zookeeper(client.consumer)
        self._timeout_us = timeout_us
        read_timeout_us, half_us = timeout_us * 2 // 3, timeout_us // 3
        self._read_timeout_us = read_timeout_us
        self._ping_us = min(max(half_us - S, S) if half_us > S else half_us, _MOST_PING_US)
        self._order = client.world.streams.key("zookeeper", client.label)
        self._connecting = client.world.streams.draw(client.world.timing.connect, "connect-zookeeper", client.label)
        self._attempts = 0
        self._key = deadline_key(client.consumer.entity, Kind.HEARTBEAT)
        self._number = 0
        self._session = 0
        self._seen = 0
        self._armed: dict[Watch, None] = {}
        self._unanswered: dict[int, Ask] = {}
        self.connection: Connection | None = None
        self._is_known = False
        """Whether the server on this connection knows the session."""
        self._heard_us = self._sent_us = 0
        self._happened = self._env.event()
        self._is_over = False
        self._env.process(self.run())

    # --- what the machine wants ---------------------------------------------------------------------------------------

    def ask(self, now: int, effect: Ask) -> None:
        """Ask now, or as soon as there is a connection."""
        self._unanswered[effect.number] = effect
        if self._is_known:
            self._send(now, effect.request, effect.number)

    def sever(self) -> None:
        """There is a cut: if it is between this client and its server, nothing arrives any more, and nobody says so."""
        connection = self.connection
        if connection is not None:
            world, consumer = self._client.world, self._client.consumer
            if world.is_cut_from_zookeeper(consumer, connection.node):
                connection.end()

    def end(self) -> None:
        """The client is over."""
        self._is_over = True
        self._hang_up()
        self._wake()

    # --- the process --------------------------------------------------------------------------------------------------

    def run(self) -> Generator[simpy.Event, Any, None]:
        """Connect, stay connected, connect again."""
        while not self._is_over:
            yield from self._connect()
            while self._is_known and not self._is_over:
                yield from self._stay()

    def _connect(self) -> Generator[simpy.Event, Any, None]:
        """Try one server; before each but the first, wait up to a second."""
        number, servers = self._attempts, len(self._zookeeper.servers)
        self._attempts += 1
        if number:
            yield from self._wait(self._env.now + hash64(self._order, number) % 1000 * MS)
        node = (hash64(self._order, 0) + number) % servers
        due = self._env.now + self._timeout_us // servers
        world, consumer = self._client.world, self._client.consumer
        if world.is_cut_from_zookeeper(consumer, node):
            yield from self._wait(due)
            return
        yield from self._wait(self._env.now + self._connecting(number))
        if self._is_over or not self._zookeeper.is_serving(node):
            return
        self.connection = self._zookeeper.connect(node, consumer.entity, self._deliver, self._lost)
        self._introduce()
        yield from self._wait(due)
        if not self._is_known:
            self._hang_up()

    def _introduce(self) -> None:
        now = self._env.now
        if self._session:
            request = Request(Op.RECONNECT, session=self._session, seen=self._seen, armed=tuple(self._armed))
        else:
            request = Request(Op.CREATE_SESSION, timeout_us=self._timeout_us)
        self._heard_us = now
        self._send(now, request, 0)

    def _stay(self) -> Generator[simpy.Event, Any, None]:
        """Until the next ping, or until there has been silence for too long."""
        yield from self._wait(min(self._heard_us + self._read_timeout_us, self._sent_us + self._ping_us))
        now = self._env.now
        if not self._is_known or self._is_over:
            return
        if now >= self._heard_us + self._read_timeout_us:
            self._hang_up()
        elif now >= self._sent_us + self._ping_us:
            self._send(now, Request(Op.PING), 0)

    def _wait(self, due: int) -> Generator[simpy.Event, Any, None]:
        """Until then, unless something happens; a process that stands still notices later."""
        if due > self._env.now:
            self._happened = self._env.event()
            rings = self._env.at(due, self._key, self._wake)
            yield self._happened
            rings.drop()
        while self._client.frozen is not None and not self._is_over:
            yield self._env.until(self._client.frozen[1], self._key)

    def _wake(self, _: object = None) -> None:
        if not self._happened.triggered:
            self._happened.succeed()

    # --- messages -----------------------------------------------------------------------------------------------------

    def _send(self, now: int, request: Request, number: int) -> None:
        connection = self.connection
        assert connection is not None
        if request.op is not Op.CREATE_SESSION:
            request.session = self._session
        kind = "heartbeat" if request.op is Op.PING else "other"
        up = self._path.latency(kind, 2 * self._number)
        down = self._path.latency(kind, 2 * self._number + 1)
        self._number += 1
        group = self._client.group.name
        exchange = Exchange(connection, request.op, request, group, number, now, up, down, FOREVER)
        self._sent_us = now
        connection.send(exchange)

    def _deliver(self, exchange: Exchange, response: Any) -> None:
        client, now = self._client, self._env.now
        if self._is_over or exchange.connection is not self.connection:
            return
        if client.frozen is not None:
            client.late.append(partial(self._deliver, exchange, response))
            return
        self._heard_us = now
        self._seen = max(self._seen, response.zxid)
        if isinstance(response, Fired):
            self._fire(now, response)
        elif exchange.number:
            self._answer(now, exchange, response)
        elif exchange.body.op is not Op.PING:
            self._settle(now, response)
        client.drive(now)

    def _fire(self, now: int, fired: Fired) -> None:
        self._armed.pop(fired.watch, None)
        if fired.watch[0] is Watched.DATA:
            self._armed.pop((Watched.CREATION, fired.watch[1]), None)
        self._client.books.tally("watch_notifications")
        self._client.do(now, self._client.machine.on_watch(now, fired.watch[1]))

    def _answer(self, now: int, exchange: Exchange, answer: Answer) -> None:
        request: Request = exchange.body
        if self._unanswered.pop(exchange.number, None) is None:
            return
        if request.watches and (answer.error is Code.NONE or request.op is Op.EXISTS):
            self._armed[_watched(request, answer), request.path] = None
        self._client.do(now, self._client.machine.on_answer(now, exchange.number, answer))

    def _settle(self, now: int, answer: Answer) -> None:
        """The server has taken the session, or knows it no longer, or has seen less than this client."""
        if answer.error is Code.SESSION_EXPIRED:
            self._session, self._seen = 0, 0
            self._armed.clear()
            self._introduce()
            return
        self._wake()
        if answer.error is not Code.NONE:
            return
        is_new = not self._session
        self._session, self._is_known = answer.value, True
        for number, effect in list(self._unanswered.items()):
            self._send(now, effect.request, number)
        if is_new:
            self._client.do(now, self._client.machine.on_session(now))

    def _lost(self) -> None:
        """The server has closed the connection; that is heard a way later."""
        connection = self.connection
        self._env.at(self._env.now + self._path.latency("other", 2 * self._number), self._key, self._notice, connection)

    def _notice(self, connection: Connection) -> None:
        if connection is self.connection and not self._is_over:
            self._hang_up()
            self._wake()

    def _hang_up(self) -> None:
        connection, self.connection, self._is_known = self.connection, None, False
        if connection is not None:
            self._zookeeper.forget(connection)


def _watched(request: Request, answer: Answer) -> Watched:
    """What a read that is answered has set a watch on (``ExistsWatchRegistration`` and its kin)."""
    if request.op is Op.GET_CHILDREN:
        return Watched.CHILDREN
    return Watched.DATA if answer.error is Code.NONE else Watched.CREATION
