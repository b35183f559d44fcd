"""leader-rack: balanced, and of all balanced assignments one that reads the most from leaders nearby."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from groupsim.assignors.core.interface import Promise
from groupsim.assignors.core.snapshot import GroupSnapshot, Positions
from groupsim.assignors.own.past_owners import RememberingAssignor
from groupsim.assignors.own.rack_classes import RackClasses, rack_classes
from groupsim.assignors.own.rack_shares import RackShares, rack_shares


class LeaderRackAssignor(RememberingAssignor):
    """Balances first, then reads from leaders in the member's rack, then moves little.

    With equal subscriptions the members' counts differ by one at most; of all such assignments it takes one with the
    most partitions whose leader, the first replica, is in the rack of the member; of those one with the fewest moves.
    With unequal subscriptions counts may have to differ by more: then the sum of their squares is the smallest
    possible, so that nobody could be relieved by somebody who has two fewer, and the rest is the same. All three are
    exact. What is left open goes by name: members by id and partitions by topic and number.

    Kafka has no such assignor. Its own rack-aware ones ask for any replica nearby, as followers can be fetched from
    (KIP-392); this one is for those who read from leaders.
    """

    name: ClassVar[str] = "leader-rack"
    promises: ClassVar[frozenset[Promise]] = frozenset(
        {Promise.EXCLUSIVE, Promise.COMPLETE, Promise.BALANCED, Promise.STICKY, Promise.STEADY, Promise.ANY_ORDER}
    )
    exceptions: ClassVar[Mapping[Promise, str]] = {
        Promise.BALANCED_PER_TOPIC: "counts are evened out over all topics together",
    }

    def owners(self, group: GroupSnapshot, before: Positions) -> Positions:
        """Balance, then look at racks, then at the past; see `RememberingAssignor.owners`."""
        classes = rack_classes(group)
        n_members, n_classes = len(classes.member_class_of), len(classes.local)
        owned = np.flatnonzero(before >= 0)
        holding = before[owned].astype(np.int64) * n_classes + classes.class_of[owned]
        counts = np.bincount(holding, minlength=n_members * n_classes).reshape(n_members, n_classes)
        shares = rack_shares(classes, counts)
        owner = np.full(len(before), -1, dtype=np.int32)
        kept = owned[_first_of_each(holding, shares.kept.reshape(-1))]
        owner[kept] = before[kept]
        _give(owner, classes, shares)
        return owner


def _first_of_each(values: npt.NDArray[np.int64], limits: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Which entries are among the first of their value, as many as its limit says."""
    order = np.argsort(values, kind="stable")
    sizes = np.bincount(values, minlength=len(limits))
    turn = np.arange(len(values)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    chosen = np.zeros(len(values), dtype=bool)
    chosen[order] = turn < limits[values[order]]
    return chosen


def _give(owner: Positions, classes: RackClasses, shares: RackShares) -> None:
    """Deal what nobody keeps around each class's members that get something."""
    n_classes, n_member_classes = classes.local.shape
    free = np.flatnonzero((owner < 0) & (classes.class_of >= 0))
    free = free[np.argsort(classes.class_of[free], kind="stable")]
    to_member_class = np.repeat(np.tile(np.arange(n_member_classes), n_classes), shares.given.reshape(-1))
    taker = np.repeat(np.arange(len(shares.new), dtype=np.int32), shares.new)
    turn = np.arange(len(taker)) - np.repeat(np.cumsum(shares.new) - shares.new, shares.new)
    taker = taker[np.lexsort((taker, turn, classes.member_class_of[taker]))]
    owner[free[np.lexsort((free, to_member_class))]] = taker
