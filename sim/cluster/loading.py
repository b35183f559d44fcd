"""Metadata on its way to the brokers, and coordinators that move with it.

A broker that leads an offsets partition no more resigns when it hears of it, and the new leader begins to read the log
when it has heard of it too. One thread of a broker loads one partition after the other (``CoordinatorRuntime``,
``CoordinatorLoaderImpl``, Kafka 4.4), in the order of their numbers. What a load takes is charged by a model: a fixed
part ("loading itself takes a few ms", recorded with almost empty logs) and the bytes at a rate that is assumed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from groupsim.sim.cluster.broker import Broker
from groupsim.sim.cluster.coordinator import Coordinator
from groupsim.sim.cluster.interface import Audience
from groupsim.sim.kernel.environment import Environment, Kind, process_key
from groupsim.sim.model import Cluster
from groupsim.sim.protocol.controller.partition import NO_LEADER, OFFSETS_TOPIC, Name
from groupsim.sim.protocol.controller.replication import ReplicationControl
from groupsim.sim.randomness import Streams, name_hash
from groupsim.sim.units import MS, S

_LOAD_US: Final = 2 * MS
_LOAD_BYTES_PER_S: Final = 100 << 20


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
    coordinators : mapping of int to Coordinator
    control : ReplicationControl
    audience : Audience
    """

    def __init__(
        self, env: Environment, streams: Streams, cluster: Cluster, brokers: Mapping[int, Broker],
        coordinators: Mapping[int, Coordinator], control: ReplicationControl, audience: Audience,
    ) -> None:  # fmt: skip
        self._env = env
        self._delays = {id_: streams.draw(cluster.failover.metadata, "metadata", id_) for id_ in brokers}
        self._load_us = load_us(cluster.offsets_log_bytes)
        self._brokers = brokers
        self._coordinators = coordinators
        self._control = control
        self._audience = audience
        self._number = 0
        self._led = {
            number: one.leader for (topic, number), one in control.partitions.items() if topic == OFFSETS_TOPIC
        }
        self._free_us: dict[int, int] = {}
        """When the loader thread of a broker is done with what it has to load."""
        self._heard_us: dict[int, int] = {}
        """When a broker hears of what it has been told last: metadata come in order."""
        self._key = process_key(name_hash("metadata"), Kind.FAULT)

    @property
    def leaders(self) -> dict[int, int]:
        """Who leads each offsets partition that a coordinator belongs to."""
        return {number: self._control.partitions[OFFSETS_TOPIC, number].leader for number in self._coordinators}

    def publish(self, changed: Iterable[Name], reached: Collection[int]) -> None:
        """Tell brokers that run and are ``reached``; coordinators of these partitions move if somebody else leads."""
        now, leaders = self._env.now, self.leaders
        self._number += 1
        for id_, broker in self._brokers.items():
            if broker.is_up and id_ in reached:
                self._heard_us[id_] = max(self._heard_us.get(id_, 0), now + self._delays[id_](self._number))
                self._env.at(self._heard_us[id_], self._key, self._hear, (broker, leaders, broker.incarnation))
        for number in sorted(number for topic, number in changed if topic == OFFSETS_TOPIC):
            self._move(number)

    def _hear(self, told: tuple[Broker, Mapping[int, int], int]) -> None:
        broker, leaders, incarnation = told
        if broker.is_up and broker.incarnation == incarnation:
            broker.leaders = leaders

    def _move(self, number: int) -> None:
        state = self._control.partitions[OFFSETS_TOPIC, number]
        coordinator = self._coordinators.get(number)
        node, begins = state.leader, self._env.now
        is_news, self._led[number] = node != self._led[number], node
        old = coordinator.node if coordinator is not None else NO_LEADER
        if coordinator is not None and old not in (node, NO_LEADER):
            begins = max(begins, self._heard_us.get(old, begins))
            self._env.at(begins, self._key, self._resign, (coordinator, old))
        if (is_news or coordinator is not None) and node not in (old, NO_LEADER) and self._brokers[node].is_up:
            begins = max(begins, self._heard_us.get(node, begins))
            done = max(begins, self._free_us.get(node, 0)) + self._load_us
            self._free_us[node] = done
            if coordinator is not None:
                term = (coordinator, node, state.epoch)
                self._env.at(begins, self._key, self._elect, term)
                self._env.at(done, self._key, self._load, term)

    def _resign(self, term: tuple[Coordinator, int]) -> None:
        coordinator, node = term
        if coordinator.node == node:
            self._audience.disturb(coordinator.groups)
            coordinator.resign()

    def _is_current(self, coordinator: Coordinator, node: int, epoch: int) -> bool:
        state = self._control.partitions[OFFSETS_TOPIC, coordinator.partition]
        return (state.leader, state.epoch) == (node, epoch) and self._brokers[node].is_up

    def _elect(self, term: tuple[Coordinator, int, int]) -> None:
        coordinator, node, _ = term
        if coordinator.node == NO_LEADER and self._is_current(*term):
            coordinator.elect(node)

    def _load(self, term: tuple[Coordinator, int, int]) -> None:
        coordinator, node, _ = term
        if coordinator.is_loading and coordinator.node == node and self._is_current(*term):
            coordinator.load(self._brokers[node].threads)

    def broker_lost(self, node: int) -> None:
        """The broker's process has ended: its coordinators are nowhere."""
        self._free_us.pop(node, None)
        self._heard_us.pop(node, None)
        for number in sorted(self._coordinators):
            if self._coordinators[number].node == node:
                self._coordinators[number].resign()
