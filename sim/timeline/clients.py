"""What clients notice of brokers that come and go: connections that end, leaders that go, and others that lead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from groupsim.sim.books.group_books import GroupBooks
from groupsim.sim.books.truncation import take_back, truncation
from groupsim.sim.client.client import Client
from groupsim.sim.kernel.environment import Environment
from groupsim.sim.protocol.controller.partition import Name
from groupsim.sim.protocol.controller.replica_logs import Gap
from groupsim.sim.protocol.messages import NO_PARTITIONS, Positions
from groupsim.sim.world import World


class Clients:
    """All clients of a run (`sim.cluster.interface.Audience`).

    Whoever belongs to a group that is touched is loud from that moment on: what it has done so far is in the books.

    Parameters
    ----------
    world : World
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._env: Environment = world.env
        self._lost_us: dict[tuple[str, int], int] = {}
        """Partition whose leader has died -> when."""

    def disturb(self, groups: Iterable[str]) -> None:
        """Somebody looks at every member of these groups, and what it does is no longer arithmetic."""
        for group in groups:
            for consumer in self._world.members[group]:
                consumer.wake()

    def broker_lost(self, node: int) -> None:
        """Connections to a broker end; a client notices when that has reached it."""
        world = self._world
        self.disturb(name for name in sorted(world.groups) if self._is_touched(name, node))
        for consumer in world.consumers.values():
            if consumer.incumbent is not None:
                consumer.incumbent.requests.lose_broker(self._env.now, node)
        for topic, created in world.catalog.created_us.items():
            for number, leader in enumerate(world.catalog.leaders(topic, range(len(created)))):
                if leader == node:
                    self._lost_us[topic, number] = self._env.now
        for producer in world.data_producers:
            producer.lose_broker(node)

    def _is_touched(self, name: str, node: int) -> bool:
        """Whether a group's coordinator is on a broker, or something it reads is led there."""
        group = self._world.groups[name]
        partitions = group.books.partitions
        return self._world.coordinator_of(name).node == node or partitions.is_read_from(node)

    def records_lost(self, gaps: Mapping[Name, Gap]) -> None:
        """Some of what was appended to data partitions is gone."""
        for name in sorted(self._world.groups):
            books = self._world.groups[name].books
            positions = _positions(books, gaps)
            if positions.size:
                self.disturb([name])
                named = [(books.partitions.topic[p], int(books.partitions.number[p])) for p in positions.tolist()]
                gone = truncation(books, positions, [gaps[one] for one in named])
                take_back(books, self._env.now, gone)
                for client in self._clients(name):
                    client.fetcher.skip(gone)

    def log_cut(self, name: Name, after_us: int, *, is_unclean: bool) -> None:
        """Who leads a data partition now lacks what its former leader wrote after ``after_us``."""
        if self._world.data_logs is not None:
            self._world.data_logs.cut(name, after_us, is_unclean=is_unclean)

    # --- data partitions ----------------------------------------------------------------------------------------------

    def partitions_changed(self, names: Iterable[tuple[str, int]]) -> None:
        """Data partitions have other leaders, or none, or can be read again."""
        known = set(names)
        if self._world.data_logs is not None:
            self._world.data_logs.changed(sorted(known))
        for name in sorted(self._world.groups):
            books = self._world.groups[name].books
            positions = _positions(books, known)
            if positions.size:
                self._change(name, books, positions)
        for one in known:
            if one not in self._world.catalog.unreadable:
                self._lost_us.pop(one, None)
        self._world.share_anew()

    def _change(self, group: str, books: GroupBooks, positions: Positions) -> None:
        partitions, catalog, now = books.partitions, self._world.catalog, self._env.now
        names = [(partitions.topic[p], int(partitions.number[p])) for p in positions.tolist()]
        leader = np.array([catalog.leaders(topic, (number,))[0] for topic, number in names], np.int32)
        readable = np.array([name not in catalog.unreadable for name in names])
        since = np.array([self._lost_us.get(name, -1) for name in names], np.int64)
        has_moved, was_readable = leader != partitions.leader[positions], partitions.is_readable[positions]
        gone = np.logical_and(was_readable, np.logical_or(~readable, has_moved))
        back = np.logical_and(readable, np.logical_or(~was_readable, has_moved))
        moved = partitions.sent_elsewhere(positions)
        if not (gone.any() or back.any() or moved.any()):
            partitions.leader[positions] = leader
            return
        self.disturb([group])
        partitions.move(now, positions, leader)
        partitions.is_readable[positions] = readable
        books.availability.sever(positions, severed=False)
        books.availability.sever(positions[~readable], severed=True)
        books.availability.refresh(now, positions)
        since[np.logical_and(since < 0, has_moved)] = now
        for client in self._clients(group):
            client.fetcher.lose(now, positions[gone])
            client.fetcher.find(now, positions[back], since[back])
            client.fetcher.follow(now, positions[np.logical_and(moved, ~np.logical_or(gone, back))])
            client.drive(now)

    def _clients(self, group: str) -> list[Client]:
        return [one.client for one in self._world.members[group] if one.client is not None]


def _positions(books: GroupBooks, names: Iterable[tuple[str, int]]) -> Positions:
    """Positions of partitions that a group knows, ascending."""
    found = [books.partitions.of(topic)[number : number + 1] for topic, number in names]
    return np.sort(np.concatenate(found)) if found else NO_PARTITIONS
