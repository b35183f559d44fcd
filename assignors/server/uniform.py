"""uniform: balanced targets that keep what they can."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from groupsim.assignors.core.assignment import Assignment
from groupsim.assignors.core.interface import Promise
from groupsim.assignors.server.group_spec import GroupSpec
from groupsim.assignors.server.server_assignor import ServerAssignor
from groupsim.assignors.server.uniform_heterogeneous import assign_heterogeneous
from groupsim.assignors.server.uniform_homogeneous import assign_homogeneous


class UniformAssignor(ServerAssignor):
    """Balances the members' counts over all topics together; Kafka's default for groups of the consumer protocol.

    Where all members name the same topics, counts differ by one at most and no fewer partitions could move. Where they
    do not, topics are evened out one by one between their subscribers, and chains of overlapping subscriptions may stay
    a little uneven. It does not look at racks.

    Parameters
    ----------
    java_order : bool
        Whether members, topics and partitions are visited as Kafka's hash tables yield them, which decides who gets one
        more and what is given up, or by name.

    Source: org.apache.kafka.coordinator.group.assignor.UniformAssignor, Kafka 4.4.
    """

    name: ClassVar[str] = "uniform"
    promises: ClassVar[frozenset[Promise]] = frozenset(
        {Promise.EXCLUSIVE, Promise.COMPLETE, Promise.BALANCED, Promise.STICKY, Promise.ANY_ORDER}
    )
    exceptions: ClassVar[Mapping[Promise, str]] = {
        Promise.BALANCED_PER_TOPIC: "counts are evened out over all topics together",
        Promise.STEADY: "with unequal subscriptions it may stop half-way and go on the next time",
    }

    def __init__(self, *, java_order: bool = True) -> None:
        self.java_order = java_order

    def assign_group(self, spec: GroupSpec) -> Assignment:
        """Balance; see `ServerAssignor.assign_group`."""
        if not spec.n_members:
            return spec.target
        build = assign_homogeneous if spec.homogeneous else assign_heterogeneous
        return build(spec, java_order=self.java_order)
