"""One partition, as the controller knows it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

Name = tuple[str, int]
"""Topic and number of a partition."""

NO_LEADER: Final = -1
OFFSETS_TOPIC: Final = "__consumer_offsets"
TRANSACTIONS_TOPIC: Final = "__transaction_state"
INTERNAL_TOPICS: Final = frozenset({OFFSETS_TOPIC, TRANSACTIONS_TOPIC})
"""Topics of coordinators."""


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
        return self.accepts and not set(self.isr) & set(dead)
