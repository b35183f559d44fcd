"""Getting everybody below a limit by giving partitions away and swapping them."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from groupsim.assignors.own.workload import Workload

PAIRS_MAX: Final = 800
"""Partitions and takers that are tried to relieve one member, takers with the most room first: in a small group all."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A partition for a member that has room, and what that member gives in return.

    Parameters
    ----------
    freed : int
        Load that the giver gets rid of, above 0.
    given : int
        Position.
    returned : int or None
        Position; None for nothing.
    taker : int
    """

    freed: int
    given: int
    returned: int | None
    taker: int


class LoadExchange:
    """A group in which some carry more than they should.

    Parameters
    ----------
    work : Workload
    owner : sequence of int
        Member that has each position, -1 for nobody.
    limits : sequence of int
        How much each member should carry at most.
    """

    def __init__(self, work: Workload, owner: Sequence[int], limits: Sequence[int]) -> None:
        self.owner = list(owner)
        self._work, self._limits = work, limits
        self._loads = work.loads(owner)
        self._held: list[list[tuple[int, int]]] = [[] for _ in limits]
        for position, member in enumerate(owner):
            if member >= 0:
                self._held[member].append((work.weights[position], position))
        for each in self._held:
            each.sort()
        self._room = sorted((self._excess(member), member) for member in range(len(limits)))

    def settle(self) -> bool:
        """Relieve those who carry too much, the worst first; whether nobody does any more."""
        for _, donor in reversed(self._room[:]):
            while (excess := self._excess(donor)) > 0:
                offer = self._best(donor, excess)
                if offer is None:
                    return False
                self._accept(donor, offer)
        return True

    def _excess(self, member: int) -> int:
        return self._loads[member] - self._limits[member]

    def _best(self, donor: int, excess: int) -> Offer | None:
        """What takes away enough in one move; else in one swap; else as much as can be."""
        n_takers = max(PAIRS_MAX // len(self._held[donor]), 4)
        takers = [(member, -below) for below, member in islice(self._room, n_takers) if below < 0]
        for offers in (self._gifts, self._swaps):
            for taker, room in takers:
                enough = [one for one in offers(donor, taker, excess, room) if one.freed >= excess]
                if enough:
                    return min(enough, key=lambda one: (one.freed, one.given))
        some = [one for taker, room in takers for one in self._swaps(donor, taker, 0, room)]
        some += [one for taker, room in takers for one in self._gifts(donor, taker, 0, room)]
        return max(some, key=lambda one: (one.freed, -one.given, -one.taker), default=None)

    def _gifts(self, donor: int, taker: int, least: int, room: int) -> Iterator[Offer]:
        """Partitions of a weight between these limits that the taker may have."""
        for weight, position in self._held[donor]:
            if max(least, 1) <= weight <= room and self._reads(taker, position):
                yield Offer(weight, position, None, taker)

    def _swaps(self, donor: int, taker: int, least: int, room: int) -> Iterator[Offer]:
        """For each partition of the donor the return that frees least, but so much; with 0 the one that frees most."""
        theirs = self._held[taker]
        for weight, position in self._held[donor]:
            low, high = bisect_left(theirs, (weight - room,)), bisect_left(theirs, (weight - max(least, 1) + 1,))
            if low == high or not self._reads(taker, position):
                continue
            for mine, back in reversed(theirs[low:high]) if least else theirs[low:high]:
                if self._reads(donor, back):
                    yield Offer(weight - mine, position, back, taker)
                    break

    def _reads(self, member: int, position: int) -> bool:
        return bool(self._work.table.has[self._work.kind_of[member], self._work.topic_of[position]])

    def _accept(self, donor: int, offer: Offer) -> None:
        self._move(offer.given, donor, offer.taker)
        if offer.returned is not None:
            self._move(offer.returned, offer.taker, donor)

    def _move(self, position: int, giver: int, taker: int) -> None:
        weight = self._work.weights[position]
        for member, change in ((giver, -weight), (taker, weight)):
            del self._room[bisect_left(self._room, (self._excess(member), member))]
            self._loads[member] += change
            insort(self._room, (self._excess(member), member))
        self._held[giver].remove((weight, position))
        insort(self._held[taker], (weight, position))
        self.owner[position] = taker
