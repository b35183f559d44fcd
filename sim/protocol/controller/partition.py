"""One partition, as the controller knows it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple

Name = tuple[str, int]
"""Topic and number of a partition."""

NO_LEADER: Final = -1
OFFSETS_TOPIC: Final = "__consumer_offsets"
TRANSACTIONS_TOPIC: Final = "__transaction_state"
INTERNAL_TOPICS: Final = frozenset({OFFSETS_TOPIC, TRANSACTIONS_TOPIC})
"""Topics of coordinators."""


class Holdup(IntEnum):
    """What keeps a partition from being read beyond what readers have."""

    NONE = 0
    NO_LEADER = 1
    """Nobody leads it, or the leader is dead and nobody knows yet."""
    NEW_LEADER = 2
    """Another one was elected: it has yet to apply that, or those who follow it to fetch from it."""
    HIGH_WATERMARK = 3
    """Somebody who counts as in sync does not fetch from the leader, so that the high watermark stands."""
    MIN_ISR = 4
    """Fewer are in sync than ``min.insync.replicas``, so that the high watermark stands (KIP-966)."""


class Standing(NamedTuple):
    """What of a partition can change without its replicas."""

    isr: tuple[int, ...]
    eligible: tuple[int, ...]
    leader: int
    last_leader: int


@dataclass(slots=True, eq=False)
class PartitionState:
    """One partition (``PartitionRegistration``, Kafka 4.4).

    Parameters
    ----------
    replicas : tuple of int
        Broker ids; the first is the preferred leader.
    min_insync : int
        ``min.insync.replicas``.
    isr : tuple of int
        Those in sync, in the order of the replicas.
    leader : int
        `NO_LEADER` if there is none.
    epoch : int
        Leader epoch.
    eligible : tuple of int
        ELR: no more in sync, but left while the high watermark stood still, so they have what was acknowledged.
    last_leader : int
        Who led when nobody was in sync any more; else `NO_LEADER`.
    is_unclean : bool
        ``unclean.leader.election.enable``.
    has_lost : bool
        Who leads was elected though it was neither in sync nor eligible.
    """

    replicas: tuple[int, ...]
    min_insync: int
    isr: tuple[int, ...]
    leader: int
    epoch: int = 0
    eligible: tuple[int, ...] = ()
    last_leader: int = NO_LEADER
    is_unclean: bool = False
    has_lost: bool = False

    @property
    def standing(self) -> Standing:
        """What of it can change."""
        return Standing(self.isr, self.eligible, self.leader, self.last_leader)

    @property
    def needed(self) -> int:
        """How many have to be in sync (``Partition.effectiveMinIsr``): no more than there are replicas."""
        return min(self.min_insync, len(self.replicas))

    @property
    def accepts(self) -> bool:
        """Whether who wants an acknowledgement of all may append (else ``NotEnoughReplicasException``)."""
        return self.leader != NO_LEADER and len(self.isr) >= self.needed

    def advances(self, dead: Iterable[int]) -> bool:
        """Whether the high watermark follows what is appended: everybody in the ISR fetches, and there are enough."""
        return self.held_up(dead) is Holdup.NONE

    def held_up(self, dead: Iterable[int]) -> Holdup:
        """What keeps the high watermark, while these do not fetch (``Partition.maybeIncrementLeaderHW``, Kafka 4.4)."""
        silent = set(dead)
        if self.leader == NO_LEADER or self.leader in silent:
            return Holdup.NO_LEADER
        if not self.accepts:
            return Holdup.MIN_ISR
        return Holdup.HIGH_WATERMARK if silent & set(self.isr) else Holdup.NONE
