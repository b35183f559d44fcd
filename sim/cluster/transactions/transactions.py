"""Transactions of a cluster: who asks whom, and in what order a produce request and its partitions go.

It adds no rule: requests go to the machines of `sim.protocol`, what they decide is carried out. Between brokers a
message takes the mean latency of the network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import count
from typing import Any, Final

from groupsim.sim.catalog import Catalog
from groupsim.sim.cluster.broker import Broker
from groupsim.sim.cluster.groups.coordinator import Coordinator, partition_for
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.cluster.topics.arrival_news import ArrivalNews
from groupsim.sim.cluster.topics.output_partitions import OutputPartitions
from groupsim.sim.cluster.topics.output_readers import OutputReaders
from groupsim.sim.cluster.transactions.coordinator_requests import CoordinatorRequests
from groupsim.sim.cluster.transactions.transaction_markers import TransactionMarkers, answer_key
from groupsim.sim.cluster.transactions.transaction_shard import TransactionShard
from groupsim.sim.kernel.environment import Environment
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.model import Scenario
from groupsim.sim.protocol.controller.partition import NO_LEADER, OFFSETS_TOPIC, Name
from groupsim.sim.protocol.interface import Waiter
from groupsim.sim.protocol.messages import (
    Acknowledgement,
    Error,
    FindCoordinator,
    FindCoordinatorResponse,
    TxnOffsetCommit,
)
from groupsim.sim.protocol.producer.batches import Produce
from groupsim.sim.protocol.transactions.coordinator import TransactionCoordinator
from groupsim.sim.protocol.transactions.messages import (
    NO_PRODUCER_ID,
    TV2,
    AddPartitionsToTxn,
    FindTransactionCoordinator,
    TopicPartition,
    WriteTxnMarkers,
)
from groupsim.sim.protocol.transactions.states import TransactionState
from groupsim.sim.randomness import mean_of
from groupsim.sim.units import MS

_RETRY_US, _RETRIES_US = 20 * MS, 100 * MS
"""``add.partitions.to.txn.retry.backoff.ms`` and its maximum: a leader asks again, and then tells the producer."""
_COMMITTED: Final = frozenset({TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT})
_TOLD: Final = {
    Error.PRODUCER_FENCED: Error.INVALID_PRODUCER_EPOCH,
    Error.NOT_COORDINATOR: Error.NOT_ENOUGH_REPLICAS,
    Error.COORDINATOR_NOT_AVAILABLE: Error.NOT_ENOUGH_REPLICAS,
    Error.COORDINATOR_LOAD_IN_PROGRESS: Error.NOT_ENOUGH_REPLICAS,
    Error.NETWORK_EXCEPTION: Error.NOT_ENOUGH_REPLICAS,
}
"""What a producer hears of the coordinator's answer to a leader (``ReplicaManager.handleProduceAppend``)."""
_OFFSETS_TOLD: Final = {
    Error.PRODUCER_FENCED: Error.INVALID_PRODUCER_EPOCH,
    Error.NETWORK_EXCEPTION: Error.COORDINATOR_LOAD_IN_PROGRESS,
}
"""And of the one to a group's coordinator (``CoordinatorOperationExceptionHelper.handleOperationException``)."""


class Transactions:
    """Of one cluster.

    Parameters
    ----------
    env : Environment
    scenario : Scenario
    catalog : Catalog
    groups : mapping of str to GroupHost
    brokers : mapping of int to Broker
    coordinators : mapping of int to Coordinator
        Of groups, by offsets partition.
    news : ArrivalNews
    are_cut : callable
        Whether nothing gets through between two brokers.
    is_loud : bool
        Message fidelity.

    Attributes
    ----------
    output : OutputPartitions
    version : int
        Level of transaction.version.
    shards : dict of Name to TransactionShard
        By partition of ``__transaction_state``.
    trip_us, service_us, append_us, retry_us : int, microseconds
        Of a message between brokers, of a request at one, of an append, and until a leader asks a coordinator again.
    """

    def __init__(
        self, env: Environment, scenario: Scenario, catalog: Catalog, groups: Mapping[str, GroupHost],
        brokers: Mapping[int, Broker], coordinators: Mapping[int, Coordinator], news: ArrivalNews,
        are_cut: Callable[[int, int], bool], *, is_loud: bool,
    ) -> None:  # fmt: skip
        cluster = scenario.cluster
        self._env = env
        self._is_loud = is_loud
        self._groups = groups
        self._brokers = brokers
        self._coordinators = coordinators
        self._config = cluster.transactions
        self._offsets_partitions = cluster.config.offsets_topic_num_partitions
        self.version = self._config.version
        self.trip_us = max(1, mean_of(cluster.network.latency))
        self.service_us, self.append_us = cluster.timing.service_us, cluster.timing.append_us
        self.retry_us = _RETRY_US
        self._ids = count()
        self._shards = [self._new_shard(number) for number in range(self._config.topic_partitions)]
        self.shards = {one.name: one for one in self._shards}
        self._group_of: dict[str, str] = {}
        self.output = OutputPartitions(
            env, catalog, groups, brokers, self._config.version, self.append_us, self._answer_produce,
            OutputReaders(env, news),
        )  # fmt: skip
        self._requests = CoordinatorRequests(env, are_cut, self.trip_us, self.service_us)
        times = self.trip_us, self.append_us
        self._markers = TransactionMarkers(env, coordinators, self.output, are_cut, *times)
        for coordinator in coordinators.values():
            coordinator.on_serving = self._markers.served

    def _new_shard(self, number: int) -> TransactionShard:
        nodes = sorted(self._brokers)
        node = nodes[number % len(nodes)]
        return TransactionShard(
            self._env, number, node, self.append_us, self._new_machine, self._answer, self._send_markers,
            self.foresees,
        )  # fmt: skip

    def _new_machine(self, epoch: int) -> TransactionCoordinator:
        return TransactionCoordinator(self._config, lambda: next(self._ids), epoch=epoch)

    def foresees(self) -> bool:
        """Message fidelity does everything in its time."""
        return not self._is_loud and self.output.control is None

    def shard_of(self, transactional_id: str) -> TransactionShard:
        """By the partition of ``__transaction_state`` (``TransactionStateManager.partitionFor``)."""
        return self._shards[partition_for(transactional_id, self._config.topic_partitions)]

    def pass_over(
        self, name: str, transactions: int, partitions: tuple[TopicPartition, ...], ended_us: int, marked_us: int
    ) -> None:  # fmt: skip
        """An id has gone through so many transactions that nobody has looked at.

        The last has written to these partitions, was asked to end at ``ended_us``, and its markers are written at
        ``marked_us``; offsets are in it, too.
        """
        shard, number = self.shard_of(name), self.offsets_partition_of(self._group_of[name])
        known = shard.metadata(name)
        assert known is not None
        before = replace(known, epoch=known.epoch + transactions - 1)
        begun = before.added(ended_us, (*partitions, (OFFSETS_TOPIC, number)), self.version)
        decided = begun.ended(ended_us, is_committed=True, version=self.version, next_producer_id=NO_PRODUCER_ID)
        self._coordinators[number].fenced[decided.producer_id] = decided.epoch
        key = max(map(answer_key, decided.partitions))
        shard.pass_over(name, decided, (marked_us + self.append_us + self.trip_us, key))

    def is_owned(self, name: str, producer_id: int, epoch: int) -> bool:
        """Whether nobody has asked for an id since this producer did; it may not have heard of its last commit."""
        known = self.shard_of(name).metadata(name)
        if known is None:
            return False
        has_committed = known.state in _COMMITTED and known.epoch == epoch + 1
        return known.producer_id == producer_id and (known.epoch == epoch or has_committed)

    def kept_until_us(self, name: str) -> int:
        """Until when an id is known that nobody uses, microseconds."""
        known = self.shard_of(name).metadata(name)
        return 0 if known is None else known.update_us + self._config.id_expiration_us

    def node_of(self, transactional_id: str) -> int:
        """Broker of its first coordinator."""
        return self.shard_of(transactional_id).first_node

    def enrol(self, transactional_id: str, group: str) -> None:
        """A member of this group uses the id."""
        self._group_of[transactional_id] = group

    # --- requests of producers ----------------------------------------------------------------------------------------

    def receive(self, exchange: Exchange) -> None:
        """A request of a producer has arrived at a broker: for a coordinator, leaders, or its group's coordinator."""
        body, broker = exchange.body, self._brokers[exchange.connection.node]
        if not broker.is_up:
            return
        if isinstance(body, Produce):
            self._produce(exchange, self._env.now)
        elif isinstance(body, TxnOffsetCommit):
            self._commit_offsets(exchange)
        elif isinstance(body, FindCoordinator):
            broker.receive(exchange)
        elif isinstance(body, FindTransactionCoordinator):
            self._find(exchange, broker)
        elif (shard := self.shard_of(body.transactional_id)).node == broker.id:
            shard.ask(body, exchange)
        else:
            self._reply(exchange, Acknowledgement(Error.NOT_COORDINATOR))

    def _find(self, exchange: Exchange, broker: Broker) -> None:
        """``KafkaApis.getCoordinator``: from the broker's own metadata."""
        shard = self.shard_of(exchange.body.transactional_id)
        node = broker.leaders.get(shard.name, shard.first_node)
        error = Error.COORDINATOR_NOT_AVAILABLE if node == NO_LEADER else Error.NONE
        self._reply(exchange, FindCoordinatorResponse(error, node))

    def _reply(self, exchange: Exchange, response: Any, after_us: int = 0) -> None:
        if self._brokers[exchange.connection.node].is_up:
            self._groups[exchange.group_id].books.requests.count(exchange, response.error)
            exchange.connection.reply(exchange, response, self._env.now + self.service_us + after_us)

    def _answer(self, waiter: Waiter, response: Any) -> None:
        if isinstance(waiter, Exchange):
            self._reply(waiter, response)
        elif callable(waiter):
            waiter(self._env.now, response)

    def _answer_produce(self, exchange: Exchange, error: Error, after_us: int) -> None:
        self._reply(exchange, Acknowledgement(error), after_us)

    # --- data ---------------------------------------------------------------------------------------------------------

    def _produce(self, exchange: Exchange, since_us: int) -> None:
        """``ReplicaManager.handleProduceAppend``: partitions that are new to the transaction are added first."""
        if not self._takes(exchange):
            return
        body: Produce = exchange.body
        needed = []
        for partition, batch, _ in body.batches:
            verdict = self.output.of(partition, exchange.group_id).log.needs_verification(batch)
            if isinstance(verdict, Error):
                self._reply(exchange, Acknowledgement(verdict))
                return
            if verdict:
                needed.append(partition)
        if needed and self._asks_coordinator:
            self._add(exchange, tuple(needed), since_us)
        elif needed:
            self._append_added(exchange, needed)
        else:
            self.output.append(exchange)

    def _takes(self, exchange: Exchange) -> bool:
        """Whether whom a request has reached appends what it brings; who waits for an answer is told why not."""
        if exchange.connection.broken:
            return False
        refusal = self.output.refusal(exchange)
        if refusal is not Error.NONE:
            self._reply(exchange, Acknowledgement(refusal))
        return refusal is Error.NONE

    def _add(self, exchange: Exchange, needed: tuple[TopicPartition, ...], since_us: int) -> None:
        body: Produce = exchange.body
        first = body.batches[0][1]
        version = self._config.version
        request = AddPartitionsToTxn(
            body.transactional_id, first.producer_id, first.epoch, needed, version, verify_only=version < TV2
        )

        def added(error: Error) -> None:
            is_early = error is Error.CONCURRENT_TRANSACTIONS
            if error is Error.NONE:
                self._append_added(exchange, needed)
            elif is_early and version < TV2:
                self._reply(exchange, Acknowledgement(Error.NOT_ENOUGH_REPLICAS))
            elif is_early and self._env.now - since_us < _RETRIES_US:
                key = self.shard_of(body.transactional_id).key
                self._env.at(self._env.now + self.retry_us, key, lambda _: self._produce(exchange, since_us))
            else:
                self._reply(exchange, Acknowledgement(_TOLD.get(error, error)))

        leaders = {self.output.leader_of(partition) for partition in needed}
        self._requests.ask(self.shard_of(body.transactional_id), leaders, request, added)

    @property
    def _asks_coordinator(self) -> bool:
        """Whether who leads a partition asks about its transaction: TV2 to add it, TV1 to see that it is there."""
        return self._config.version >= TV2 or self._config.is_verified

    def _append_added(self, exchange: Exchange, added: Iterable[TopicPartition]) -> None:
        """Partitions are in the transaction; whoever has asked for that need not lead them any more."""
        if not self._takes(exchange):
            return
        producer_id = exchange.body.batches[0][1].producer_id
        for partition in added:
            self.output.logs[partition].log.verified(producer_id, self._config.version)
        self.output.append(exchange)

    # --- offsets ------------------------------------------------------------------------------------------------------

    def _commit_offsets(self, exchange: Exchange) -> None:
        """The group's broker adds the offsets partition, or sees that it is there; then the group decides."""
        body: TxnOffsetCommit = exchange.body
        number = self.offsets_partition_of(exchange.group_id)
        broker = self._brokers[exchange.connection.node]
        if self._coordinators[number].node != broker.id or self._coordinators[number].is_loading:
            broker.receive(exchange)
            return
        request = AddPartitionsToTxn(
            body.transactional_id, body.producer_id, body.producer_epoch, ((OFFSETS_TOPIC, number),),
            self._config.version, verify_only=self._config.version < TV2,
        )  # fmt: skip

        def added(error: Error) -> None:
            if exchange.connection.broken:
                return
            if error is Error.NONE and body.producer_epoch < self._coordinators[number].fenced.get(body.producer_id, 0):
                error = Error.INVALID_PRODUCER_EPOCH
            if error is Error.NONE:
                broker.receive(exchange)
            else:
                self._reply(exchange, Acknowledgement(_OFFSETS_TOLD.get(error, error)))

        if self._asks_coordinator:
            self._requests.ask(self.shard_of(body.transactional_id), (broker.id,), request, added)
        else:
            added(Error.NONE)

    def offsets_partition_of(self, group: str) -> int:
        """Of ``__consumer_offsets``."""
        return partition_for(group, self._offsets_partitions)

    # --- decisions and markers ----------------------------------------------------------------------------------------

    def _send_markers(self, shard: TransactionShard, markers: WriteTxnMarkers, is_news: bool) -> None:
        """Every leader is told; ``is_news``: what becomes of the transaction is decided only now."""
        group = self._group_of[markers.transactional_id]
        if is_news:
            self._groups[group].books.transactions.decided(markers)
        self._markers.send(shard, group, markers)

    # --- the cluster --------------------------------------------------------------------------------------------------

    def cut_back(self, name: Name, node: int) -> None:
        """A broker is to lead a partition of ``__transaction_state``, and may lack something."""
        for transactional_id, known in self.shards[name].cut_back(node):
            group = self._groups[self._group_of[transactional_id]]
            group.books.transactions.decisions_lost(known.producer_id, known.epoch)

    def changed(self, partitions: Iterable[TopicPartition]) -> None:
        """Others lead these data partitions, or their high watermarks follow again."""
        names = list(partitions)
        self.output.changed(names)
        for name in names:
            self._markers.served(name)

    def rewired(self) -> None:
        """Links between brokers were cut, or are whole again: what could not get through goes on."""
        self._requests.rewired()
        self._markers.rewired()

    def finish(self, horizon: int) -> None:
        """The horizon: write down what partitions have come to, and what readers see."""
        self.output.finish(horizon)
        for group in self._groups.values():
            group.books.transactions.count(group.books.record)
