"""Leaders of the partitions that producers write to: they append, wait for those in sync, and answer.

It adds no rule: what is accepted and what is lost is up to `sim.protocol.producer` and to the controller.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count

from groupsim.sim.books.producers import ProducerBooks
from groupsim.sim.catalog import Catalog
from groupsim.sim.cluster.arrival_news import ArrivalNews
from groupsim.sim.cluster.broker import Broker
from groupsim.sim.kernel.environment import Environment, Kind, Occurrence, deadline_key
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.model import Cluster
from groupsim.sim.protocol.controller.replication import ReplicationControl
from groupsim.sim.protocol.messages import Error
from groupsim.sim.protocol.producer.batches import ProduceResponse, RecordBatch
from groupsim.sim.protocol.producer.replicated_log import ReplicatedLog, Source
from groupsim.sim.protocol.transactions.messages import TopicPartition
from groupsim.sim.randomness import mean_of, name_hash


@dataclass(frozen=True, slots=True)
class ProduceBatch:
    """``ProduceRequest`` with one batch of one partition. ``acks``: 0, 1, or -1 for all in sync."""

    partition: TopicPartition
    batch: RecordBatch
    source: Source
    acks: int
    timeout_us: int


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    exchange: Exchange
    response: ProduceResponse
    end: int
    timer: Occurrence


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
        """A batch has arrived at the broker that its producer takes for the leader (``handleProduceAppend``)."""
        if not self._brokers[exchange.connection.node].is_up:
            return
        body: ProduceBatch = exchange.body
        topic, number = body.partition
        if self._catalog.leaders(topic, (number,))[0] != exchange.connection.node:
            self._reply(exchange, ProduceResponse(Error.NOT_LEADER_OR_FOLLOWER))
        elif body.acks < 0 and not self._accepts(body.partition):
            self._reply(exchange, ProduceResponse(Error.NOT_ENOUGH_REPLICAS))
        else:
            self._append(exchange, body)

    def _accepts(self, partition: TopicPartition) -> bool:
        """Whether at least ``min.insync.replicas`` are in sync."""
        return self.control is None or self.control.partitions[partition].accepts

    def _append(self, exchange: Exchange, body: ProduceBatch) -> None:
        log, now = self._logs[body.partition], self._env.now
        response = log.append(now, body.batch, body.source)
        if response.error is not Error.NONE or body.acks >= 0:
            self._reply(exchange, response)
        else:
            timer = self._env.at(now + body.timeout_us, self._key(body.partition), self._time_out, exchange)
            waiting = _Waiting(exchange, response, response.offset + body.batch.records, timer)
            self._waiting.setdefault(body.partition, []).append(waiting)
        self._env.at(now + self._replication_us, self._key(body.partition), self._commit, body.partition)

    def _reply(self, exchange: Exchange, response: ProduceResponse) -> None:
        exchange.connection.reply(exchange, response, self._env.now + self._service_us)

    def _commit(self, partition: TopicPartition) -> None:
        """Those in sync have fetched: readers see it, and who waits for them is answered (``DelayedProduce``)."""
        if partition in self._catalog.unreadable:
            return
        log, waiting = self._logs[partition], self._waiting.get(partition, [])
        passed = log.commit(self._env.now - self._replication_us)
        if passed and partition[0] in self._news.arrivals:
            self._news.show(partition, [one.source.produced_us for one in passed])
        for one in [one for one in waiting if one.end <= log.log.high_watermark]:
            self._release(waiting, one, one.response)

    def _release(self, waiting: list[_Waiting], one: _Waiting, response: ProduceResponse) -> None:
        waiting.remove(one)
        one.timer.drop()
        self._reply(one.exchange, response)

    def _time_out(self, exchange: Exchange) -> None:
        waiting = self._waiting[exchange.body.partition]
        (one,) = (one for one in waiting if one.exchange is exchange)
        self._release(waiting, one, ProduceResponse(Error.REQUEST_TIMED_OUT))

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
            leader = self._catalog.leaders(partition[0], (partition[1],))[0]
            waiting = self._waiting.get(partition, [])
            for one in [one for one in waiting if one.exchange.connection.node != leader]:
                self._release(waiting, one, ProduceResponse(Error.NOT_LEADER_OR_FOLLOWER))
            self._env.at(self._env.now + self._replication_us, self._key(partition), self._commit, partition)

    def finish(self) -> None:
        """The horizon."""
        self._books.finish(lambda partition: self._logs[partition].appended)
