"""Topics of the cluster as clients see them, and a group's partitions as positions in a vector.

Positions are handed out once and never move: partitions that come into being later get the next numbers. So an
assignment, an offset or a rate of one moment can be compared with one of another moment.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.arrivals import Arrivals
from groupsim.sim.model import Rate, Topic
from groupsim.sim.protocol.messages import NO_PARTITIONS, Positions
from groupsim.sim.protocol.replica_selector import read_replica
from groupsim.sim.randomness import name_hash
from groupsim.sim.units import FOREVER


class Announcement(NamedTuple):
    """How it comes to be known that somebody else leads a partition.

    Parameters
    ----------
    former : int
        Who led it before; -1: nobody.
    heard_us : mapping of int to int, microseconds
        Broker that is told -> when its metadata have it.
    led_us : int, microseconds
        When the new leader has applied it, and takes requests as the leader.
    """

    former: int
    heard_us: Mapping[int, int]
    led_us: int


class Catalog:
    """Every topic with its partition count, now and at any earlier time.

    Parameters
    ----------
    topics : sequence of Topic
    broker_ids : sequence of int
        Replicas of data partitions are dealt out over them.
    racks : mapping of int to str, optional
        Of those brokers that have one.
    is_rack_aware : bool
        Leaders send consumers to a replica in their rack.
    """

    def __init__(
        self, topics: Sequence[Topic], broker_ids: Sequence[int], racks: Mapping[int, str] = MappingProxyType({}),
        *, is_rack_aware: bool = False,
    ) -> None:  # fmt: skip
        self.racks = racks
        self._told_racks = frozenset(racks.values()) if is_rack_aware else frozenset()
        self._brokers = _rack_alternated(sorted(broker_ids), racks)
        self._replicas: dict[str, int] = {}
        self.specs: dict[str, Topic] = {}
        """Topic -> as it was made."""
        self.placed: dict[tuple[str, int], tuple[int, ...]] = {}
        """Partition that was moved, or is being moved -> its replicas."""
        self.placements = 0
        """How often that has changed."""
        self.moved: dict[tuple[str, int], int] = {}
        """Partition that somebody else leads than the first of its replicas -> broker."""
        self.announced: dict[tuple[str, int], Announcement] = {}
        """Partition that somebody has been elected to lead since the beginning -> how the last one came to be known."""
        self.in_sync: dict[tuple[str, int], tuple[int, ...]] = {}
        """Partition in whose ISR something has changed -> brokers."""
        self.unreadable: dict[tuple[str, int], int] = {}
        """Partitions without a leader, or whose high watermark stands still -> why (``Holdup`` of the controller)."""
        self.watchers: dict[str, list[Partitions]] = {}
        """Topic, or those that have had its name -> partitions of each group that it matters to."""
        self.rates: dict[str, tuple[int, Rate]] = {}
        """Topic -> since when which rate holds."""
        self.former_rates: dict[str, list[tuple[int, Rate]]] = {}
        self.arrivals: dict[str, dict[str, Arrivals]] = {}
        """Topic that is written to record by record, and that somebody reads -> isolation level -> what has come."""
        self.record_bytes_max = 0
        """Of the largest record of any topic; 0: nobody has said."""
        for topic in topics:
            self.introduce(0, topic)
        self.deleted_before_us: dict[str, int] = {}
        """Topic that loses records, or has been deleted -> what was produced before this is gone."""
        self.has_gone: set[str] = set()
        """Topics that have been deleted, be it that there is one of that name again."""
        self.created_us: dict[str, list[int]] = {topic.name: [0] * topic.partitions for topic in topics}
        self._times: list[int] = [0]
        self._counts: list[Mapping[str, int]] = [self._view()]

    def _view(self) -> Mapping[str, int]:
        return MappingProxyType({name: len(self.created_us[name]) for name in sorted(self.created_us)})

    @property
    def counts(self) -> Mapping[str, int]:
        """Topic -> number of partitions, now."""
        return self._counts[-1]

    @property
    def version(self) -> int:
        """Number of changes so far."""
        return len(self._times)

    def counts_at(self, time: int) -> Mapping[str, int]:
        """What a metadata request that a broker answered at ``time`` has seen."""
        return self._counts[max(bisect_right(self._times, time) - 1, 0)]

    def counts_of(self, version: int) -> Mapping[str, int]:
        """What there was after so many changes."""
        return self._counts[version - 1]

    def grow(self, now: int, topic: str, to: int) -> None:
        """Create a topic, or add partitions to it."""
        created = self.created_us.setdefault(topic, [])
        created.extend([now] * (to - len(created)))
        self._times.append(now)
        self._counts.append(self._view())

    def delete(self, now: int, topic: str) -> None:
        """A topic is no more: nothing is in it, nothing is produced to it, and nobody looks after it."""
        del self.created_us[topic], self.specs[topic]
        self.deleted_before_us[topic] = now
        self.has_gone.add(topic)
        self._times.append(now)
        self._counts.append(self._view())

    def introduce(self, now: int, topic: Topic) -> None:
        """A topic is about to exist: its rate, and how often it is replicated."""
        self._replicas[topic.name] = min(topic.replication_factor, len(self._brokers))
        self.specs[topic.name] = topic
        self.record_bytes_max = max(self.record_bytes_max, topic.record_bytes or 0)
        self.set_rate(now, topic.name, topic.rate)

    def set_rate(self, now: int, topic: str, rate: Rate) -> None:
        """A topic is produced to with another rate from now on."""
        if topic in self.rates:
            self.former_rates.setdefault(topic, []).append(self.rates[topic])
        self.rates[topic] = (now, rate)

    def leaders(self, topic: str, numbers: Sequence[int]) -> list[int]:
        """Broker ids that lead some data partitions of a topic, or led them last."""
        preferred = self._dealt_out(topic, numbers)
        return [self.moved.get((topic, number), first) for number, first in zip(numbers, preferred, strict=True)]

    def leader_of(self, topic: str, number: int) -> int:
        """Broker id that leads one of them, or led it last."""
        moved = self.moved.get((topic, number))
        return self._dealt_out(topic, (number,))[0] if moved is None else moved

    def _dealt_out(self, topic: str, numbers: Sequence[int]) -> list[int]:
        first, count = name_hash(topic), len(self._brokers)
        return [self._brokers[(first + number) % count] for number in numbers]

    def replicas(self, topic: str, number: int) -> list[int]:
        """Broker ids that hold a data partition, the preferred leader and the next ones: racks alternate."""
        placed = self.placed.get((topic, number))
        if placed or self.racks:
            return list(placed) if placed else self._dealt_out(topic, range(number, number + self._replicas[topic]))
        return spread(self._brokers, name_hash(topic) + number, number, self._replicas[topic])

    def replicas_in_sync(self, topic: str, number: int) -> Sequence[int]:
        """Those of its replicas that are in sync, or were last."""
        return self.in_sync.get((topic, number)) or self.replicas(topic, number)

    def offsets_replicas(self, number: int, copies: int) -> list[int]:
        """Broker ids that hold a partition of coordinators, the preferred leader first: racks alternate as for data.

        Kafka's controller places internal topics as it places all others (``ReplicationControlManager.createTopic``).
        """
        brokers, count = sorted(self._brokers), len(self._brokers)
        if not self.racks:
            return spread(brokers, number, number, copies)
        first = self._brokers.index(brokers[number % count])
        return [self._brokers[(first + copy) % count] for copy in range(copies)]

    def sends_elsewhere(self, rack: str) -> bool:
        """Whether leaders may send clients of this rack to followers."""
        return rack in self._told_racks

    def read_replicas(self, rack: str, topic: str, numbers: Sequence[int]) -> list[int]:
        """Broker ids that clients of this rack are told to read some data partitions of a topic from."""
        found = []
        for number, leader in zip(numbers, self.leaders(topic, numbers), strict=True):
            found.append(read_replica(rack, leader, self.replicas_in_sync(topic, number), self.racks))
        return found


class Move(NamedTuple):
    """Some partitions are read from other brokers than before.

    Parameters
    ----------
    time : int, microseconds
    positions : int32 array, shape (k,)
    before : dict of str to int32 array, shape (k,)
        Rack -> brokers until then; the empty one stands for all whose clients read from leaders.
    """

    time: int
    positions: Positions
    before: dict[str, NDArray[np.int32]]


class Partitions:
    """The partitions that matter to one group, by position.

    Attributes
    ----------
    topic : list of str, length n
    number : int32 array, shape (n,)
    created_us : int64 array, shape (n,)
    leader : int32 array, shape (n,), broker ids
        Who leads it, or led it last.
    ends_us : int64 array, shape (n,)
        When it was deleted; `FOREVER`: it is there.
    is_readable : bool array, shape (n,)
        Somebody leads it, and the high watermark follows what is produced.
    record_bytes : int64 array, shape (n,)
        How large a record is; 0: nobody has said.
    moves : list of Move
        Partitions that were read from other brokers before, in order.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._followed: dict[str, NDArray[np.int32]] = {}
        """Rack whose clients may read from followers -> broker by position."""
        self.moves: list[Move] = []
        self._positions: dict[str, Positions] = {}
        self._former: Counter[str] = Counter()
        """Name -> how many topics have had it and are no more, if there is another one."""
        self.topic: list[str] = []
        self.number: NDArray[np.int32] = np.empty(0, np.int32)
        self.created_us: NDArray[np.int64] = np.empty(0, np.int64)
        self.ends_us: NDArray[np.int64] = np.empty(0, np.int64)
        self.leader: NDArray[np.int32] = np.empty(0, np.int32)
        self.is_readable: NDArray[np.bool_] = np.empty(0, np.bool_)
        self.record_bytes: NDArray[np.int64] = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self.topic)

    @property
    def count(self) -> int:
        """How many there are, of topics that are not deleted."""
        return int(np.count_nonzero(self.ends_us == FOREVER))

    def cover(self, topics: Sequence[str]) -> int:
        """Make sure that all partitions of ``topics`` have positions; the number of new ones."""
        before = len(self)
        for topic in sorted(topics):
            created = self._catalog.created_us.get(topic, [])
            known = self._positions.get(topic, NO_PARTITIONS)
            if created and known.size and self.ends_us[known[0]] < FOREVER:
                known = NO_PARTITIONS
                self._former[topic] += 1
            new = range(len(known), len(created))
            if not new:
                continue
            if topic not in self._positions:
                self._catalog.watchers.setdefault(topic, []).append(self)
            start = len(self.topic)
            self.topic += [topic] * len(new)
            self._positions[topic] = np.concatenate([known, np.arange(start, start + len(new), dtype=np.int32)])
            self.number = np.concatenate([self.number, np.array(new, dtype=np.int32)])
            self.created_us = np.concatenate([self.created_us, np.array(created[new.start :], dtype=np.int64)])
            self.ends_us = np.concatenate([self.ends_us, np.full(len(new), FOREVER)])
            leaders = np.array(self._catalog.leaders(topic, new), dtype=np.int32)
            self.leader = np.concatenate([self.leader, leaders])
            readable = np.array([(topic, number) not in self._catalog.unreadable for number in new])
            self.is_readable = np.concatenate([self.is_readable, readable])
            size = self._catalog.specs[topic].record_bytes or 0
            self.record_bytes = np.concatenate([self.record_bytes, np.full(len(new), size)])
        for rack in self._followed:
            self.read_from(rack)  # leaders can change before anybody reads the new ones
        return len(self) - before

    def delete(self, now: int, topic: str) -> Positions:
        """A topic is no more; its partitions, which keep their positions."""
        gone = self.of(topic)
        self.ends_us[gone] = now
        self.is_readable[gone] = False
        return gone

    def id_of(self, topic: str) -> int:
        """What tells a topic from those that had its name before."""
        return self._former[topic]

    def are_gone(self, positions: Positions) -> NDArray[np.bool_]:
        """Which of these are of topics that have been deleted. Shape (k,)."""
        return np.less(self.ends_us[positions], FOREVER)

    def gone(self, topic: str) -> Positions:
        """Positions of partitions of a topic that are no more, whatever has its name now."""
        gone = np.flatnonzero(self.ends_us < FOREVER).astype(np.int32)
        return gone[[self.topic[position] == topic for position in gone.tolist()]]

    def read_from(self, rack: str) -> NDArray[np.int32]:
        """Brokers that clients of a rack read from: leaders, or followers that these name. Shape (n,)."""
        if not self._catalog.sends_elsewhere(rack):
            return self.leader
        known = self._followed.get(rack, self.leader[:0])
        if len(known) < len(self):
            new = np.arange(len(known), len(self), dtype=np.int32)
            known = self._followed[rack] = np.concatenate([known, self._told(rack, new)])
        return known

    def _told(self, rack: str, positions: Positions) -> NDArray[np.int32]:
        named = [(self.topic[p], (int(self.number[p]),)) for p in positions.tolist()]
        return np.array([self._catalog.read_replicas(rack, *one)[0] for one in named], np.int32)

    def is_read_from(self, node: int) -> bool:
        """Whether a broker leads something, or clients of some rack are sent to it."""
        return any(bool((nodes == node).any()) for nodes in (self.leader, *self._followed.values()))

    def copied(self, leader: int, follower: int) -> tuple[Positions, frozenset[int]]:
        """What a follower in sync copies from a leader, shape (k,), and all brokers in sync with any of that."""
        led = np.flatnonzero(self.leader == leader).tolist()
        in_sync = {p: self._catalog.replicas_in_sync(self.topic[p], int(self.number[p])) for p in led}
        copied = [p for p, brokers in in_sync.items() if follower in brokers]
        return np.array(copied, np.int32), frozenset(one for p in copied for one in in_sync[p])

    def announcements(self, positions: Positions) -> list[Announcement | None]:
        """How the present leaders of these came to be known; None: they have led from the beginning."""
        announced = self._catalog.announced
        return [announced.get((self.topic[p], int(self.number[p]))) for p in positions.tolist()]

    def sent_elsewhere(self, positions: Positions) -> NDArray[np.bool_]:
        """Whether leaders send clients of some rack elsewhere than `move` has written down. Shape (k,)."""
        is_other = np.zeros(len(positions), np.bool_)
        for rack, nodes in self._followed.items():
            is_other |= nodes[positions] != self._told(rack, positions)
        return is_other

    def move(self, now: int, positions: Positions, leader: NDArray[np.int32]) -> None:
        """These have other leaders from now on, or other replicas in sync. Shapes (k,)."""
        arrays = {**self._followed, "": self.leader}
        self.moves.append(Move(now, positions, {rack: nodes[positions] for rack, nodes in arrays.items()}))
        for rack, nodes in self._followed.items():
            nodes[positions] = self._told(rack, positions)
        self.leader[positions] = leader

    def racks_of(self, topic: str, partitions: int) -> list[tuple[str | None, ...]] | None:
        """Racks of the replicas of a topic's first partitions, the leader's first; None if no broker has a rack."""
        catalog = self._catalog
        if not catalog.racks:
            return None
        replicas = [catalog.replicas(topic, number) for number in range(partitions)]
        return [tuple(catalog.racks.get(broker) for broker in brokers) for brokers in replicas]

    @property
    def racks(self) -> Mapping[int, str]:
        """Of those brokers that have one."""
        return self._catalog.racks

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics that have positions."""
        return tuple(self._positions)

    def of(self, topic: str) -> Positions:
        """Positions by partition number; a topic that is no more has them until another has its name."""
        return self._positions.get(topic, NO_PARTITIONS)

    def mask(self, positions: Positions) -> NDArray[np.bool_]:
        """Which of all positions are among these. Shape (n,)."""
        mask = np.zeros(len(self), np.bool_)
        mask[positions] = True
        return mask


def spread(brokers: Sequence[int], first: int, number: int, copies: int) -> list[int]:
    """Replicas of a partition: of those that one broker leads first, each of the others leads as many next.

    Kafka begins at a random broker, goes on by one for each partition, and shuffles the brokers after each cycle
    through them: who leads next is drawn anew (``StripedReplicaPlacer.RackList.place``, Kafka 4.4). Here the cycles
    take turns, so that it is exactly as even as that is on average. The first cycle is Kafka's.
    """
    count = len(brokers)
    others = [(first + 1 + (number // count + copy) % (count - 1)) % count for copy in range(copies - 1)]
    return [brokers[one] for one in (first % count, *others)]


def _rack_alternated(brokers: Sequence[int], racks: Mapping[int, str]) -> tuple[int, ...]:
    """One broker of each rack, then the next of each, as Kafka places replicas (``StripedReplicaPlacer``)."""
    turn: dict[int, tuple[int, str]] = {}
    seen: dict[str, int] = {}
    for broker in brokers:
        rack = racks.get(broker, "")
        turn[broker] = (seen.get(rack, 0), rack)
        seen[rack] = seen.get(rack, 0) + 1
    return tuple(sorted(brokers, key=lambda broker: (*turn[broker], broker)))
