"""What a broker can send to consumers, and each partition's part of it.

The parts are equal: all partitions that are read from a broker, by whatever group, have the same share, whether they
need it or not. That is max-min fair while all of them are late, as after an outage, and less than that while some are
not: nothing is promised that the broker has not got. A share does not change with who owns what, so it changes with
leaders, topics and subscriptions only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from groupsim.sim.catalog import Catalog
from groupsim.sim.model import Broker
from groupsim.sim.units import S

Reading = tuple[tuple[str, ...], Counter[str]]
"""A group's topics, and how many of its clients name which rack."""


class Bandwidth:
    """That of all brokers.

    Parameters
    ----------
    brokers : iterable of Broker
    catalog : Catalog
    readings : callable
        What all groups read now.

    Attributes
    ----------
    is_given : bool
        Whether any broker has a bound.
    """

    def __init__(self, brokers: Iterable[Broker], catalog: Catalog, readings: Callable[[], Iterable[Reading]]) -> None:
        given = {one.id: one.bandwidth_bytes_per_s for one in brokers}
        self._per_us = {id_: value / S for id_, value in given.items() if value is not None}
        self._catalog = catalog
        self._readings = readings
        self._shares: dict[int, float] | None = None
        self.is_given = bool(self._per_us)

    def share(self, node: int) -> float:
        """A partition's part of what a broker sends, bytes per microsecond; infinite if that has no bound."""
        if node not in self._per_us:
            return float("inf")
        if self._shares is None:
            read = self._read()
            self._shares = {id_: value / max(read[id_], 1.0) for id_, value in self._per_us.items()}
        return self._shares[node]

    def forget(self) -> None:
        """Leaders, replicas, topics or subscriptions have changed."""
        self._shares = None

    def _read(self) -> dict[int, float]:
        """Partitions that are read from each broker, once for each group, by the racks that its clients name."""
        read: dict[int, float] = dict.fromkeys(self._per_us, 0.0)
        for topics, racks in self._readings():
            for topic in topics:
                numbers = range(self._catalog.counts[topic])
                for rack, clients in racks.items():
                    for node in self._catalog.read_replicas(rack, topic, numbers):
                        if node in read:
                            read[node] += clients / racks.total()
        return read
