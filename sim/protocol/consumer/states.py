"""States of a consumer group and of its members, by Kafka's names (``ConsumerGroupState``, ``MemberState``)."""

from __future__ import annotations

from enum import Enum


class GroupState(Enum):
    """``ConsumerGroup.ConsumerGroupState``; the value is its ``toString``."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


class MemberState(Enum):
    """``MemberState``."""

    STABLE = "STABLE"
    """At the epoch that it was last moved to, with all that it was to have then."""
    UNREVOKED_PARTITIONS = "UNREVOKED_PARTITIONS"
    """Has to give something up first, and to say so."""
    UNRELEASED_PARTITIONS = "UNRELEASED_PARTITIONS"
    """At the target's epoch, but others still hold some of its partitions."""
    UNKNOWN = "UNKNOWN"
    """Written by a broker of a later version."""
