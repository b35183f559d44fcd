"""Which subscriber of a topic has the fewest partitions."""

from __future__ import annotations

from heapq import heapify, heappop, heappush, heapreplace

import numpy as np
import numpy.typing as npt

from groupsim.assignors.core.snapshot import Positions


class SubscriberRanking:
    """Members ranked by number of partitions, then by their own number; topics with equal subscribers share a ranking.

    A ranking is a heap of (size, number) whose sizes may be too small: they are put right when they come to the top.

    Parameters
    ----------
    has : ndarray of bool, shape (n_kinds, n_topics)
        Which topics each kind of subscription contains.
    kind_of : ndarray of int32, shape (n_members,)
        Kind of each member.
    size : ndarray of int64, shape (n_members,)
        Partitions of each member; changed in place by `grow` and `shrink`.

    Attributes
    ----------
    audience_of : ndarray of intp, shape (n_topics,)
        Number of each topic's set of subscribers.
    """

    def __init__(self, has: npt.NDArray[np.bool_], kind_of: Positions, size: npt.NDArray[np.int64]) -> None:
        columns, audience_of = np.unique(has, axis=1, return_inverse=True)
        self.audience_of: npt.NDArray[np.intp] = audience_of.reshape(-1)
        self.size = size
        self._columns = columns
        self._audiences_of = [np.flatnonzero(row).tolist() for row in columns]
        self._kind_of = kind_of
        self._retired = [False] * len(size)
        self._heaps: list[list[int] | None] = [None] * columns.shape[1]

    def smallest(self, audience: int) -> int | None:
        """The subscriber with the fewest partitions, None if all have been retired."""
        heap = self._heaps[audience]
        if heap is None:
            heap = self._heaps[audience] = self._heap_of(audience)
        n_members = len(self.size)
        while heap:
            size, member = divmod(heap[0], n_members)
            now = self.size.item(member)
            if self._retired[member]:
                heappop(heap)
            elif size == now:
                return member
            else:
                heapreplace(heap, now * n_members + member)
        return None

    def grow(self, member: int) -> None:
        """Count one more partition of a member."""
        self.size[member] += 1

    def shrink(self, member: int) -> None:
        """Count one partition less of a member."""
        self.size[member] -= 1
        entry = self.size.item(member) * len(self.size) + member
        for audience in self.audiences_of(member):
            heap = self._heaps[audience]
            if heap is not None:
                heappush(heap, entry)

    def retire(self, member: int) -> None:
        """Leave a member out of all rankings from now on."""
        self._retired[member] = True

    def audiences_of(self, member: int) -> list[int]:
        """Audiences to which a member belongs."""
        return self._audiences_of[self._kind_of[member]]

    def _heap_of(self, audience: int) -> list[int]:
        members = np.flatnonzero(self._columns[:, audience][self._kind_of])
        heap: list[int] = (self.size[members] * len(self.size) + members).tolist()
        heapify(heap)
        return heap
