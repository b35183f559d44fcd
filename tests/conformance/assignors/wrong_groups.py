"""Groups with things in them that should not be, and what is to be said about them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import numpy as np

from groupsim.assignors import (
    NOTHING,
    CooperativeStickyUserData,
    GroupSnapshot,
    MemberSubscription,
    StickyUserData,
    Topics,
    positions_of,
)

NAMES = ["", "a", "b", "t-1", "t-10", "ü", "\U0001f600", "\ud800"]
IDS = ["", "c-1", "c-10", "c-2", "Ü", "\U0001f600", "\uffff", "\udfff"]
RACKS = ["r1", "r2", "", None]


@dataclass
class WrongGroup:
    """How to make a group, and what its refusal must name.

    ``refused``: it must be refused when it is made; ``claims_outside``: an assignor that looks at claims must refuse
    it; ``loads_wrong``: one that looks at capacities must.
    """

    topics: dict[str, Any]
    members: list[MemberSubscription]
    refused: list[str] = field(default_factory=list)
    claims_outside: list[str] = field(default_factory=list)
    loads_wrong: list[str] = field(default_factory=list)

    def make(self) -> GroupSnapshot:
        return GroupSnapshot(Topics(**self.topics), tuple(self.members))


def wrong_group(seed: int) -> WrongGroup:
    """The group of this number: any shape, and up to two things wrong with it."""
    draw = Random(seed)
    known = Topics.of({name: draw.choice([0, 1, 2, 5]) for name in draw.sample(NAMES, draw.randint(0, 4))})
    some = range(known.n_partitions)
    given = {"names": known.names, "counts": known.counts}
    if draw.random() < 0.5:
        given["racks"] = tuple(tuple(draw.choices(RACKS, k=draw.randint(0, 2))) for _ in some)
    if draw.random() < 0.5:
        given["rates"] = tuple(draw.choice([0, 1, 7, 10**12, 10**30]) for _ in some)
    group = WrongGroup(given, _members(draw, known))
    for mistake in draw.sample(MISTAKES, draw.choice([0, 1, 1, 2])):
        mistake(draw, known, group)
    return group


def _members(draw: Random, known: Topics) -> list[MemberSubscription]:
    older = Topics.of({name: draw.choice([0, 1, 3, 9]) for name in draw.sample(NAMES, 3)})
    shared = tuple(sorted(draw.sample(NAMES, draw.randint(0, 4))))
    equal, with_capacity = draw.random() < 0.5, draw.random() < 0.5
    members = []
    for member_id in draw.sample(IDS, draw.randint(0, 5)):
        layout = draw.choice([None, None, None, known, older])
        member = MemberSubscription(
            member_id,
            shared if equal else tuple(draw.sample(NAMES, draw.randint(0, 4))),
            owned=_owned(draw, layout or known),
            generation=draw.choice([None, -1, 1, 1, 2]),
            instance_id=draw.choice([None, None, "i", member_id]),
            rack=draw.choice(RACKS),
            layout=layout,
            capacity=draw.choice([1, 2, 10**20]) if with_capacity else None,
        )
        members.append(replace(member, user_data=_user_data(draw, layout or known)))
    return members


def _owned(draw: Random, layout: Topics) -> Any:
    if not layout.n_partitions or draw.random() < 0.3:
        return NOTHING
    return positions_of(sorted(draw.choices(range(layout.n_partitions), k=draw.randint(0, 6))))


def _user_data(draw: Random, layout: Topics) -> object | None:
    remembered = StickyUserData(layout, _owned(draw, layout), draw.choice([None, -1, 1, 2]))
    return draw.choice([None, None, remembered, remembered, b"\x00", CooperativeStickyUserData(1), "nonsense", 5])


# --- mistakes ---------------------------------------------------------------------------------------------------------


def _twin(draw: Random, known: Topics, group: WrongGroup) -> None:
    if group.members:
        twin = draw.choice(group.members)
        group.members.insert(draw.randint(0, len(group.members)), replace(twin, topics=()))
        group.refused.append(repr(twin.member_id))


def _negative_count(draw: Random, known: Topics, group: WrongGroup) -> None:
    if known.names:
        at, counts = draw.randrange(len(known.names)), list(known.counts)
        counts[at] = draw.choice([-1, -(10**9)])
        group.topics["counts"] = tuple(counts)
        group.refused.append(f"the partition count of {known.names[at]!r} is negative: {counts[at]}")


def _too_many(draw: Random, known: Topics, group: WrongGroup) -> None:
    if known.names:
        group.topics["counts"] = (2**31, *known.counts[1:])
        group.refused.append(f"{2**31 + sum(known.counts[1:])} partitions")


def _unsorted_names(draw: Random, known: Topics, group: WrongGroup) -> None:
    if len(known.names) > 1:
        group.topics["names"] = known.names[::-1]
        group.refused.append(f"{known.names[-2]!r} is not")


def _repeated_name(draw: Random, known: Topics, group: WrongGroup) -> None:
    if len(known.names) > 1:
        group.topics["names"] = (known.names[0], *known.names[:-1])
        group.refused.append(f"{known.names[0]!r} is not")


def _one_count_too_few(draw: Random, known: Topics, group: WrongGroup) -> None:
    if known.names:
        group.topics["counts"] = known.counts[1:]
        group.refused.append(f"{len(known.names)} topic names but {len(known.names) - 1} partition counts")


def _one_row_too_many(draw: Random, known: Topics, group: WrongGroup) -> None:
    what, row = draw.choice([("racks", ("r1",)), ("rates", 1)])
    group.topics[what] = (row,) * (known.n_partitions + 1)
    group.refused.append(f"{what} of {known.n_partitions + 1} partitions given")


def _negative_rate(draw: Random, known: Topics, group: WrongGroup) -> None:
    if known.n_partitions:
        at = draw.randrange(known.n_partitions)
        group.topics["rates"] = tuple(-3 if position == at else 1 for position in range(known.n_partitions))
        group.refused.append(f"the rate of {known.label(at)} is negative: -3")


def _claim_outside(draw: Random, known: Topics, group: WrongGroup) -> None:
    if group.members:
        at = draw.randrange(len(group.members))
        layout = group.members[at].layout or known
        position = draw.choice([-1, layout.n_partitions, 2**31 - 1])
        owned = positions_of([position])
        memory = StickyUserData(layout, owned, 1)
        group.members[at] = replace(group.members[at], owned=owned, user_data=memory, layout=layout)
        group.claims_outside.append(f"{group.members[at].member_id!r} claims {position}")


def _wrong_capacity(draw: Random, known: Topics, group: WrongGroup) -> None:
    if group.members:
        at, capacity = draw.randrange(len(group.members)), draw.choice([0, -1])
        group.members[:] = [replace(member, capacity=1) for member in group.members]
        group.members[at] = replace(group.members[at], capacity=capacity)
        group.loads_wrong.append(f"the capacity of {group.members[at].member_id!r} is not positive: {capacity}")


def _missing_capacity(draw: Random, known: Topics, group: WrongGroup) -> None:
    if len(group.members) > 1:
        at = draw.randrange(len(group.members))
        group.members[:] = [replace(member, capacity=1) for member in group.members]
        group.members[at] = replace(group.members[at], capacity=None)
        group.loads_wrong.append(f"{group.members[at].member_id!r} has no capacity")


def _wide_claims(draw: Random, known: Topics, group: WrongGroup) -> None:
    """Not wrong, only of another type of whole number."""
    group.members[:] = [replace(member, owned=member.owned.astype(np.int64)) for member in group.members]


MISTAKES: list[Callable[[Random, Topics, WrongGroup], None]] = [
    _twin,
    _negative_count,
    _too_many,
    _unsorted_names,
    _repeated_name,
    _one_count_too_few,
    _one_row_too_many,
    _negative_rate,
    _claim_outside,
    _claim_outside,
    _wrong_capacity,
    _missing_capacity,
    _wide_claims,
]
