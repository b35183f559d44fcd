"""How long a broker takes to lead what it is told to lead.

A broker makes itself the leader of one partition after the other (``ReplicaManager.applyLocalLeadersDelta``), and
forces the leader epoch of each to disk (``LeaderEpochFileCache.assign``, Kafka 4.4). Recorded on a real cluster of
three (`tests/golden/leader_changes`): of those that it takes over at once the first fifty or so cost 20 ms each, and
hundreds that follow 5 ms. A process that has taken over nothing since it was started takes a third of a second more,
most likely for classes that have to be loaded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Final

from groupsim.sim.cluster.broker import Broker
from groupsim.sim.config import Timing
from groupsim.sim.randomness import Streams

_SLOW: Final = 50
"""So many partitions cost their full time; whoever comes after them costs `_REST_PERCENT` of it."""
_REST_PERCENT: Final = 25


def time_us(partitions: int, each_us: int) -> int:
    """How long a broker takes to lead so many partitions that it takes over at once, microseconds."""
    return min(partitions, _SLOW) * each_us + max(partitions - _SLOW, 0) * each_us * _REST_PERCENT // 100


class LocalLeaders:
    """Those of all brokers of a cluster.

    Parameters
    ----------
    streams : Streams
    timing : Timing
    brokers : mapping of int to Broker
    """

    def __init__(self, streams: Streams, timing: Timing, brokers: Mapping[int, Broker]) -> None:
        self._brokers = brokers
        self._each = {id_: streams.draw(timing.leader_change, "leader_change", id_) for id_ in brokers}
        self._first = {id_: streams.draw(timing.first_leader_change, "first_leader_change", id_) for id_ in brokers}
        self._warm = {id_: broker.incarnation for id_, broker in brokers.items()}
        """The process of each broker that has taken over partitions last; those of the beginning have run for long."""

    def led_after(self, node: int, number: int) -> Iterator[int]:
        """When a broker leads one partition after the other that others have led, microseconds after it has begun.

        ``number``: of the news that it hears of them by.
        """
        each_us, incarnation = self._each[node](number), self._brokers[node].incarnation
        first_us = self._first[node](incarnation) if self._warm[node] != incarnation else 0
        self._warm[node] = incarnation
        yield from (first_us + time_us(taken, each_us) for taken in count(1))
