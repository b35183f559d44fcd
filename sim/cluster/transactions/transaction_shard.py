"""The coordinator of one partition of ``__transaction_state``, on the broker that leads it.

It adds no rule: requests go to the machine of `sim.protocol.transactions`. What has been appended survives,
acknowledged or not, unless whoever leads next was dead or cut off then; a coordinator that loads it finds the last
record of each id.

Ids do not concern one another, and nothing happens to one while nobody comes to it. So what is known to arrive is
worked on when it is sent, append and all: its answer is the only event. Who comes to the id before that is over finds
it as it is then (`TransactionShard._catch_up`), and the rest takes place in its time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from groupsim.sim.cluster.shard.watermark import Watermark
from groupsim.sim.cluster.shard.worker_threads import WorkerThreads
from groupsim.sim.kernel.alarm import Alarm
from groupsim.sim.kernel.environment import Environment, Kind, Moment, Occurrence, deadline_key
from groupsim.sim.protocol.controller.partition import NO_LEADER, TRANSACTIONS_TOPIC, Name
from groupsim.sim.protocol.interface import Batch, Reply, Waiter
from groupsim.sim.protocol.messages import Acknowledgement, Error
from groupsim.sim.protocol.transactions.coordinator import Decision, Transaction, TransactionCoordinator
from groupsim.sim.protocol.transactions.messages import (
    AddPartitionsToTxn,
    ProducerIdentity,
    TopicPartition,
    TransactionRequest,
    WriteTxnMarkers,
)
from groupsim.sim.protocol.transactions.metadata import TransactionMetadata
from groupsim.sim.protocol.transactions.records import TransactionRecord
from groupsim.sim.protocol.transactions.states import TransactionState
from groupsim.sim.randomness import name_hash

Make = Callable[[int], TransactionCoordinator]
"""From the epoch. Its scans count from 0, wherever it is: brokers that were started again scan when they did before."""
Answered = Callable[[int, Acknowledgement], Occurrence]
"""When a broker is answered, and what; gives the event by which that arrives."""
_COMPLETE: Final = frozenset({TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT})
"""What is appended again and again until it is there (``TransactionMarkerChannelManager.retryLogAppends``)."""


@dataclass(frozen=True, slots=True, eq=False)
class Foreseen:
    """What was done for one transactional id ahead of the clock.

    Parameters
    ----------
    before : Transaction
        The id as it was.
    begins : (microseconds, key)
        When it is worked on.
    ends_us : int, microseconds
        When what that changes is in the log.
    work : callable
        Does it.
    answers : sequence of Occurrence
    """

    before: Transaction
    begins: Moment
    ends_us: int
    work: Callable[[], Decision]
    answers: Sequence[Occurrence]


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
    foresees : callable
        Whether nothing happens to brokers, so that all they do can be done ahead of the clock.

    Attributes
    ----------
    node, is_loading, watermark
        As of a `sim.cluster.groups.coordinator.Coordinator`.
    groups : tuple of str
        None: members that produce are loud anyway.
    epoch : int
        How many coordinators there have been before.
    """

    groups: Iterable[str] = ()

    def __init__(
        self, env: Environment, number: int, node: int, append_us: int, make: Make,
        answer: Callable[[Waiter, object], None], send: Callable[[TransactionShard, WriteTxnMarkers, bool], None],
        foresees: Callable[[], bool],
    ) -> None:  # fmt: skip
        self._env = env
        self.number = number
        self.node = self.first_node = node
        self.is_loading = False
        self.watermark = Watermark(append_us)
        self.epoch = 0
        self._make, self._answer, self._send, self._foresees = make, answer, send, foresees
        self._machine = make(0)
        self._log: dict[str, TransactionRecord] = {}
        """Last record of each id."""
        self._marks: dict[int, dict[str, TransactionRecord]] = {}
        """Replica that follows no more -> what it has."""
        self._decided: dict[str, TransactionRecord] = {}
        """The record whose markers were sent last, by id."""
        self._held: list[int] = []
        """Batches that are not committed, or not even appended, while the high watermark stands still."""
        self._foreseen: dict[str, list[Foreseen]] = {}
        """What was done ahead of the clock, by id and in order, over or not."""
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
            if request.transactional_id is not None:  # an idempotent producer's request concerns no id
                self._catch_up(request.transactional_id)
            self._carry_out(self._machine.on_request(self._env.now, request, waiter))

    def ask_at(self, time: int, request: AddPartitionsToTxn, answered: Answered) -> None:
        """A broker's request arrives at ``time``."""
        name = request.transactional_id
        if self._machine.is_settled(name) and self._may_foresee(name, time):
            self._work_ahead(name, (time, self._key), partial(self._machine.on_request, time, request, answered))
        else:
            self._env.at(time, self._key, lambda _: self.ask(request, answered))

    def marked_at(self, moment: Moment, markers: WriteTxnMarkers, partitions: Sequence[TopicPartition]) -> None:
        """Leaders that have written a marker answer; of answers at one instant the last decides what is missing."""
        name = markers.transactional_id
        if self._may_foresee(name, moment[0]):
            self._work_ahead(name, moment, partial(self._note_markers, moment[0], markers, partitions))
        else:
            self._env.at(*moment, self._marked, (markers, partitions))

    def _marked(self, what: tuple[WriteTxnMarkers, Sequence[TopicPartition]]) -> None:
        """A former coordinator's marker is nothing to this one, which has sent its own."""
        markers, partitions = what
        if markers.coordinator_epoch == self.epoch and not self.is_loading:
            self._catch_up(markers.transactional_id)
            self._carry_out(self._note_markers(self._env.now, markers, partitions))

    def pass_over(self, name: str, decided: TransactionMetadata, moment: Moment) -> None:
        """An id has gone through transactions that nobody has looked at; leaders answer for the last one's markers."""
        markers = WriteTxnMarkers(
            name, decided.producer_id, decided.epoch, True, decided.partitions, self.epoch, decided.version
        )
        self._foreseen[name] = []
        self._machine.restore(self._env.now, name, Transaction(decided, unmarked={*decided.partitions}))
        self._keep(Batch(0, (record := TransactionRecord(name, decided),)))
        self._decided[name] = record
        self.marked_at(max(moment, self._env.moment), markers, decided.partitions)

    def metadata(self, name: str) -> TransactionMetadata | None:
        """What is known of an id, all that was foreseen included; None: nothing, or nothing any more."""
        known = self._machine.transactions.get(name)
        return None if known is None else known.metadata

    def free_from(self, name: str) -> int:
        """When what was foreseen of an id is over, microseconds."""
        known = self._foreseen.get(name)
        return known[-1].ends_us if known else 0

    def _note_markers(self, now: int, markers: WriteTxnMarkers, partitions: Sequence[TopicPartition]) -> Decision:
        decision = Decision()
        for partition in partitions:
            decision.add(self._machine.on_marker(now, markers, partition, Error.NONE))
        return decision

    # --- ahead of the clock -------------------------------------------------------------------------------------------

    def _may_foresee(self, name: str, time: int) -> bool:
        """Whether what is done for an id at ``time`` is over before a scan, and begins after what was foreseen last."""
        known = self._foreseen.get(name)
        follows = not known or known[-1].ends_us < time or self._is_over(known[-1])
        return follows and self._foresees() and self._machine.deadline > self.watermark.appends(time)

    def _is_over(self, one: Foreseen) -> bool:
        return (one.ends_us, self._key) <= self._env.moment

    def _work_ahead(self, name: str, begins: Moment, work: Callable[[], Decision]) -> None:
        """Do at once what is to be done then, and append what that changes; waiters are those of `ask_at`."""
        before, ends_us = self._machine.copy(name), begins[0]
        decision = work()
        for batch in [*decision.batches]:
            ends_us = self.watermark.appends(begins[0])
            self._keep(batch)
            decision.add(self._machine.on_appended(ends_us, batch.number, Error.NONE))
        answers = [one.waiter(ends_us, one.response) for one in decision.replies if callable(one.waiter)]
        self._foreseen[name] = [*self._under_way(name), Foreseen(before, begins, ends_us, work, answers)]
        self._alarm.set(self._machine.deadline)

    def _catch_up(self, name: str) -> None:
        """Somebody comes to an id: what was foreseen and has not happened yet happens in its time."""
        under_way = self._under_way(name)
        self._foreseen[name] = []
        if under_way:
            self._machine.restore(self._env.now, name, under_way[0].before)
        for one in under_way:
            for answer in one.answers:
                answer.drop()
            if one.begins > self._env.moment:
                self._env.at(*one.begins, self._work, (name, one.work))
            else:
                self._carry_out(one.work(), one.begins[0])

    def _under_way(self, name: str) -> list[Foreseen]:
        return [one for one in self._foreseen.get(name, ()) if not self._is_over(one)]

    def _work(self, what: tuple[str, Callable[[], Decision]]) -> None:
        name, work = what
        self._catch_up(name)
        self._carry_out(work())

    # --- what the machine decides -------------------------------------------------------------------------------------

    def _carry_out(self, decision: Decision, since_us: int | None = None) -> None:
        """``since_us``: when it was decided, if not now."""
        for reply in decision.replies:
            self._reply(reply)
        for batch in decision.batches:
            self._append(batch, self._env.now if since_us is None else since_us)
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

    def _keep(self, batch: Batch) -> None:
        (record,) = batch.records
        self._log.pop(record.transactional_id, None)
        if record.value is not None:
            self._log[record.transactional_id] = record

    def _append(self, batch: Batch, since_us: int) -> None:
        (record,) = batch.records
        is_complete = record.value is not None and record.value.state in _COMPLETE
        if self.watermark.refuses and not is_complete:
            told = (self._machine, batch.number, Error.NOT_ENOUGH_REPLICAS)
            self._env.at(self._env.now, self._key, self._appended, told)
            return
        self._keep(batch)
        if self.watermark.is_stalled:
            self._held.append(batch.number)
        else:
            due_us = self.watermark.appends(since_us)
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

    def fall_behind(self, replica: int) -> None:
        """A replica has what there is now, and nothing that comes."""
        self._marks.setdefault(replica, dict(self._log))

    def catch_up(self, replica: int) -> None:
        """A replica has everything."""
        self._marks.pop(replica, None)

    def cut_back(self, replica: int) -> list[tuple[str, TransactionMetadata]]:
        """A replica is to lead, and may lack something: that is gone (``UnifiedLog.truncateTo``).

        None of it was committed, since the high watermark stood still, but if it is elected uncleanly. Ids of which
        another record is the last one now, with that.
        """
        before, self._log = self._log, self._marks.pop(replica, self._log)
        changed = ((name, one.value) for name, one in self._log.items() if before.get(name) is not one)
        return [(name, known) for name, known in changed if known is not None]

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
