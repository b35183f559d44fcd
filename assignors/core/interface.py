"""What every assignor is: Kafka's `ConsumerPartitionAssignor` without the wire."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import Enum
from typing import ClassVar

from groupsim.assignors.core.snapshot import Assignment, GroupSnapshot, Positions, Topics


class Protocol(Enum):
    """Whether members give up everything before a rebalance or only what they lose."""

    EAGER = "eager"
    COOPERATIVE = "cooperative"


class Side(Enum):
    """Where an assignor runs: at the leader of a classic group, or in the coordinator (consumer protocol)."""

    CLIENT = "client"
    SERVER = "server"


class Promise(Enum):
    """What an assignor promises beyond a valid answer; `assignors.evaluation.conformance` holds it to it.

    EXCLUSIVE: a partition has at most one owner.
    COMPLETE: a partition with subscribers has an owner, unless a cooperative assignor waits for another to revoke it.
    BALANCED: with equal subscriptions the members' counts differ by one at most.
    BALANCED_PER_TOPIC: a topic's subscribers have counts of it that differ by one at most.
    STICKY: with equal subscriptions no fewer partitions could have moved.
    STEADY: members that join again as they are keep what they have.
    ANY_ORDER: members that join in another order get the same; for the coordinator's, if its hash table yields them in
        one order.
    """

    EXCLUSIVE = "exclusive"
    COMPLETE = "complete"
    BALANCED = "balanced"
    BALANCED_PER_TOPIC = "balanced per topic"
    STICKY = "sticky"
    STEADY = "steady"
    ANY_ORDER = "any order"


class Assignor(ABC):
    """One consumer's assignor: a pure function of the group, and what that consumer remembers for it.

    Make one instance per consumer. `assign` runs on the group's leader only; the other two on every member.

    Attributes
    ----------
    name : str
        The name under which members agree on it.
    side : Side
        Where it runs.
    protocols : tuple of Protocol
        Supported rebalance protocols, the preferred one first; none for one that runs in the coordinator.
    promises : frozenset of Promise
        What its answers can be held to.
    exceptions : mapping of Promise to str
        Why it does not make the other promises, in a few words.
    needs_loads : bool
        Whether a simulation is to tell it the rates of partitions and the capacities of members as they are. Kafka has
        neither; how a leader would come by them is left open.

    Source: org.apache.kafka.clients.consumer.ConsumerPartitionAssignor, Kafka 4.4.
    """

    name: ClassVar[str]
    side: ClassVar[Side] = Side.CLIENT
    protocols: ClassVar[tuple[Protocol, ...]] = (Protocol.EAGER,)
    promises: ClassVar[frozenset[Promise]] = frozenset({Promise.EXCLUSIVE, Promise.COMPLETE, Promise.ANY_ORDER})
    exceptions: ClassVar[Mapping[Promise, str]] = {}
    needs_loads: ClassVar[bool] = False

    @abstractmethod
    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        """Assign the partitions of the subscribed topics.

        Parameters
        ----------
        snapshot : GroupSnapshot

        Returns
        -------
        Assignment
            With an entry, perhaps an empty one, for each of `snapshot.members`.

        Raises
        ------
        KafkaAssignorFailure
            Kafka's assignor throws on this input.
        KafkaAssignorEndless
            It does not even do that: it never ends.
        """

    def subscription_user_data(self) -> object | None:
        """What this consumer adds to its subscription when it joins; None for nothing."""
        return None

    def on_assignment(self, topics: Topics, positions: Positions, generation: int) -> None:  # noqa: B027
        """Learn what this consumer was assigned.

        Parameters
        ----------
        topics : Topics
            What the positions mean.
        positions : ndarray of int32
            This consumer's list, in the order received.
        generation : int
            Generation of the group it belongs to.
        """
