"""What partitions wait for that nobody owns, in a group that is held together by ZooKeeper."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

import numpy as np

from groupsim.sim.books.availability import Availability
from groupsim.sim.books.causes import BACKOFF, CLAIM, GIVEN_UP, OVERLOOKED
from groupsim.sim.books.consumer_assignments import ConsumerAssignments
from groupsim.sim.protocol.messages import Positions
from groupsim.sim.protocol.zookeeper.states import Phase

CAUSES: Final[Mapping[Enum, int]] = {
    Phase.TRYING: CLAIM,
    Phase.BACKOFF: BACKOFF,
    Phase.GIVEN_UP: GIVEN_UP,
    Phase.SETTLED: OVERLOOKED,
}
"""What a partition waits for, by what the member is at that is to own it."""


class ZookeeperClaims(ConsumerAssignments):
    """Owner nodes and targets of one group, by handle; a partition without owner waits for who is to own it."""

    def __init__(self, availability: Availability) -> None:
        super().__init__(availability)
        self._phases: dict[int, Enum] = {}

    def move(self, now: int, handle: int, phase: Enum) -> None:
        """A member is at something else."""
        self._phases[handle] = phase
        if phase is Phase.TRYING:
            # It stops reading all that it owns; the owner nodes follow one by one.
            self._wait(now, np.flatnonzero(self._availability.owner == handle).astype(np.int32))
        mine = np.flatnonzero((self.target == handle) & (self._availability.owner < 0)).astype(np.int32)
        self._wait(now, mine)

    def _wait(self, now: int, positions: Positions) -> None:
        if positions.size:
            causes = [CAUSES[self._phases.get(one, Phase.TRYING)] for one in self.target[positions].tolist()]
            self._availability.take(now, positions, np.array(causes, np.int8))
