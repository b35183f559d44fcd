"""Requests of one transactional producer: whom it asks, and until when it asks again.

Source: ``Sender``, ``TransactionManager.TxnRequestHandler``, ``NetworkClient`` (clients, Kafka 4.4).
"""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import Any, Final

import simpy

from groupsim.sim.client.in_flight import InFlight
from groupsim.sim.client.incarnation import Incarnation
from groupsim.sim.cluster.transactions.transactions import Transactions
from groupsim.sim.config import ProducerConfig
from groupsim.sim.kernel.environment import Kind, deadline_key, process_key
from groupsim.sim.kernel.network import Connection, Exchange
from groupsim.sim.protocol.lookup import Backoff
from groupsim.sim.protocol.messages import Acknowledgement, Api, Error, FindCoordinator
from groupsim.sim.protocol.producer.batches import Produce
from groupsim.sim.protocol.transactions.messages import FindTransactionCoordinator, TopicPartition
from groupsim.sim.randomness import backoff_factor, hash64

Step = Generator[simpy.Event, Any, Any]
Role = str | TopicPartition
"""Whom a request is for: a coordinator, or the leader of a partition."""

OF_TRANSACTIONS: Final = "transactions"
OF_GROUP: Final = "group"
_RETRIABLE: Final = frozenset(
    {Error.CONCURRENT_TRANSACTIONS, Error.COORDINATOR_LOAD_IN_PROGRESS, Error.COORDINATOR_NOT_AVAILABLE,
     Error.NOT_COORDINATOR, Error.REQUEST_TIMED_OUT, Error.NOT_LEADER_OR_FOLLOWER, Error.NOT_ENOUGH_REPLICAS,
     Error.DISCONNECTED}
)  # fmt: skip
_MOVED: Final = frozenset(
    {Error.COORDINATOR_NOT_AVAILABLE, Error.NOT_COORDINATOR, Error.NOT_LEADER_OR_FOLLOWER, Error.DISCONNECTED}
)
"""Answers after which it looks for whoever has to be asked."""


def role_of(body: Produce) -> TopicPartition:
    """The first partition's leader stands for all."""
    return body.batches[0][0]


def _happen(event: simpy.Event) -> None:
    event.succeed()


class ProducerRequests:
    """Of one producer.

    Parameters
    ----------
    client : Incarnation
    in_flight : InFlight
        Of that client: it numbers requests.
    host : Transactions
    transactional_id : str
    config : ProducerConfig
    """

    def __init__(
        self, client: Incarnation, in_flight: InFlight, host: Transactions, transactional_id: str,
        config: ProducerConfig,
    ) -> None:  # fmt: skip
        self._client = client
        self._env = client.env
        self._in_flight = in_flight
        self._host = host
        self._id = transactional_id
        self._config = config
        streams = client.world.streams
        self._backoff_us = config.retry_backoff_us
        factor = backoff_factor(streams.key("producer backoff", client.label))
        self._backoff = Backoff(config.retry_backoff_us, config.retry_backoff_max_us, factor)
        self._node_key = streams.key("producer node", client.label)
        self._wait_key = process_key(client.consumer.entity, Kind.FAULT)
        self._lost_key = deadline_key(client.consumer.entity, Kind.TIMER)
        self._connections: dict[int, Connection] = {}
        self._answers: dict[Exchange, simpy.Event] = {}
        self._nodes: dict[Role, int] = {}
        """Whom it takes for whom."""

    # --- one request --------------------------------------------------------------------------------------------------

    def send(self, role: Role, api: Api, body: Any) -> simpy.Event:
        """Ask whoever it takes for that; the event that the answer triggers."""
        if isinstance(body, Produce) and (far := self._unreached(body)) is not None:
            return self._request(far, api, body)
        node = self._nodes.get(role)
        if node is None:
            node = self._nodes[role] = self._first_node(role)
        return self._request(node, api, body)

    def _unreached(self, body: Produce) -> int | None:
        """A leader of what is sent that cannot be reached; None: there is none."""
        world = self._client.world
        far = world.cut_off(self._client.consumer)
        leaders = (world.catalog.leader_of(*partition) for partition, _, _ in body.batches if far)
        return next((node for node in leaders if node in far), None)

    def _first_node(self, role: Role) -> int:
        """It has been told when it started."""
        if role == OF_TRANSACTIONS:
            return self._host.node_of(self._id)
        if isinstance(role, str):
            return self._client.group.node
        return self._client.world.catalog.leader_of(*role)

    def _request(self, node: int, api: Api, body: Any) -> simpy.Event:
        now, connection = self._env.now, self._connection(node)
        exchange = self._in_flight.exchange(now, connection, api, body)
        answer = self._answers[exchange] = self._env.event()
        if connection.broken:
            self._env.at(now + self._lost_after_us(exchange), self._lost_key, self._disconnected, connection)
        else:
            connection.send(exchange)
        return answer

    def _connection(self, node: int) -> Connection:
        """The one that it has, or a new one: dead from the start if nobody listens there, or nobody hears of it."""
        connection, world = self._connections.get(node), self._client.world
        if connection is None:
            entity = self._client.consumer.entity
            connection = Connection(self._env, node, entity, self._host.receive, self._receive)
            if node in world.live_nodes and not world.is_cut(self._client.consumer, node):
                self._connections[node] = connection
            else:
                connection.end()
        return connection

    def _lost_after_us(self, exchange: Exchange) -> int:
        """How long after it was sent on a dead connection a request is known to be lost."""
        client, node = self._client, exchange.connection.node
        is_made = self._connections.get(node) is exchange.connection
        if client.world.is_cut(client.consumer, node):
            return self._config.request_timeout_us if is_made else client.config.connection_setup_timeout_us
        # The broker knows nothing of the connection, and resets it; or nobody listens there, and it is refused.
        return exchange.up_us if is_made else exchange.up_us + exchange.down_us

    def _receive(self, exchange: Exchange, response: Any) -> None:
        """An answer has arrived."""
        if self._is_open(exchange, response):
            self._env.happen(self._answers.pop(exchange), response)

    def _deliver(self, exchange: Exchange, response: Any) -> None:
        """It is time for what has come late, or for one of several."""
        if self._is_open(exchange, response):
            self._answers.pop(exchange).succeed(response)

    def _is_open(self, exchange: Exchange, response: Any) -> bool:
        """Whether somebody waits for this and can go on; who is frozen goes on later."""
        client = self._client
        if client.is_over or exchange not in self._answers:
            return False
        if client.frozen is not None:
            client.late.append(partial(self._deliver, exchange, response))
            return False
        return True

    # --- until it is answered -----------------------------------------------------------------------------------------

    def ask(self, role: Role, api: Api, body: Any, *, early_us: int | None = None) -> Step:
        """Ask until the answer is none that says to ask again."""
        return (yield from self.insist(self.send(role, api, body), role, api, body, early_us=early_us))

    def insist(self, answer: simpy.Event, role: Role, api: Api, body: Any, *, early_us: int | None = None) -> Step:
        """`ask`, which has been done once.

        Transactional requests wait the same each time (``TransactionManager.TxnRequestHandler.retryBackoffMs``),
        batches longer and longer (``RecordAccumulator.shouldBackoff``), and not beyond ``delivery.timeout.ms``;
        ``early_us`` while the transaction before is being ended.
        """
        failures, since = 0, self._env.now
        while (response := (yield answer)).error in _RETRIABLE:
            is_batch = api is Api.PRODUCE
            if is_batch and self._env.now - since >= self._config.delivery_timeout_us:
                return Acknowledgement(Error.REQUEST_TIMED_OUT)
            wait_us = self._backoff.after(failures) if is_batch else self._backoff_us
            if early_us is not None and response.error is Error.CONCURRENT_TRANSACTIONS:
                wait_us = early_us
            yield from self._wait(wait_us)
            failures += 1
            if response.error in _MOVED or (api is Api.TXN_OFFSET_COMMIT and response.error is Error.REQUEST_TIMED_OUT):
                yield from self._find(role)
            answer = self.send(role, api, body)
        return response

    def _wait(self, time_us: int) -> Step:
        """Go on later: not while the process is frozen, and never if it is dead."""
        client = self._client
        yield self._env.until(self._env.now + time_us, self._wait_key)
        while client.frozen is not None and not client.is_over:
            thawed = self._env.event()
            client.late.append(partial(_happen, thawed))
            yield thawed
        if client.is_over:
            yield self._env.event()

    def _find(self, role: Role) -> Step:
        """Ask somebody who is there."""
        if not isinstance(role, str):
            yield from self._refresh()
            self._nodes[role] = self._client.world.catalog.leader_of(*role)
            return
        group = self._client.group.name
        body = FindTransactionCoordinator(self._id) if role == OF_TRANSACTIONS else FindCoordinator(group)
        while True:
            node = self._some_node()
            if node is not None:
                response = yield self._request(node, Api.FIND_COORDINATOR, body)
                if response.error is Error.NONE:
                    self._nodes[role] = response.node
                    return
            yield from self._wait(self._backoff_us)

    def _some_node(self) -> int | None:
        """Whom it asks next; None: all brokers are down."""
        nodes = self._client.world.live_nodes
        return nodes[hash64(self._node_key, self._in_flight.numbers["other"]) % len(nodes)] if nodes else None

    def _refresh(self) -> Step:
        """A metadata request, which is answered by the first node that can be reached."""
        client = self._client
        while (node := self._some_node()) is not None and client.world.is_cut(client.consumer, node):
            self._in_flight.take_number("other")
            yield from self._wait(client.config.connection_setup_timeout_us)
        number, latency = self._in_flight.take_number("other"), client.path.latency
        yield from self._wait(latency("other", 2 * number) + latency("other", 2 * number + 1))

    # --- connections that end -----------------------------------------------------------------------------------------

    def lose_broker(self, now: int, node: int) -> None:
        """A broker's process has ended: what it has answered arrives, then the connection ends."""
        connection = self._connections.get(node)
        if connection is not None and not connection.broken:
            del self._connections[node]
            self._env.at(now + self._client.path.mean_us, self._lost_key, self._disconnected, connection)

    def sever(self, now: int, nodes: frozenset[int]) -> None:
        """Connections to these brokers are dead, and nobody says so: what is in flight there is given up in time."""
        for connection in [one for node, one in self._connections.items() if node in nodes and not one.broken]:
            connection.end()
            sent = [exchange.sent_us for exchange in self._answers if exchange.connection is connection]
            if sent:
                given_up_us = max(min(sent) + self._config.request_timeout_us, now)
                self._env.at(given_up_us, self._lost_key, self._disconnected, connection)

    def _disconnected(self, connection: Connection) -> None:
        """``NetworkClient.handleDisconnections``, ``handleTimedOutRequests``: with the connection goes all on it."""
        connection.end()
        if self._connections.get(connection.node) is connection:
            del self._connections[connection.node]
        self._lose([exchange for exchange in self._answers if exchange.connection is connection])

    def _lose(self, exchanges: list[Exchange]) -> None:
        for exchange in exchanges:
            self._deliver(exchange, Acknowledgement(Error.DISCONNECTED))
