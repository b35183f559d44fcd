"""The consumer itself: registration, rebalance and commits, as ``ZookeeperConsumerConnector`` has them (0.8.2.2)."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from groupsim.sim.config import ClientConfig
from groupsim.sim.protocol.effects import Adopt, Closed, Drop, Raise
from groupsim.sim.protocol.messages import NO_PARTITIONS, Error, Positions
from groupsim.sim.protocol.zookeeper import nodes, paths
from groupsim.sim.protocol.zookeeper.assignment import Place, part_of, thread_of
from groupsim.sim.protocol.zookeeper.messages import Registration
from groupsim.sim.protocol.zookeeper.nodes import Call, NodeExists, NoNode
from groupsim.sim.protocol.zookeeper.offsets import Offsets
from groupsim.sim.protocol.zookeeper.states import Phase
from groupsim.sim.protocol.zookeeper.threads import Threads
from groupsim.sim.protocol.zookeeper.waits import Begin, Connect, Report, Sleep, Until


class Places(Protocol):
    """Partitions of the group by position (`sim.catalog.Partitions`)."""

    topic: list[str]
    number: Positions

    def of(self, topic: str) -> Positions:
        """Positions of a topic's partitions, by partition number."""
        ...


class RebalanceFailed(Exception):
    """``ConsumerRebalanceFailedException``."""


class Connector:
    """One consumer.

    Parameters
    ----------
    group, consumer_id, name : str
    config : ClientConfig
    places : Places
    offsets : Offsets
    threads : Threads

    Attributes
    ----------
    topics : tuple of str
    owned : int32 array
        What it owns, as far as it knows (``topicRegistry``).
    phase : Phase
    registrations : int
        How often it has registered: once a session.
    """

    def __init__(
        self, group: str, consumer_id: str, name: str, config: ClientConfig, places: Places, offsets: Offsets,
        threads: Threads,
    ) -> None:  # fmt: skip
        self._group, self._id, self._name = group, consumer_id, name
        self._config = config
        self._places = places
        self._offsets = offsets
        self._threads = threads
        self.topics: tuple[str, ...] = ()
        self.owned: Positions = NO_PARTITIONS
        self._fetched: Positions = NO_PARTITIONS
        self.phase = Phase.TRYING
        self.registrations = 0
        self.is_connected = False
        self._is_closing = False
        self._is_woken = False
        self._events: list[str | None] = []
        """Paths whose watch has fired; None: a new session."""
        self._rebalancing = False
        """``rebalanceLock``."""
        self._view = self._conflicts = 0

    # --- threads ------------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """The application makes its consumer and asks for streams."""
        self._threads.effects.append(Connect(self._config.zookeeper.session_timeout_us))
        self._threads.start("caller", self._call())

    def _call(self) -> Call:
        within_us = self._config.zookeeper.connection_timeout_us
        if not (yield Until(lambda: self.is_connected, within_us)):
            self._threads.effects.append(Raise(Error.ZOOKEEPER_TIMEOUT))
            return
        yield from self._offsets.connect()
        if self._config.enable_auto_commit:
            self._threads.start("scheduler", self._commit_regularly())
        yield from self._register()
        self._threads.start("watcher", self._watch())
        self._threads.start("events", self._handle_events())
        yield from nodes.exists(paths.ids(self._group))
        yield from nodes.get_children(paths.ids(self._group), watches=True)
        for topic in self.topics:
            yield from nodes.exists(paths.topic(topic))
        try:
            yield from self._rebalance()
        except RebalanceFailed:
            self._threads.effects.append(Raise(Error.REBALANCE_FAILED))

    def _watch(self) -> Call:
        """The watcher executor: one rebalance for any number of changes."""
        while not self._is_closing:
            yield Until(lambda: self._is_woken)
            self._is_woken = False
            yield from self._rebalance_or_log()

    def _rebalance_or_log(self) -> Call:
        try:
            yield from self._rebalance()
        except RebalanceFailed:
            self._report(Phase.GIVEN_UP)

    def _handle_events(self) -> Call:
        while True:
            yield Until(lambda: bool(self._events))
            path = self._events.pop(0)
            if path is None:
                yield from self._begin_session()
            else:
                yield from self._read_again(path)

    def _read_again(self, path: str) -> Call:
        """A watch has fired: the library reads, which sets it again, and tells the listener (``fireAllEvents``)."""
        yield from nodes.exists(path)
        try:
            if path == paths.ids(self._group):
                yield from nodes.get_children(path, watches=True)
            else:
                yield from nodes.get_data(path, watches=True)
        except NoNode:
            return
        self._is_woken = True

    def _begin_session(self) -> Call:
        """The session had expired (``ZKSessionExpireListener.handleNewSession``)."""
        self.owned = NO_PARTITIONS
        yield from self._register()
        yield from self._rebalance_or_log()

    def _commit_regularly(self) -> Call:
        while not self._is_closing:
            yield Sleep(self._config.auto_commit_interval_us)
            yield from self._commit()

    def _shut_down(self) -> Call:
        yield Until(lambda: not self._rebalancing)
        self._rebalancing = True
        yield from self._stop_fetching()
        yield from nodes.close()
        self._threads.effects.append(Closed())

    def close(self) -> None:
        """``shutdown()``."""
        self._is_closing = True
        self._threads.start("shutdown", self._shut_down())

    def notice(self, path: str | None) -> None:
        """A watch has fired; None: there is a new session, and whatever was watched counts as changed."""
        if path is not None:
            self._events.append(path)
        elif self.registrations:
            self._events += [None, paths.ids(self._group), *map(paths.topic, self.topics)]

    # --- registration -------------------------------------------------------------------------------------------------

    def _register(self) -> Call:
        """Ids: a node that an earlier session of this process has left is waited for."""
        strategy = self._config.partition_assignment_strategy[0]
        mine = Registration(self.topics, self.registrations + 1, self._name, strategy)
        while True:
            try:
                yield from nodes.make_ephemeral(paths.consumer(self._group, self._id), mine)
            except NodeExists:
                yield Sleep(self._config.zookeeper.session_timeout_us)
            else:
                self.registrations += 1
                return

    # --- rebalance ----------------------------------------------------------------------------------------------------

    def _rebalance(self) -> Call:
        """``syncedRebalance``: so many tries, and a pause after each that has failed. Raises `RebalanceFailed`."""
        yield Until(lambda: not self._rebalancing)
        if self._is_closing:
            return
        self._rebalancing = True
        for _ in range(self._config.zookeeper.rebalance_max_retries):
            if not self._fetched.size:
                self._report(Phase.TRYING)
            try:
                yield from self._read_brokers()
                is_done = yield from self._try()
            except (NoNode, ValueError):
                is_done = False
            if is_done:
                break
            yield from self._stop_fetching()
            self._report(Phase.BACKOFF)
            yield Sleep(self._config.zookeeper.rebalance_backoff_us)
        else:
            self._rebalancing = False
            raise RebalanceFailed
        self._rebalancing = False
        self._report(Phase.SETTLED)

    def _report(self, phase: Phase) -> None:
        conflicts, self._conflicts = self._conflicts, 0
        self.phase = phase
        self._threads.effects.append(Report(phase, self._view, conflicts))

    def _read_brokers(self) -> Call:
        brokers, _ = yield from nodes.get_children(paths.BROKERS)
        for broker in brokers:
            yield from nodes.get_data(paths.broker(broker))

    def _try(self) -> Call:
        """``rebalance``: whether it owns its part."""
        me = paths.consumer(self._group, self._id)
        yield from nodes.get_data(me)
        yield from self._read_brokers()
        if self._fetched.size:
            self._report(Phase.TRYING)
        yield from self._stop_fetching()
        yield from self._release()
        yield from nodes.get_data(me)
        partitions = yield from self._read_partitions()
        subscriptions = yield from self._read_subscriptions()
        yield from nodes.get_children(paths.ids(self._group), watches=True)
        part = part_of(self._id, self._config.partition_assignment_strategy[0], subscriptions, partitions)
        mine = [int(self._places.of(topic)[number]) for topic, number in part]
        positions = np.array(sorted(mine), np.int32)
        offsets = yield from self._offsets.fetch(positions)
        if self._is_closing or not (yield from self._claim(part)):
            return False
        self._adopt(positions, offsets)
        return True

    def _read_partitions(self) -> Call:
        partitions = {}
        for topic in self.topics:
            try:
                partitions[topic] = yield from nodes.get_data(paths.topic(topic), watches=True)
            except NoNode:
                partitions[topic] = 0
        return partitions

    def _read_subscriptions(self) -> Call:
        consumers, self._view = yield from nodes.get_children(paths.ids(self._group), watches=True)
        subscriptions: dict[str, tuple[str, ...]] = {}
        for one in consumers:
            registration: Registration = yield from nodes.get_data(paths.consumer(self._group, one))
            subscriptions[one] = registration.topics
        if self._id not in subscriptions:
            raise NoNode(self._id)
        return subscriptions

    def _claim(self, part: list[Place]) -> Call:
        """An owner node for each; what was claimed is given back if one could not be (whether all could)."""
        claimed: list[str] = []
        for topic, number in part:
            path = paths.owner(self._group, topic, number)
            try:
                yield from nodes.make_ephemeral(path, thread_of(self._id))
            except NodeExists:
                self._conflicts += 1
            else:
                claimed.append(path)
        if self._conflicts:
            for path in claimed:
                yield from nodes.delete(path)
        return not self._conflicts

    def _release(self) -> Call:
        released, self.owned = self.owned, NO_PARTITIONS
        for position in released.tolist():
            topic, number = self._places.topic[position], int(self._places.number[position])
            yield from nodes.delete(paths.owner(self._group, topic, number))

    # --- fetching -----------------------------------------------------------------------------------------------------

    def _stop_fetching(self) -> Call:
        """Everything stops; what has been processed is committed, if that is automatic."""
        known = self.owned
        checkpoint = yield from self._offsets.measure(known)
        if self._fetched.size:
            dropped, self._fetched = self._fetched, NO_PARTITIONS
            self._threads.effects.append(Drop(dropped, lost=not known.size))
        if self._config.enable_auto_commit:
            yield from self._offsets.commit(*checkpoint)

    def _commit(self) -> Call:
        checkpoint = yield from self._offsets.measure(self.owned)
        yield from self._offsets.commit(*checkpoint)

    def _adopt(self, positions: Positions, offsets: Any) -> None:
        self.owned = self._fetched = positions
        self._threads.effects += [Adopt(positions, positions), Begin(positions, offsets)]
