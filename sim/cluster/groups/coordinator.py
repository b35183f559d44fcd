"""A group coordinator: one per partition of ``__consumer_offsets``, on the broker that leads it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from functools import cache, partial
from typing import Any

import simpy

from groupsim.sim.books.shard_books import ACTIVE, LOADING, NOWHERE, Place
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.cluster.shard.event_loop import EventLoop
from groupsim.sim.cluster.shard.log_bytes import log_bytes
from groupsim.sim.cluster.shard.watermark import Watermark
from groupsim.sim.cluster.shard.worker_threads import WorkerThreads
from groupsim.sim.kernel.environment import Environment
from groupsim.sim.kernel.network import Exchange
from groupsim.sim.model import Cluster
from groupsim.sim.protocol.controller.partition import NO_LEADER, OFFSETS_TOPIC, Name
from groupsim.sim.protocol.messages import Error, Heartbeat, SyncGroup, failed


@cache
def partition_for(group_id: str, partitions: int) -> int:
    """The offsets partition of a group (``GroupCoordinatorService.partitionFor``, Kafka 4.4).

    ``abs`` of Java's 32-bit string hash, where ``abs(Integer.MIN_VALUE)`` is 0, modulo the partition count.
    """
    units = group_id.encode("utf-16-be")
    code = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF
    signed = code - (1 << 32) if code >= 1 << 31 else code
    return 0 if signed == -(1 << 31) else abs(signed) % partitions


class Coordinator:
    """The groups of one offsets partition.

    Parameters
    ----------
    env : Environment
    cluster : Cluster
    partition : int
        Of ``__consumer_offsets``.
    node : int
        Broker that leads it first.
    loop : EventLoop
    watermark : Watermark
        Of its partition.

    Attributes
    ----------
    node : int
        Broker where the groups are, or are being loaded; `NO_LEADER`: nowhere.
    is_loading : bool
        The log is being read: nothing is worked on yet.
    watermark
        As given.
    on_serving : callable
        Told its name when what is appended is committed again.
    fenced : dict of int to int
        Producer id -> epoch of its last marker in the partition.
    """

    def __init__(
        self, env: Environment, cluster: Cluster, partition: int, node: int, loop: EventLoop, watermark: Watermark
    ) -> None:
        self.env = env
        self._cluster = cluster
        self._service_us = cluster.timing.service_us
        self.partition = partition
        self.node = self.first_node = node
        self.loop = loop
        self.groups: dict[str, GroupHost] = {}
        self.is_loading = False
        self.watermark = watermark
        self.fenced: dict[int, int] = {}
        self._marks: dict[int, dict[int, int]] = {}
        """Replica that follows no more -> the markers that it has."""
        loop.before_hold = self._disturb
        self.on_serving: Callable[[Name], None] = _nobody_waits
        self.resigned = env.event()
        self._note(ACTIVE)
        env.process(self.run())

    @property
    def name(self) -> Name:
        """Its partition."""
        return OFFSETS_TOPIC, self.partition

    @property
    def is_serving(self) -> bool:
        """Whether it is on a broker that has loaded it, and what is appended is committed."""
        return self.node != NO_LEADER and not self.is_loading and not self.watermark.is_stalled

    @property
    def follows_topics(self) -> bool:
        """Whether what topics there are concerns any of its groups."""
        return any(group.follows_topics for group in self.groups.values())

    def _note(self, state: str) -> None:
        self.loop.books.places.append(Place(self.env.now, self.node, state))

    def run(self) -> Generator[simpy.Event, Any, None]:
        """Active until the broker resigns; then the groups are unloaded (``GroupCoordinatorService.onResignation``)."""
        yield self.resigned

    def _disturb(self) -> None:
        """Requests of all groups have to wait: none of their members may be quiet."""
        for name in sorted(self.groups):
            self.groups[name].fast_path.wake_all()

    def adopt(self, group: GroupHost) -> None:
        """Host a group."""
        self.groups[group.name] = group
        self.loop.books.groups.append(group.name)
        group.node = self.node

    # --- who leads ----------------------------------------------------------------------------------------------------

    def resign(self) -> None:
        """Another broker leads from now on, or nobody: whoever waits here has to look for it."""
        if self.node == NO_LEADER:
            return
        was_active, self.node, self.is_loading = not self.is_loading, NO_LEADER, False
        self._note(NOWHERE)
        if was_active:
            self.resigned.succeed()
            for name in sorted(self.groups):
                self.groups[name].unload()
            for work in self.loop.clear():
                work()

    def elect(self, node: int) -> None:
        """A broker leads from now on, and begins to read the log (``CoordinatorRuntime.scheduleLoadOperation``)."""
        self.node, self.is_loading = node, True
        self._note(LOADING)

    def load(self, threads: WorkerThreads, image: Mapping[str, int]) -> None:
        """The log has been read; ``threads`` are those of the broker that it is on, ``image`` the topics it knows."""
        self.is_loading = False
        self.loop.move(threads)
        self._note(ACTIVE)
        self.resigned = self.env.event()
        self.env.process(self.run())
        for name in sorted(self.groups):
            self.groups[name].load(self.node, image)
        self._tell()

    def stall(self, *, is_stalled: bool, refuses: bool) -> None:
        """The high watermark of the partition stands still, or follows what is appended again."""
        self.watermark.stall(is_stalled=is_stalled, refuses=refuses)
        for name in sorted(self.groups):
            self.groups[name].on_watermark()
        self._tell()

    def _tell(self) -> None:
        if self.is_serving:
            self.on_serving(self.name)

    def on_metadata(self, image: Mapping[str, int], deleted: str) -> None:
        """Its broker has applied other metadata: an event like any other, for nothing if it is not active.

        ``deleted`` is a topic that is no more, if there is one.
        """
        if self.loop.is_free and not self.loop.is_metered:
            self._update(image, deleted)
        else:
            self.loop.submit(partial(self._update, image, deleted))

    def _update(self, image: Mapping[str, int], deleted: str) -> None:
        if self.node != NO_LEADER and not self.is_loading:
            for name in sorted(self.groups):
                self.groups[name].on_metadata(image)
                self.groups[name].on_topic_deleted(deleted)

    # --- what is in its log, and what replicas have of it -------------------------------------------------------------

    @property
    def log_bytes(self) -> int:
        """How long the log of its partition is."""
        logs, cluster = [group.log for group in self.groups.values()], self._cluster
        written, left = sum(log.written for log in logs), sum(log.left for log in logs)
        return log_bytes(cluster.offsets_log_bytes, written, left, cluster.broker_config)

    def fall_behind(self, replica: int) -> None:
        """A replica of the partition has what there is now, and nothing that comes."""
        self._marks.setdefault(replica, dict(self.fenced))
        for group in self.groups.values():
            group.log.fall_behind(replica)
            group.offsets.pending.mark(replica)

    def catch_up(self, replica: int) -> None:
        """A replica of the partition has everything."""
        self._marks.pop(replica, None)
        for group in self.groups.values():
            group.log.catch_up(replica)
            group.offsets.pending.catch_up(replica)

    def cut_back(self, replica: int) -> None:
        """A replica leads that lacks something: offsets that were committed, or that a transaction had pending."""
        self.fenced = self._marks.pop(replica, self.fenced)
        for group in self.groups.values():
            table, pending = group.books.ledger.offsets, group.offsets.pending
            before = {**dict(enumerate(table.offset.tolist())), **pending.ends()}
            group.log.cut_back(replica)
            pending.cut_back(replica)
            group.books.transactions.commits_lost(before, table.offset.tolist())

    # --- requests -----------------------------------------------------------------------------------------------------

    def receive(self, exchange: Exchange) -> None:
        """A request for one of its groups."""
        if self.is_loading:
            self.refuse(exchange, while_loading(exchange.body))
        elif self.loop.is_free and not self.loop.is_metered:
            self.groups[exchange.group_id].handle(exchange)
        else:
            self.loop.submit(partial(self._work, exchange), exchange.api)

    def _work(self, exchange: Exchange) -> None:
        """It is a request's turn."""
        if self.node == exchange.connection.node and not self.is_loading:
            self.groups[exchange.group_id].handle(exchange)
            self.loop.serve(exchange.api)
        else:
            self.refuse(exchange, failed(exchange.body, Error.NOT_COORDINATOR))

    def refuse(self, exchange: Exchange, response: Any) -> None:
        """Answer a request that is not worked on."""
        self.groups[exchange.group_id].books.requests.count(exchange, response.error)
        exchange.connection.reply(exchange, response, self.env.now + self._service_us)


def _nobody_waits(_: Name) -> None:
    pass


def while_loading(request: object) -> Any:
    """What a shard answers that is being loaded: a heartbeat of the classic protocol succeeds blindly.

    Source: ``GroupCoordinatorService.heartbeat`` and ``CoordinatorRuntime.withActiveContextOrThrow`` (Kafka 4.4). The
    classic client has no answer to COORDINATOR_LOAD_IN_PROGRESS on a SyncGroup; the old coordinator told it that the
    group rebalances (``GroupCoordinator.handleSyncGroup``), and so does this one.
    """
    if isinstance(request, Heartbeat):
        return failed(request, Error.NONE)
    if isinstance(request, SyncGroup):
        return failed(request, Error.REBALANCE_IN_PROGRESS)
    return failed(request, Error.COORDINATOR_LOAD_IN_PROGRESS)
