"""broadcast: every member gets every partition it subscribes to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from groupsim.assignors.core.interface import Assignor, Promise
from groupsim.assignors.core.snapshot import Assignment, GroupSnapshot


class BroadcastAssignor(Assignor):
    """Gives each member all partitions of its topics.

    Kafka has no such assignor, but lets one be written: members then overwrite one another's committed offsets. Members
    of equal subscriptions share one list, so that a large group costs no more than its topics.
    """

    name: ClassVar[str] = "broadcast"
    promises: ClassVar[frozenset[Promise]] = frozenset(
        {Promise.COMPLETE, Promise.BALANCED, Promise.BALANCED_PER_TOPIC, Promise.STEADY, Promise.ANY_ORDER}
    )
    exceptions: ClassVar[Mapping[Promise, str]] = {
        Promise.EXCLUSIVE: "every subscriber gets every partition",
        Promise.STICKY: "nothing moves: nobody has a partition for itself",
    }

    def assign(self, snapshot: GroupSnapshot) -> Assignment:
        """Give every member everything; see `Assignor.assign`."""
        topics, table = snapshot.topics, snapshot.subscriptions
        lists = [np.flatnonzero(np.repeat(row, topics.counts)).astype(np.int32) for row in table.has]
        once = Assignment.of_lists(topics, lists)
        return Assignment(topics, once.flat, once.starts[table.kind_of], once.ends[table.kind_of])
