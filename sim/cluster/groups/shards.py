"""Which shards there are, what their groups offer them, and how their queues are simulated.

A shard is metered if its groups offer it half of what one thread can do, or if all groups together offer half of what
the threads of one broker can do, wherever coordinators move. Its members are loud: each of their requests is an
event, takes its time and waits for its turn. In every other shard a heartbeat or commit waits as a request does that
meets a queue of this utilisation at random, by a draw (`sim.cluster.shard.waiting_time`); other requests come with
rebalances, whose milliseconds hide microseconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from groupsim.sim.books.shard_books import ShardBooks
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.cluster.shard.append_linger import append_linger
from groupsim.sim.cluster.shard.event_loop import EventLoop
from groupsim.sim.cluster.shard.follower_fetch import both, follower_fetch
from groupsim.sim.cluster.shard.offered_load import Offered, shard_streams
from groupsim.sim.cluster.shard.shard_figures import computed, measured
from groupsim.sim.cluster.shard.waiting_time import utilisation, waiting_time
from groupsim.sim.cluster.shard.watermark import InSync, Watermark
from groupsim.sim.cluster.shard.worker_threads import WorkerThreads
from groupsim.sim.kernel.environment import Environment
from groupsim.sim.kernel.network import FollowerWait
from groupsim.sim.model import Cluster, Distribution
from groupsim.sim.randomness import Draw, Streams, longest
from groupsim.sim.units import S

METERED_FROM: Final = 0.5
"""Utilisation from which requests take their turn one by one."""


class Shards:
    """Of one cluster.

    Parameters
    ----------
    env : Environment
    streams : Streams
    cluster : Cluster
    measure : (int, int), microseconds
    offered : mapping of int to mapping
        By offsets partition what each of its groups offers it.
    replicas : callable
        Offsets partition and number of replicas -> their brokers, the leader first.

    Attributes
    ----------
    books : dict of int to ShardBooks
        By offsets partition.
    """

    def __init__(
        self, env: Environment, streams: Streams, cluster: Cluster, measure: tuple[int, int],
        offered: Mapping[int, Mapping[str, Offered]], replicas: Callable[[int, int], Sequence[int]],
    ) -> None:  # fmt: skip
        self._env = env
        self._streams = streams
        self._append_us = cluster.timing.append_us
        self._times = cluster.event_times
        self._offered = offered
        self._measure = measure
        self._requests_of = {
            partition: shard_streams(groups[name] for name in sorted(groups)) for partition, groups in offered.items()
        }
        self._loads = {partition: utilisation(streams) for partition, streams in self._requests_of.items()}
        self._are_all_metered = sum(self._loads.values()) >= METERED_FROM * cluster.config.coordinator_threads
        copies = min(cluster.broker_config.offsets_replication_factor, len(cluster.brokers))
        self._linger_us = cluster.config.append_linger_us
        self._cluster = cluster
        self._replicas = {one: tuple(replicas(one, copies)) for one in offered}
        self._delays: dict[tuple[int, InSync], Distribution | None] = {}
        self._commits: dict[int, FollowerWait] = {}
        self.books: dict[int, ShardBooks] = {}

    def is_metered(self, partition: int) -> bool:
        """Whether every request of a shard takes its turn."""
        return self._are_all_metered or self._loads[partition] >= METERED_FROM

    def waits_of(self, partition: int) -> tuple[Distribution | None, FollowerWait]:
        """What a heartbeat or commit waits without being in a queue, and a commit in its batch and for followers."""
        is_metered = self.is_metered(partition)
        waits = None if is_metered else waiting_time(self._requests_of[partition])
        return waits, self._commits_of(partition)

    def _commits_of(self, partition: int) -> FollowerWait:
        """What commits wait for followers: all are in sync at first; none waits longer than for all of any leader."""
        if partition not in self._commits:
            replicas = self._replicas[partition]
            laws = [self._delay(partition, (one, *(other for other in replicas if other != one))) for one in replicas]
            longest_us = max(longest(law) if law is not None else 0 for law in laws)
            self._commits[partition] = FollowerWait(laws[0], longest_us)
        return self._commits[partition]

    def new_loop(self, partition: int, threads: WorkerThreads) -> EventLoop:
        """The event loop of a shard, on the broker with these threads."""
        books = self.books[partition] = ShardBooks(partition, self._measure)
        is_metered = self.is_metered(partition)
        return EventLoop(self._env, books, threads, self._times, is_metered=is_metered)

    def new_watermark(self, partition: int, loop: EventLoop) -> Watermark:
        """The high watermark of the log of a shard, which ``loop`` works on."""

        def among(in_sync: InSync) -> Draw | None:
            law = self._delay(partition, in_sync)
            return None if law is None else self._streams.draw(law, "append", partition)

        is_adaptive = self._linger_us < 0 and loop.is_metered
        flushes_us = loop.flushes_us if is_adaptive else None
        commits = self._commits_of(partition)
        return Watermark(self._append_us, among, self._replicas[partition], commits, flushes_us)

    def _delay(self, partition: int, in_sync: InSync) -> Distribution | None:
        """What passes besides the leader's append; the leader comes first among those in sync."""
        known, key = self._delays, (partition, in_sync)
        if key not in known:
            known[key] = both(self._linger(partition), follower_fetch(self._cluster, in_sync))
        return known[key]

    def _linger(self, partition: int) -> Distribution | None:
        """What records wait in an open batch; in a metered shard an adaptive one waits for its turn instead."""
        writes = sum(one.commits.rate_per_s for one in self._offered[partition].values())
        requests = () if self.is_metered(partition) else self._requests_of[partition]
        return append_linger(self._linger_us, writes, requests)

    def finish(self, horizon: int, groups: Mapping[str, GroupHost]) -> None:
        """The run is over: put it into figures."""
        for partition, books in self.books.items():
            books.advance(horizon)
            requests, offered = self._requests(groups, books), self._offered[partition]
            if self.is_metered(partition):
                books.figures = measured(books, requests, offered, horizon)
            else:
                books.figures = computed(books, requests, offered, horizon, self._times)

    def _requests(self, groups: Mapping[str, GroupHost], books: ShardBooks) -> Counter[str]:
        """Requests by API."""
        counted: Counter[str] = Counter()
        for name in books.groups:
            for (api, _), count in groups[name].books.record.requests.items():
                counted[api] += count
        return counted

    def findings(self) -> list[str]:
        """Of each shard whose event loop is busy for half of the time, what that means."""
        busy = [books for books in self.books.values() if books.figures.utilisation >= METERED_FROM]
        return [_finding(books) for books in sorted(busy, key=lambda one: one.partition)]


def _finding(books: ShardBooks) -> str:
    found, names = books.figures, ", ".join(books.groups[:3]) + (", ..." if len(books.groups) > 3 else "")
    words = [
        f"coordinator of offsets partition {books.partition} ({names}): its event loop is busy for "
        f"{100 * found.utilisation:.0f} % of the time"
    ]
    if found.wait_p99_us is not None and found.wait_max_us is not None:
        words.append(f"requests wait {_text(found.wait_p99_us)} (p99), {_text(found.wait_max_us)} at most")
    if found.saturated_from is not None:
        words.append(f"it has {found.members:,} members, and from {found.saturated_from:,} on it cannot keep up")
    if found.starved_from is not None:
        words.append(f"from {found.starved_from:,} members on heartbeats queue longer than the session")
    return "; ".join(words)


def _text(time_us: int) -> str:
    return f"{time_us / 1e6:.3g} s" if time_us >= S else f"{time_us / 1e3:.3g} ms"
