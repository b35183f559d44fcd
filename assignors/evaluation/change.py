"""A group before and after a rebalance, for telling why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from groupsim.assignors.core.assignment import Assignment
from groupsim.assignors.core.snapshot import GroupSnapshot, Positions

NO_OWNER: Final = "Nobody has it yet."


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """A group before and after a rebalance.

    Parameters
    ----------
    before : GroupSnapshot or None
        None before the first rebalance.
    given : Assignment or None
        What its members had.
    after : GroupSnapshot
        What the leader was given in the first round.
    settled : Assignment
        What the members have after the last round.
    """

    before: GroupSnapshot | None
    given: Assignment | None
    after: GroupSnapshot
    settled: Assignment

    def held(self) -> Positions:
        """Index, among the members after it, of who had each partition before; -1 for nobody, or somebody who left."""
        nobody = np.full(self.after.topics.n_partitions, -1, dtype=np.int32)
        if self.before is None or self.given is None:
            return nobody
        owner = self.given.within(self.after.topics).owner
        assert owner is not None, "partitions have one owner each"
        places = {name: at for at, name in enumerate(self.after.member_ids)}
        return np.array([*(places.get(name, -1) for name in self.before.member_ids), -1], dtype=np.int32)[owner]

    def owners_before(self, position: int) -> list[str]:
        """Who had a partition."""
        if self.before is None or self.given is None:
            return []
        members, positions = self.given.within(self.after.topics).pairs()
        return [self.before.member_ids[at] for at in members[positions == position].tolist()]

    def owner_before(self, position: int) -> str | None:
        """Who had a partition; None for nobody."""
        return next(iter(self.owners_before(position)), None)

    def missing(self, position: int) -> str:
        """Why none of the members has a partition."""
        owner = self.owner_before(position)
        return NO_OWNER if owner is None else f"{owner} has left: what it had is free."
