"""What an application does between two polls that produces in transactions, as a SimPy process.

A batch is what is processed from one poll() to the next, in whole records. The producer sends while it is processed:
the first record opens the transaction as soon as it is processed, the others go out when the batch is done. Then
sendOffsetsToTransaction() and commitTransaction() keep the thread from the next poll() until they are answered. What
cannot be committed is aborted, and read again from where the transaction began (``KafkaProducer``,
``TransactionManager``, Kafka 4.4). Under TV1 the producer itself adds partitions to its transaction, and asks for
another epoch only when a batch has failed.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from functools import partial
from typing import Any

import numpy as np
import simpy

from groupsim.sim.books.offsets.exact_ledger import ExactLedger
from groupsim.sim.books.producing.transactions import ProducerLife
from groupsim.sim.books.truncation import Truncation
from groupsim.sim.client.fetching.fetcher import Fetcher
from groupsim.sim.client.in_flight import InFlight
from groupsim.sim.client.incarnation import Incarnation
from groupsim.sim.client.polling.poll_loop import PollLoop
from groupsim.sim.client.polling.poll_schedule import NOT_INSIDE, PollSchedule
from groupsim.sim.client.producing.first_record import NOTHING, FirstRecord, first_of_flow, first_of_records
from groupsim.sim.client.producing.producer_requests import OF_GROUP, OF_TRANSACTIONS, ProducerRequests, Step, role_of
from groupsim.sim.client.producing.transaction_input import TransactionInput
from groupsim.sim.client.producing.transaction_output import TransactionOutput, partitions_of
from groupsim.sim.kernel.environment import Kind, Occurrence, deadline_key
from groupsim.sim.kernel.errand import Errand
from groupsim.sim.protocol.controller.partition import OFFSETS_TOPIC
from groupsim.sim.protocol.effects import Raise
from groupsim.sim.protocol.messages import Api, Error, Positions, TxnOffsetCommit
from groupsim.sim.protocol.transactions.messages import (
    TV2,
    AddPartitionsToTxn,
    EndTxn,
    InitProducerId,
    TopicPartition,
)
from groupsim.sim.randomness import mean_of
from groupsim.sim.units import MS

_ADD_US = 20 * MS
"""``TransactionManager.ADD_PARTITIONS_RETRY_BACKOFF_MS``: so soon the first partition is asked for again."""
_FATAL = frozenset(
    {Error.PRODUCER_FENCED, Error.INVALID_PRODUCER_EPOCH, Error.INVALID_PRODUCER_ID_MAPPING, Error.INVALID_TXN_STATE}
)
"""On transactional requests, of which a batch is none (``TransactionManager.AddPartitionsToTxnHandler``,
``TxnOffsetCommitHandler``)."""


class TransactionLoop:
    """Of one client.

    Parameters
    ----------
    client : Incarnation
    poll_loop, fetcher, in_flight
        Of that client.

    Attributes
    ----------
    life : ProducerLife
    output : TransactionOutput
    requests : ProducerRequests
    timeout_us : int, microseconds
        ``transaction.timeout.ms``.
    """

    def __init__(self, client: Incarnation, poll_loop: PollLoop, fetcher: Fetcher, in_flight: InFlight) -> None:
        consumer, world = client.consumer, client.world
        produces = world.specs[consumer.group_name].produces
        assert produces is not None
        assert world.transactions is not None
        self._client = client
        self._env = client.env
        self._poll_loop = poll_loop
        self._fetcher = fetcher
        self._produces = produces
        self._host = world.transactions
        self.timeout_us = produces.producer.transaction_timeout_us
        self._id = produces.transactional_id.format(member=consumer.name, incarnation=consumer.incarnation)
        timeout_us = produces.producer.request_timeout_us
        inputs, partitions = client.books.partitions, world.catalog.counts[produces.to]
        self.output = TransactionOutput(produces.to, partitions, self._id, timeout_us, inputs)
        self.life = ProducerLife(consumer.name, consumer.incarnation, self._id)
        self._send_key = deadline_key(consumer.entity, Kind.FETCH)
        self.requests = ProducerRequests(client, in_flight, world.transactions, self._id, produces.producer)
        self._version = world.transactions.version
        self._added: set[TopicPartition] = set()
        """TV1: partitions of the open transaction, as the coordinator has confirmed."""
        self._owes_epoch = False
        """TV1: a batch has failed, so that its sequences are not known (``clientSideEpochBumpRequired``)."""
        self._input = TransactionInput()
        self._error = Error.NONE
        """Why the open transaction can only be aborted."""
        self._identity = ("", -1)
        self._processed = self._env.event()
        self._sends = 0
        self._planned: Occurrence | None = None
        self._begins_at: tuple[int, PollSchedule | None] = (-1, None)
        """A poll() before which nothing was processed, and the schedule by which that is."""
        self._first: Errand | None = None
        """The send that opens the transaction, until it is acknowledged."""

    def start(self, now: int) -> None:
        """initTransactions()."""
        self._host.enrol(self._id, self._client.group.name)
        self._poll_loop.hold(now)
        self._env.process(self.run())

    def run(self) -> Generator[simpy.Event, Any, None]:
        """Initialise, then end the transaction of one batch after the other."""
        yield from self._initialise()
        self._go_on()
        while True:
            yield self._processed
            self._processed = self._env.event()
            yield from self._transaction(self._env.now)
            self._go_on()

    def _go_on(self) -> None:
        """Back into poll(), at once or after transactions that are worked out ahead."""
        if not (self._client.is_over or self._client.elision.park(self._env.now)):
            self.go_on()

    def go_on(self) -> None:
        """Back into poll()."""
        client, now = self._client, self._env.now
        self._poll_loop.release(now)
        self._fetcher.poll_late(now)
        late, client.late = client.late, []
        for action in late:
            action()
        if not client.consumer.reaches(now, "after_poll"):
            client.drive(now)

    # --- batches ------------------------------------------------------------------------------------------------------

    def look(self, now: int) -> None:
        """Somebody looks at the thread: if it is done with a batch, it does not poll yet."""
        schedule, loop, held = self._poll_loop.schedule, self._poll_loop, self._client.consumption.partitions
        if loop.is_held:
            return
        self._fetcher.poll(now)
        new = [position for position in held.tolist() if position not in self._input.begun]
        if new:
            at = self._positions(now)
            fresh = {position: at[position] for position in new}
            self._input.begun.update(fresh)
            self.output.sent.update(fresh)
            self._plan_first_send(now)
        machine = self._client.machine
        if machine.generation >= 0:
            self._identity = (machine.member_id, machine.generation)
        # Who reads nothing any more, because leaders are gone, has nothing of the batch in hand left to process.
        is_idle = schedule.next_poll(now) == now if schedule is not None else not loop.is_at_work
        if not is_idle or loop.stuck_until > now or self._begins_at == (now, schedule):
            return
        at = self._positions(now)
        if any(at.get(position, first) > first for position, first in self._input.begun.items()):
            self._fetcher.pacing.note_batch(now, self._input.begun)
            loop.hold(now)
            self._client.consumption.stand_still(now)
            self._fetcher.pass_over(now, at)
            self._processed.succeed()
        else:
            self._begins_at = now, schedule
            self._plan_first_send(now)

    def _positions(self, now: int) -> dict[int, int]:
        """Up to where it has processed, or will have, what it reads, and what it would read if somebody led it."""
        holding = self._client.consumption.holding
        offsets = self._client.books.ledger.whole_positions(holding, now)
        at = {one: offset for one, offset in self._fetcher.unread.items() if one in self._input.begun}
        at.update(zip(holding.partitions.tolist(), offsets.tolist(), strict=True))
        return {position: max(offset, self.output.sent.get(position, 0)) for position, offset in at.items()}

    def drop(self, positions: Positions) -> None:
        """Partitions are given up inside poll(): what is opened for them is aborted, and read by the next owner."""
        for position in positions.tolist():
            begun, sent = self._input.drop(position), self.output.sent.pop(position, 0)
            if sent > begun:
                self._error = Error.ILLEGAL_GENERATION

    def _plan_first_send(self, now: int) -> None:
        """The first record of the batch that follows is sent when it is processed, if it comes in this pass."""
        schedule = self._poll_loop.schedule
        if schedule is None or self._client.is_over:
            return
        self._sends += 1
        if self._planned is not None:
            self._planned.drop()
        due = self._first_record(now, schedule).due_us
        if due < schedule.next_poll(now + 1):
            self._planned = self._env.at(due, self._send_key, self._send_first, self._sends)

    def _first_record(self, now: int, schedule: PollSchedule) -> FirstRecord:
        """The first record of the batch under way, of partitions of which that has some by its end."""
        client, until = self._client, schedule.next_poll(now + 1)
        ledger, processed = client.books.ledger, self._positions(until)
        begun = {
            one: at for one, at in self._input.begun.items() if processed.get(one, -1) > at == self.output.sent[one]
        }
        if not begun:
            return NOTHING
        if isinstance(ledger, ExactLedger):
            done = self._positions(now)
            return first_of_records(ledger, client.consumption.holding, now, begun, done, until)
        return first_of_flow(ledger, now, begun, now + client.world.timing.poll_us, self.cost_us)

    @property
    def cost_us(self) -> int:
        """What a record takes, microseconds."""
        client = self._client
        return max(round(mean_of(client.processing.per_record) * client.consumer.slowdown()), 1)

    def _send_first(self, number: int) -> None:
        client, now, schedule = self._client, self._env.now, self._poll_loop.schedule
        if client.is_over or number != self._sends or self._poll_loop.is_held or schedule is None:
            return
        if client.frozen is not None:
            client.late.append(partial(self._send_first, number))
            return
        one = self._first_record(now, schedule)
        if one.is_done:
            self._first = Errand(self._env, self._send({one.position: self._input.begun[one.position] + 1}))
        else:
            self._plan_first_send(now)

    def _initialise(self) -> Step:
        body = InitProducerId(self._id, self._produces.producer.transaction_timeout_us)
        response = yield from self.requests.ask(OF_TRANSACTIONS, Api.INIT_PRODUCER_ID, body)
        if not self._client.is_over:
            self._client.books.transactions.begin(self.life)
            self.output.adopt(response.producer_id, response.epoch)

    # --- one transaction ----------------------------------------------------------------------------------------------

    def _transaction(self, now: int) -> Step:
        """From the end of a batch until the thread may poll again; a killed one never gets there."""
        self._input.end_at(self._positions(now))
        if self._first is not None:
            yield self._first.done
            self._first = None
        yield from self._send(self._input.target)
        yield from self._pass("before_commit")
        if self._error is Error.NONE:
            yield from self._send_offsets()
        yield from self._pass("before_end_txn")
        is_committed = self._error is Error.NONE
        yield from self._end(is_committed=is_committed)
        self._error = Error.NONE
        if is_committed:
            self.life.took(self._env.now - now)
            self._input.commit()
            yield from self._pass("after_commit")
        else:
            self._rewind()

    def _pass(self, point: Any) -> Step:
        """A point at which the process may die; then nothing follows."""
        if self._client.is_over or self._client.consumer.reaches(self._env.now, point):
            yield self._env.event()

    def _send(self, to: Mapping[int, int]) -> Step:
        """Send the output of what was processed up to ``to``; wait until it is acknowledged."""
        body = self.output.take(to)
        if body is None:
            return
        if (yield from self._add(Api.ADD_PARTITIONS_TO_TXN, partitions_of(body))) is not Error.NONE:
            return
        answer = yield from self.requests.ask(role_of(body), Api.PRODUCE, body)
        if answer.error is not Error.NONE:
            self._error, self._owes_epoch = answer.error, self._version < TV2
        yield from self._pass("after_send")

    def _add(self, api: Api, partitions: set[TopicPartition]) -> Step:
        """TV1: the coordinator has to know of partitions before anything is sent to them."""
        new = tuple(sorted(partitions - self._added))
        if self._version >= TV2 or not new:
            return Error.NONE
        early_us = None if self._added else _ADD_US
        body = AddPartitionsToTxn(self._id, self.output.producer_id, self.output.epoch, new, self._version)
        answer = yield from self.requests.ask(OF_TRANSACTIONS, api, body, early_us=early_us)
        if answer.error is Error.NONE:
            self._added.update(new)
        else:
            yield from self._refused(answer.error)
        return answer.error

    def _refused(self, error: Error) -> Step:
        """A transactional request is: its transaction can only be aborted, if the producer can go on at all."""
        self._error = error
        if error in _FATAL:
            yield from self._give_up(error)

    def _give_up(self, error: Error) -> Step:
        """What cannot be mended ends the application."""
        if not self._client.is_over:
            self._client.fail(self._env.now, Raise(error))
        yield self._env.event()

    def _send_offsets(self) -> Step:
        """sendOffsetsToTransaction(), with what groupMetadata() said in the last poll()."""
        member_id, generation = self._identity
        body = TxnOffsetCommit(
            member_id, self._client.machine.instance_id, generation, *self._input.offsets(), self.output.producer_id,
            transactional_id=self._id, producer_epoch=self.output.epoch,
        )  # fmt: skip
        where = (OFFSETS_TOPIC, self._host.offsets_partition_of(self._client.group.name))
        if (yield from self._add(Api.ADD_OFFSETS_TO_TXN, {where})) is not Error.NONE:
            return
        response = yield from self.requests.ask(OF_GROUP, Api.TXN_OFFSET_COMMIT, body)
        if response.error is not Error.NONE:
            yield from self._refused(response.error)

    def _end(self, *, is_committed: bool) -> Step:
        """commitTransaction() or abortTransaction()."""
        if self._version < TV2 and not self._added:
            return  # nothing was sent: the coordinator knows of no transaction
        body = EndTxn(self._id, self.output.producer_id, self.output.epoch, is_committed, self._version)
        ask = OF_TRANSACTIONS, Api.END_TXN, body
        answer = self.requests.send(*ask)
        yield from self._pass("after_end_txn")
        response = yield from self.requests.insist(answer, *ask)
        if response.error is Error.NONE:
            self.output.adopt(response.producer_id, response.epoch)
            self._added = set()
            yield from self._bump()
        else:
            yield from self._give_up(response.error)

    def _bump(self) -> Step:
        """TV1: another epoch, with which sequences begin anew (``TransactionManager.beginCompletingTransaction``)."""
        if self._owes_epoch:
            self._owes_epoch = False
            body = InitProducerId(
                self._id, self._produces.producer.transaction_timeout_us, self.output.producer_id, self.output.epoch
            )
            response = yield from self.requests.ask(OF_TRANSACTIONS, Api.INIT_PRODUCER_ID, body)
            if response.error is Error.NONE:
                self.output.adopt(response.producer_id, response.epoch)
            else:
                yield from self._give_up(response.error)

    def _rewind(self) -> None:
        """The application seeks to where the aborted transaction began."""
        self._input.rewind()
        begun, held = self._input.begun, self._client.consumption.partitions
        self._client.consumption.rewind(np.array([begun[one] for one in held.tolist()], np.int64))
        self._fetcher.seek(begun)
        self.output.begin_at(begun)

    def skip(self, gone: Truncation) -> None:
        """Some of what it reads was in a log and is not any more."""
        self._input.skip(gone, self._positions(self._env.now), self.output)

    # --- transactions that are worked out ahead -----------------------------------------------------------------------

    @property
    def is_between(self) -> bool:
        """Whether all that it has processed is committed, and it stands there with all that it reads."""
        holding = self._client.consumption.holding
        at = dict(zip(holding.partitions.tolist(), holding.offset.tolist(), strict=True))
        return self._first is None and not self._owes_epoch and at == self._input.begun == self.output.sent

    @property
    def owns_id(self) -> bool:
        """Whether nobody else has begun to use its transactional.id."""
        return self._host.is_owned(self._id, self.output.producer_id, self.output.epoch)

    def pass_over(self, transactions: int, to: Mapping[int, int], took_us: int, took_us_max: int) -> None:
        """It has committed so many transactions that nobody has looked at, up to these offsets."""
        self.output.adopt(self.output.producer_id, self.output.epoch + transactions)
        self._input.begun = dict(to)
        self.output.begin_at(to)
        self.life.took_us += took_us
        self.life.took_us_max = max(self.life.took_us_max, took_us_max)

    # --- the end of the process ---------------------------------------------------------------------------------------

    def flush(self, now: int) -> None:
        """The process is about to die: what it has processed by now was sent."""
        if self._poll_loop.is_held or self._client.frozen is not None or not self.output.sent:
            return
        schedule = self._poll_loop.schedule
        if schedule is None or schedule.inside_until(now) != NOT_INSIDE:
            return
        body = self.output.take(self._positions(now))
        if body is not None and (self._version >= TV2 or partitions_of(body) <= self._added):
            self.requests.send(role_of(body), Api.PRODUCE, body)

    def end(self, error: Error) -> None:
        """The application ends with this error."""
        self.life.ended_by = error.value
