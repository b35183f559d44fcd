"""Bytes that the consumers of a group read, and how many of them cross racks: of what they have processed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.group_books import GroupBooks
from groupsim.sim.model import Scenario
from groupsim.sim.output.lag_curve import Window
from groupsim.sim.output.lag_figures import LagFigures
from groupsim.sim.output.stretches import Integers, Stretches
from groupsim.sim.output.work import Work
from groupsim.sim.units import S

_GB = 1e9
_MONTH_S = 30 * 24 * 3600


class Traffic:
    """That of one group of which it is known how large its records are.

    What was fetched and thrown away, because the partition was taken away before, is not counted.

    Parameters
    ----------
    books : GroupBooks

    Attributes
    ----------
    read, crossed : int64 arrays, shape (n_lives,)
        Bytes of each life, and those from brokers in other racks.
    group_read, group_crossed : int
        The same of the group, as far as metrics count.
    """

    def __init__(self, books: GroupBooks) -> None:
        self._books = books
        self._partitions = books.partitions
        self._kinds: list[tuple[str, str]] = []
        """Where members are, and what racks their clients name."""
        self._kind_of = np.empty(0, np.int64)
        self.read, self.crossed = np.zeros((2, 0), np.int64)
        self.group_read = self.group_crossed = 0

    @property
    def is_known(self) -> bool:
        """Whether somebody has said how large records are of all topics that it reads."""
        return bool(self._partitions.record_bytes.all())

    def add(self, lag: LagFigures, lives: NDArray[np.intp]) -> None:
        """What services have read, each of which belongs to a life. Shape (n_services,)."""
        if not self.is_known:
            return
        places = [(life.rack, life.client_rack) for life in self._books.record.lives]
        self._kinds = sorted(set(places))
        self._kind_of = np.array([self._kinds.index(place) for place in places], np.int64)
        more = (0, len(places) - len(self.read))
        self.read, self.crossed = np.pad(self.read, more), np.pad(self.crossed, more)
        work, sizes = lag.work(), self._partitions.record_bytes
        for rows in work.served():
            for begin, end, crosses in self._epochs():
                part = rows.cut(begin, end)
                part = part[part.begin < part.end]
                self._add(work, part, lives[lag.over :][part.service], sizes[part.partition], crosses)

    def _add(
        self, work: Work, rows: Stretches, life: NDArray[np.intp], sizes: Integers, crosses: NDArray[np.bool_]
    ) -> None:
        does_cross = crosses[self._kind_of[life], rows.partition]
        read = work.done(rows, rows.begin, rows.end) * sizes
        np.add.at(self.read, life, read)
        np.add.at(self.crossed, life[does_cross], read[does_cross])
        low, high = (np.clip(at, *self._books.measure) for at in (rows.begin, rows.end))
        counted = work.done(rows, low, high) * sizes
        self.group_read += int(counted.sum())
        self.group_crossed += int(counted[does_cross].sum())

    def _epochs(self) -> Iterator[tuple[int, int, NDArray[np.bool_]]]:
        """Between what times everything is read from the same brokers, and what crosses racks then; the latest first.

        Shape of the masks: (n_kinds, n_partitions).
        """
        partitions, end = self._partitions, 1 << 62
        nodes = {rack: partitions.read_from(rack).copy() for _, rack in self._kinds}
        for move in reversed(partitions.moves):
            yield move.time, end, self._crosses(nodes)
            end = move.time
            for rack, of_rack in nodes.items():
                of_rack[move.positions] = move.before.get(rack, move.before[""])
        yield 0, end, self._crosses(nodes)

    def _crosses(self, nodes: dict[str, NDArray[np.int32]]) -> NDArray[np.bool_]:
        racks = self._partitions.racks
        masks = np.zeros((len(self._kinds), len(self._partitions)), np.bool_)
        for kind, (place, rack) in enumerate(self._kinds):
            if place:
                masks[kind] = [racks.get(node, place) != place for node in nodes[rack].tolist()]
        return masks


def traffic_summary(traffic: Traffic, scenario: Scenario, window: Window) -> dict[str, Any]:
    """The columns of ``summary`` about it, with what 30 days like the window cost."""
    read = traffic.group_read if traffic.is_known else None
    crossed = traffic.group_crossed if traffic.is_known else None
    price = scenario.cluster.network.cross_rack_price_per_gb
    months = (window[1] - window[0]) / S / _MONTH_S
    cost = None if crossed is None or price is None else crossed / _GB * price / months
    return {"read_bytes": [read], "cross_rack_bytes": [crossed], "cross_rack_cost_per_month": [cost]}
