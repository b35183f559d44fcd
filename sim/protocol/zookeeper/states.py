"""States of a group that is held together by ZooKeeper, and of its members."""

from __future__ import annotations

from enum import Enum


class GroupState(Enum):
    """What a bystander would call the group; there is no coordinator that keeps a state."""

    EMPTY = "Empty"
    REBALANCING = "Rebalancing"
    STABLE = "Stable"


class Phase(Enum):
    """What a member is at."""

    TRYING = "trying"
    """It has stopped reading, and works out and claims its part."""
    BACKOFF = "backoff"
    """A try has failed: it waits for rebalance.backoff.ms."""
    GIVEN_UP = "given up"
    """rebalance.max.retries tries have failed: it owns nothing until something changes again."""
    SETTLED = "settled"
    """It owns what it has worked out."""
