"""Why sticky left a partition where it was or moved it, where all members subscribe to the same topics.

The rules of `assignors.client.sticky_constrained`, carried out one by one so that each can be named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from groupsim.assignors.core.member_order import visiting_orders
from groupsim.assignors.core.snapshot import GroupSnapshot, Positions
from groupsim.assignors.java.ordering import sort_order


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """One round of sticky's rules.

    Parameters
    ----------
    group : GroupSnapshot
        Who takes part; all read the same topics.
    held : ndarray of int32, shape (n_partitions,)
        Index of the member that has each partition, -1 for nobody.
    """

    group: GroupSnapshot
    held: Positions

    @property
    def share(self) -> tuple[int, int]:
        """What every member gets at least, and how many get one more."""
        return divmod(self.group.topics.n_partitions, self.group.n_members)

    def list_of(self, member: int) -> list[int]:
        """What a member has, by partition number first and topic second."""
        by_number = self.group.topics.by_number
        mine: list[int] = by_number[self.held[by_number] == member].tolist()
        return mine

    def limits(self) -> list[int]:
        """How many partitions each member keeps at most."""
        quota, extra = self.share
        sizes = np.bincount(self.held[self.held >= 0], minlength=self.group.n_members).tolist()
        limits = [min(size, quota) for size in sizes]
        for member in visiting_orders(self.group, java_order=True)[1].tolist():
            if sizes[member] > quota and extra:
                limits[member], extra = quota + 1, extra - 1
        return limits

    def free(self) -> list[int]:
        """What is handed out, by topic and number."""
        limits = self.limits()
        kept = {one for member, limit in enumerate(limits) for one in self.list_of(member)[:limit]}
        return [one for one in range(self.group.topics.n_partitions) if one not in kept]

    def takers(self) -> list[tuple[int, bool]]:
        """Who takes each free partition, and whether to reach its share or as one more."""
        quota, extra = self.share
        sizes = self.limits()
        below = _by_id(self.group, [member for member, size in enumerate(sizes) if size < quota])
        owed = extra - sum(size > quota for size in sizes)
        entitled = _by_id(self.group, [member for member, size in enumerate(sizes) if size == quota]) if owed else []
        turns: list[tuple[int, bool]] = []
        while below:
            for member in list(below):
                turns.append((member, True))
                sizes[member] += 1
                if sizes[member] == quota:
                    below.remove(member)
                    entitled.append(member)
        return turns + [(member, False) for member in entitled[:owed]]

    def owner_after(self) -> Positions:
        """Who has each partition after it."""
        owner = self.held.copy()
        for position, (member, _) in zip(self.free(), self.takers(), strict=False):
            owner[position] = member
        return owner


def _by_id(group: GroupSnapshot, members: Sequence[int]) -> list[int]:
    return [members[at] for at in sort_order([group.member_ids[member] for member in members])]


def rules(one: Round, position: int, missing: str) -> tuple[int, list[str]]:
    """Who gets a partition in a round, and the rules that say so.

    Parameters
    ----------
    one : Round
    position : int
    missing : str
        Why nobody has it, if so.
    """
    group, (quota, extra) = one.group, one.share
    more = f", and {_members(extra)} one more" if extra else ""
    told = [f"{group.topics.n_partitions} partitions over {_members(group.n_members)} are {quota} each{more}."]
    owner = int(one.held[position])
    free = one.free()
    told.append(_kept(one, owner, position) if owner >= 0 else missing)
    if position not in free:
        return owner, told
    at = free.index(position)
    taker, to_share = one.takers()[at]
    name, label = group.member_ids[taker], group.topics.label(position)
    told.append(f"{_partitions(len(free))} to be handed out; by topic and number {label} is number {at + 1}.")
    if to_share:
        told.append(f"Members with less than {quota} take turns in the order of their ids: {name} takes it.")
    else:
        told.append(f"Everybody has {quota} by then. Those who may have one more take one each: {name} takes it.")
    return taker, told


def _kept(one: Round, owner: int, position: int) -> str:
    """What its owner may keep, and whether the partition is among it."""
    quota, extra = one.share
    mine, limit = one.list_of(owner), one.limits()[owner]
    name, label, place = one.group.member_ids[owner], one.group.topics.label(position), mine.index(position) + 1
    if len(mine) <= quota:
        return f"{name} has {len(mine)}, no more than its share: it keeps them all."
    order = "in the order of the leader's hash table"
    if limit > quota:
        why = f"{name} has {len(mine)}, and comes early enough {order} to keep one more than {quota}."
    elif extra:
        why = f"{name} has {len(mine)} and may keep {quota}; who keeps one more comes before it {order}."
    else:
        why = f"{name} has {len(mine)} and may keep {quota}."
    verdict = "stays" if place <= limit else "is given up"
    return f"{why} It keeps the lowest partition numbers: {label} is number {place} of {len(mine)}, and {verdict}."


def _members(count: int) -> str:
    return f"{count} member{'s' if count != 1 else ''}"


def _partitions(count: int) -> str:
    return f"{count} partitions are" if count != 1 else "1 partition is"
