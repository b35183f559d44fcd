"""Which member is loaded most, and which subscriber would be loaded least."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from heapq import heapify, heappop, heappush, heapreplace

import numpy as np
import numpy.typing as npt

_NEAR = 1 + 1e-9
"""Far more than what floating point numbers can be wrong by."""


class LoadRanking:
    """Members ranked by load over capacity, those of equal capacity and equal subscriptions in a heap of their own.

    Loads over capacities are compared as fractions of whole numbers, equal ones by the member's number. A heap's
    entries can be out of date: they are dropped when they come to the top.

    Parameters
    ----------
    loads : list of int
        Load of each member. Whoever changes one beside `burden` calls `refresh`.
    capacities : sequence of int
        Capacity of each member.
    kinds : sequence of int
        Kind of subscription of each member.
    sign : {1, -1}
        Whether the heaps have the smallest loads on top or the largest.
    """

    def __init__(self, loads: list[int], capacities: Sequence[int], kinds: Sequence[int], *, sign: int) -> None:
        self._loads, self._capacities, self._sign = loads, capacities, sign
        numbers: dict[tuple[int, int], int] = {}
        self._heap_of = [numbers.setdefault(each, len(numbers)) for each in zip(kinds, capacities, strict=True)]
        self._kinds = [kind for kind, _ in numbers]
        self._heaps: list[list[int]] = [[] for _ in numbers]
        for member, heap in enumerate(self._heap_of):
            self._heaps[heap].append(self._entry(member))
        for each in self._heaps:
            heapify(each)

    @property
    def heaps(self) -> range:
        """Numbers of all heaps."""
        return range(len(self._heaps))

    def heaps_of(self, kinds: npt.NDArray[np.bool_]) -> tuple[int, ...]:
        """Numbers of the heaps of members whose kind of subscription is one of these."""
        return tuple(heap for heap, kind in enumerate(self._kinds) if kinds[kind])

    def first(self, heaps: Sequence[int], extra: int = 0) -> int:
        """The member on top of these heaps if each had `extra` more to carry."""
        best = self._top(heaps[0])
        for heap in heaps[1:]:
            member = self._top(heap)
            mine = (self._loads[member] + extra) * self._capacities[best]
            theirs = (self._loads[best] + extra) * self._capacities[member]
            if (mine - theirs) * self._sign < 0 or (mine == theirs and member < best):
                best = member
        return best

    def burden(self, heaps: Sequence[int], load: int) -> int:
        """Load the member that is on top of these heaps then, and return it."""
        member = self.first(heaps, load)
        self._loads[member] += load
        heapreplace(self._heaps[self._heap_of[member]], self._entry(member))
        return member

    def burden_alike(self, loads: Sequence[int]) -> list[int]:
        """The same with load after load where all members may take each, before any `refresh`: many times as fast."""
        takers = self._in_one_heap(loads) if len(self._heaps) == 1 else self._by_capacity(loads)
        for entries in self._heaps:
            for entry in entries:
                load, member = divmod(entry, len(self._loads))
                self._loads[member] = load
        return takers

    def _in_one_heap(self, loads: Sequence[int]) -> list[int]:
        (entries,), n_members, takers = self._heaps, len(self._loads), []
        if len(set(loads)) == 1 and max(entries) - min(entries) < loads[0] * n_members:
            return self._in_rounds(loads[0], len(loads))
        for load in loads:
            entry = entries[0]
            takers.append(entry % n_members)
            heapreplace(entries, entry + load * n_members)
        return takers

    def _in_rounds(self, load: int, count: int) -> list[int]:
        """Equal loads where one makes the lightest the heaviest: in turn, again and again."""
        (entries,), n_members = self._heaps, len(self._loads)
        entries.sort()
        turn, step, (rounds, rest) = (
            [entry % n_members for entry in entries],
            load * n_members,
            divmod(count, len(entries)),
        )
        entries[:] = [entry + rounds * step for entry in entries[rest:]] + [
            entry + (rounds + 1) * step for entry in entries[:rest]
        ]
        return turn * rounds + turn[:rest]

    def _by_capacity(self, loads: Sequence[int]) -> list[int]:
        """Fractions as floating point numbers leave a few heaps, mostly one, that are compared exactly."""
        n_members, takers = len(self._loads), []
        whole = max(sum(loads) + sum(self._loads), 1)
        capacity = np.array(
            [self._capacities[entries[0] % n_members] / max(self._capacities) for entries in self._heaps]
        )
        tops = np.array([entries[0] // n_members / whole for entries in self._heaps])
        for load in loads:
            after = (tops + load / whole) / capacity
            near = np.flatnonzero(after <= after.min() * _NEAR).tolist()
            heap = near[0] if len(near) == 1 else self._least(near, load)
            entries = self._heaps[heap]
            takers.append(entries[0] % n_members)
            heapreplace(entries, entries[0] + load * n_members)
            tops[heap] = entries[0] // n_members / whole
        return takers

    def _least(self, heaps: Sequence[int], extra: int) -> int:
        """The heap, of these, whose top has the least with so much more; none of their entries are out of date."""

        def burdened(heap: int) -> tuple[Fraction, int]:
            load, member = divmod(self._heaps[heap][0], len(self._loads))
            return Fraction(load + extra, self._capacities[member]), member

        return min(heaps, key=burdened)

    def refresh(self, member: int) -> None:
        """Take note of a member's new load."""
        heappush(self._heaps[self._heap_of[member]], self._entry(member))

    def _entry(self, member: int) -> int:
        return self._sign * self._loads[member] * len(self._loads) + member

    def _top(self, heap: int) -> int:
        entries = self._heaps[heap]
        while True:
            load, member = divmod(entries[0], len(self._loads))
            if load == self._sign * self._loads[member]:
                return member
            heappop(entries)
