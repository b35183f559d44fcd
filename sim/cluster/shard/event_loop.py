"""The event loop of one shard: one event at a time, the others wait in order.

Source: ``CoordinatorRuntime``, ``MultiThreadedEventProcessor``, ``EventAccumulator`` (Kafka 4.4): events of one offsets
partition are never worked on side by side, and all of a broker's share its threads.

In a shard that is *metered* every event takes its time and waits for its turn. In all others only an assignor takes so
long that others have to wait: it *holds* the shard, whose members are loud meanwhile, and queue. What requests wait for
one another there is drawn (`sim.cluster.shard.waiting_time`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Final

from groupsim.sim.books.shard_books import ShardBooks
from groupsim.sim.cluster.shard.worker_threads import WorkerThreads
from groupsim.sim.config import EventTimes
from groupsim.sim.kernel.environment import Environment, Kind, message_key
from groupsim.sim.protocol.classic.states import GroupState
from groupsim.sim.protocol.facts import (
    AssignmentSynced,
    Fact,
    GroupEpochBumped,
    MemberReconciled,
    StateChanged,
    TargetComputed,
)
from groupsim.sim.protocol.interface import Outcome
from groupsim.sim.protocol.messages import Api, JoinResponse, SyncResponse
from groupsim.sim.randomness import name_hash
from groupsim.sim.units import MS

Work = Callable[[], object]

EVENTS: Final = {
    Api.HEARTBEAT: "heartbeat_us", Api.CONSUMER_GROUP_HEARTBEAT: "consumer_heartbeat_us",
    Api.JOIN_GROUP: "join_us", Api.SYNC_GROUP: "sync_us", Api.LEAVE_GROUP: "leave_us",
    Api.OFFSET_COMMIT: "commit_us", Api.OFFSET_FETCH: "fetch_us",
}  # fmt: skip
"""Which of `EventTimes` a request takes; others are not worked on by a shard, or cost it nothing."""
HELD_FROM_US: Final = 10 * MS
"""How long an assignor must take to hold a shard that is not metered: what takes less is within what latency varies by,
and nobody waits for it but who is answered by it."""
PARKED: Final = frozenset({Api.JOIN_GROUP, Api.SYNC_GROUP})
"""Requests that are answered by another event than their own."""


class EventLoop:
    """Of one partition of ``__consumer_offsets``.

    Parameters
    ----------
    env : Environment
    books : ShardBooks
        What it does is written down there.
    threads : WorkerThreads
        Of the broker that it is on first.
    times : EventTimes
    is_metered : bool

    Attributes
    ----------
    free_us : int, microseconds
        When it has worked on the event that it is at, or was at last.
    before_hold : callable
        Called before it is held: whoever belongs to its groups is loud from then on.
    """

    before_hold: Callable[[], None]

    def __init__(
        self, env: Environment, books: ShardBooks, threads: WorkerThreads, times: EventTimes, *, is_metered: bool
    ) -> None:
        self._env = env
        self._partition = partition = books.partition
        self._times = times
        self._key = message_key(name_hash("shard", str(partition)), Kind.REQUEST)
        self._waiting: deque[tuple[Work, int]] = deque()
        self._ahead_us = self._at_us = self._flush_us = 0
        self._threads = threads
        self._wakes_us = -1
        self.books = books
        self.is_metered = is_metered
        self.free_us = 0

    @property
    def is_free(self) -> bool:
        """Whether an event can be worked on at once."""
        is_idle = self.free_us <= self._env.now and not self._waiting
        return is_idle and (not self.is_metered or self._threads.has_idle)

    @property
    def is_held(self) -> bool:
        """Whether an assignor runs, in a shard whose members are not loud anyway."""
        return not self.is_metered and self.free_us > self._env.now

    def run_assignor(self, duration_us: int) -> None:
        """An assignor runs in the event that is being worked on, microseconds."""
        if duration_us:
            self.books.run_assignor(self._env.now, duration_us)
        if self.is_metered:
            self.occupy(duration_us)
        elif duration_us >= HELD_FROM_US:
            self.before_hold()
            self.occupy(duration_us)

    def settle(self, outcome: Outcome) -> None:
        """The event that is being worked on has led to this."""
        self.run_assignor(outcome.charged_us)
        self._change(outcome.facts)
        if self.is_metered:
            parked = sum(isinstance(reply.response, (JoinResponse, SyncResponse)) for reply in outcome.replies)
            self.occupy(parked * self._times.answer_us)

    def _change(self, facts: Iterable[Fact]) -> None:
        for fact in facts:
            if self.is_metered:
                self.occupy(self._taken_us(fact))
            elif not isinstance(fact, MemberReconciled):  # who reports an epoch may be quiet
                self.books.change(self._env.now, self._taken_us(fact))

    def _taken_us(self, fact: Fact) -> int:
        """What it takes to make a fact true, besides the requests that lead to it."""
        times = self._times
        match fact:
            case GroupEpochBumped():
                return times.change_us
            case TargetComputed():
                return times.target_us + len(fact.targets) * times.answer_us
            case MemberReconciled():
                return times.reconcile_us
            case StateChanged(state=GroupState.COMPLETING_REBALANCE) | AssignmentSynced():
                return times.round_us
        return 0

    def serve(self, api: Api) -> None:
        """The event that is being worked on is a request."""
        if self.is_metered and api in EVENTS:
            self.occupy(getattr(self._times, EVENTS[api]))

    def occupy(self, duration_us: int) -> None:
        """The event that is being worked on takes so much longer, microseconds."""
        if duration_us:
            begin = max(self.free_us, self._env.now)
            self.free_us = begin + duration_us
            self.books.work(begin, self.free_us)
            self._await_turn()

    def submit(self, work: Work, api: Api | None = None) -> None:
        """Let an event, a request perhaps, be worked on in its turn, which in a metered shard may be now."""
        service_us = getattr(self._times, EVENTS[api]) if api in EVENTS else 0
        self._waiting.append((work, service_us))
        self._ahead_us += service_us
        self.books.enter(self._env.now)
        if self.is_metered:
            self._go_on()
        else:
            self._await_turn()

    def flushes_us(self, now: int) -> int:
        """When the batch is flushed that takes what is written at ``now``, if its linger is adaptive; microseconds.

        Who opens it puts the flush behind all that waits by then (``CoordinatorRuntime.maybeAllocateNewBatch``, Kafka
        4.4): after the event that is being worked on, and what requests that wait take by themselves.
        """
        if now >= self._flush_us:
            self._flush_us = max(self.free_us, now) + self._at_us + self._ahead_us
        return self._flush_us

    def clear(self) -> list[Work]:
        """The groups are somewhere else from now on: nothing is worked on here any more. What waited, in order."""
        now, waiting = self._env.now, [work for work, _ in self._waiting]
        for _ in waiting:
            self.books.leave(now)
        self._waiting.clear()
        self._ahead_us = self._flush_us = 0
        self._threads.forget(self._partition)
        self.free_us = now
        return waiting

    def move(self, threads: WorkerThreads) -> None:
        """The shard is on another broker from now on."""
        self._threads = threads

    def _await_turn(self) -> None:
        """Go on when the event that is being worked on is done."""
        if self._waiting and self.free_us > self._env.now and self._wakes_us < 0:
            self._wakes_us = self.free_us
            self._env.at(self.free_us, self._key, self._wake)

    def _wake(self, _: Any) -> None:
        self._wakes_us = -1
        self._go_on()

    def _go_on(self) -> None:
        while self._waiting and self.free_us <= self._env.now:
            if self.is_metered and not self._threads.has_idle:
                self._threads.wait(self._partition, self._resume)
                return
            self._take()
        self._await_turn()

    def _resume(self) -> None:
        """A thread has come."""
        self._take()
        self._go_on()

    def _take(self) -> None:
        now = self._env.now
        work, self._at_us = self._waiting.popleft()
        self._ahead_us -= self._at_us
        self.books.leave(now)
        work()
        self._at_us = 0
        if self.is_metered and self.free_us > now:
            self._threads.work(self.free_us)
