"""The coordinator of one partition of ``__transaction_state``, on the broker that leads it.

It adds no rule: requests go to the machine of `sim.protocol.transactions`. What has been appended survives,
acknowledged or not; a coordinator that loads it finds the last record of each id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from groupsim.sim.cluster.watermark import Watermark
from groupsim.sim.cluster.worker_threads import WorkerThreads
from groupsim.sim.kernel.alarm import Alarm
from groupsim.sim.kernel.environment import Environment, Kind, deadline_key
from groupsim.sim.protocol.controller.partition import NO_LEADER, TRANSACTIONS_TOPIC, Name
from groupsim.sim.protocol.interface import Batch, Reply, Waiter
from groupsim.sim.protocol.messages import Acknowledgement, Error
from groupsim.sim.protocol.transactions.coordinator import Decision, TransactionCoordinator
from groupsim.sim.protocol.transactions.messages import (
    AddPartitionsToTxn,
    ProducerIdentity,
    TopicPartition,
    TransactionRequest,
    WriteTxnMarkers,
)
from groupsim.sim.protocol.transactions.records import TransactionRecord
from groupsim.sim.protocol.transactions.states import TransactionState
from groupsim.sim.randomness import name_hash

Make = Callable[[int], TransactionCoordinator]
"""From the epoch. Its scans count from 0, wherever it is: brokers that were started again scan when they did before."""
_COMPLETE: Final = frozenset({TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT})
"""What is appended again and again until it is there (``TransactionMarkerChannelManager.retryLogAppends``)."""


class TransactionShard:
    """Of one partition.

    Parameters
    ----------
    env : Environment
    number : int
        Of the partition.
    node : int
        Broker that leads it first.
    append_us : int, microseconds
        From an append until the high watermark has passed it.
    make : callable
        A machine that knows nothing yet.
    answer : callable
        Given what a request came with, and its response.
    send : callable
        Given this shard, markers that are to be written, and whether they are the first of their transaction.

    Attributes
    ----------
    node, is_loading, watermark
        As of a `sim.cluster.coordinator.Coordinator`.
    groups : tuple of str
        None: members that produce are loud anyway.
    epoch : int
        How many coordinators there have been before.
    """

    groups: Iterable[str] = ()

    def __init__(
        self, env: Environment, number: int, node: int, append_us: int, make: Make,
        answer: Callable[[Waiter, object], None], send: Callable[[TransactionShard, WriteTxnMarkers, bool], None],
    ) -> None:  # fmt: skip
        self._env = env
        self.number = number
        self.node = self.first_node = node
        self.is_loading = False
        self.watermark = Watermark(append_us)
        self.epoch = 0
        self._make, self._answer, self._send = make, answer, send
        self._machine = make(0)
        self._log: dict[str, TransactionRecord] = {}
        """Last record of each id."""
        self._decided: dict[str, TransactionRecord] = {}
        """The record whose markers were sent last, by id."""
        self._held: list[int] = []
        """Batches that are not committed, or not even appended, while the high watermark stands still."""
        self._key = deadline_key(name_hash("transaction coordinator", str(number)), Kind.TIMER)
        self._alarm = Alarm(env, self._key, self._fire)

    @property
    def name(self) -> Name:
        """Its partition."""
        return TRANSACTIONS_TOPIC, self.number

    @property
    def key(self) -> int:
        """Of what it does, in the order of an instant."""
        return self._key

    # --- requests -----------------------------------------------------------------------------------------------------

    def ask(self, request: TransactionRequest, waiter: Waiter) -> None:
        """A request has arrived at the broker that it is on."""
        if self.node == NO_LEADER:
            self._answer(waiter, refused(request, Error.NOT_COORDINATOR))
        elif self.is_loading:
            self._answer(waiter, refused(request, Error.COORDINATOR_LOAD_IN_PROGRESS))
        else:
            self._carry_out(self._machine.on_request(self._env.now, request, waiter))

    def on_marker(self, markers: WriteTxnMarkers, partition: TopicPartition) -> None:
        """A leader has written a marker; a former coordinator's is nothing to this one, which has sent its own."""
        if markers.coordinator_epoch == self.epoch and not self.is_loading:
            self._carry_out(self._machine.on_marker(self._env.now, markers, partition, Error.NONE))

    def _carry_out(self, decision: Decision) -> None:
        for reply in decision.replies:
            self._reply(reply)
        for batch in decision.batches:
            self._append(batch)
        for markers in decision.markers:
            record = self._log[markers.transactional_id]
            is_first = self._decided.get(markers.transactional_id) is not record
            self._decided[markers.transactional_id] = record
            self._send(self, markers, is_first)
        self._alarm.set(self._machine.deadline)

    def _reply(self, reply: Reply) -> None:
        if reply.waiter is not None:
            self._answer(reply.waiter, reply.response)

    def _fire(self, now: int) -> None:
        self._carry_out(self._machine.on_deadline(now))

    # --- the log ------------------------------------------------------------------------------------------------------

    def _append(self, batch: Batch) -> None:
        (record,) = batch.records
        is_complete = record.value is not None and record.value.state in _COMPLETE
        if self.watermark.refuses and not is_complete:
            told = (self._machine, batch.number, Error.NOT_ENOUGH_REPLICAS)
            self._env.at(self._env.now, self._key, self._appended, told)
            return
        self._log.pop(record.transactional_id, None)
        if record.value is not None:
            self._log[record.transactional_id] = record
        if self.watermark.is_stalled:
            self._held.append(batch.number)
        else:
            due_us = self.watermark.appends(self._env.now)
            self._env.at(due_us, self._key, self._appended, (self._machine, batch.number, Error.NONE))

    def _appended(self, what: tuple[TransactionCoordinator, int, Error]) -> None:
        machine, batch, error = what
        if machine is self._machine:
            self._carry_out(machine.on_appended(self._env.now, batch, error))

    def stall(self, *, is_stalled: bool, refuses: bool) -> None:
        """The high watermark of the partition stands still, or follows what is appended again."""
        self.watermark.stall(is_stalled=is_stalled, refuses=refuses)
        held, self._held = ([], self._held) if is_stalled else (self._held, [])
        for batch in held:
            self._carry_out(self._machine.on_appended(self._env.now, batch, Error.NONE))

    # --- where it is --------------------------------------------------------------------------------------------------

    def resign(self) -> None:
        """Another broker leads from now on, or nobody: whoever waits has to look for it (``removeTransactions``)."""
        if self.node == NO_LEADER:
            return
        was_active, self.node, self.is_loading = not self.is_loading, NO_LEADER, False
        self._held.clear()
        if was_active:
            self._carry_out(self._machine.on_unloaded())

    def elect(self, node: int) -> None:
        """A broker leads from now on, and begins to read the log (``TransactionCoordinator.onElection``)."""
        self.node, self.is_loading = node, True

    def load(self, _: WorkerThreads, __: Mapping[str, int]) -> None:
        """The log has been read: what was decided is told to leaders again (``loadTransactionMetadata``)."""
        self.is_loading = False
        self.epoch += 1
        self._machine = self._make(self.epoch)
        for record in self._log.values():
            self._machine.replay(record)
        self._carry_out(self._machine.on_loaded(self._env.now))


def refused(request: object, error: Error) -> Acknowledgement | ProducerIdentity:
    """What a request is answered that is not worked on."""
    if isinstance(request, AddPartitionsToTxn):
        return Acknowledgement(error)
    return ProducerIdentity(error)
