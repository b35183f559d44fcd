"""Requests at random through the queue of a shard wait as queueing theory says, and Little's law holds exactly."""

from __future__ import annotations

import random
from collections import Counter
from functools import partial

import numpy as np
import pytest

from groupsim.sim.books.shard_books import ShardBooks
from groupsim.sim.cluster.shard.event_loop import EventLoop
from groupsim.sim.cluster.shard.waiting_time import Stream, mean_wait_us, utilisation, waiting_time
from groupsim.sim.cluster.shard.worker_threads import WorkerThreads
from groupsim.sim.config import EventTimes
from groupsim.sim.kernel.environment import Environment
from groupsim.sim.protocol.classic.states import GroupState
from groupsim.sim.protocol.facts import (
    AssignmentSynced,
    Fact,
    GroupEpochBumped,
    MemberReconciled,
    StateChanged,
    TargetComputed,
)
from groupsim.sim.protocol.interface import Outcome, Reply
from groupsim.sim.protocol.messages import Api, Error, JoinResponse
from groupsim.sim.randomness import longest
from groupsim.sim.units import FOREVER, MS

EVERYTHING = (0, FOREVER)
NONE = np.zeros(0, np.int32)
ARRIVAL = 1 << 60


class Queue:
    """Shards of one broker, and requests that come to them at random."""

    def __init__(self, shards: int = 1, threads: int = 1, seed: int = 1) -> None:
        self.env = Environment(event_budget=1 << 40)
        self.threads = WorkerThreads(self.env, 0, threads)
        self.random = random.Random(seed)
        self.loops = [
            EventLoop(self.env, ShardBooks(number, EVERYTHING), self.threads, EventTimes(), is_metered=True)
            for number in range(shards)
        ]

    def feed(self, loop: EventLoop, streams: tuple[Stream, ...], count: int) -> tuple[Stream, ...]:
        """Let so many requests of these kinds come to a shard, each one drawn; what they were in fact."""
        rate = sum(one.rate_per_s for one in streams) / 1e6
        kinds = self.random.choices(streams, [one.rate_per_s for one in streams], k=count)
        time = 0.0
        for kind in kinds:
            time += self.random.expovariate(rate)
            self.env.at(round(time), ARRIVAL, self._arrive, (loop, kind.service_us))
        return tuple(Stream(number * 1e6 / time, kind.service_us) for kind, number in sorted(Counter(kinds).items()))

    def _arrive(self, request: tuple[EventLoop, int]) -> None:
        loop, service_us = request
        loop.submit(lambda: loop.occupy(service_us))

    def run(self) -> np.ndarray:
        """Every wait of every shard, in microseconds."""
        self.env.run_before(FOREVER)
        return np.concatenate([loop.books.waits_us for loop in self.loops])


def single(load: float, service_us: int = 10 * MS) -> tuple[Stream, ...]:
    """Requests of one kind."""
    return (Stream(load * 1e6 / service_us, service_us),)


def mixed(load: float) -> tuple[Stream, ...]:
    """Half of the work is in requests that are short, half in few that are long."""
    return (Stream(load * 0.5e6 / (4 * MS), 4 * MS), Stream(load * 0.5e6 / (16 * MS), 16 * MS))


@pytest.mark.parametrize("load", [pytest.param(0.2, marks=pytest.mark.slow), 0.5, 0.65])
@pytest.mark.parametrize("streams", [single, mixed], ids=["M/D/1", "M/G/1"])
def test_requests_at_random_wait_as_long_as_pollaczek_and_khinchine_say(load: float, streams) -> None:
    queue = Queue()
    drawn = queue.feed(queue.loops[0], streams(load), 200_000)
    assert utilisation(drawn) == pytest.approx(load, rel=0.02)
    assert queue.run().mean() == pytest.approx(mean_wait_us(drawn), rel=0.02)


@pytest.mark.parametrize("load", [pytest.param(0.2, marks=pytest.mark.slow), 0.45])
@pytest.mark.parametrize("streams", [single, mixed], ids=["M/D/1", "M/G/1"])
def test_what_is_drawn_for_quiet_members_is_what_requests_wait_in_the_queue(load: float, streams) -> None:
    queue, offered = Queue(), streams(load)
    queue.feed(queue.loops[0], offered, 100_000)
    waits, law = queue.run(), waiting_time(offered)
    assert law is not None
    assert np.mean(waits == 0) == pytest.approx(np.mean(np.array(law.values) == 0), abs=0.01)
    assert np.mean(law.values) == pytest.approx(mean_wait_us(offered), rel=0.005)
    for quantile in (0.9, 0.99):
        assert np.quantile(law.values, quantile) == pytest.approx(np.quantile(waits, quantile), rel=0.03, abs=MS)
    assert longest(law) < 12 * max(one.service_us for one in offered)


def test_a_wait_that_changes_nothing_is_none() -> None:
    assert waiting_time((Stream(6_400, 10),)) is None
    assert waiting_time((Stream(6_400, 20),)) is not None


@pytest.mark.parametrize("seed", range(5))
def test_littles_law_holds_to_the_microsecond(seed: int) -> None:
    queue = Queue(shards=3, threads=2, seed=seed)
    for loop in queue.loops:
        queue.feed(loop, mixed(0.6), 2_000)
    queue.run()
    for loop in queue.loops:
        assert not loop.books.arrivals
        assert loop.books.waited_us == sum(loop.books.waits_us) > 0


def test_shards_share_the_threads_of_their_broker() -> None:
    """Two shards on one thread are one queue, whichever of them is served first; on two threads they are two."""
    shared, apart = Queue(shards=2, threads=1), Queue(shards=2, threads=2)
    for queue in (shared, apart):
        for loop in queue.loops:
            queue.feed(loop, single(0.35), 75_000)
    assert shared.run().mean() == pytest.approx(mean_wait_us(single(0.7)), rel=0.02)
    assert apart.run().mean() == pytest.approx(mean_wait_us(single(0.35)), rel=0.02)


def test_no_thread_works_on_two_events_and_no_shard_is_worked_on_by_two() -> None:
    queue, at_work = Queue(shards=6, threads=4), []
    spans: list[tuple[int, int, int]] = []
    for loop in queue.loops:
        queue.feed(loop, single(0.9), 500)

        def occupy(duration_us: int, loop: EventLoop = loop, plain=loop.occupy) -> None:
            spans.append((queue.env.now, queue.env.now + duration_us, loop.books.partition))
            plain(duration_us)

        loop.occupy = occupy  # type: ignore[method-assign]
    queue.run()
    assert len(spans) == 3_000
    for begin, end, shard in spans:
        at_work = [one for one in at_work if one[0] > begin]
        assert len(at_work) < 4
        assert shard not in {busy for _, busy in at_work}
        at_work.append((end, shard))


def test_each_request_waits_until_all_before_it_are_done() -> None:
    """Lindley's recursion, request by request."""
    queue, came = Queue(), []
    queue.feed(queue.loops[0], mixed(0.8), 5_000)
    for time, _, _, event in sorted(queue.env._queue):
        came.append((time, event._value[1]))
    expected, free_us = [], 0
    for time, service_us in came:
        expected.append(max(free_us - time, 0))
        free_us = max(free_us, time) + service_us
    assert queue.run().tolist() == expected


def test_a_shard_is_free_at_once_when_its_groups_have_gone_elsewhere() -> None:
    queue, done = Queue(threads=2), list[int]()
    (loop,) = queue.loops
    loop.submit(lambda: loop.occupy(500))
    loop.submit(lambda: done.append(queue.env.now))
    assert not loop.is_free
    (waited,) = loop.clear()
    assert loop.is_free, "whoever comes back to it before the old event would have ended waits for nothing"
    queue.env.run_before(1_000)
    assert done == []
    waited()
    assert len(done) == 1


TIMES = EventTimes(
    heartbeat_us=20, commit_us=500, change_us=700, reconcile_us=50, target_us=9_000, round_us=400, answer_us=3
)
WHAT_ENDS_A_JOIN_PHASE = StateChanged(GroupState.COMPLETING_REBALANCE, 2)
CHANGES = [
    pytest.param(GroupEpochBumped(2, "somebody joins"), 700, id="epoch"),
    pytest.param(TargetComputed(2, "uniform", (("a", NONE), ("b", NONE))), 9_006, id="target"),
    pytest.param(WHAT_ENDS_A_JOIN_PHASE, 400, id="joined"),
    pytest.param(AssignmentSynced(()), 400, id="synced"),
    pytest.param(StateChanged(GroupState.PREPARING_REBALANCE, 2), 0, id="another state"),
]


def loop_of(*, is_metered: bool) -> EventLoop:
    env = Environment(1_000)
    return EventLoop(env, ShardBooks(0, EVERYTHING), WorkerThreads(env, 0, 4), TIMES, is_metered=is_metered)


@pytest.mark.parametrize(("fact", "taken_us"), CHANGES)
def test_what_changes_a_group_keeps_the_loop_of_a_metered_shard_busy(fact: Fact, taken_us: int) -> None:
    loop = loop_of(is_metered=True)
    loop.settle(Outcome(facts=[fact]))
    assert loop.free_us == loop.books.busy_us == taken_us


@pytest.mark.parametrize(("fact", "taken_us"), CHANGES)
def test_what_changes_a_group_counts_in_the_figures_of_a_shard_that_is_not_metered(fact: Fact, taken_us: int) -> None:
    loop = loop_of(is_metered=False)
    loop.settle(Outcome(facts=[fact]))
    assert loop.is_free
    assert loop.books.changes_us == ({taken_us: 1} if taken_us else {})


def test_who_reports_an_epoch_counts_only_where_nobody_is_quiet() -> None:
    reported = Outcome(facts=[MemberReconciled("a", 2, "STABLE", NONE, NONE)])
    metered, other = loop_of(is_metered=True), loop_of(is_metered=False)
    metered.settle(reported)
    other.settle(reported)
    assert metered.free_us == 50
    assert not other.books.changes_us


def test_everybody_who_is_answered_by_the_end_of_a_phase_takes_time() -> None:
    loop = loop_of(is_metered=True)
    told = Reply(None, JoinResponse(Error.NONE))
    loop.settle(Outcome(replies=[told] * 5, facts=[WHAT_ENDS_A_JOIN_PHASE]))
    assert loop.free_us == 400 + 5 * 3


def test_an_adaptive_batch_is_flushed_behind_what_waits_when_it_is_opened() -> None:
    """Whoever writes before that comes into it; whoever writes at that instant or later opens another one."""
    loop, flushes = loop_of(is_metered=True), list[int]()
    now = partial(getattr, loop._env, "now")

    def commit(_: object = None) -> None:
        def work() -> None:
            flushes.append(loop.flushes_us(now()))
            loop.serve(Api.OFFSET_COMMIT)

        loop.submit(work, Api.OFFSET_COMMIT)

    def beat() -> None:
        loop.submit(partial(loop.serve, Api.HEARTBEAT), Api.HEARTBEAT)

    for request in (beat, commit, beat, commit):
        request()
    for time in (600, 9_000):
        loop._env.at(time, ARRIVAL, commit)
    loop._env.run_before(FOREVER)
    first = 2 * TIMES.heartbeat_us + 2 * TIMES.commit_us
    assert flushes == [first, first, first + TIMES.commit_us, 9_000 + TIMES.commit_us]


def test_what_is_written_after_a_move_comes_into_no_batch_of_before() -> None:
    loop, flushes = loop_of(is_metered=True), list[int]()

    def write() -> None:
        flushes.append(loop.flushes_us(loop.free_us))
        loop.serve(Api.OFFSET_COMMIT)

    loop.submit(partial(loop.serve, Api.HEARTBEAT), Api.HEARTBEAT)
    for _ in range(3):
        loop.submit(write, Api.OFFSET_COMMIT)
    loop._env.run_before(TIMES.heartbeat_us + 1)
    loop.clear()
    loop.submit(write, Api.OFFSET_COMMIT)
    assert flushes == [TIMES.heartbeat_us + 3 * TIMES.commit_us, TIMES.heartbeat_us + TIMES.commit_us]
