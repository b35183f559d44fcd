"""sticky where all members subscribe to the same topics: quotas, and as much as possible stays.

Every member is to get `quota` partitions, and as many members as the remainder of the division one more. A member keeps
what it has up to its quota; those that come first in the order of the leader's map may keep one more. What is left goes
round the members below quota in id order, then to those still entitled to one more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from groupsim.assignors.client.sticky_claims import Claims
from groupsim.assignors.core.errors import KafkaAssignorFailure
from groupsim.assignors.core.racks import RackMap
from groupsim.assignors.core.snapshot import Positions
from groupsim.assignors.java.ordering import sort_order
from groupsim.assignors.java.sorting import stable_order

_NOBODY = -1
_SEVERAL = -2
"""Instead of the member that a partition was held by."""


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """Who keeps and who gets what, as parallel vectors of member and position.

    Parameters
    ----------
    kept_by, kept : ndarray of int32
        What stays, in the order of each member's list.
    given_to, given : ndarray of int32
        What is handed out, in that order.
    changes_hands : ndarray of bool
        Which of the latter another member held or claimed until now.
    """

    kept_by: Positions
    kept: Positions
    given_to: Positions
    given: Positions
    changes_hands: npt.NDArray[np.bool_]


@dataclass(slots=True)
class _Quotas:
    """What each member is entitled to, and who is still owed something.

    Parameters
    ----------
    quota, most : int
        Least and largest number of partitions of a member.
    extra : int
        How many members may have `most`, if that is more than `quota`.
    with_most : int
        How many have it so far.
    size : ndarray of int64, shape (n_members,)
        Partitions of each member so far.
    below : list of int
        Members with less than `quota`, in id order.
    entitled : list of int
        Members with `quota` that may get one more.
    """

    quota: int
    most: int
    extra: int
    with_most: int
    size: npt.NDArray[np.int64]
    below: list[int]
    entitled: list[int]


def place(claims: Claims, member_ids: tuple[str, ...], racks: RackMap | None) -> Placement:
    """Assign all partitions to members of equal subscriptions.

    Parameters
    ----------
    claims : Claims
    member_ids : tuple of str
        At least one.
    racks : RackMap, optional
        Where racks matter.

    Raises
    ------
    KafkaAssignorFailure
        Claims on partitions that do not exist have used up the members' quotas.

    Source: AbstractStickyAssignor.ConstrainedAssignmentBuilder.build, Kafka 4.4.
    """
    n_partitions = claims.topics.n_partitions if claims.assignable is None else int(claims.assignable.sum())
    quota, extra = divmod(n_partitions, len(member_ids))
    rank, position, lost = _sorted_claims(claims, racks)
    size = np.bincount(rank, minlength=len(member_ids))
    limit, below, with_most = _limits(size, quota, extra)
    stays = np.arange(len(rank)) - (np.cumsum(size) - size)[rank] < limit[rank]
    kept_by, kept = claims.owners[rank[stays]], position[stays]
    held_by = np.full(claims.topics.n_partitions, _NOBODY, dtype=np.int32)
    held_by[position[~stays]] = claims.owners[rank[~stays]]
    held_by[lost[1]] = lost[0]
    quotas = _Quotas(
        quota=quota,
        most=quota + (extra > 0),
        extra=extra,
        with_most=with_most,
        size=np.bincount(kept_by, minlength=len(member_ids)),
        below=_by_id(claims.owners[below], member_ids),
        entitled=_by_id(claims.owners[~below & (limit == quota)], member_ids) if with_most < extra else [],
    )
    given_to, given = _hand_out(_free(claims, kept), quotas, racks)
    held_by[claims.tied] = _SEVERAL
    holder = held_by[given]
    return Placement(kept_by, kept, given_to, given, (holder != _NOBODY) & (holder != given_to))


def _sorted_claims(claims: Claims, racks: RackMap | None) -> tuple[Positions, Positions, tuple[Positions, Positions]]:
    """Standing claims by visiting rank, each member's by partition number first and topic second.

    Those without a replica in the member's rack are lost; they come apart, as members and positions.
    """
    members, positions = claims.standing
    lost = (members[:0], positions[:0])
    if racks is not None and len(members):
        away = np.array([racks.mismatch(*pair) for pair in zip(members.tolist(), positions.tolist(), strict=True)])
        lost = (members[away], positions[away])
        members, positions = members[~away], positions[~away]
    if len(claims.tied):
        clear = ~np.isin(positions, claims.tied)
        members, positions = members[clear], positions[clear]
    if not len(members):
        return members, positions, lost
    rank_of = np.empty(len(claims.owners), dtype=np.int64)
    rank_of[claims.owners] = np.arange(len(claims.owners))
    by_number, n_partitions = claims.topics.by_number, claims.topics.n_partitions
    place_of = np.empty(n_partitions, dtype=np.int64)
    place_of[by_number] = np.arange(n_partitions)
    key = rank_of[members] * n_partitions + place_of[positions]
    key.sort()
    rank, at = np.divmod(key, n_partitions)
    return rank.astype(np.int32), by_number[at], lost


def _limits(
    size: npt.NDArray[np.int64], quota: int, extra: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_], int]:
    """How many partitions each member may keep, who is below quota, and how many keep one more than it."""
    below = size < quota
    privileged = size > quota
    privileged &= np.cumsum(privileged) <= extra
    limit = np.where(below, size, quota + privileged)
    return limit, below, int(privileged.sum())


def _by_id(members: Positions, member_ids: tuple[str, ...]) -> list[int]:
    those = np.sort(members).tolist()  # members often come by id: what is nearly sorted sorts fast
    return list(map(those.__getitem__, sort_order(list(map(member_ids.__getitem__, those)))))


def _free(claims: Claims, kept: Positions) -> Positions:
    """Positions to hand out, ascending.

    Kafka compares all partitions with the kept ones in one pass over two sorted lists. A kept partition that does not
    exist is never met, and from there on everything counts as free, kept or not.
    """
    assignable = claims.assignable
    free = np.ones(claims.topics.n_partitions, dtype=bool) if assignable is None else assignable.copy()
    free[kept] = False
    if assignable is not None:
        missing = kept[~assignable[kept]]
        if len(missing):
            free[missing.min() :] = assignable[missing.min() :]
    return np.flatnonzero(free).astype(np.int32)


def _hand_out(free: Positions, quotas: _Quotas, racks: RackMap | None) -> tuple[Positions, Positions]:
    if racks is None:
        return _deal(len(free), quotas), free
    left = racks.scarcest_first(free.tolist())
    given_to, given, left = _hand_out_locally(left, quotas, racks)
    takers = np.concatenate([np.array(given_to, dtype=np.int32), _deal(len(left), quotas)])
    return takers, np.array(given + left, dtype=np.int32)


def _deal(count: int, quotas: _Quotas) -> Positions:
    """Who gets each of `count` partitions: members below quota in rounds, then each entitled one once."""
    below = np.array(quotas.below, dtype=np.int32)
    missing = quotas.quota - quotas.size[below]
    for_all = int(missing.min(initial=quotas.quota))
    more = missing - for_all
    turn = np.repeat(np.arange(len(below)), more)
    rounds = np.arange(len(turn)) - np.repeat(np.cumsum(more) - more, more)
    dealt = [np.tile(below, for_all), below[turn[stable_order(rounds, quotas.quota + 1)]]]
    filled = below[np.argsort(missing, kind="stable")]
    takers = np.concatenate([*dealt, np.array(quotas.entitled, dtype=np.int32), filled])
    if count > len(takers):
        raise KafkaAssignorFailure("java.lang.IllegalStateException", "No more unfilled consumers to be assigned.")
    return takers[:count]


def _hand_out_locally(free: list[int], quotas: _Quotas, racks: RackMap) -> tuple[list[int], list[int], list[int]]:
    """Give partitions to members in a replica's rack; returns takers, what they took, and what nobody could take."""
    given_to: list[int] = []
    given: list[int] = []
    left: list[int] = []
    start = 0
    for position in free:
        at = racks.next_local(position, quotas.below, start)
        if at is not None:
            member = quotas.below[at]
            start = _give_to_one_below(quotas, at)
        else:
            at = racks.next_local(position, quotas.entitled, 0)
            if at is None:
                left.append(position)
                continue
            member = quotas.entitled[at]
            _give_to_one_entitled(quotas, at)
        quotas.size[member] += 1
        given_to.append(member)
        given.append(position)
    return given_to, given, left


def _give_to_one_below(quotas: _Quotas, at: int) -> int:
    """Record one more partition of a member below quota; returns where the next search starts."""
    member = quotas.below[at]
    size = int(quotas.size[member]) + 1
    if size >= quotas.quota:
        del quotas.below[at]
        if size < quotas.most and quotas.with_most < quotas.extra:
            quotas.entitled.append(member)
    else:
        at += 1
    return at % len(quotas.below) if quotas.below else 0


def _give_to_one_entitled(quotas: _Quotas, at: int) -> None:
    """Record one more partition of an entitled member."""
    if quotas.size[quotas.entitled[at]] + 1 == quotas.most:
        del quotas.entitled[at]
        quotas.with_most += 1
        if quotas.with_most == quotas.extra:
            quotas.entitled.clear()
