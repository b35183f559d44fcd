"""A producer: an application that sends records, as a SimPy process, and a sender thread that gets them to leaders.

Source: ``KafkaProducer.send``, ``Sender.runOnce``, ``NetworkClient`` (clients, Kafka 4.4).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from heapq import merge
from typing import Any

import simpy

from groupsim.sim.books.producing.producers import ProducerBooks
from groupsim.sim.catalog import Catalog
from groupsim.sim.cluster.topics.data_logs import DataLogs, Part, ProduceRequest
from groupsim.sim.kernel.alarm import Alarm
from groupsim.sim.kernel.environment import Environment, Kind, deadline_key, message_key, process_key
from groupsim.sim.kernel.network import Connection, Exchange, Path
from groupsim.sim.model import Network, Producers
from groupsim.sim.protocol.controller.partition import NO_LEADER
from groupsim.sim.protocol.lookup import Backoff
from groupsim.sim.protocol.messages import Api, Error
from groupsim.sim.protocol.producer.batches import ProduceResponse
from groupsim.sim.protocol.producer.producer_batch import ProducerBatch, ProducerRequest
from groupsim.sim.protocol.producer.replicated_log import Source
from groupsim.sim.protocol.producer.sender import Sender
from groupsim.sim.protocol.transactions.messages import NO_PRODUCER_ID, TopicPartition
from groupsim.sim.randomness import Streams, backoff_factor, name_hash
from groupsim.sim.units import S

_STALE = frozenset({Error.NOT_LEADER_OR_FOLLOWER, Error.DISCONNECTED})
"""Answers after which it asks who leads, unless they say so (``Sender.completeBatch``: InvalidMetadataException)."""


class DataProducer:
    """One of ``spec.count`` that are alike.

    Parameters
    ----------
    env : Environment
    streams : Streams
    spec : Producers
    number : int
        Of those; it sends every ``count``-th record of each partition.
    network : Network
    catalog : Catalog
    logs : DataLogs
    books : ProducerBooks
    is_up : callable
        Whether a broker's process runs.
    """

    def __init__(
        self, env: Environment, streams: Streams, spec: Producers, number: int, network: Network, catalog: Catalog,
        logs: DataLogs, books: ProducerBooks, is_up: Callable[[int], bool],
    ) -> None:  # fmt: skip
        self.name = f"{spec.name}/{number}"
        self._env, self._spec, self._number = env, spec, number
        self._catalog, self._logs, self._books, self._is_up = catalog, logs, books, is_up
        self._path = Path(streams, network, network.latency, self.name)
        self._entity = name_hash(self.name)
        config = spec.config
        asking = backoff_factor(streams.key("producer metadata backoff", self.name))
        self._backoff = Backoff(config.retry_backoff_us, config.retry_backoff_max_us, asking)
        sending = backoff_factor(streams.key("producer backoff", self.name))
        self._sender = Sender(config, spec.record_bytes, sending, self._leader_of)
        self._alarm = Alarm(env, deadline_key(self._entity, Kind.TIMER), self._act)
        self._leaders: dict[TopicPartition, int] = {}
        """As it was told; `NO_LEADER`: it is asking."""
        self._connections: dict[int, Connection] = {}
        self._in_flight: dict[Exchange, ProducerRequest] = {}
        self._requests = self._asked = 0
        self._is_asking = self._is_identifying = False

    def run(self) -> Generator[simpy.Event, Any, None]:
        """Send each record when it is there."""
        key = process_key(self._entity, Kind.START)
        for time, partition in self._records():
            if time > self._env.now:
                self._act(self._env.now)
                yield self._env.until(time, key)
            self._sender.send(self._env.now, partition, 1)
            self._books.of(self.name, partition).records += 1
        self._act(self._env.now)

    def _records(self) -> Iterator[tuple[int, TopicPartition]]:
        """When it sends what: partitions of one rate take turns (`sim.books.offsets.production`)."""
        counts: Mapping[str, int] = self._catalog.counts
        return merge(*(self._of(topic, number) for topic in self._spec.topics for number in range(counts[topic])))

    def _of(self, topic: str, number: int) -> Iterator[tuple[int, TopicPartition]]:
        rates, partitions = self._catalog.rates[topic][1].per_partition_mrps[0], self._catalog.counts[topic]
        rate = rates[number] if number < len(rates) else sum(rates) // len(rates)
        ahead = (partitions - 1 - number) * 1000 // partitions
        record = self._number + 1
        while rate:
            yield -(-(record * 1000 - ahead) * S // rate), (topic, number)
            record += self._spec.count

    # --- the sender thread --------------------------------------------------------------------------------------------

    def _act(self, now: int) -> None:
        """``Sender.runOnce``: give up what is too old, send what is ready, and tell the application."""
        sender, config = self._sender, self._spec.config
        sender.on_deadline(now)
        for request in sender.drain(now):
            self._transmit(now, request)
        if config.enable_idempotence and sender.producer_id == NO_PRODUCER_ID and not self._is_identifying:
            self._is_identifying = True
            self._env.at(now + self._round_trip(), self._key, self._identified)
        for one in sender.deliveries:
            self._books.told(now, self.name, one)
        sender.deliveries.clear()
        self._alarm.set(sender.deadline(now))

    @property
    def _key(self) -> int:
        return message_key(self._entity, Kind.METADATA)

    def _round_trip(self) -> int:
        self._requests += 1
        return self._path.latency("other", 2 * self._requests) + self._path.latency("other", 2 * self._requests + 1)

    def _identified(self, _: Any) -> None:
        self._is_identifying = False
        self._sender.identify(self._logs.new_producer_id(), 0)
        self._act(self._env.now)

    def _transmit(self, now: int, request: ProducerRequest) -> None:
        config, connection = self._spec.config, self._connection(request.node)
        body = ProduceRequest(tuple(map(self._part, request.batches)), config.acks, config.request_timeout_us)
        self._requests += 1
        up, down = (self._path.latency("other", 2 * self._requests + way) for way in (0, 1))
        exchange = Exchange(connection, Api.PRODUCE, body, "", self._requests, now, up, down, now)
        if config.acks:
            self._in_flight[exchange] = request
        connection.send(exchange)
        if not config.acks:
            self._sender.on_response(now, request, _alike(request, Error.NONE))

    def _part(self, batch: ProducerBatch) -> Part:
        source = Source(self.name, batch.first, tuple(batch.produced_us))
        return Part(batch.partition, self._sender.record_batch(batch), source)

    def _connection(self, node: int) -> Connection:
        """The one to a broker; whoever is not there is not heard of."""
        connection = self._connections.get(node)
        if connection is None:
            connection = Connection(self._env, node, self._entity, self._logs.receive, self._answered)
            self._connections[node] = connection
            if not self._is_up(node):
                self.lose_broker(node)
        return connection

    def _answered(self, exchange: Exchange, responses: Sequence[ProduceResponse]) -> None:
        request, now = self._in_flight.pop(exchange, None), self._env.now
        if request is None:
            return
        self._sender.on_response(now, request, responses)
        for batch, answer in zip(request.batches, responses, strict=True):
            # Who leads may be known by now: what its predecessor says of the time before is no news.
            if answer.error in _STALE and self._leaders[batch.partition] == request.node:
                self._leaders[batch.partition] = answer.leader
                if answer.leader == NO_LEADER:
                    self._ask(now)
        self._act(now)

    # --- who leads ----------------------------------------------------------------------------------------------------

    def _leader_of(self, partition: TopicPartition) -> int:
        if partition not in self._leaders:
            self._leaders[partition] = self._catalog.leader_of(*partition)
        return self._leaders[partition]

    def _ask(self, now: int) -> None:
        """``Metadata.requestUpdate``."""
        if not self._is_asking:
            self._is_asking = True
            self._env.at(now + self._round_trip(), self._key, self._told)

    def _told(self, _: Any) -> None:
        """Who leads by now; while nobody does whom it can reach it asks again (``Metadata.failedUpdate``)."""
        self._is_asking = False
        now, wanted = self._env.now, [one for one, node in self._leaders.items() if node == NO_LEADER]
        for partition in wanted:
            leader = self._catalog.leader_of(*partition)
            if self._is_up(leader):
                self._leaders[partition] = leader
        if NO_LEADER in self._leaders.values():
            self._ask(now + self._backoff.after(self._asked))
            self._asked += 1
        else:
            self._asked = 0
        self._act(now)

    def lose_broker(self, node: int) -> None:
        """A broker's process has ended: what it has answered arrives, then the connection ends."""
        self._env.at(self._env.now + self._path.mean_us, self._key, self._disconnected, node)

    def _disconnected(self, node: int) -> None:
        """``NetworkClient.handleDisconnections``."""
        if node in self._connections:
            self._connections.pop(node).end()
        lost = [(exchange, request) for exchange, request in self._in_flight.items() if exchange.connection.broken]
        for partition in [one for one, leader in self._leaders.items() if leader == node]:
            self._leaders[partition] = NO_LEADER
        for exchange, request in lost:
            del self._in_flight[exchange]
            self._sender.on_response(self._env.now, request, _alike(request, Error.DISCONNECTED))
        self._ask(self._env.now)
        self._act(self._env.now)


def _alike(request: ProducerRequest, error: Error) -> Sequence[ProduceResponse]:
    """The same for all batches of a request."""
    return [ProduceResponse(error)] * len(request.batches)
