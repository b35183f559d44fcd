"""Everything that exists in one run, and how its parts find one another."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Any

from groupsim.assignors import Assignor, AssignorError, create, load_classes
from groupsim.assignors.guarded_call import made
from groupsim.sim.books.broker_books import UP, BrokerBooks
from groupsim.sim.books.producing.producers import ProducerBooks
from groupsim.sim.catalog import Catalog
from groupsim.sim.client.consumer import Consumer
from groupsim.sim.client.interface import Identity
from groupsim.sim.client.pause_streams import PauseStreams
from groupsim.sim.client.producing.data_producer import DataProducer
from groupsim.sim.cluster.bandwidth import Bandwidth, Reading
from groupsim.sim.cluster.broker import Broker
from groupsim.sim.cluster.controller import Controller
from groupsim.sim.cluster.groups.coordinator import Coordinator, partition_for
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.cluster.groups.group_protocols import CLASSIC_ONLY, CONSUMER_ONLY, ZOOKEEPER_ONLY, protocols_of
from groupsim.sim.cluster.groups.shards import Shards
from groupsim.sim.cluster.shard.offered_load import Offered, offered_by
from groupsim.sim.cluster.topic_news import TopicNews
from groupsim.sim.cluster.topics.arrival_news import ArrivalNews
from groupsim.sim.cluster.topics.data_logs import DataLogs
from groupsim.sim.cluster.topics.producer import Producer
from groupsim.sim.cluster.topics.retention import Retention
from groupsim.sim.cluster.transactions.transactions import Transactions
from groupsim.sim.cluster.zookeeper import Zookeeper
from groupsim.sim.errors import ScenarioError
from groupsim.sim.fastpath.consumer_engine import ConsumerEngine
from groupsim.sim.fastpath.engine import Engine
from groupsim.sim.fastpath.loud import LoudEngine
from groupsim.sim.fastpath.transactions.eligibility import open_parking
from groupsim.sim.gauge import Gauge
from groupsim.sim.kernel.environment import Environment
from groupsim.sim.kernel.network import Connection, Exchange, Path
from groupsim.sim.model import (
    Distribution,
    Group,
    Scenario,
    Target,
    Topic,
    appended_topics,
    deleted_topics,
    outputs_of,
    topics_read,
)
from groupsim.sim.output.lag_reading import LagReading
from groupsim.sim.protocol.classic.subscription import SubscriptionState
from groupsim.sim.randomness import Streams
from groupsim.sim.units import FOREVER


class World:
    """One run's entities.

    Parameters
    ----------
    scenario : Scenario
    streams : Streams
    is_loud : bool
        Message fidelity: every heartbeat, poll, commit and metadata refresh is an event.
    gauge : Gauge
        Shows how far the run has come, from the first member that is set up.
    """

    def __init__(self, scenario: Scenario, streams: Streams, *, is_loud: bool, gauge: Gauge) -> None:
        self.scenario, self.streams = scenario, streams
        self.is_loud, self.is_still = is_loud, scenario.is_still
        self.timing = scenario.cluster.timing
        self.env = Environment(scenario.event_budget, scenario.origin_us)
        self.broker_ids = tuple(sorted(broker.id for broker in scenario.cluster.brokers))
        self._broker_racks = {broker.id: broker.rack for broker in scenario.cluster.brokers}
        racks = {broker: rack for broker, rack in self._broker_racks.items() if rack}
        is_rack_aware = scenario.cluster.broker_config.is_rack_aware
        self.catalog = Catalog(scenario.topics, self.broker_ids, racks, is_rack_aware=is_rack_aware)
        self._classes = {cls.name: cls for cls in load_classes(scenario.allow_assignors).values()}
        self.warnings: list[str] = []
        self.rolls: dict[tuple[str, str], str] = {}  # of those under way: what is to be said if the run ends now
        self._assignor_failures: dict[tuple[str, str], tuple[int, str, int]] = {}
        """Failures of a group that are alike: when the first was, its text, and how many there are."""
        self.last_fault_us: int | None = None
        self.producers: dict[str, Producer] = {}
        self.groups: dict[str, GroupHost] = {}
        self.specs = {group.name: group for group in scenario.groups}
        self.members: dict[str, list[Consumer]] = {}
        """The consumers of each group, by slot."""
        self.consumers: dict[str, Consumer] = {}
        """All of them by name, in the order of their groups' names and of their slots."""
        gauge.attach(self.env, self.consumers)
        self.cuts: list[tuple[frozenset[str], frozenset[str]]] = []
        self.controller: Controller | None = None
        """Only if something happens to brokers."""
        self.coordinators: dict[int, Coordinator] = {}
        self.brokers = {id_: Broker(self.env, scenario.cluster, id_, self.coordinators) for id_ in self.broker_ids}
        self.broker_books = BrokerBooks(self.broker_ids)
        self.broker_books.note(0, dict.fromkeys(self.broker_ids, UP), self._leaders())
        self._homes: dict[str, int] = {}
        """Group -> broker of its coordinator."""
        self._slots, self._watched = slots_of(scenario), appended_topics(scenario) | deleted_topics(scenario)
        self._protocols = protocols_of(scenario)
        self._pause_streams = PauseStreams(scenario, streams, self.matches)
        self.bandwidth = Bandwidth(scenario.cluster.brokers, self.catalog, self._readings)
        self.shards = self._new_shards()
        for spec in sorted(scenario.groups, key=lambda group: group.name):
            self._build(spec)
        self.news = TopicNews(self.env, streams, self.timing, self.catalog, self.brokers, self.coordinators)
        self.transactions: Transactions | None = None
        """Only if a group produces."""
        self.readings: dict[str, LagReading] = {}
        self.producer_books = ProducerBooks()
        self.data_logs: DataLogs | None = None
        """Only if there are producers."""
        self.data_producers: list[DataProducer] = []
        self._build_writers()
        self.zookeeper: Zookeeper | None = None
        """Only if it holds a group together."""
        self._build_zookeeper()

    def _leaders(self) -> Counter[int]:
        """How many data partitions each broker leads."""
        counts = self.catalog.counts
        return Counter(node for topic in counts for node in self.catalog.leaders(topic, range(counts[topic])))

    def _partition_of(self, group: str) -> int:
        return partition_for(group, self.scenario.cluster.config.offsets_topic_num_partitions)

    def _new_shards(self) -> Shards:
        scenario = self.scenario
        offered: dict[int, dict[str, Offered]] = {}
        for spec in scenario.groups:
            shard = offered.setdefault(self._partition_of(spec.name), {})
            shard[spec.name] = offered_by(scenario, spec, self._slots[spec.name], self.catalog.specs)
        to = scenario.measure_to_us if scenario.measure_to_us is not None else scenario.horizon_us
        measure = (scenario.measure_from_us, to)
        return Shards(self.env, self.streams, scenario.cluster, measure, offered, self.catalog.offsets_replicas)

    def _build(self, spec: Group) -> None:
        slots, partition = self._slots[spec.name], self._partition_of(spec.name)
        node = self.broker_ids[partition % len(self.broker_ids)]
        self._homes[spec.name] = node
        coordinator = self.coordinators.get(partition)
        if coordinator is None:
            loop = self.shards.new_loop(partition, self.brokers[node].threads)
            coordinator = self.coordinators[partition] = Coordinator(
                self.env, self.scenario.cluster, partition, node, loop, self.shards.new_watermark(partition, loop)
            )
        parts = (self._protocols[spec.name], slots, coordinator.loop, coordinator.watermark)
        group = GroupHost(self.env, self.scenario, self.streams, spec, self.catalog, *parts)
        self.groups[spec.name] = group
        coordinator.adopt(group)
        members = self.members[spec.name] = []
        engine: Engine | ConsumerEngine | LoudEngine
        # Of a record that is followed, and of a topic that is deleted, when it was committed counts: each commit is a
        # message.
        is_loud = self.is_loud or self.shards.is_metered(partition) or self.scenario.data == "exact"
        is_loud = is_loud or spec.produces is not None or bool(topics_read(self.scenario, spec, self._watched))
        if group.protocols == CLASSIC_ONLY:
            engine = group.fast_path = Engine(self.env, group, members, slots, is_loud=is_loud)
            group.books.settle = engine.settle_readers_of
        elif group.protocols == ZOOKEEPER_ONLY:
            engine = group.fast_path = LoudEngine()
        else:
            is_loud = is_loud or group.protocols != CONSUMER_ONLY
            engine = group.fast_path = ConsumerEngine(self.env, group, is_loud=is_loud)
        for index in range(slots):
            members.append(self._add_consumer(spec, group, index, engine))

    def _build_writers(self) -> None:
        """Whoever writes record by record."""
        news = ArrivalNews(self.env, self.scenario, self.catalog, self.groups, self.members)
        if outputs_of(self.scenario):
            parts = (self.env, self.scenario, self.catalog, self.groups)
            brokers = (self.brokers, self.coordinators, news, self.are_cut)
            host = self.transactions = Transactions(*parts, *brokers, is_loud=self.is_loud)
            metered = frozenset(name for name in self.groups if self.shards.is_metered(self._partition_of(name)))
            self.readings = open_parking(*parts, self.members, host, metered)
        if self.scenario.producers:
            self._build_producers(news)

    def _build_producers(self, news: ArrivalNews) -> None:
        cluster, books = self.scenario.cluster, self.producer_books
        logs = self.data_logs = DataLogs(self.env, cluster, self.catalog, self.brokers, books, news)
        parts = (cluster.network, self.catalog, logs, books, lambda node: self.brokers[node].is_up)
        for spec in self.scenario.producers:
            for number in range(spec.count):
                producer = DataProducer(self.env, self.streams, spec, number, *parts)
                self.data_producers.append(producer)
                self.env.process(producer.run())

    def _build_zookeeper(self) -> None:
        held = [group for group in self.groups.values() if group.protocols == ZOOKEEPER_ONLY]
        if held:
            cluster, measure = self.scenario.cluster, held[0].books.measure
            self.zookeeper = Zookeeper(self.env, cluster, self.streams, measure, held)
            self.zookeeper.fill(self.catalog, self.broker_ids)

    def _add_consumer(
        self, spec: Group, group: GroupHost, index: int, engine: Engine | ConsumerEngine | LoudEngine
    ) -> Consumer:
        name = f"{spec.name}/{index}"
        override = spec.override_of(index)
        consumer = Consumer(
            self, group, index, name,
            config=override.client or spec.client,
            processing=override.processing or spec.processing,
            subscription=override.subscription or spec.subscription,
            static=spec.members.static,
            process=f"{spec.name}/process-{index // spec.members.per_process}",
            elide=engine.elide,
        )  # fmt: skip
        consumer.rack = override.rack if override.rack is not None else consumer.config.client_rack
        consumer.named_instance = override.instance_id or name
        consumer.pauses = self._pause_streams.of(consumer)
        group.books.handles.enrol(consumer)
        self.consumers[name] = consumer
        return consumer

    def add_producer(self, topic: str) -> None:
        """Somebody can write to a topic, once it exists."""
        self.producers[topic] = Producer(self.env, self.catalog, self.groups, self.members, topic)

    def start_topic(self, topic: Topic) -> None:
        """A topic exists from now on: it is produced to, and brokers look after the age of its records."""
        self.env.process(self.producers[topic.name].run(self.scenario.horizon_us))
        if topic.retention_us < FOREVER:
            retention = Retention(self.env, self.catalog, self.groups, self.members, topic)
            every = self.scenario.cluster.log_retention_check_us
            self.env.process(retention.run(every, self.scenario.horizon_us))

    def fault_until(self, time: int) -> None:
        """A fault lasts until ``time``, microseconds: recovery counts from the end of the last one."""
        self.last_fault_us = max(time, self.last_fault_us or 0)

    # --- draws --------------------------------------------------------------------------------------------------------

    @property
    def live_nodes(self) -> tuple[int, ...]:
        """Brokers whose process runs, ascending."""
        return tuple(id_ for id_, broker in self.brokers.items() if broker.is_up)

    @property
    def staying_nodes(self) -> tuple[int, ...]:
        """Those of them that are not about to go, ascending."""
        return tuple(node for node in self.live_nodes if not self.brokers[node].is_leaving)

    def boot_us(self, consumer: Identity) -> int:
        """Process start to first poll; a slow host boots slowly. Members of a group that begins aged join together."""
        spec = self.specs[consumer.group_name]
        if spec.is_aged and self.env.told_us < 0:
            return 0
        draw = self.streams.draw(spec.members.boot, "boot", consumer.name)
        return round(draw(consumer.incarnation) * consumer.slowdown(host_only=True))

    def path_of(self, consumer: Identity) -> Path:
        """Latencies between this incarnation and the brokers."""
        name = f"{consumer.name}#{consumer.incarnation}"
        waits = self.shards.waits_of(self._partition_of(consumer.group_name))
        return Path(self.streams, self.scenario.cluster.network, self._latency_of(consumer), name, *waits)

    def path_to_zookeeper(self, consumer: Identity) -> Path:
        """Latencies between this incarnation and ZooKeeper's servers."""
        network = self.scenario.cluster.network
        return Path(self.streams, network, network.latency, f"{consumer.name}#{consumer.incarnation} zookeeper")

    def _latency_of(self, consumer: Identity) -> Distribution:
        network = self.scenario.cluster.network
        node = self._homes[consumer.group_name]
        here = {consumer.name, consumer.group_name, f"rack:{consumer.rack}"}
        there = {f"broker:{node}", f"rack:{self._broker_racks[node]}"}
        for link in network.links:
            a, b = link.between
            if (a in here and b in there) or (b in here and a in there):
                return link.latency
        return network.latency

    def new_assignor(self, name: str, group: str) -> Assignor:
        """An instance of an assignor for one consumer of a group."""
        if name in self._classes:
            return made(name, self._classes[name])
        seed = self.streams.key("assignor", group) & 0x7FFFFFFF
        return made(name, partial(create, name, seed=seed, java_order=self.specs[group].java_order))

    # --- who is meant -------------------------------------------------------------------------------------------------

    def matches(self, target: Target, consumer: Consumer) -> bool:
        """Whether a static target (no draw, no leader) means this consumer."""
        if target.kind == "rack":
            return consumer.rack == target.name
        if target.kind != "group" or consumer.group.name != target.name:
            return False
        return target.pick != "index" or consumer.slot in target.indices

    def candidates(self, target: Target) -> Collection[Consumer]:
        """Those of whom a static target means some: of its group, or all; by group and slot."""
        return self.members.get(target.name, ()) if target.kind == "group" else self.consumers.values()

    def capacity_of(self, group: str, member_id: str) -> int:
        """Milli-records per second that a member can process, 0: unknown."""
        slot = self.groups[group].books.handles.slot_of(member_id)
        client = self.members[group][slot].incumbent if slot >= 0 else None
        return client.capacity_mrps if client is not None and client.machine.member_id == member_id else 0

    def topics_of(self, group: str) -> tuple[str, ...]:
        """Topics that there are now and that a group is for, whether or not anybody has subscribed to them yet."""
        wanted: set[str] = set()
        for one in [consumer.subscription for consumer in self.members[group]] or [self.specs[group].subscription]:
            asked = SubscriptionState()
            asked.on_metadata(self.catalog.counts)
            asked.subscribe(one.topics, one.pattern)
            wanted |= {*asked.topics, *(one.assign or ())}
        return tuple(sorted(wanted))

    def _readings(self) -> Iterator[Reading]:
        """What groups read, and the racks that their clients name."""
        for name, consumers in self.members.items():
            topics = tuple(topic for topic in self.topics_of(name) if topic in self.catalog.counts)
            yield topics, Counter(consumer.config.client_rack for consumer in consumers)

    def share_anew(self) -> None:
        """Others are read from other brokers than before, or more is: what is left of their bandwidth differs."""
        if self.bandwidth.is_given:
            self.bandwidth.forget()
            for consumer in self.consumers.values():
                consumer.repace(self.env.now)

    # --- connections --------------------------------------------------------------------------------------------------

    def connect(self, consumer: Identity, node: int, deliver: Callable[[Exchange, Any], None]) -> Connection:
        """A new connection to a broker; dead from the start if the broker is, or the two are cut off."""
        connection = Connection(self.env, node, consumer.entity, self.brokers[node].receive, deliver)
        if self.is_cut(consumer, node) or not self.brokers[node].is_up:
            connection.end()
        return connection

    def cut_off(self, consumer: Identity) -> frozenset[int]:
        """Brokers that this consumer cannot reach now."""
        return frozenset(node for node in self.broker_ids if self.is_cut(consumer, node)) if self.cuts else frozenset()

    def is_cut(self, consumer: Identity, node: int) -> bool:
        """Whether nothing gets through between a consumer and a broker."""
        return self._is_between(consumer.name, f"broker:{node}")

    def are_cut(self, one: int, other: int) -> bool:
        """Whether nothing gets through between two brokers."""
        return bool(self.cuts) and self._is_between(f"broker:{one}", f"broker:{other}")

    def is_cut_from_zookeeper(self, consumer: Identity, node: int) -> bool:
        """Whether nothing gets through between a consumer and a server of ZooKeeper."""
        return self._is_between(consumer.name, f"zookeeper:{node}")

    def _is_between(self, one: str, other: str) -> bool:
        return any((one in a and other in b) or (one in b and other in a) for a, b in self.cuts)

    def coordinator_of(self, group: str) -> Coordinator:
        """The coordinator of a group."""
        return self.coordinators[self._partition_of(group)]

    # --- notices ------------------------------------------------------------------------------------------------------

    def assignor_failed(self, consumer: Identity, error: AssignorError) -> None:
        """The leader's assignor threw."""
        self.groups[consumer.group_name].books.fail_assignment()
        spec = self.specs[consumer.group_name]
        text = f"{consumer.name}: assignor failed: {error}"
        if spec.assignor_failure == "refuse":
            raise ScenarioError(text)
        alike = (consumer.group_name, re.sub(r"[\w-]*\d[\w-]*", "#", str(error)))  # ids of members differ each time
        now, first, count = self._assignor_failures.get(alike, (self.env.told_us, text, 0))
        self._assignor_failures[alike] = (now, first, count + 1)

    def notices(self) -> list[str]:
        """What the user should know after the run: the assignors that failed and how often, then all else."""
        failures = [_counted(*failures) for failures in self._assignor_failures.values()]
        return [*failures, *self.warnings, *self.rolls.values(), *self.shards.findings()]


def _counted(now: int, first: str, count: int) -> str:
    """The first of some failures that are alike, how many there are, and since when."""
    return f"{first} [{'once' if count == 1 else f'{count:,} times, first'} at {now / 1e6:.3f} s]"


def slots_of(scenario: Scenario) -> dict[str, int]:
    """The most consumers that each group can ever have: its own, a surge, or what it is scaled out to."""
    own = {spec.name: spec.members.count for spec in scenario.groups}
    most = dict(own)
    for entry in scenario.timeline:
        verb = entry.verb
        target = getattr(verb, "target", None)
        if target is not None and target.kind == "group" and (name := target.name) in own:
            most[name] = max(most[name], getattr(verb, "to", 0), own[name] + getattr(verb, "surge", 0))
    return most
