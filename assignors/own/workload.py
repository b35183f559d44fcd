"""What weighs how much, who can carry how much of it, and how low the largest load can be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import gcd
from typing import TypeAlias

import numpy as np

from groupsim.assignors.core.snapshot import Positions, SubscriptionTable

Peak: TypeAlias = tuple[int, int]
"""The largest load over capacity, as load and capacity of the member that has it."""


@dataclass(frozen=True)
class Workload:
    """Partitions of unequal weight for members of unequal capacity; all numbers whole, all comparisons exact.

    Parameters
    ----------
    table : SubscriptionTable
        Whose members are numbered in the order in which ties go.
    topics : ndarray of int32
        Topic of each position.
    weights : sequence of int
        Weight of each position.
    capacities : sequence of int
        Capacity of each member.
    """

    table: SubscriptionTable
    topics: Positions
    weights: Sequence[int]
    capacities: Sequence[int]

    @cached_property
    def topic_of(self) -> list[int]:
        """Topic of each position, as a list: quicker where positions are looked at one by one."""
        found: list[int] = self.topics.tolist()
        return found

    @cached_property
    def kind_of(self) -> list[int]:
        """Kind of subscription of each member, as a list."""
        found: list[int] = self.table.kind_of.tolist()
        return found

    @cached_property
    def wanted(self) -> list[int]:
        """Positions that somebody subscribes to, ascending."""
        subscribed = np.zeros(self.table.has.shape[1], dtype=bool)
        subscribed[self.table.subscribed_topics] = True
        found: list[int] = np.flatnonzero(subscribed[self.topics]).tolist()
        return found

    def longest_first(self, positions: Iterable[int]) -> list[int]:
        """Positions by weight, the heaviest first, those of one weight as they come."""
        return sorted(positions, key=self.weights.__getitem__, reverse=True)

    def loads(self, owner: Sequence[int]) -> list[int]:
        """Load of each member."""
        carried = [0] * len(self.capacities)
        for position, member in enumerate(owner):
            if member >= 0:
                carried[member] += self.weights[position]
        return carried

    def peak(self, owner: Sequence[int]) -> Peak:
        """The largest load over capacity."""
        largest = (0, 1)
        for one in zip(self.loads(owner), self.capacities, strict=True):
            largest = one if self.is_above(one, largest) else largest
        return largest

    @staticmethod
    def is_above(one: Peak, other: Peak) -> bool:
        """Whether the first load over capacity is larger."""
        return one[0] * other[1] > other[0] * one[1]

    def limits(self, peak: Peak) -> list[int]:
        """How much each member can carry without a load over capacity above this one."""
        load, capacity = peak
        return [load * mine // capacity for mine in self.capacities]

    def is_least(self, peak: Peak) -> bool:
        """Whether all could not be carried, in steps of what all weights have in common, with less everywhere.

        False says nothing: whether it can be is not known before somebody tries.
        """
        load, capacity = peak
        step = gcd(*set(self.weights)) or 1
        room = sum(
            max(load * mine - 1, 0) // capacity // step * step * n for mine, n in Counter(self.capacities).items()
        )
        return room < sum(map(self.weights.__getitem__, self.wanted))
