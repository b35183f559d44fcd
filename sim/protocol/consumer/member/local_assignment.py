"""An assignment as the client counts it (``AbstractMembershipManager.LocalAssignment``, Kafka 4.4)."""

from __future__ import annotations

from typing import NamedTuple

from groupsim.sim.protocol.messages import NO_PARTITIONS, Positions, are_same


class LocalAssignment(NamedTuple):
    """Partitions, and a number that says how often they have changed since the member joined.

    Parameters
    ----------
    epoch : int
        -1: no assignment yet, which is not the same as an empty one.
    positions : int32 array, ascending
    """

    epoch: int
    positions: Positions

    @property
    def is_none(self) -> bool:
        """Whether there has been no assignment yet."""
        return self.epoch < 0

    def has(self, positions: Positions) -> bool:
        """Whether these are the partitions."""
        return are_same(self.positions, positions)

    def is_same(self, other: LocalAssignment) -> bool:
        """Whether number and partitions are equal."""
        return self.epoch == other.epoch and self.has(other.positions)

    def updated(self, positions: Positions) -> LocalAssignment:
        """``updateWith``: the next one, unless these are the partitions already."""
        return self if not self.is_none and self.has(positions) else LocalAssignment(self.epoch + 1, positions)


NOTHING = LocalAssignment(-1, NO_PARTITIONS)
"""``LocalAssignment.NONE``."""
