"""What the states of each protocol mean to the books: the only place where they know one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal

from groupsim.sim.books.causes import ASSIGNMENT, BARRIER
from groupsim.sim.protocol.classic.states import GroupState
from groupsim.sim.protocol.consumer.states import GroupState as ConsumerState
from groupsim.sim.protocol.zookeeper.states import GroupState as ZookeeperState


@dataclass(frozen=True, slots=True)
class Meaning:
    """What it means for a group to be in a state.

    Parameters
    ----------
    cause : int or None
        Why partitions are unread meanwhile, whoever owns them (`sim.books.causes`); None: it depends on the owner.
    phase : {"preparing", "completing"} or None
        Of a rebalance.
    begins : bool
        A rebalance begins with it, unless one is under way.
    ends : {"stable", "empty"} or None
        It ends a rebalance, and how.
    """

    cause: int | None = None
    phase: Literal["preparing", "completing"] | None = None
    begins: bool = False
    ends: Literal["stable", "empty"] | None = None


MEANINGS: Final[Mapping[Enum, Meaning]] = {
    GroupState.EMPTY: Meaning(ends="empty"),
    GroupState.PREPARING_REBALANCE: Meaning(BARRIER, "preparing", begins=True),
    GroupState.COMPLETING_REBALANCE: Meaning(ASSIGNMENT, "completing"),
    GroupState.STABLE: Meaning(ends="stable"),
    GroupState.DEAD: Meaning(),
    ConsumerState.EMPTY: Meaning(ends="empty"),
    ConsumerState.ASSIGNING: Meaning(phase="preparing"),
    ConsumerState.RECONCILING: Meaning(phase="completing"),
    ConsumerState.STABLE: Meaning(ends="stable"),
    ConsumerState.DEAD: Meaning(),
    ZookeeperState.EMPTY: Meaning(ends="empty"),
    ZookeeperState.REBALANCING: Meaning(phase="completing"),
    ZookeeperState.STABLE: Meaning(ends="stable"),
}
