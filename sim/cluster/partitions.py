"""What leaders and in-sync replicas mean for readers and writers: the catalog, and coordinators that cannot commit.

A partition can be read beyond what is there already if somebody leads it and its high watermark follows: so neither
without a leader, nor while a broker that counts as in sync is dead. A coordinator's appends wait as long.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Final

from groupsim.sim.books.broker_books import CLOSING, DOWN, FENCED, STARTING, UNNOTICED, UP, BrokerBooks
from groupsim.sim.catalog import Catalog
from groupsim.sim.cluster.broker import Broker
from groupsim.sim.cluster.interface import Audience, Shard
from groupsim.sim.model import Cluster, Topic
from groupsim.sim.protocol.controller.partition import (
    INTERNAL_TOPICS,
    NO_LEADER,
    OFFSETS_TOPIC,
    TRANSACTIONS_TOPIC,
    Holdup,
    Name,
    PartitionState,
)
from groupsim.sim.protocol.controller.replication import Replicated, ReplicationControl

_WITH_ELR: Final = ("4.4", "4.3", "4.2", "4.1")
"""Clusters that are made by these have ``eligible.leader.replicas.version`` 1 (``EligibleLeaderReplicasVersion``)."""


class ClusterPartitions:
    """All partitions of a cluster.

    Parameters
    ----------
    cluster : Cluster
    catalog : Catalog
    brokers : mapping of int to Broker
        By id, ascending.
    shards : mapping of Name to Shard
        Coordinators, by their partition.
    audience : Audience
    are_cut : callable
        Whether nothing gets through between two brokers.
    books : BrokerBooks

    Attributes
    ----------
    brokers, are_cut
        As given.
    control : ReplicationControl
    awaited : dict of Name to int
        Partitions of which something has changed -> when their leader, and who follows it, will have applied that.
    """

    def __init__(
        self, cluster: Cluster, catalog: Catalog, brokers: Mapping[int, Broker],
        shards: Mapping[Name, Shard], audience: Audience, are_cut: Callable[[int, int], bool],
        books: BrokerBooks,
    ) -> None:  # fmt: skip
        self.brokers = brokers
        self.are_cut = are_cut
        self.awaited: dict[Name, int] = {}
        self._deserted: set[Name] = set()
        """Those whose leader waits for a broker that is shutting down, until that has been applied once."""
        self._served: dict[Name, int] = {}
        """Partitions of coordinators -> the leader epoch in which their high watermark moves."""
        self._reassigning: dict[Name, tuple[int, ...]] = {}
        """Partitions that are being moved -> where to."""
        self._copying: set[tuple[Name, int]] = set()
        """Replicas that do not have the log yet."""
        self._catalog = catalog
        self._shards = shards
        self._audience = audience
        self._books = books
        self.control = ReplicationControl(has_elr=cluster.config.version in _WITH_ELR)
        config = cluster.broker_config
        offsets = Replicated(min_insync=config.min_insync_replicas, is_unclean=config.unclean_leader_election)
        count = cluster.config.offsets_topic_num_partitions
        self._add(OFFSETS_TOPIC, count, config.offsets_replication_factor, offsets)
        if any(topic == TRANSACTIONS_TOPIC for topic, _ in shards):
            log = cluster.transactions
            kept = Replicated(min_insync=log.min_insync)
            self._add(TRANSACTIONS_TOPIC, log.topic_partitions, log.replication_factor, kept)
        self.cover()

    def _add(self, topic: str, count: int, copies: int, config: Replicated) -> None:
        """Partitions of a topic of coordinators."""
        for number in range(count):
            replicas = tuple(self._catalog.offsets_replicas(number, min(copies, len(self.brokers))))
            self.control.add((topic, number), replicas, config)

    def cover(self) -> None:
        """Take in data partitions that have come into being."""
        for topic, created in self._catalog.created_us.items():
            for number in range(len(created)):
                if (topic, number) not in self.control.partitions:
                    replicas = tuple(self._catalog.replicas(topic, number))
                    self.control.add((topic, number), replicas, _replicated(self._catalog.specs[topic]))

    def held_by(self, node: int) -> list[Name]:
        """Partitions of which a broker counts as in sync."""
        return [name for name, state in self.control.partitions.items() if node in state.isr]

    def lagging(self, names: Iterable[Name]) -> list[int]:
        """Brokers that follow, and are not in sync, in some of these; ascending."""
        dead = self.dead
        found: set[int] = set()
        for name in names:
            state = self.control.partitions[name]
            late = [one for one in state.replicas if one not in state.isr and one not in dead]
            found.update(one for one in late if self._follows(name, one, dead))
        return sorted(found)

    def followed_by(self, node: int) -> list[Name]:
        """Partitions whose log a broker has, and whose leader it reaches."""
        dead, held = self.dead, self.control.partitions
        return [name for name, one in held.items() if node in one.replicas and self._follows(name, node, dead)]

    def _follows(self, name: Name, node: int, dead: Collection[int]) -> bool:
        leader = self.control.partitions[name].leader
        is_led = leader != NO_LEADER and leader not in dead
        return is_led and not self._is_cut_off(node, leader) and (name, node) not in self._copying

    # --- reassignments ------------------------------------------------------------------------------------------------

    def reassign(self, name: Name, replicas: tuple[int, ...]) -> list[int]:
        """A partition is to move: who has to copy it first."""
        self.cover()
        new = [one for one in replicas if one not in self.control.partitions[name].replicas]
        self.control.reassign(name, replicas)
        self._reassigning[name] = replicas
        self._copying.update((name, one) for one in new)
        self._place(name)
        return new

    def _place(self, name: Name) -> None:
        """Write down where a data partition is, or is being copied to: all of these count as its replicas."""
        if name[0] not in INTERNAL_TOPICS:
            self._catalog.placed[name] = self.control.partitions[name].replicas
            self._catalog.placements += 1

    def copied(self, node: int) -> None:
        """A broker has what it was to copy."""
        self._copying = {(name, one) for name, one in self._copying if one != node}

    def complete(self) -> list[Name]:
        """Partitions whose move is over now."""
        done = [name for name, replicas in self._reassigning.items() if self.control.complete(name, replicas)]
        for name in done:
            del self._reassigning[name]
            self._place(name)
        return done

    def is_in_sync(self, node: int) -> bool:
        """Whether a broker is in sync in all that it has a replica of."""
        return all(node in state.isr for state in self.control.partitions.values() if node in state.replicas)

    def note(self, now: int, closing: Collection[int], starting: Collection[int]) -> None:
        """Write down what each broker is doing and leads; these are on their way down, or up."""
        led = (one.leader for (topic, _), one in self.control.partitions.items() if topic not in INTERNAL_TOPICS)
        self._books.note(now, self._states(closing, starting), Counter(led))

    def _states(self, closing: Collection[int], starting: Collection[int]) -> dict[int, str]:
        fenced, found = self.control.fenced, {}
        for node, broker in self.brokers.items():
            if broker.is_up:
                found[node] = FENCED if node in fenced else CLOSING if node in closing else UP
            else:
                found[node] = STARTING if node in starting else DOWN if node in fenced else UNNOTICED
        return found

    @property
    def dead(self) -> set[int]:
        """Whose process does not run, whether the controller knows or not."""
        return {id_ for id_, broker in self.brokers.items() if not broker.is_up}

    def silent(self, name: Name) -> set[int]:
        """Who is in sync with a partition's leader and does not follow it: dead, or cut off from it."""
        return self._silent(self.control.partitions[name], self.dead)

    def _silent(self, state: PartitionState, dead: Collection[int]) -> set[int]:
        return {one for one in state.isr if one in dead or self._is_cut_off(one, state.leader)}

    def _is_cut_off(self, node: int, leader: int) -> bool:
        return leader not in (node, NO_LEADER) and self.are_cut(node, leader)

    def parted(self, names: Iterable[Name]) -> list[tuple[int, int]]:
        """Leaders of these, each with one in sync that it does not reach; in order."""
        held, dead = self.control.partitions, self.dead
        return sorted({(held[name].leader, one) for name in names for one in self.silent(name) - dead})

    def shut_down(self, node: int) -> list[Name]:
        """A broker leaves in good order: as soon as it hears of that it leads nothing, and follows nobody any more.

        Leaders elsewhere wait for it until they have applied that they need not: what they lead is held up meanwhile
        (``ReplicaManager.applyLocalFollowersDelta``, ``isInControlledShutdown``; ``Partition.maybeIncrementLeaderHW``;
        Kafka 4.4).
        """
        self.brokers[node].is_leaving = True
        changed = self.control.shut_down(node)
        self._deserted.update(changed)
        return changed

    def apply(self, names: Iterable[Name]) -> None:
        """These have changed, or somebody has died who matters to them, or to partitions of coordinators."""
        self._apply_data(names)
        for name in self._shards:
            self._apply_shard(name)
        self._deserted.clear()

    def serve(self, told: tuple[Iterable[Name], int]) -> None:
        """Leaders of these have applied what has changed, and it is that time; what has changed since is awaited."""
        names, now = told
        done = [name for name in names if name in self.awaited and self.awaited[name] <= now]
        for name in done:
            del self.awaited[name]
        self._apply_data(done)
        for name in done:
            if name in self._shards:
                self._apply_shard(name)

    def _apply_data(self, names: Iterable[Name]) -> None:
        """Let clients hear of those that are data partitions."""
        data, dead = [name for name in names if name[0] not in INTERNAL_TOPICS], self.dead
        for name in data:
            self._apply(name, dead)
        if data:
            self._audience.partitions_changed(data)

    def _apply_shard(self, name: Name) -> None:
        """Let what a coordinator appends wait for those who are in sync, and stand still if that must be."""
        shard, state = self._shards[name], self.control.partitions[name]
        watermark = shard.watermark
        if state.leader in state.isr:
            in_sync = (state.leader, *(one for one in state.isr if one != state.leader))
            watermark.await_only(in_sync, partial(self._audience.disturb, shard.groups))
        stalled, refuses = not state.advances(self.silent(name)), not state.accepts
        if name in self.awaited:
            stalled |= watermark.is_stalled or state.epoch != self._served.get(name, 0) or name in self._deserted
        else:
            self._served[name] = state.epoch
        if (stalled, refuses) != (watermark.is_stalled, watermark.refuses):
            self._audience.disturb(shard.groups)
            shard.stall(is_stalled=stalled, refuses=refuses)

    def _apply(self, name: Name, dead: Collection[int]) -> None:
        """Write down who leads, and whether it can be read: not until its leader has applied what makes it so."""
        state, catalog = self.control.partitions[name], self._catalog
        catalog.in_sync[name] = state.isr
        held_up = state.held_up(self._silent(state, dead))
        if name in self.awaited:
            if held_up is not Holdup.NO_LEADER and state.leader != catalog.leader_of(*name):
                held_up = Holdup.NEW_LEADER
            elif name in self._deserted:
                held_up = held_up or Holdup.HIGH_WATERMARK
            if held_up:
                catalog.unreadable[name] = held_up
            return
        if state.leader != NO_LEADER:
            catalog.moved[name] = state.leader
        if held_up:
            catalog.unreadable[name] = held_up
        else:
            catalog.unreadable.pop(name, None)


def _replicated(topic: Topic) -> Replicated:
    return Replicated(min_insync=topic.min_insync_replicas, is_unclean=topic.unclean_leader_election)
