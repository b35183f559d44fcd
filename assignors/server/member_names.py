"""Names of a group's members, turned into orders once and not per assignment."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from groupsim.assignors.core.errors import InvalidSnapshot
from groupsim.assignors.core.member_order import info_order
from groupsim.assignors.core.topics import Positions, sealed
from groupsim.assignors.java.ordering import sort_order, text_codes, text_places
from groupsim.assignors.java.table_order import hash_order


@dataclass(frozen=True, slots=True, eq=False)
class MemberNames:
    """Who the members of a group are.

    Parameters
    ----------
    member_ids : tuple of str
        In the order in which the coordinator puts them into its HashMap.
    instance_ids : tuple of (str or None), optional
        group.instance.id of each; None if all members are dynamic.

    Raises
    ------
    InvalidSnapshot
        Two members of one id, or not as many instance ids as members.
    """

    member_ids: tuple[str, ...]
    instance_ids: tuple[str | None, ...] | None = None
    _hash_order: Positions = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if len(set(self.member_ids)) != len(self.member_ids):
            twin = next(each for at, each in enumerate(self.member_ids) if each in self.member_ids[:at])
            raise InvalidSnapshot(f"two members have the same id: {twin!r}")
        if self.instance_ids is not None and len(self.instance_ids) != len(self.member_ids):
            raise InvalidSnapshot(f"{len(self.instance_ids)} instance ids for {len(self.member_ids)} members")
        order = hash_order(text_codes(self.member_ids), partial(text_places, self.member_ids))
        object.__setattr__(self, "_hash_order", sealed(order.astype(np.int32)))

    def __len__(self) -> int:
        return len(self.member_ids)

    def visiting_order(self, *, java_order: bool = True) -> Positions:
        """Member indices as the assignor's map of members yields them, or by member id without Java's order.

        Source: TargetAssignmentBuilder.build, Kafka 4.4: a HashMap of the group's members.
        """
        if java_order:
            return self._hash_order
        return sealed(np.array(sort_order(self.member_ids), dtype=np.int32))

    def info_order(self) -> Positions:
        """Member indices as range sorts them: static members by instance id, then the others by member id.

        Source: RangeAssignor.sortMemberIds (group coordinator), Kafka 4.4.
        """
        return sealed(info_order(self.member_ids, self.instance_ids or (), self.visiting_order))
