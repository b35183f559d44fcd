"""What an assignor answers: who gets which partitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from groupsim.assignors.core.input_types import require
from groupsim.assignors.core.topics import Positions, Topics, positions_of, sealed
from groupsim.assignors.java.sorting import stable_order

Told = TypeVar("Told", Positions, list[Any])


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """Who gets which partitions, with each member's list in Kafka's order.

    Parameters
    ----------
    topics : Topics
        What the positions mean. The snapshot's own, save where Kafka hands out partitions that do not exist.
    flat : ndarray of int32
        Positions; member m has `flat[starts[m]:ends[m]]`. Members with equal lists may share one stretch.
    starts, ends : ndarray of int64, shape (n_members,)
    """

    topics: Topics
    flat: Positions
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    _owner: Positions | None = field(init=False, repr=False, default=None)

    @classmethod
    def of_pairs(cls, topics: Topics, n_members: int, members: Positions, positions: Positions) -> Assignment:
        """An assignment from parallel vectors; a member's list keeps the order in which its pairs come."""
        order = stable_order(members, n_members)
        sizes = np.bincount(members, minlength=n_members)
        ends = np.cumsum(sizes)
        return cls(topics, sealed(positions[order]), ends - sizes, ends)

    @classmethod
    def of_lists(cls, topics: Topics, lists: Sequence[Sequence[int] | Positions]) -> Assignment:
        """An assignment from one sequence of positions per member.

        Raises
        ------
        AssignorError
            That is not what the lists are.
        """
        require(isinstance(topics, Topics), "the topics of an assignment", "Topics", topics)
        listed = isinstance(lists, Sequence) and all(isinstance(each, Sequence | np.ndarray) for each in lists)
        require(listed, "an answer", "a list of positions for each member", lists)
        sizes = np.array([len(each) for each in lists], dtype=np.int64)
        ends = np.cumsum(sizes)
        return cls(topics, positions_of(position for each in lists for position in each), ends - sizes, ends)

    @property
    def n_members(self) -> int:
        """Number of members."""
        return len(self.starts)

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """Partitions of each member, shape (n_members,)."""
        return self.ends - self.starts

    @property
    def shared(self) -> bool:
        """Whether some partition has more than one owner: broadcast, or a defect of Kafka's."""
        given = int(self.counts.sum())
        return given > self.topics.n_partitions or bool(np.count_nonzero(self._scatter() >= 0) < given)

    @property
    def owner(self) -> Positions | None:
        """Index of the owning member for each position, -1 for nobody; None if some partition has several owners."""
        return None if self.shared else self._scatter()

    def list_of(self, member: int) -> Positions:
        """Positions of one member in Kafka's order."""
        return self.flat[self.starts[member] : self.ends[member]]

    def lists(self) -> list[Positions]:
        """Positions of every member in Kafka's order."""
        return self.parts(self.flat)

    def parts(self, told: Told) -> list[Told]:
        """The stretch of every member of what is told of each position in `flat`, such as its number elsewhere."""
        return [told[start:end] for start, end in zip(self.starts.tolist(), self.ends.tolist(), strict=True)]

    def plain(self, member_ids: Sequence[str]) -> dict[str, list[tuple[str, int]]]:
        """Topic and number of every member's partitions in Kafka's order, by member id.

        Parameters
        ----------
        member_ids : sequence of str
            Of the members, in the order of the snapshot.
        """
        names = map(self.topics.names.__getitem__, self.topics.topic_of[self.flat].tolist())
        told = list(zip(names, self.topics.number_of[self.flat].tolist(), strict=True))
        return dict(zip(member_ids, self.parts(told), strict=True))

    def pairs(self) -> tuple[Positions, Positions]:
        """Parallel vectors of member and position, member after member."""
        counts = self.counts
        members = np.repeat(np.arange(self.n_members, dtype=np.int32), counts)
        shift = self.starts - (np.cumsum(counts) - counts)
        if len(members) == len(self.flat) and not shift[counts > 0].any():
            return members, self.flat
        return members, self.flat[np.arange(len(members)) + np.repeat(shift, counts)]

    def within(self, topics: Topics) -> Assignment:
        """The same counted by other topics; what does not exist there is left out."""
        if topics is self.topics:
            return self
        members, positions = self.pairs()
        there = topics.translation_from(self.topics)[positions]
        return Assignment.of_pairs(topics, self.n_members, members[there >= 0], there[there >= 0])

    def _scatter(self) -> Positions:
        if self._owner is None:
            owner = np.full(self.topics.n_partitions, -1, dtype=np.int32)
            members, positions = self.pairs()
            owner[positions] = members
            object.__setattr__(self, "_owner", sealed(owner))
        assert self._owner is not None
        return self._owner
