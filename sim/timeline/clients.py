"""What clients notice of brokers that come and go: connections that end, leaders that go, and others that lead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.causes import HELD_UP
from groupsim.sim.books.group_books import GroupBooks
from groupsim.sim.books.truncation import Truncation, take_back, truncation
from groupsim.sim.client.client import Client
from groupsim.sim.kernel.environment import Environment
from groupsim.sim.protocol.controller.partition import Holdup, Name
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
        self._group_of = {group.books.partitions: name for name, group in world.groups.items()}

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
                consumer.incumbent.lose_broker(self._env.now, node)
        for topic, created in world.catalog.created_us.items():
            for number, leader in enumerate(world.catalog.leaders(topic, range(len(created)))):
                if leader == node:
                    self._lost_us[topic, number] = self._env.now
        for producer in world.data_producers:
            producer.lose_broker(node)

    def quorum_lost(self, controllers: Sequence[int]) -> None:
        """A warning in the result."""
        which = f"broker{'s' if len(controllers) > 1 else ''} {', '.join(map(str, controllers))}, the controllers here"
        self._world.warnings.append(
            f"controllers at {self._env.told_us / 1e6:.3f} s: of {which}, no majority is up"
            " and in touch: until there is one again nobody is elected, and no broker registers or is fenced"
        )

    def _is_touched(self, name: str, node: int) -> bool:
        """Whether a group's coordinator is on a broker, or something it reads is led there."""
        group = self._world.groups[name]
        partitions = group.books.partitions
        return self._world.coordinator_of(name).node == node or partitions.is_read_from(node)

    def records_lost(self, gaps: Mapping[Name, Gap]) -> None:
        """Some of what was appended to data partitions is gone.

        Where readers get what is appended, logs know what they have been shown of that (`log_cut`).
        """
        read = [one for one in gaps if one[0] not in self._world.catalog.arrivals]
        for name in sorted(self._world.groups):
            books = self._world.groups[name].books
            positions = _positions(books, read)
            if positions.size:
                self.disturb([name])
                named = [(books.partitions.topic[p], int(books.partitions.number[p])) for p in positions.tolist()]
                self._take_back(name, truncation(books, positions, [gaps[one] for one in named]))

    def _take_back(self, group: str, gone: Truncation) -> None:
        host = self._world.groups[group]
        take_back(host.books, self._env.now, gone)
        host.offsets.pending.skip(gone.positions, gone.skipped_from)
        for client in self._clients(group):
            client.skip(gone)

    def log_cut(self, name: Name, after_us: int, *, is_unclean: bool) -> None:
        """Who leads a data partition now lacks what its former leader wrote after ``after_us``."""
        if self._world.data_logs is not None:
            self._world.data_logs.cut(name, after_us, is_unclean=is_unclean)
        if self._world.transactions is not None:
            hidden = self._world.transactions.output.cut(name, after_us, is_unclean=is_unclean)
            for group in sorted(self._world.groups) if hidden else ():
                self._hide(name, group, hidden)

    def _hide(self, name: Name, group: str, hidden: Mapping[str, int]) -> None:
        """So many records that readers of each level have been shown are in no log any more."""
        books = self._world.groups[group].books
        positions, records = _positions(books, [name]), hidden[books.ledger.isolation]
        if positions.size and records:
            self.disturb([group])
            end = books.ledger.produced(self._env.now, positions)
            self._take_back(group, Truncation(positions, np.array([records], np.int64), end, end))

    def transactions_lost(self, name: Name, node: int) -> None:
        """A broker is to lead a partition of ``__transaction_state``, and may lack something."""
        if self._world.transactions is not None:
            self._world.transactions.cut_back(name, node)

    # --- data partitions ----------------------------------------------------------------------------------------------

    def partitions_changed(self, names: Iterable[tuple[str, int]]) -> None:
        """Data partitions have other leaders, or none, or can be read again."""
        known = sorted(set(names))
        if self._world.data_logs is not None:
            self._world.data_logs.changed(known)
        if self._world.transactions is not None:
            self._world.transactions.changed(known)
        news = self._news(known)
        for name in self._groups_of(news):
            books = self._world.groups[name].books
            told = [news[topic].of(books.partitions.of(topic)) for topic in books.partitions.topics if topic in news]
            self._change(name, books, _merged(told))
        for one in known:
            if one not in self._world.catalog.unreadable:
                self._lost_us.pop(one, None)
        self._world.share_anew()

    def _groups_of(self, topics: Iterable[str]) -> list[str]:
        """Groups that some topics matter to, in the order of their names."""
        watchers = self._world.catalog.watchers
        return sorted({self._group_of[one] for topic in topics for one in watchers.get(topic, ())})

    def _news(self, names: Sequence[tuple[str, int]]) -> dict[str, _News]:
        """Topic -> what has become of some of its partitions."""
        catalog, numbers = self._world.catalog, dict[str, list[int]]()
        for topic, number in names:
            numbers.setdefault(topic, []).append(number)
        return {
            topic: _News(
                np.array(some, np.int32),
                np.array(catalog.leaders(topic, some), np.int32),
                np.array([catalog.unreadable.get((topic, number), Holdup.NONE) for number in some], np.int8),
                np.array([self._lost_us.get((topic, number), -1) for number in some], np.int64),
            )
            for topic, some in numbers.items()
        }

    def _change(self, group: str, books: GroupBooks, news: _News) -> None:
        partitions, now = books.partitions, self._env.now
        positions, leader, held_up, since = news
        readable, stands = held_up == Holdup.NONE, HELD_UP[held_up]
        has_moved, was_readable = leader != partitions.leader[positions], partitions.is_readable[positions]
        gone = np.logical_and(was_readable, np.logical_or(~readable, has_moved))
        back = np.logical_and(readable, np.logical_or(~was_readable, has_moved))
        moved = partitions.sent_elsewhere(positions)
        if not (gone.any() or back.any() or moved.any()):
            partitions.leader[positions] = leader
            self._sever(books, positions[~readable], stands[~readable])
            return
        clients = self._readers(group, frozenset(positions.tolist()))
        partitions.move(now, positions, leader)
        partitions.is_readable[positions] = readable
        self._sever(books, positions, stands)
        since = np.where(np.logical_and(since < 0, has_moved), now, since)[back]
        lost, found = positions[gone], positions[back]
        followed = positions[np.logical_and(moved, ~np.logical_or(gone, back))]
        for client in clients:
            if lost.size:
                client.leader_changes.lose(now, lost)
            client.leader_changes.find(now, found, since)
            client.leader_changes.follow(now, followed)
            client.drive(now)

    def _sever(self, books: GroupBooks, positions: Positions, causes: NDArray[np.int8]) -> None:
        books.availability.sever(positions, causes)
        books.availability.refresh(self._env.now, positions)

    def _readers(self, group: str, positions: frozenset[int]) -> list[Client]:
        """Who is concerned by a change of some partitions: awake from now on.

        Nobody else: whoever reads none of them goes on as before. While members take steps together nobody knows.
        """
        found = []
        for consumer in self._world.members[group]:
            client = consumer.incumbent
            if client is None:
                continue
            if not client.elision.look() or _is_concerned(client, positions):
                client.elision.wake()
                found.append(client)
        return found

    def _clients(self, group: str) -> list[Client]:
        return [one.client for one in self._world.members[group] if one.client is not None]


def _is_concerned(client: Client, positions: frozenset[int]) -> bool:
    """Whether it reads any of these, or would read them, or something else now that it knows where."""
    fetcher, read = client.fetcher, client.consumption.partitions
    is_searching = fetcher.cut_off or fetcher.left_behind.has_any(positions)
    return bool(is_searching) or not positions.isdisjoint(read.tolist())


class _News(NamedTuple):
    """What has become of some partitions, of a topic by number or of a group by position. Shapes (k,)."""

    which: Positions
    leader: NDArray[np.int32]
    held_up: NDArray[np.int8]
    """What keeps each from being read (`Holdup`)."""
    lost_us: NDArray[np.int64]
    """When the former leader died; -1: it has not."""

    def of(self, positions: Positions) -> _News:
        """Those that a group knows: ``positions`` are those of the topic."""
        known = self.which < len(positions)
        which = positions[self.which[known]]
        return _News(which, self.leader[known], self.held_up[known], self.lost_us[known])


def _merged(news: Sequence[_News]) -> _News:
    """Of several topics, by ascending position; what is told of one topic ascends already."""
    if len(news) == 1:
        return news[0]
    columns = [np.concatenate(column) for column in zip(*news, strict=True)]
    order = np.argsort(columns[0])
    return _News(*(column[order] for column in columns))


def _positions(books: GroupBooks, names: Iterable[tuple[str, int]]) -> Positions:
    """Positions of partitions that a group knows, ascending."""
    found = [books.partitions.of(topic)[number : number + 1] for topic, number in names]
    return np.sort(np.concatenate(found)) if found else NO_PARTITIONS
