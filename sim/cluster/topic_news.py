"""How brokers hear of topics that are created or deleted, or grow, and tell their coordinators.

The controller writes a record, each broker fetches it, answers clients by it at once, makes the logs of the partitions
that it leads, one after the other, and only then tells its coordinators, as an event of each shard. Of 500 partitions
of a created topic a recorded broker told them 9 to 16 s after clients knew it (`tests/oracle`). Logs that are deleted
take no time here; coordinators forget the offsets of their partitions after they have looked at what topics there are.

Source: ``BrokerMetadataPublisher.onMetadataUpdate`` (``ReplicaManager.applyDelta`` before
``GroupCoordinator.onMetadataUpdate``), ``CoordinatorRuntime.onMetadataUpdate``,
``GroupCoordinatorService.handleTopicsDeletion`` (Kafka 4.4).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import NamedTuple

from groupsim.sim.catalog import Catalog
from groupsim.sim.cluster.broker import Broker
from groupsim.sim.cluster.groups.coordinator import Coordinator
from groupsim.sim.config import Timing
from groupsim.sim.kernel.environment import Environment, Kind, process_key
from groupsim.sim.randomness import Streams, name_hash


class Told(NamedTuple):
    """What a broker is told: all changes of topics up to this number, as of one start of its process.

    ``version`` counts topics that came, went or grew, and where their replicas are; ``deleted`` is one that went.
    """

    node: int
    version: tuple[int, int]
    incarnation: int
    deleted: str = ""


class TopicNews:
    """Of one cluster.

    Parameters
    ----------
    env : Environment
    streams : Streams
    timing : Timing
    catalog : Catalog
    brokers : mapping of int to Broker
    coordinators : mapping of int to Coordinator
        By offsets partition.

    Attributes
    ----------
    applied_us : dict of int to int, microseconds
        When a broker has applied all metadata that it has been told of: they come in order.
    """

    def __init__(
        self, env: Environment, streams: Streams, timing: Timing, catalog: Catalog, brokers: Mapping[int, Broker],
        coordinators: Mapping[int, Coordinator],
    ) -> None:  # fmt: skip
        self._env = env
        self._catalog = catalog
        self._brokers = brokers
        self._coordinators = coordinators
        self._delays = {id_: streams.draw(timing.metadata, "topic-metadata", id_) for id_ in brokers}
        self._changes = {id_: streams.draw(timing.leader_change, "new-partitions", id_) for id_ in brokers}
        self._versions = dict.fromkeys(brokers, (catalog.version, catalog.placements))
        self._key = process_key(name_hash("topic-news"), Kind.FAULT)
        self.applied_us: dict[int, int] = {}

    def image_of(self, node: int) -> Mapping[str, int]:
        """Topic -> number of partitions, by what a broker has applied."""
        return self._catalog.counts_of(self._versions[node][0])

    def publish(self, topic: str, first: int, reached: Collection[int] | None) -> None:
        """A topic has partitions from number ``first`` on that it had not before.

        ``reached`` are brokers that hear of it; None: all, of which those matter that have coordinators, since these
        stay where they are.
        """
        now, version = self._env.now, self._catalog.version
        led = Counter(self._catalog.leaders(topic, range(first, self._catalog.counts[topic])))
        hosts = self._hosts
        for node in sorted(hosts if reached is None else reached) if hosts else ():
            broker = self._brokers[node]
            if broker.is_up:
                heard_us = max(self.applied_us.get(node, 0), now + self._delays[node](version))
                done_us = self.applied_us[node] = heard_us + led[node] * self._changes[node](version)
                self._env.at(done_us, self._key, self.apply, self.told(node))

    def publish_deletion(self, topic: str) -> None:
        """A topic is no more: every broker with a coordinator hears of it, since any group may have committed it."""
        now, version = self._env.now, self._catalog.version
        for node in sorted({one.node for one in self._coordinators.values()}):
            done_us = max(self.applied_us.get(node, 0), now + self._delays[node](version))
            self.applied_us[node] = done_us
            self._env.at(done_us, self._key, self.apply, self.told(node)._replace(deleted=topic))

    @property
    def _hosts(self) -> set[int]:
        """Brokers whose coordinators look at topics."""
        return {one.node for one in self._coordinators.values() if one.follows_topics}

    @property
    def are_places_watched(self) -> bool:
        """Whether it concerns any group where replicas are: by the racks of their brokers."""
        return bool(self._catalog.racks and self._hosts)

    def told(self, node: int) -> Told:
        """All that there is to be heard of now."""
        return Told(node, (self._catalog.version, self._catalog.placements), self._brokers[node].incarnation)

    def apply(self, told: Told) -> None:
        """A broker has applied what it has been told, unless its process has ended since."""
        broker = self._brokers[told.node]
        if broker.is_up and broker.incarnation == told.incarnation and told.version > self._versions[told.node]:
            self._versions[told.node] = told.version
            for number in sorted(self._coordinators):
                if self._coordinators[number].node == told.node:
                    self._coordinators[number].on_metadata(self.image_of(told.node), told.deleted)
