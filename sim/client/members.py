"""The machine of one incarnation: a member of the protocol that its configuration names."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from groupsim.assignors import Assignor
from groupsim.assignors import Protocol as RebalanceProtocol
from groupsim.sim.client.incarnation import Incarnation
from groupsim.sim.client.polling.heartbeat_thread import Cadence
from groupsim.sim.config import ClientConfig
from groupsim.sim.protocol.classic.member import ClassicMember
from groupsim.sim.protocol.consumer.member.member import ConsumerMember
from groupsim.sim.protocol.interface import MemberMachine
from groupsim.sim.protocol.zookeeper.member import ZookeeperMember
from groupsim.sim.randomness import backoff_factor, hash64
from groupsim.sim.units import FOREVER


def new_assignors(client: Incarnation) -> tuple[Assignor, ...]:
    """Its own instances, in order of preference; none where it is not members that assign for one another."""
    if client.config.group_protocol != "classic":
        return ()
    names = client.config.partition_assignment_strategy
    return tuple(client.world.new_assignor(name, client.group.name) for name in names)


def new_member(client: Incarnation, assignors: tuple[Assignor, ...]) -> MemberMachine[Any, Any]:
    """A member that has not done anything yet; ``assignors`` are its own."""
    if client.config.group_protocol == "consumer":
        return _new_consumer_member(client)
    if client.config.group_protocol == "zookeeper":
        return _new_zookeeper_member(client)
    return _new_classic_member(client, assignors)


def _commits(client: Incarnation) -> str:
    processing = client.processing
    if processing.commit == "outside":
        return "none"
    return processing.commit if processing.commit != "auto" or client.config.enable_auto_commit else "none"


def _jitter(client: Incarnation) -> Callable[[int], int]:
    return backoff_factor(client.world.streams.key("backoff", client.label))


def _new_classic_member(client: Incarnation, assignors: tuple[Assignor, ...]) -> ClassicMember:
    period = Cadence.of(client.config, client.world.timing).interval_us
    machine = ClassicMember(
        group_id=client.group.name,
        name=client.consumer.name,
        config=_beating_every(client.config, period),
        instance_id=client.consumer.instance_id,
        assignors=assignors,
        cooperative=all(RebalanceProtocol.COOPERATIVE in one.protocols for one in assignors),
        jitter=_jitter(client),
        commits=_commits(client),
        commit_every_us=client.processing.commit_every_us,
        commit_on_revoked=client.processing.commit_on_revoked,
        poll_timeout_us=FOREVER if client.config.behaviour.looks_at_polls else client.processing.poll_timeout_us,
    )
    machine.subscription.topic_of = lambda position: client.books.partitions.topic[position]
    return machine


@lru_cache(maxsize=1024)
def _beating_every(config: ClientConfig, interval_us: int) -> ClientConfig:
    """The same with another ``heartbeat.interval.ms``: one object for all members that are configured alike."""
    return replace(config, heartbeat_interval_us=interval_us)


def _new_consumer_member(client: Incarnation) -> ConsumerMember:
    return ConsumerMember(
        group_id=client.group.name,
        name=client.consumer.name,
        member_id=_uuid(client),
        config=client.config,
        instance_id=client.consumer.instance_id,
        jitter=_jitter(client),
        commits=_commits(client),
        commit_every_us=client.processing.commit_every_us,
        commit_on_revoked=client.processing.commit_on_revoked,
    )


def _new_zookeeper_member(client: Incarnation) -> ZookeeperMember:
    name, group = client.consumer.name, client.group.name
    return ZookeeperMember(group, name, _consumer_id(client), client.config, client.books.partitions)


def _consumer_id(client: Incarnation) -> str:
    """``group_host-milliseconds-8 hex digits`` (``ZookeeperConsumerConnector.consumerIdString``, Kafka 0.8.2)."""
    host = client.consumer.name.rpartition("/")[0] + "-" + str(client.consumer.slot)
    digits = f"{hash64(client.world.streams.key('member-id', client.label, 0), 0):016x}"[:8]
    return f"{client.group.name}_{host}-{client.opened_us // 1000}-{digits}"


def _uuid(client: Incarnation) -> str:
    """A member id as the client makes it up when it is constructed, named by whose it is (``Uuid.randomUuid``).

    A random UUID of version 4 in base64 without padding, which does not begin with a dash (Kafka 4.4).
    """
    key, number = client.world.streams.key("member-id", client.label, 0), 0
    while True:
        high = hash64(key, number) & ~0xF000 | 0x4000
        low = hash64(key, number + 1) & ~(3 << 62) | 1 << 63
        text = urlsafe_b64encode(high.to_bytes(8, "big") + low.to_bytes(8, "big")).decode().rstrip("=")
        if not text.startswith("-"):
            return text
        number += 2
