"""What a server assignor is given by a group machine, and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from groupsim.sim.protocol.messages import Positions


@dataclass(frozen=True, slots=True, eq=False)
class AssignorInput:
    """A group at the moment of a computation (``TargetAssignmentBuilder``, Kafka 4.4); vectors go by member.

    Parameters
    ----------
    member_ids : tuple of str
    instance_ids, racks : tuple of (str or None)
    kinds : tuple of tuple of str
        The distinct subscriptions, names sorted; topics may be among them that do not exist.
    kind_of : int32 array, shape (n_members,)
        Which of them each member has.
    targets : tuple of int32 array
        The target of each member so far, in the order in which the assignor gave it; positions of the group.
    counts : mapping of str to int
        Topic -> number of partitions, of all topics that there are.
    mixes_patterns : bool
        Some members subscribe by a regular expression, and not all by the same one alone.
    """

    member_ids: tuple[str, ...]
    instance_ids: tuple[str | None, ...]
    racks: tuple[str | None, ...]
    kinds: tuple[tuple[str, ...], ...]
    kind_of: Positions
    targets: tuple[Positions, ...]
    counts: Mapping[str, int]
    mixes_patterns: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Computed:
    """What a server assignor has made of it.

    Parameters
    ----------
    targets : sequence of int32 array
        By member, positions of the group in the assignor's order.
    charged_us : int, microseconds
        How long it took.
    """

    targets: Sequence[Positions]
    charged_us: int = 0


class TargetAssignor(Protocol):
    """A server assignor as a group machine calls it."""

    def __call__(self, group: AssignorInput) -> Computed:
        """Compute targets.

        Raises
        ------
        assignors.AssignorError
            What Kafka's assignor would throw.
        """
        ...


class TopicView(Protocol):
    """Where a topic's partitions are in the group's partition vector, and on which racks."""

    def of(self, topic: str) -> Positions:
        """Positions of a topic's partitions, by partition number."""
        ...

    def id_of(self, topic: str) -> int | str:
        """What tells a topic from others that have had its name."""
        ...

    def racks_of(self, topic: str, partitions: int) -> list[tuple[str | None, ...]] | None:
        """Racks of the replicas of a topic's first partitions; None if no broker has a rack."""
        ...
