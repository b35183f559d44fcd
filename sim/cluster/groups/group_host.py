"""A group at its coordinator: requests go to the machine; its replies, facts, records and deadline are carried out.

It adds no rule, and keeps nothing but what is on its way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import TypeVar

from groupsim.sim.books.group_books import GroupBooks
from groupsim.sim.catalog import Catalog
from groupsim.sim.cluster.groups.assignment import Layouts
from groupsim.sim.cluster.groups.group_protocols import CLASSIC_ONLY, ZOOKEEPER_ONLY, new_machine
from groupsim.sim.cluster.groups.open_batch import OpenBatch, withdraw
from groupsim.sim.cluster.groups.outcomes import exchange_of, extend
from groupsim.sim.cluster.groups.succession import reverted, standing, succession
from groupsim.sim.cluster.groups.unknown_partitions import REFUSED, known_part, told
from groupsim.sim.cluster.interface import FastPath
from groupsim.sim.cluster.shard.event_loop import EventLoop
from groupsim.sim.cluster.shard.log import GroupLog
from groupsim.sim.cluster.shard.watermark import Watermark
from groupsim.sim.kernel.alarm import Alarm
from groupsim.sim.kernel.environment import Environment, Kind, deadline_key
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.model import Cluster, Group, Scenario
from groupsim.sim.protocol.interface import Batch, Outcome, Reply, Task
from groupsim.sim.protocol.messages import Error, OffsetCommit, OffsetFetch, TxnOffsetCommit, failed
from groupsim.sim.protocol.offsets.group_offsets import GroupOffsets
from groupsim.sim.randomness import Streams, name_hash
from groupsim.sim.units import FOREVER

_WRITES_NOTHING = -1
"""Number of a batch without records, of which its machine knows nothing."""

Answer = TypeVar("Answer")


class GroupHost:
    """One group.

    Parameters
    ----------
    env : Environment
    scenario : Scenario
    streams : Streams
    spec : Group
    catalog : Catalog
    protocols : frozenset of str
    slots : int
        Number of consumers that it can have.
    loop : EventLoop
    watermark : Watermark
        Of its shard.

    Attributes
    ----------
    fast_path : FastPath
        Set when the group's consumers are there.
    terms : int
        How many coordinators the group has had.
    is_active : bool
        It has one now.
    has_phases : bool
        Members may be on their way through a phase of a rebalance together (`FastPath.settle_readers`).
    node : int
        Broker of the coordinator that it has, or had last.
    watermark
        As given.
    log : GroupLog
    follows_topics : bool
        The coordinator looks at metadata, not the members.
    """

    fast_path: FastPath
    node: int

    def __init__(
        self, env: Environment, scenario: Scenario, streams: Streams, spec: Group, catalog: Catalog,
        protocols: frozenset[str], slots: int, loop: EventLoop, watermark: Watermark,
    ) -> None:  # fmt: skip
        self._env = env
        self._loop = loop
        name = self.name = spec.name
        self.cluster: Cluster = scenario.cluster
        self._service_us = scenario.cluster.timing.service_us
        self.watermark = watermark
        timeout_us = scenario.cluster.broker_config.offsets_commit_timeout_us
        self.books = GroupBooks(env, scenario, spec, catalog, slots)
        self.log = GroupLog(timeout_us, watermark, self.books.ledger.offsets)
        self.layouts = Layouts(self.books.partitions)
        self.protocols = protocols
        self.follows_topics = self.protocols not in (CLASSIC_ONLY, ZOOKEEPER_ONLY)
        self._batch = OpenBatch(watermark, self.protocols)
        late = streams.draw(scenario.cluster.timing.initial_delay_late, "initial-delay", name)
        parts = (self.protocols, self.books.partitions, self.layouts, late)
        self._make = partial(new_machine, env, scenario, spec, *parts)
        self.machine = self._make(catalog.counts)
        self.offsets = self._new_offsets()
        self.terms = 1
        self.is_active = True
        self.has_phases = False
        self._is_expiring = False
        self._task_us = streams.draw(scenario.cluster.timing.pattern_resolve, "pattern-resolve", name)
        self._task_numbers = count()
        self._task_key = deadline_key(name_hash("task", name), Kind.TIMER)
        self._alarm = Alarm(env, deadline_key(name_hash("group", name), Kind.TIMER), self._fire)

    def _new_offsets(self) -> GroupOffsets:
        keeper = self.machine.at_broker if self.protocols == ZOOKEEPER_ONLY else self.machine
        return GroupOffsets(keeper, self.books.partitions, self.cluster.config, self.books.ledger.offsets)

    # --- requests -----------------------------------------------------------------------------------------------------

    def handle(self, exchange: Exchange) -> None:
        """Work on a request; what is not answered now is parked in the machine."""
        now, body = self._env.now, exchange.body
        if isinstance(body, OffsetFetch):
            self._fetch_offsets(exchange, body)
            return
        asked = known_part(self.books.partitions, exchange)
        if asked is None:
            self._answer(Reply(exchange, REFUSED), now + self._service_us)
            return
        may_decide = self.fast_path.before_request(asked, is_given_up=exchange.abandoned)
        outcome = self._work(now, exchange, asked)
        if self.watermark.is_behind:
            self._hold_back(now, outcome)
        if may_decide or outcome.facts or outcome.tasks:
            self._settle(outcome)
            return
        for reply in outcome.replies:
            self._answer(reply, now + self._service_us)
        self._alarm.set(self._deadline)

    def _fetch_offsets(self, exchange: Exchange, body: OffsetFetch) -> None:
        if self.books.is_contested:
            # Others commit the same partitions: what quiet members have committed by now counts.
            self.fast_path.wake_all()
        response = self.offsets.fetch(body)
        self._answer(Reply(exchange, response.as_a_whole()), self._env.now + self._service_us)

    def _work(self, now: int, exchange: Exchange, asked: object) -> Outcome:
        """Work on a request, and on whatever is in the log by ``now``."""
        meets_batch = self._batch.is_met_by(now, asked, self.machine)
        outcome = self.machine.on_request(now, asked, exchange)
        if meets_batch:
            for reply in self._batch.add(now, outcome):
                self._answer(reply, self._batch.committed_us + self._service_us)
        return outcome if outcome.batch is None and self.log.due > now else self._commit_log(now, outcome)

    def _answer(self, reply: Reply, leave_us: int) -> None:
        exchange = exchange_of(reply)
        self.books.requests.count(exchange, reply.response.error)
        exchange.connection.reply(exchange, reply.response, leave_us)

    def receive(self, exchanges: Sequence[Exchange], times: Sequence[int]) -> None:
        """Requests of a rebalance that have arrived by now, of members that are known here."""
        arrivals = [(time, exchange.body, exchange) for exchange, time in zip(exchanges, times, strict=True)]
        # The latest may end the phase; the order of the others decides nothing.
        arrivals.append(arrivals.pop(max(range(len(times)), key=times.__getitem__)))
        latest = arrivals[-1][0]
        if self.log.due > latest:
            outcome = self.machine.on_requests(arrivals)
            if outcome.batch is not None:
                outcome = self._commit_log(latest, outcome)
        else:
            outcome = Outcome()
            for time, _, exchange in arrivals:
                done = self._work(time, exchange, exchange.body)
                outcome.replies += done.replies
                outcome.facts += done.facts
        if outcome.replies or outcome.facts:
            self._settle(outcome)

    @property
    def is_free(self) -> bool:
        """Whether a request that comes now is worked on at once."""
        return self._loop.is_free

    # --- the log and time ---------------------------------------------------------------------------------------------

    def _commit_log(self, now: int, outcome: Outcome) -> Outcome:
        """Append what is handed out; what is committed by ``now`` goes on at once."""
        self._append(now, outcome)
        while (batch := self.log.pop(now)) is not None:
            extend(outcome, self.machine.on_appended(now, batch, Error.NONE))
            self._append(now, outcome)
        return outcome

    def _append(self, now: int, outcome: Outcome) -> None:
        batch, outcome.batch = outcome.batch, None
        if batch is None:
            return
        if self.watermark.refuses and batch.records:
            extend(outcome, self._give_up(now, batch, Error.NOT_ENOUGH_REPLICAS))
            outcome.facts += reverted(self.machine) if self.log.is_empty else ()
            self._append(now, outcome)
            return
        self.log.append(now, batch)
        if not self.watermark.is_stalled:
            self._committed(now + outcome.charged_us, batch)

    def _hold_back(self, now: int, outcome: Outcome) -> None:
        """Who writes nothing waits for what is not committed, like everybody else in the shard."""
        waiting = withdraw(outcome)
        if waiting:
            self.log.hold(now, Batch(_WRITES_NOTHING, replies=waiting))

    def _committed(self, now: int, batch: Batch) -> None:
        """The high watermark passes a batch: who waits for it is answered."""
        for reply in batch.replies:
            self._acknowledge(now, reply, batch)
        if not batch.is_awaited and self.protocols != CLASSIC_ONLY and batch.number != _WRITES_NOTHING:
            self.machine.on_appended(now, batch.number, Error.NONE)

    def _acknowledge(self, now: int, reply: Reply, batch: Batch) -> None:
        """What is answered when it is in the log; offsets count at once."""
        exchange, committed_us = exchange_of(reply), self.watermark.passes(now)
        if isinstance(exchange.body, OffsetCommit):
            committed_us = self.watermark.appends(now)  # the wait for followers is in the answer's latency
            self.fast_path.renewed(now, exchange.body.member_id)
            for record in batch.records:
                moment = (now, exchange.connection.request_key)
                self.books.ledger.commit(record.positions, record.offsets, moment, contested=self.books.is_contested)
                self.offsets.committed(now, record.positions)
        elif isinstance(exchange.body, TxnOffsetCommit):
            self.offsets.add_pending(batch.records)
        elif batch.number != _WRITES_NOTHING:
            self.books.requests.count_busy((exchange.sent_us,))
        self._answer(told(reply), committed_us + self._service_us)

    @property
    def _deadline(self) -> int:
        """When the machine, the log or an offset wants something, microseconds; nothing does while it is unloaded.

        Nor does it once more while a timer that is due waits for its turn.
        """
        if not self.is_active or self._is_expiring:
            return FOREVER
        due: int = self.machine.deadline
        return min(due, self.log.due, self.offsets.due)

    def _fire(self, now: int) -> None:
        """A timer is due: from now on it is an event like any other (``CoordinatorTimerImpl``, Kafka 4.4)."""
        if self._loop.is_free and not self._loop.is_metered:
            self._expire()
        else:
            self._is_expiring = True
            self._loop.submit(self._expire)

    def _expire(self) -> None:
        now, self._is_expiring = self._env.now, False
        if not self.is_active:
            return
        self.fast_path.before_deadline(now)
        outcome = self._commit_log(now, Outcome())
        for batch in self.log.expired(now):
            extend(outcome, self._give_up(now, batch, Error.REQUEST_TIMED_OUT))
        extend(outcome, self.machine.on_deadline(now))
        outcome = self._commit_log(now, outcome)
        if self.offsets.due <= now:
            extend(outcome, self.offsets.on_deadline(now))
            outcome = self._commit_log(now, outcome)
        self._settle(outcome)

    def administer(self, call: Callable[[GroupOffsets], tuple[Answer, Outcome]]) -> Answer:
        """Have an administrator's request worked on at once; the answer."""
        self.fast_path.before_deadline(self._env.now)
        answer, outcome = call(self.offsets)
        self._settle(self._commit_log(self._env.now, outcome))
        return answer

    def end_transaction(self, producer_id: int, *, is_committed: bool) -> None:
        """A marker on the group's offsets partition: what the transaction has pending is committed, or dropped."""
        self.books.note_commit(self.offsets.end_transaction(producer_id, is_committed=is_committed))
        self.offsets.watch(self._env.now)
        self._alarm.set(self._deadline)

    def _settle(self, outcome: Outcome) -> None:
        """Write down what happened, answer, and watch the next deadline."""
        self.books.note(outcome.facts)
        if outcome.facts:
            self.offsets.watch(self._env.now)
        if self.protocols != ZOOKEEPER_ONLY:
            self._loop.settle(outcome)
        for task in outcome.tasks:
            done_us = self._env.now + self._task_us(next(self._task_numbers))
            self._env.at(done_us, self._task_key, self._finish, (task, self.terms))
        leave, replies = self._env.now + self._service_us + outcome.charged_us, outcome.replies
        self.books.requests.count_answers(replies)
        for reply in self.fast_path.after_decision(replies, leave):
            exchange = exchange_of(reply)
            exchange.connection.reply(exchange, reply.response, leave)
        self._alarm.set(self._deadline)

    def on_metadata(self, image: Mapping[str, int]) -> None:
        """Topics have been created or deleted, or have grown: topic -> number of partitions."""
        if self.follows_topics:
            self._settle(self._commit_log(self._env.now, self.machine.on_metadata(self._env.now, image)))

    def on_topic_deleted(self, topic: str) -> None:
        """Nobody goes on from what is committed of a topic that is no more."""
        gone = self.books.partitions.gone(topic)
        if gone.size:
            self.fast_path.before_deadline(self._env.now)
            self._settle(self._commit_log(self._env.now, self.offsets.topics_deleted(gone)))

    def _finish(self, work: tuple[Task, int]) -> None:
        """A task is done in the background; nobody waits for one that a former coordinator began."""
        now, (task, term) = self._env.now, work
        if term == self.terms and self.is_active:
            self._settle(self._commit_log(now, self.machine.on_task_done(now, task.key, task.run())))

    # --- where the coordinator is -------------------------------------------------------------------------------------

    @property
    def is_calm(self) -> bool:
        """Whether it has a coordinator that can work, and appends are committed at once: members may be quiet."""
        return self.is_active and not self.watermark.is_stalled and not self._loop.is_held

    def unload(self) -> None:
        """The broker leads the group's partition no more: whoever waits is told so (``GMM.onUnloaded``)."""
        now = self._env.now
        for batch in self.log.clear():
            self._refuse(batch, Error.NOT_COORDINATOR)
        self._left = standing(self.machine)
        self.is_active = False
        for reply in self.machine.on_unloaded(now).replies:
            self._answer(reply, now + self._service_us)
        self._alarm.set(FOREVER)

    def load(self, node: int, image: Mapping[str, int]) -> None:
        """The coordinator on another broker has read the log (``GMM.replay``, ``GMM.onLoaded``)."""
        self.node, now = node, self._env.now
        self.machine = self._make(image, before=self.machine)
        self.offsets = self._new_offsets().after(self.offsets)
        for record in self.log.records:
            self.machine.replay(record)
        self.terms += 1
        self.is_active = True
        outcome = self.machine.on_loaded(now)
        self.offsets.watch(now)
        self.books.note(succession(self._left, standing(self.machine)))
        self._settle(self._commit_log(now, outcome))

    def on_watermark(self) -> None:
        """The high watermark stands still, or goes on: then all that was held is committed."""
        outcome, now = Outcome(), self._env.now
        for batch in [] if self.watermark.is_stalled else self.log.release():
            self._committed(now, batch)
            if batch.is_awaited:
                extend(outcome, self.machine.on_appended(now, batch.number, Error.NONE))
                self._append(now, outcome)
        if self.is_active:
            self._settle(outcome)

    def _give_up(self, now: int, batch: Batch, error: Error) -> Outcome:
        """Nobody waits for a batch any longer: it is refused, or late, and then it may be committed one day."""
        self._refuse(batch, Error.COORDINATOR_NOT_AVAILABLE)
        if batch.number == _WRITES_NOTHING:
            return Outcome()
        told = error if batch.is_awaited or error is not Error.REQUEST_TIMED_OUT else Error.NONE
        outcome: Outcome = self.machine.on_appended(now, batch.number, told)
        return outcome

    def _refuse(self, batch: Batch, error: Error) -> None:
        for reply in batch.replies:
            refused = Reply(reply.waiter, failed(exchange_of(reply).body, error))
            self._answer(refused, self._env.now + self._service_us)

    # --- quiet members ------------------------------------------------------------------------------------------------

    def suspend(self, member_id: str) -> int:
        """From now on the member's renewals are arithmetic; its last renewal so far, microseconds."""
        renewed_us: int = self.machine.suspend(member_id)
        self._alarm.set(self._deadline)
        return renewed_us

    def advance(self, now: int, member_ids: Sequence[str], sent_us: Sequence[int]) -> None:
        """Heartbeats of quiet members have come that only report the group's epoch; each when it was sent."""
        outcome = self.machine.advance(now, member_ids)
        self.books.requests.count_busy(sent_us)
        self.books.note(outcome.facts)
        if outcome.batch is not None:
            self.log.write(outcome.batch)
            self.machine.on_appended(now, outcome.batch.number, Error.NONE)

    def rouse(self, member_id: str, renewed_us: int) -> None:
        """The member is loud again; its session counts from its last renewal."""
        self.machine.resume(member_id, renewed_us)
        self._alarm.set(self._deadline)

    def finish(self, horizon: int) -> None:
        """Cut what is open at the horizon."""
        self.books.finish(horizon, self.machine.generation)
