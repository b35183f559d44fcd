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
from groupsim.sim.units import S

_GB = 1e9
_MONTH_S = 30 * 24 * 3600


class Traffic:
    """That of one group of which it is known how large its records are.

    What was fetched and thrown away, because the partition was taken away before, is not counted.

    Parameters
    ----------
    books : GroupBooks
    sizes : int64 array, shape (n_partitions,)
        Bytes of a record.
    lag : LagFigures
        Whose services they were.
    lives : intp array, shape (n_services,)
        The life to which each belongs.
    window : (int, int), microseconds
        In it bytes of the group count; those of members count all their lives.

    Attributes
    ----------
    read, crossed : int64 arrays, shape (n_lives,)
        Bytes of each life, and those from brokers in other racks.
    group_read, group_crossed : int
        The same of the group in the window.
    """

    def __init__(
        self, books: GroupBooks, sizes: Integers, lag: LagFigures, lives: NDArray[np.intp], window: Window
    ) -> None:
        self._partitions = books.partitions
        self._sizes = sizes
        self._work = work = lag.work()
        self._lives = lives
        self._window = window
        places = [(life.rack, life.client_rack) for life in books.record.lives]
        self._kinds = sorted(set(places))
        """Where members are, and what racks their clients name."""
        self._kind_of = np.array([self._kinds.index(place) for place in places], np.int64)
        self.read = np.zeros(len(places), np.int64)
        self.crossed = np.zeros(len(places), np.int64)
        self.group_read = self.group_crossed = 0
        for rows in work.served():
            for begin, end, crosses in self._epochs():
                self._add(rows.cut(begin, end), crosses)

    def _add(self, rows: Stretches, crosses: NDArray[np.bool_]) -> None:
        rows = rows[rows.begin < rows.end]
        life, sizes = self._lives[rows.service], self._sizes[rows.partition]
        does_cross = crosses[self._kind_of[life], rows.partition]
        read = self._work.done(rows, rows.begin, rows.end) * sizes
        np.add.at(self.read, life, read)
        np.add.at(self.crossed, life[does_cross], read[does_cross])
        low, high = np.clip(rows.begin, *self._window), np.clip(rows.end, *self._window)
        counted = self._work.done(rows, low, high) * sizes
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
        masks = np.zeros((len(self._kinds), len(self._sizes)), np.bool_)
        for kind, (place, rack) in enumerate(self._kinds):
            if place:
                masks[kind] = [racks.get(node, place) != place for node in nodes[rack].tolist()]
        return masks


def traffic_of(books: GroupBooks, lag: LagFigures, lives: NDArray[np.intp], window: Window) -> Traffic | None:
    """The traffic of a group; None if nobody has said how large records are of all topics that it reads."""
    sizes = books.partitions.record_bytes
    return Traffic(books, sizes, lag, lives, window) if sizes.all() else None


def traffic_summary(traffic: Traffic | None, scenario: Scenario, window: Window) -> dict[str, Any]:
    """The columns of ``summary`` about it, with what 30 days like the window cost."""
    read = None if traffic is None else traffic.group_read
    crossed = None if traffic is None else traffic.group_crossed
    price = scenario.cluster.network.cross_rack_price_per_gb
    months = (window[1] - window[0]) / S / _MONTH_S
    cost = None if crossed is None or price is None else crossed / _GB * price / months
    return {"read_bytes": [read], "cross_rack_bytes": [crossed], "cross_rack_cost_per_month": [cost]}
