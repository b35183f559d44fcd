"""What happens to the targets of some members in one assignment."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from groupsim.assignors.core.topics import Positions
from groupsim.assignors.server.held_targets import HeldTargets
from groupsim.assignors.server.table_sizes import Sizes
from groupsim.assignors.server.target_groups import Flags

Move: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True, slots=True, eq=False)
class TargetChanges:
    """What some members keep and get. Members are told by their places in `held.members`.

    Parameters
    ----------
    held : HeldTargets
        Whose targets change, and what they have.
    kept : ndarray of bool
        Which of the held partitions stay.
    taker : ndarray of int32
        Who gets each partition that is handed out.
    taken : ndarray of int32
        What is handed out, in that order.
    capacity : ndarray of int64, shape (n_topics,)
        With which capacity a set is made for a topic that its member did not have.
    moves : sequence of (int, int, int)
        What changes hands after that: position, giver and taker.
    """

    held: HeldTargets
    kept: Flags
    taker: Positions
    taken: Positions
    capacity: Sizes
    moves: Sequence[Move] = ()

    @property
    def n_kept(self) -> int:
        """How many of the held partitions stay."""
        return int(np.count_nonzero(self.kept))

    def without_moves(self, n_partitions: int) -> tuple[TargetChanges, Flags]:
        """The same with nothing changing hands, true of all but some members.

        For who only gives, a partition that moves might as well not have been kept; for who only takes, it might as
        well have been handed out.

        Parameters
        ----------
        n_partitions : int

        Returns
        -------
        changes : TargetChanges
        both : ndarray of bool
            The others: who gives and takes.
        """
        gives, takes = (np.zeros(len(self.held.members), dtype=bool) for _ in range(2))
        if not self.moves:
            return self, gives
        position, giver, taker = np.array(self.moves, dtype=np.int32).T
        gives[giver], takes[taker], takes[self.taker] = True, True, True
        both = gives & takes
        given = np.zeros(n_partitions, dtype=bool)
        given[position[~both[giver]]] = True
        gained = ~both[taker]
        kept = self.kept & ~given[self.held.positions]
        takers, all_taken = np.append(self.taker, taker[gained]), np.append(self.taken, position[gained])
        return replace(self, kept=kept, taker=takers, taken=all_taken, moves=()), both

    def lost(self, members: Collection[int]) -> dict[int, set[int]]:
        """What each of these members holds and does not keep."""
        gone = self._of(members)[self.held.rank] & ~self.kept
        lost: dict[int, set[int]] = {member: set() for member in members}
        for member, position in zip(self.held.rank[gone].tolist(), self.held.positions[gone].tolist(), strict=True):
            lost[member].add(position)
        return lost

    def steps(self, members: Collection[int]) -> Iterator[tuple[int, int, bool]]:
        """What happens to these members after they have lost that: who, position, and whether it comes or goes."""
        wanted = self._of(members)
        those = wanted[self.taker]
        for member, position in zip(self.taker[those].tolist(), self.taken[those].tolist(), strict=True):
            yield member, position, True
        for moved, giver, taker in self.moves:
            if wanted[giver]:
                yield giver, moved, False
            if wanted[taker]:
                yield taker, moved, True

    def _of(self, members: Collection[int]) -> Flags:
        """Which of all members are these."""
        wanted = np.zeros(len(self.held.members), dtype=bool)
        wanted[list(members)] = True
        return wanted
