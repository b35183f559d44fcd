"""The states of a member on its own side, and which may follow which (``MemberState``, Kafka 4.4)."""

from __future__ import annotations

from enum import Enum


class MemberState(Enum):
    """``org.apache.kafka.clients.consumer.internals.MemberState``."""

    UNSUBSCRIBED = "UNSUBSCRIBED"
    JOINING = "JOINING"
    RECONCILING = "RECONCILING"
    ACKNOWLEDGING = "ACKNOWLEDGING"
    STABLE = "STABLE"
    FENCED = "FENCED"
    PREPARE_LEAVING = "PREPARE_LEAVING"
    LEAVING = "LEAVING"
    FATAL = "FATAL"
    STALE = "STALE"

    __hash__ = object.__hash__  # states are looked up with every event, and there is one object of each


UNSUBSCRIBED, JOINING, RECONCILING, ACKNOWLEDGING, STABLE, FENCED, PREPARE_LEAVING, LEAVING, FATAL, STALE = MemberState

ACTIVE = frozenset({JOINING, RECONCILING, ACKNOWLEDGING, STABLE})
"""In the group, or on its way in."""

SILENT = frozenset({UNSUBSCRIBED, FENCED, FATAL, STALE})
"""No heartbeats (``shouldSkipHeartbeat``), and answers to old ones mean nothing (``isNotInGroup``)."""

HASTY = frozenset({JOINING, ACKNOWLEDGING})
"""A heartbeat goes out at once, unless one is in flight (``shouldHeartbeatNow``)."""

PREVIOUS = {
    STABLE: frozenset({JOINING, ACKNOWLEDGING, RECONCILING}),
    RECONCILING: frozenset({STABLE, JOINING, ACKNOWLEDGING, RECONCILING}),
    ACKNOWLEDGING: frozenset({RECONCILING}),
    FATAL: ACTIVE | {PREPARE_LEAVING, LEAVING, UNSUBSCRIBED},
    FENCED: ACTIVE | {PREPARE_LEAVING, LEAVING},
    JOINING: frozenset({FENCED, UNSUBSCRIBED, STALE}),
    PREPARE_LEAVING: ACTIVE | {UNSUBSCRIBED},
    LEAVING: frozenset({PREPARE_LEAVING}),
    UNSUBSCRIBED: frozenset({PREPARE_LEAVING, LEAVING, FENCED}),
    STALE: frozenset({LEAVING}),
}
"""``previousValidStates``."""
