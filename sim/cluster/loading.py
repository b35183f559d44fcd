"""Metadata on its way to the brokers, and coordinators that move with it.

A broker applies what it hears in order, on one thread: its cache first, then each partition that it leads, then its
coordinators (``BrokerMetadataPublisher.onMetadataUpdate``, ``ReplicaManager.applyDelta``, Kafka 4.4). A partition whose
leader is new takes time (`sim.cluster.local_leaders`); until its turn has come nobody serves it. So a broker that leads
an offsets partition no more resigns when it has applied that, and the new leader begins to read the log when it has
applied all. One thread of a broker loads one partition after the other (``CoordinatorRuntime``,
``CoordinatorLoaderImpl``, Kafka 4.4), in the order of their numbers. What a load takes is charged by a model: a fixed
part ("loading itself takes a few ms", recorded with almost empty logs) and the bytes that are there when it begins
(`sim.cluster.shard.log_bytes`) at a rate that is assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, NamedTuple

from groupsim.sim.catalog import Announcement, Catalog
from groupsim.sim.cluster.broker import Broker
from groupsim.sim.cluster.interface import Audience, Shard
from groupsim.sim.cluster.local_leaders import LocalLeaders
from groupsim.sim.cluster.topic_news import Told, TopicNews
from groupsim.sim.kernel.environment import Environment, Kind, process_key
from groupsim.sim.model import Cluster
from groupsim.sim.protocol.controller.partition import INTERNAL_TOPICS, NO_LEADER, Name
from groupsim.sim.protocol.controller.replication import ReplicationControl
from groupsim.sim.randomness import Streams, name_hash
from groupsim.sim.units import MS, S

_LOAD_US: Final = 2 * MS
_LOAD_BYTES_PER_S: Final = 100 << 20
_FETCH_BACKOFF_US: Final = S
_STEP_US: Final = 50 * MS
"""Partitions that a broker has taken over are served by steps of this length: fewer events, and nobody sees more."""


class Term(NamedTuple):
    """A broker is to lead an internal partition, in a leader epoch, if its process is still that."""

    name: Name
    node: int
    epoch: int
    incarnation: int


Serve = Callable[[tuple[Iterable[Name], int]], None]


def load_us(log_bytes: int) -> int:
    """How long it takes to load an offsets partition, microseconds."""
    return _LOAD_US + log_bytes * S // _LOAD_BYTES_PER_S


class Loading:
    """Of one cluster.

    Parameters
    ----------
    env : Environment
    streams : Streams
    cluster : Cluster
    brokers : mapping of int to Broker
    shards : mapping of Name to Shard
        Coordinators, by their partition.
    control : ReplicationControl
    catalog : Catalog
        Is told how clients can hear of new leaders.
    audience : Audience
    news : TopicNews
    log_bytes : callable
        How long the log of an internal partition is now.
    """

    def __init__(
        self, env: Environment, streams: Streams, cluster: Cluster, brokers: Mapping[int, Broker],
        shards: Mapping[Name, Shard], control: ReplicationControl, catalog: Catalog, audience: Audience,
        news: TopicNews, log_bytes: Callable[[Name], int],
    ) -> None:  # fmt: skip
        self._env = env
        timing = cluster.timing
        self._delays = {id_: streams.draw(timing.metadata, "metadata", id_) for id_ in brokers}
        self._local_leaders = LocalLeaders(streams, timing, brokers)
        self._log_bytes = log_bytes
        self._brokers = brokers
        self._shards = shards
        self._control = control
        self._catalog = catalog
        self._audience = audience
        self._number = 0
        self._led = {name: one.leader for name, one in control.partitions.items()}
        self._free_us: dict[int, int] = {}
        """When the loader thread of a broker is done with what it has to load."""
        self._news = news
        self._heard_us = news.applied_us
        self._key = process_key(name_hash("metadata"), Kind.FAULT)

    @property
    def leaders(self) -> dict[Name, int]:
        """Who leads each partition that a coordinator belongs to."""
        return {name: self._control.partitions[name].leader for name in self._shards}

    def tell_places(self, reached: Collection[int]) -> None:
        """Replicas are about to be copied: brokers that run and are ``reached`` hear of it."""
        for id_ in reached if self._news.are_places_watched else ():
            if self._brokers[id_].is_up:
                self._env.at(self._hears_us(id_), self._key, self._news.apply, self._news.told(id_))

    def _hears_us(self, node: int) -> int:
        """When a broker hears of what is decided now: metadata come in order."""
        return max(self._heard_us.get(node, 0), self._env.now + self._delays[node](self._number))

    def delay_us(self, node: int) -> int:
        """Until a broker hears of something that was decided when its process had been started so often."""
        return self._delays[node](self._brokers[node].incarnation)

    def publish(self, changed: Collection[Name], reached: Collection[int], serve: Serve) -> dict[Name, int]:
        """Tell brokers that run and are ``reached``; coordinators of these partitions move if somebody else leads.

        ``serve`` is called when leaders have applied what has changed of some partitions.

        Returns
        -------
        dict of Name to int
            When these partitions are served as has been decided, microseconds.
        """
        leaders = self.leaders
        self._number += 1
        applied: dict[Name, int] = {}
        heard: dict[int, int] = {}
        led = self._by_leader(changed)
        for id_, broker in self._brokers.items():
            if broker.is_up and id_ in reached:
                heard[id_] = heard_us = self._hears_us(id_)
                self._env.at(heard_us, self._key, self._hear, (leaders, self._news.told(id_)))
                self._heard_us[id_] = self._apply(id_, heard_us, led.get(id_, ()), applied)
        moved = {name for name in changed if self._is_news(name)}
        self._move(sorted(name for name in changed if name[0] in INTERNAL_TOPICS))
        self._announce(moved, heard, applied)
        self._led |= {name: self._control.partitions[name].leader for name in moved}
        applied.update({name: self._followed_us(name, applied[name]) for name in moved if name in applied})
        due: dict[int, list[Name]] = {}
        for name, time in applied.items():
            due.setdefault(time, []).append(name)
        for time in sorted(due):
            self._env.at(time, self._key, serve, (due[time], time))
        return applied

    def _announce(self, moved: Iterable[Name], heard: Mapping[int, int], applied: Mapping[Name, int]) -> None:
        """Clients can hear of new leaders from any broker that has, before the leader itself has applied it."""
        announced = self._catalog.announced
        for name in moved:
            if name in applied and name[0] not in INTERNAL_TOPICS:
                announced[name] = Announcement(self._led.get(name, NO_LEADER), heard, applied[name])
            else:
                announced.pop(name, None)

    def _followed_us(self, name: Name, applied_us: int) -> int:
        """When a new leader's high watermark moves: when all others in sync fetch from it.

        A broker follows when it leads all that it is to lead. One that is earlier than its leader is refused
        (NOT_LEADER_OR_FOLLOWER), and tries again after ``replica.fetch.backoff.ms``.

        Source: ``ReplicaManager.applyDelta``, ``AbstractFetcherThread.delayPartitions`` (Kafka 4.4).
        """
        found = applied_us
        for node in self._control.partitions[name].isr:
            if self._brokers[node].is_up and node != self._control.partitions[name].leader:
                early_us = max(applied_us - self._heard_us.get(node, applied_us), 0)
                found = max(found, applied_us - early_us + -(-early_us // _FETCH_BACKOFF_US) * _FETCH_BACKOFF_US)
                found = max(found, self._heard_us.get(node, 0))
        return found

    def _by_leader(self, changed: Iterable[Name]) -> dict[int, list[Name]]:
        """Partitions by who leads them, in an order of no meaning (that of a hash table)."""
        found: dict[int, list[Name]] = {}
        for name in sorted(changed, key=lambda name: name_hash(name[0], str(name[1]))):
            found.setdefault(self._control.partitions[name].leader, []).append(name)
        return found

    def _is_news(self, name: Name) -> bool:
        """Whether another broker leads than the one that did when something was published last."""
        return self._control.partitions[name].leader != self._led.get(name)

    def _apply(self, node: int, heard_us: int, names: Iterable[Name], applied: dict[Name, int]) -> int:
        """A broker applies what has changed of partitions that it leads: when each, and when it has done so."""
        led_after, until_us = self._local_leaders.led_after(node, self._number), heard_us
        for name in names:
            if self._is_news(name):
                until_us = heard_us + next(led_after)
            applied[name] = heard_us - (heard_us - until_us) // _STEP_US * _STEP_US
        return until_us

    def _hear(self, told: tuple[Mapping[Name, int], Told]) -> None:
        leaders, news = told
        broker = self._brokers[news.node]
        if broker.is_up and broker.incarnation == news.incarnation:
            broker.leaders = leaders
            self._news.apply(news)

    def _move(self, names: Iterable[Name]) -> None:
        """Let coordinators of these resign, and brokers begin to read what they have to read."""
        begun: dict[int, list[Term]] = {}
        for name in names:
            state = self._control.partitions[name]
            coordinator = self._shards.get(name)
            node, begins = state.leader, self._env.now
            old = coordinator.node if coordinator is not None else NO_LEADER
            if coordinator is not None and old not in (node, NO_LEADER):
                begins = max(begins, self._heard_us.get(old, begins))
                self._env.at(begins, self._key, self._resign, (coordinator, old))
            has_news = coordinator is not None or self._is_news(name)
            if has_news and node not in (old, NO_LEADER) and self._brokers[node].is_up:
                begins = max(begins, self._heard_us.get(node, begins))
                begun.setdefault(begins, []).append(Term(name, node, state.epoch, self._brokers[node].incarnation))
        for begins in sorted(begun):
            self._env.at(begins, self._key, self._begin, begun[begins])

    def _resign(self, term: tuple[Shard, int]) -> None:
        coordinator, node = term
        if coordinator.node == node:
            self._audience.disturb(coordinator.groups)
            coordinator.resign()

    def _begin(self, terms: Iterable[Term]) -> None:
        """Brokers begin to read, one log after the other; one that has ended meanwhile reads nothing."""
        for term in terms:
            broker, coordinator = self._brokers[term.node], self._shards.get(term.name)
            if not broker.is_up or broker.incarnation != term.incarnation:
                continue
            done = max(self._env.now, self._free_us.get(term.node, 0)) + load_us(self._log_bytes(term.name))
            self._free_us[term.node] = done
            if coordinator is not None and coordinator.node == NO_LEADER and self._is_current(term):
                coordinator.elect(term.node)
                self._env.at(done, self._key, self._load, term)

    def _is_current(self, term: Term) -> bool:
        state = self._control.partitions[term.name]
        return (state.leader, state.epoch) == (term.node, term.epoch) and self._brokers[term.node].is_up

    def _load(self, term: Term) -> None:
        coordinator = self._shards[term.name]
        if coordinator.is_loading and coordinator.node == term.node and self._is_current(term):
            coordinator.load(self._brokers[term.node].threads, self._news.image_of(term.node))

    def broker_lost(self, node: int) -> None:
        """The broker's process has ended: its coordinators are nowhere."""
        self._free_us.pop(node, None)
        self._heard_us.pop(node, None)
        for name in sorted(self._shards):
            if self._shards[name].node == node:
                self._shards[name].resign()
