"""Fetches that stay parked when members of a group stop reading, as columns: `DataConnections.parked` of many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.offsets.services import Slots
from groupsim.sim.fastpath.phases.columns import Column


class ParkedFetches:
    """Those of one group, by slot.

    Parameters
    ----------
    slots : int

    Attributes
    ----------
    latest : int64 array, shape (slots,), microseconds
        When the last of a member's is answered.
    """

    def __init__(self, slots: int) -> None:
        self.latest = np.zeros(slots, np.int64)
        self._rows: list[Any] = [(np.empty(0, np.int64), np.empty(0, np.int64))] * slots
        """Brokers, ascending, and when the fetch that is parked there is answered."""

    def of(self, slot: int) -> dict[int, int]:
        """Those of one member, by broker."""
        nodes, until = self._rows[slot]
        return dict(zip(nodes.tolist(), until.tolist(), strict=True))

    def load(self, slot: int, parked: Mapping[int, int]) -> None:
        """Those of a member whose own objects know them."""
        nodes = sorted(parked)
        self._rows[slot] = np.array(nodes, np.int64), np.array([parked[node] for node in nodes], np.int64)
        self.latest[slot] = max(parked.values(), default=0)

    def stop(self, slots: Slots, at: Column, members: Column, nodes: Column, until: Column) -> None:
        """These read nothing any more.

        Parameters
        ----------
        slots, at : arrays, shape (n,)
            Who, and since when.
        members, nodes, until : int64 arrays, shape (m,)
            A row for each broker that one of them read from, by member (index in ``slots``), then by broker.
        """
        bounds = np.searchsorted(members, np.arange(len(slots) + 1))
        former = {slot: self.of(slot) for slot in slots[self.latest[slots] > at].tolist()}
        rows = zip(slots.tolist(), bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
        for slot, begin, end in rows:
            self._rows[slot] = nodes[begin:end], until[begin:end]
        self.latest[slots] = np.maximum.reduceat(until, bounds[:-1])
        for slot, parked in former.items():
            self.load(slot, {**parked, **self.of(slot)})

    def worked(
        self, slots: Slots, arrived: Column, lengths: Column, leaders: NDArray[np.int32]
    ) -> tuple[Column, NDArray[np.bool_]]:
        """When brokers work on requests that reach them at ``arrived``, of members that read nothing.

        Parameters
        ----------
        slots, arrived, lengths : arrays, shape (n,)
            Who, when, and about how many partitions.
        leaders : int32 array, shape (k,)
            Of these partitions, of one member after the other.

        Returns
        -------
        worked : int64 array, shape (n,), microseconds
        is_alike : bool array, shape (n,)
            Whether all brokers of a member work on it at that time.
        """
        worked, is_alike = arrived.copy(), np.ones(len(slots), np.bool_)
        waiting = self.latest[slots] > arrived
        which = np.flatnonzero(waiting)
        if not which.size:
            return worked, is_alike
        span = int(leaders.max()) + 1
        asked = np.unique((np.repeat(np.arange(len(slots)), lengths) * span + leaders)[np.repeat(waiting, lengths)])
        members = asked // span
        times = np.maximum(arrived[members], self._until(slots, which, asked, span))
        begins = np.searchsorted(members, which)
        worked[which] = np.maximum.reduceat(times, begins)
        is_alike[which] = np.minimum.reduceat(times, begins) == worked[which]
        return worked, is_alike

    def _until(self, slots: Slots, which: NDArray[np.intp], asked: Column, span: int) -> Column:
        """When what is parked on each of these connections (``index * span + broker``, ascending) is answered, or 0."""
        rows = [self._rows[slot] for slot in slots[which].tolist()]
        nodes, until = (np.concatenate(parts) for parts in zip(*rows, strict=True))
        is_asked = nodes < span
        parked = np.repeat(which, [len(one) for one, _ in rows]) * span + nodes
        parked, until = parked[is_asked], until[is_asked]
        found = np.minimum(np.searchsorted(parked, asked), max(len(parked) - 1, 0))
        if not len(parked):
            return np.zeros(len(asked), np.int64)
        known: Column = np.where(parked[found] == asked, until[found], 0)
        return known
