"""Transaction coordinators, and the brokers that lead the partitions of output topics.

It adds no rule: requests go to the machines of `sim.protocol`, what they decide is carried out. Between brokers a
message takes the mean latency of the network.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

from groupsim.sim.cluster.broker import Broker
from groupsim.sim.cluster.coordinator import partition_for
from groupsim.sim.cluster.group_host import GroupHost
from groupsim.sim.cluster.output_log import OutputLog
from groupsim.sim.kernel.alarm import Alarm
from groupsim.sim.kernel.environment import Environment, Kind, deadline_key, message_key
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.model import Scenario
from groupsim.sim.protocol.controller.partition import OFFSETS_TOPIC
from groupsim.sim.protocol.messages import Acknowledgement, Error, TxnOffsetCommit
from groupsim.sim.protocol.producer.batches import Kind as RecordKind
from groupsim.sim.protocol.producer.batches import Produce
from groupsim.sim.protocol.transactions.coordinator import Decision, TransactionCoordinator
from groupsim.sim.protocol.transactions.messages import (
    AddPartitionsToTxn,
    TopicPartition,
    TransactionRequest,
    WriteTxnMarkers,
)
from groupsim.sim.randomness import mean_of, name_hash
from groupsim.sim.units import MS

_RETRY_US, _RETRIES_US = 20 * MS, 100 * MS
"""``add.partitions.to.txn.retry.backoff.ms`` and its maximum: a leader asks again, and then tells the producer."""


class Transactions:
    """Of one cluster.

    Parameters
    ----------
    env : Environment
    scenario : Scenario
    groups : mapping of str to GroupHost
    brokers : mapping of int to Broker

    Attributes
    ----------
    logs : dict of (topic, number) to OutputLog
        Partitions that have been written to.
    """

    def __init__(
        self, env: Environment, scenario: Scenario, groups: Mapping[str, GroupHost], brokers: Mapping[int, Broker]
    ) -> None:
        cluster = scenario.cluster
        self._env = env
        self._groups = groups
        self._brokers = brokers
        self._nodes = tuple(sorted(brokers))
        self._config = cluster.transactions
        self._offsets_partitions = cluster.config.offsets_topic_num_partitions
        self._trip_us = max(1, mean_of(cluster.network.latency))
        self._service_us, self._append_us = cluster.timing.service_us, cluster.timing.append_us
        ids = count()
        self._coordinators = [
            TransactionCoordinator(self._config, lambda: next(ids)) for _ in range(self._config.topic_partitions)
        ]
        self._alarms = [Alarm(env, self._key(at), self._fire_of(at)) for at in range(self._config.topic_partitions)]
        self._group_of: dict[str, str] = {}
        self._fenced: dict[tuple[int, int], int] = {}
        """(Offsets partition, producer id) -> epoch of the last marker there."""
        self.logs: dict[TopicPartition, OutputLog] = {}

    @staticmethod
    def _key(number: int) -> int:
        return deadline_key(name_hash("transaction coordinator", str(number)), Kind.TIMER)

    def number_of(self, transactional_id: str) -> int:
        """Partition of ``__transaction_state`` (``TransactionStateManager.partitionFor``)."""
        return partition_for(transactional_id, self._config.topic_partitions)

    def node_of(self, transactional_id: str) -> int:
        """Broker of its coordinator."""
        return self._nodes[self.number_of(transactional_id) % len(self._nodes)]

    def enrol(self, transactional_id: str, group: str) -> None:
        """A member of this group uses the id."""
        self._group_of[transactional_id] = group

    # --- requests of producers ----------------------------------------------------------------------------------------

    def receive(self, exchange: Exchange) -> None:
        """A request of a producer has arrived: at a coordinator, at leaders, or at the coordinator of its group."""
        body = exchange.body
        if isinstance(body, Produce):
            self._produce(exchange, self._env.now)
        elif isinstance(body, TxnOffsetCommit):
            self._commit_offsets(exchange)
        else:
            self._ask(body, exchange)

    def _reply(self, exchange: Exchange, response: Any, after_us: int = 0) -> None:
        self._groups[exchange.group_id].books.requests.count(exchange, response.error)
        exchange.connection.reply(exchange, response, self._env.now + self._service_us + after_us)

    def _ask(self, request: TransactionRequest, waiter: object) -> None:
        number = self.number_of(request.transactional_id or "")
        self._carry_out(number, self._coordinators[number].on_request(self._env.now, request, waiter))

    def _ask_from_broker(self, request: AddPartitionsToTxn, done: Callable[[Error], None]) -> None:
        """A leader asks the coordinator to add its partitions (``AddPartitionsToTxnManager``)."""
        env, key = self._env, self._key(self.number_of(request.transactional_id))

        def answered(response: Acknowledgement) -> None:
            env.at(env.now + self._service_us + self._trip_us, key, lambda _: done(response.error))

        env.at(env.now + self._trip_us, key, lambda _: self._ask(request, answered))

    # --- data ---------------------------------------------------------------------------------------------------------

    def _produce(self, exchange: Exchange, since_us: int) -> None:
        """``ReplicaManager.handleProduceAppend``: partitions that are new to the transaction are added first."""
        body: Produce = exchange.body
        needed = []
        for partition, batch in body.batches:
            verdict = self._log_of(partition, exchange.group_id).log.needs_verification(batch)
            if isinstance(verdict, Error):
                self._reply(exchange, Acknowledgement(verdict))
                return
            if verdict:
                needed.append(partition)
        if needed:
            self._add(exchange, tuple(needed), since_us)
        else:
            self._append(exchange)

    def _add(self, exchange: Exchange, needed: tuple[TopicPartition, ...], since_us: int) -> None:
        body: Produce = exchange.body
        first = body.batches[0][1]
        request = AddPartitionsToTxn(
            body.transactional_id, first.producer_id, first.epoch, needed, self._config.version
        )

        def added(error: Error) -> None:
            if error is Error.NONE:
                for partition in needed:
                    self.logs[partition].log.verified(first.producer_id, self._config.version)
                self._append(exchange)
            elif error is Error.CONCURRENT_TRANSACTIONS and self._env.now - since_us < _RETRIES_US:
                key = self._key(self.number_of(body.transactional_id))
                self._env.at(self._env.now + _RETRY_US, key, lambda _: self._produce(exchange, since_us))
            else:
                told = Error.INVALID_PRODUCER_EPOCH if error is Error.PRODUCER_FENCED else error
                self._reply(exchange, Acknowledgement(told))

        self._ask_from_broker(request, added)

    def _append(self, exchange: Exchange) -> None:
        body: Produce = exchange.body
        for partition, batch in body.batches:
            error = self.logs[partition].append(self._env.now, batch)
            if error is not Error.NONE:
                self._reply(exchange, Acknowledgement(error))
                return
        self._groups[exchange.group_id].books.transactions.written(body.transactional_id, body.origins)
        self._reply(exchange, Acknowledgement(Error.NONE), self._append_us)

    def _log_of(self, partition: TopicPartition, group: str) -> OutputLog:
        if partition not in self.logs:
            self.logs[partition] = OutputLog(group)
        return self.logs[partition]

    # --- offsets ------------------------------------------------------------------------------------------------------

    def _commit_offsets(self, exchange: Exchange) -> None:
        """The group's broker adds the offsets partition, then the group decides (``KafkaApis``, TV2)."""
        body: TxnOffsetCommit = exchange.body
        number = partition_for(exchange.group_id, self._offsets_partitions)
        request = AddPartitionsToTxn(
            body.transactional_id, body.producer_id, body.producer_epoch, ((OFFSETS_TOPIC, number),),
            self._config.version,
        )  # fmt: skip

        def added(error: Error) -> None:
            if error is Error.NONE and body.producer_epoch < self._fenced.get((number, body.producer_id), 0):
                error = Error.INVALID_PRODUCER_EPOCH
            if error is Error.NONE:
                self._brokers[exchange.connection.node].receive(exchange)
            else:
                self._reply(exchange, Acknowledgement(error))

        self._ask_from_broker(request, added)

    # --- decisions and markers ----------------------------------------------------------------------------------------

    def _carry_out(self, number: int, decision: Decision) -> None:
        env, key = self._env, self._key(number)
        for reply in decision.replies:
            waiter = reply.waiter
            if isinstance(waiter, Exchange):
                self._reply(waiter, reply.response)
            elif callable(waiter):
                waiter(reply.response)
        for batch in decision.batches:
            env.at(env.now + self._append_us, key, self._appended, (number, batch.number))
        for markers in decision.markers:
            self._decide(markers)
            for partition in markers.partitions:
                env.at(env.now + self._trip_us, key, self._mark, (number, markers, partition))
        self._alarms[number].set(self._coordinators[number].deadline)

    def _decide(self, markers: WriteTxnMarkers) -> None:
        books = self._groups[self._group_of[markers.transactional_id]].books.transactions
        books.decided(markers.transactional_id, is_committed=markers.is_committed)

    def _appended(self, what: tuple[int, int]) -> None:
        number, batch = what
        self._carry_out(number, self._coordinators[number].on_appended(self._env.now, batch, Error.NONE))

    def _mark(self, what: tuple[int, WriteTxnMarkers, TopicPartition]) -> None:
        """A leader writes a marker; the coordinator hears of it when it is replicated."""
        _, markers, (topic, at) = what
        if topic == OFFSETS_TOPIC:
            self._fenced[at, markers.producer_id] = markers.epoch
            for name in sorted(self._groups):
                if partition_for(name, self._offsets_partitions) == at:
                    self._groups[name].end_transaction(markers.producer_id, is_committed=markers.is_committed)
        else:
            self.logs[topic, at].mark(self._env.now, markers)
        later = self._env.now + self._append_us + self._trip_us
        self._env.at(later, message_key(name_hash(topic, str(at)), Kind.RESPONSE), self._marked, what)

    def _marked(self, what: tuple[int, WriteTxnMarkers, TopicPartition]) -> None:
        number, markers, partition = what
        self._carry_out(number, self._coordinators[number].on_marker(self._env.now, markers, partition, Error.NONE))

    def finish(self, horizon: int) -> None:
        """The horizon: write down what partitions have come to, and what readers see."""
        for (topic, number), one in sorted(self.logs.items()):
            one.finish(horizon)
            log, books = one.log, self._groups[one.group].books
            markers = sum(entry.kind is not RecordKind.DATA for entry in log.entries)
            books.transactions.output.append(
                (topic, number, log.high_watermark, log.last_stable_offset, markers, one.lag_max, one.blocked_us,
                 one.blocked_us_max)
            )  # fmt: skip
        for group in self._groups.values():
            group.books.transactions.count(group.books.record)

    def _fire_of(self, number: int) -> Callable[[int], None]:
        def fire(now: int) -> None:
            self._carry_out(number, self._coordinators[number].on_deadline(now))

        return fire
