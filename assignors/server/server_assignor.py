"""What the assignors of the group coordinator share."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from groupsim.assignors.core.assignment import Assignment
from groupsim.assignors.core.interface import Assignor, Protocol, Side
from groupsim.assignors.core.snapshot import GroupSnapshot
from groupsim.assignors.server.group_spec import GroupSpec


class ServerAssignor(Assignor):
    """An assignor that runs in the group coordinator, for groups of the consumer protocol.

    It decides on target assignments and starts from those decided on before, whatever members own by then. Members
    neither choose nor inform it: only `assign_group` matters.

    Source: org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor, Kafka 4.4; KIP-848.
    """

    side: ClassVar[Side] = Side.SERVER
    protocols: ClassVar[tuple[Protocol, ...]] = ()

    @abstractmethod
    def assign_group(self, spec: GroupSpec) -> Assignment:
        """Assign the partitions of the subscribed topics.

        Parameters
        ----------
        spec : GroupSpec

        Returns
        -------
        Assignment
            With a list for each member, in the order in which the coordinator would write it to the record.

        Raises
        ------
        KafkaAssignorFailure
            Kafka's assignor throws on this input.
        """

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        """Assign, taking what the members of a snapshot own for their targets; see `assign_group`."""
        return self.assign_group(GroupSpec.of(snapshot))
