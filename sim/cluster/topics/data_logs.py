"""Leaders of the partitions that producers write to: they append, wait for those in sync, and answer.

It adds no rule: what is accepted and what is lost is up to `sim.protocol.producer` and to the controller.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

from groupsim.sim.books.producing.producers import ProducerBooks
from groupsim.sim.catalog import Catalog
from groupsim.sim.cluster.broker import Broker
from groupsim.sim.cluster.topics.arrival_news import ArrivalNews
from groupsim.sim.kernel.environment import Environment, Kind, Occurrence, deadline_key
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.model import Cluster
from groupsim.sim.protocol.controller.partition import NO_LEADER
from groupsim.sim.protocol.controller.replication import ReplicationControl
from groupsim.sim.protocol.messages import Error
from groupsim.sim.protocol.producer.batches import ProduceResponse, RecordBatch
from groupsim.sim.protocol.producer.replicated_log import ReplicatedLog, Source
from groupsim.sim.protocol.transactions.messages import TopicPartition
from groupsim.sim.randomness import mean_of, name_hash


class Part(NamedTuple):
    """What a request has for one partition."""

    partition: TopicPartition
    batch: RecordBatch
    source: Source


@dataclass(frozen=True, slots=True)
class ProduceRequest:
    """Batches of several partitions, one of each. ``acks``: 0, 1, or -1 for all in sync."""

    parts: tuple[Part, ...]
    acks: int
    timeout_us: int


@dataclass(slots=True, eq=False)
class _Waiting:
    """A request some of whose batches are in a log that not all in sync have (``DelayedProduce``).

    Attributes
    ----------
    responses : dict of partition to ProduceResponse
        To all of its batches, in their order.
    ends : dict of partition to int
        Of those for which it waits, and until which offset.
    timer : Occurrence
    """

    exchange: Exchange
    responses: dict[TopicPartition, ProduceResponse]
    ends: dict[TopicPartition, int]
    timer: Occurrence | None = None


class DataLogs:
    """Of one cluster.

    A follower that fetches all the time has what the leader wrote once its answer has come, and the leader knows with
    the next request: two mean latencies later.

    Parameters
    ----------
    env : Environment
    cluster : Cluster
    catalog : Catalog
        Who leads, and whose high watermark stands still.
    brokers : mapping of int to Broker
    books : ProducerBooks
    news : ArrivalNews

    Attributes
    ----------
    control : ReplicationControl or None
        Who is in sync; None: everybody, since nothing happens to brokers.
    """

    def __init__(
        self, env: Environment, cluster: Cluster, catalog: Catalog, brokers: Mapping[int, Broker],
        books: ProducerBooks, news: ArrivalNews,
    ) -> None:  # fmt: skip
        self._env = env
        self._catalog = catalog
        self._brokers = brokers
        self._books = books
        self._news = news
        self.control: ReplicationControl | None = None
        self._service_us = cluster.timing.service_us
        self._replication_us = 2 * max(1, mean_of(cluster.network.latency))
        self._logs: defaultdict[TopicPartition, ReplicatedLog] = defaultdict(ReplicatedLog)
        self._waiting: dict[TopicPartition, list[_Waiting]] = {}
        self._ids = count()

    def new_producer_id(self) -> int:
        """``InitProducerId`` without a transactional id."""
        return next(self._ids)

    def _key(self, partition: TopicPartition) -> int:
        return deadline_key(name_hash("data log", partition[0], partition[1]), Kind.TIMER)

    # --- requests -----------------------------------------------------------------------------------------------------

    def receive(self, exchange: Exchange) -> None:
        """A request has arrived at the broker that its producer takes for the leader (``handleProduceRequest``)."""
        node, body, ends = exchange.connection.node, exchange.body, dict[TopicPartition, int]()
        if not self._brokers[node].is_up:
            return
        responses = {part.partition: self._append(node, part, body.acks) for part in body.parts}
        if body.acks < 0:
            ends = {
                part.partition: response.offset + part.batch.records
                for part, response in zip(body.parts, responses.values(), strict=True)
                if response.error is Error.NONE
            }
        if ends:
            self._wait(_Waiting(exchange, responses, ends))
        else:
            self._reply(exchange, responses)

    def _append(self, node: int, part: Part, acks: int) -> ProduceResponse:
        """What the leader makes of a batch (``ReplicaManager.appendRecords``)."""
        partition, now = part.partition, self._env.now
        if self._catalog.leader_of(*partition) != node:
            return self._not_leader(partition)
        if acks < 0 and not self._accepts(partition):
            return ProduceResponse(Error.NOT_ENOUGH_REPLICAS)
        response = self._logs[partition].append(now, part.batch, part.source)
        self._env.at(now + self._replication_us, self._key(partition), self._commit, partition)
        return response

    def _not_leader(self, partition: TopicPartition) -> ProduceResponse:
        """Who leads now is named, if anybody does (``KafkaApis.getCurrentLeader``)."""
        leader = self._catalog.leader_of(*partition)
        is_up = self._brokers[leader].is_up
        return ProduceResponse(Error.NOT_LEADER_OR_FOLLOWER, leader=leader if is_up else NO_LEADER)

    def _accepts(self, partition: TopicPartition) -> bool:
        """Whether at least ``min.insync.replicas`` are in sync."""
        return self.control is None or self.control.partitions[partition].accepts

    def _wait(self, one: _Waiting) -> None:
        first, timeout_us = next(iter(one.ends)), one.exchange.body.timeout_us
        one.timer = self._env.at(self._env.now + timeout_us, self._key(first), self._time_out, one)
        for partition in one.ends:
            self._waiting.setdefault(partition, []).append(one)

    def _reply(self, exchange: Exchange, responses: Mapping[TopicPartition, ProduceResponse]) -> None:
        exchange.connection.reply(exchange, [*responses.values()], self._env.now + self._service_us)

    def _commit(self, partition: TopicPartition) -> None:
        """Those in sync have fetched: readers see it, and who waits for them is answered."""
        if partition in self._catalog.unreadable:
            return
        log = self._logs[partition]
        passed = log.commit(self._env.now - self._replication_us)
        if passed and partition[0] in self._news.arrivals:
            self._news.show(partition, [one.source.produced_us for one in passed])
        for one in [*self._waiting.get(partition, ())]:
            if one.ends[partition] <= log.log.high_watermark:
                self._release(one, partition)

    def _release(self, one: _Waiting, partition: TopicPartition, refusal: ProduceResponse | None = None) -> None:
        """It waits for a partition no more."""
        self._waiting[partition].remove(one)
        del one.ends[partition]
        if refusal is not None:
            one.responses[partition] = refusal
        if not one.ends:
            assert one.timer is not None
            one.timer.drop()
            self._reply(one.exchange, one.responses)

    def _time_out(self, one: _Waiting) -> None:
        for partition in [*one.ends]:
            self._release(one, partition, ProduceResponse(Error.REQUEST_TIMED_OUT))

    # --- the cluster --------------------------------------------------------------------------------------------------

    def cut(self, partition: TopicPartition, after_us: int, *, is_unclean: bool) -> None:
        """Somebody leads who lacks what was written after that."""
        gone = self._logs[partition].cut(after_us, is_unclean=is_unclean)
        self._books.cut(partition, gone, is_unclean=is_unclean)

    def changed(self, partitions: Iterable[TopicPartition]) -> None:
        """Others lead these, or their high watermarks follow again; a former leader answers that it is none."""
        for partition in partitions:
            if partition not in self._logs:
                continue
            leader = self._catalog.leader_of(*partition)
            for one in [*self._waiting.get(partition, ())]:
                if one.exchange.connection.node != leader:
                    self._release(one, partition, self._not_leader(partition))
            self._env.at(self._env.now + self._replication_us, self._key(partition), self._commit, partition)

    def finish(self) -> None:
        """The horizon."""
        self._books.finish(lambda partition: self._logs[partition].appended)
