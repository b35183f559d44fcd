"""When committed offsets expire.

=====================================  ==============================================  ========================
group                                  offsets that may expire                         retention counts from
=====================================  ==============================================  ========================
classic, has had members, Empty        all                                             when it became Empty
classic, of consumers, Stable          of topics that nobody subscribes to             the commit
classic, in between                    none
never had members (a *simple* group)   all                                             the commit
of the consumer protocol               of topics that nobody subscribes to             the commit
any, before Kafka 2.1 (KIP-211)        all, also those that somebody reads             the commit
=====================================  ==============================================  ========================

An offset with an expiry of its own (``retention_time`` of OffsetCommit v2 to v4) goes by that. What an open transaction
has written to stays. A group that is empty and has no offset left is gone as well.

Source: ``ClassicGroup.offsetExpirationCondition``, ``ConsumerGroup.offsetExpirationCondition``,
``OffsetExpirationConditionImpl.isOffsetExpired``, ``OffsetMetadataManager.cleanupExpiredOffsets`` (Kafka 4.4); before
2.1 ``GroupMetadataManager.cleanupGroupMetadata`` (2.0), which looks at ``expireTimestamp`` alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from groupsim.sim.protocol.messages import Positions
from groupsim.sim.protocol.offsets.table import Column, OffsetTable
from groupsim.sim.units import FOREVER


@dataclass(frozen=True, slots=True)
class ExpirationCondition:
    """Which offsets of a group may expire now, and since when their retention counts.

    Parameters
    ----------
    since_us : int or None, microseconds
        For all offsets alike; None: since the commit of each.
    spares_subscribed : bool
        Whether topics that the group subscribes to are left alone; not before 2.1.
    """

    since_us: int | None = None
    spares_subscribed: bool = True

    def due_us(self, table: OffsetTable, positions: Positions, retention_us: int) -> Column:
        """From when on each of ``positions`` is expired, microseconds. Shape (n,)."""
        since = table.commit_us[positions] if self.since_us is None else np.full(len(positions), self.since_us)
        explicit = table.expire_us[positions]
        return np.where(explicit < FOREVER, explicit, since + retention_us)


def next_check_us(due: int, interval_us: int, now: int) -> int:
    """The first look at offsets at or after ``due`` that is still to come, microseconds.

    Each shard looks every ``offsets.retention.check.interval.ms`` from when it was loaded
    (``GroupCoordinatorShard.scheduleGroupMetadataExpiration``, Kafka 4.4), here from 0 on.
    """
    return max(-(-due // interval_us), now // interval_us + 1) * interval_us
