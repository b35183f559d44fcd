"""cooperative-sticky: sticky, but nothing is given to a new owner before the old one has let it go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from groupsim.assignors.client.sticky import AbstractStickyAssignor
from groupsim.assignors.client.sticky_claims import NO_GENERATION, Past
from groupsim.assignors.core.input_types import is_generation, require
from groupsim.assignors.core.interface import Protocol
from groupsim.assignors.core.snapshot import Assignment, GroupSnapshot, Positions, Topics


@dataclass(frozen=True, slots=True)
class CooperativeStickyUserData:
    """The generation of a member's last assignment, for leaders to whom the subscription itself does not tell it.

    Parameters
    ----------
    generation : int
        -1 before the first assignment.

    Raises
    ------
    InvalidSnapshot
        It is no whole number, or one that 32 bits do not hold.
    """

    generation: int

    def __post_init__(self) -> None:
        fits = self.generation is not None and is_generation(self.generation)
        require(fits, "the generation of user data", "a whole number of 32 bits", self.generation)


class CooperativeStickyAssignor(AbstractStickyAssignor):
    """Balances as sticky does and holds back every partition that changes hands.

    Its old owner revokes it and joins again; the round after that gives it to the new one. In between it is nobody's.

    Source: org.apache.kafka.clients.consumer.CooperativeStickyAssignor, Kafka 4.4; KIP-429.
    """

    name: ClassVar[str] = "cooperative-sticky"
    protocols: ClassVar[tuple[Protocol, ...]] = (Protocol.COOPERATIVE, Protocol.EAGER)

    def __init__(self, *, java_order: bool = True) -> None:
        super().__init__(java_order=java_order)
        self._generation = NO_GENERATION

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        """Balance, and hold back what must be revoked first; see `Assignor.assign`.

        Source: CooperativeStickyAssignor.assignPartitions, `adjustAssignment`, Kafka 4.4.
        """
        return self.solve(snapshot).held_back()

    def subscription_user_data(self) -> CooperativeStickyUserData:
        """The generation of the last assignment."""
        return CooperativeStickyUserData(self._generation)

    def on_assignment(self, topics: Topics, positions: Positions, generation: int) -> None:
        """Remember the generation; see `Assignor.on_assignment`."""
        self._generation = generation

    def past(self, snapshot: GroupSnapshot) -> Past:
        """What the members own; a generation missing from a subscription is taken from the user data."""
        return Past(
            [member.owned for member in snapshot.members],
            [member.layout for member in snapshot.members],
            [
                member.generation
                if member.generation is not None or member.user_data is None
                else _generation(member.user_data)
                for member in snapshot.members
            ],
        )


def _generation(user_data: object) -> int:
    return user_data.generation if isinstance(user_data, CooperativeStickyUserData) else NO_GENERATION
