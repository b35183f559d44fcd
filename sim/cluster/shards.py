"""Which shards there are, what their groups offer them, and how their queues are simulated.

A shard is metered if its groups offer it half of what one thread can do, or if all groups together offer half of what
the threads of one broker can do, wherever coordinators move. Its members are loud: each of their requests is an event,
takes its time and waits for its turn. In every other shard a heartbeat or commit waits as a request does that meets a
queue of this utilisation at random, by a draw (`sim.cluster.waiting_time`); other requests come with rebalances, whose
milliseconds hide microseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupsim.sim.books.shard_books import ShardBooks
from groupsim.sim.cluster.event_loop import EventLoop
from groupsim.sim.cluster.offered_load import Offered, shard_streams
from groupsim.sim.cluster.waiting_time import utilisation, waiting_time
from groupsim.sim.cluster.worker_threads import WorkerThreads
from groupsim.sim.kernel.environment import Environment
from groupsim.sim.model import Cluster, Distribution

METERED_FROM: Final = 0.5
"""Utilisation from which requests take their turn one by one."""


class Shards:
    """Of one cluster.

    Parameters
    ----------
    env : Environment
    cluster : Cluster
    measure : (int, int), microseconds
    offered : mapping of int to mapping
        By offsets partition what each of its groups offers it.

    Attributes
    ----------
    books : dict of int to ShardBooks
        By offsets partition.
    """

    def __init__(
        self, env: Environment, cluster: Cluster, measure: tuple[int, int], offered: Mapping[int, Mapping[str, Offered]]
    ) -> None:
        self._env = env
        self._times = cluster.event_times
        self._measure = measure
        self._streams = {partition: shard_streams(groups) for partition, groups in offered.items()}
        self._loads = {partition: utilisation(streams) for partition, streams in self._streams.items()}
        self._are_all_metered = sum(self._loads.values()) >= METERED_FROM * cluster.config.coordinator_threads
        self.books: dict[int, ShardBooks] = {}

    def is_metered(self, partition: int) -> bool:
        """Whether every request of a shard takes its turn."""
        return self._are_all_metered or self._loads[partition] >= METERED_FROM

    def wait_of(self, partition: int) -> Distribution | None:
        """What a heartbeat or a commit waits without being in a queue; None: nothing that matters."""
        return None if self.is_metered(partition) else waiting_time(self._streams[partition])

    def new_loop(self, partition: int, threads: WorkerThreads) -> EventLoop:
        """The event loop of a shard, on the broker with these threads."""
        books = self.books[partition] = ShardBooks(partition, self._measure)
        is_metered = self.is_metered(partition)
        return EventLoop(self._env, books, threads, self._times, is_metered=is_metered)

    def finish(self, horizon: int) -> None:
        """The run is over."""
        for books in self.books.values():
            books.advance(horizon)
