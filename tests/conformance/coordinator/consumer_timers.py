"""The timers of a consumer group as the conversations have them: key -> deadline in milliseconds."""

from __future__ import annotations

from groupsim.sim.protocol.consumer.group import ConsumerGroup
from groupsim.sim.units import FOREVER, MS
from tests.conformance.coordinator.wire import Json

_KINDS = ("session-timeout", "rebalance-timeout", "join", "sync")


def armed_consumer(group_id: str, group: ConsumerGroup) -> dict[str, int]:
    """Every timer of the machine's members."""
    found, timers = {}, group.core.timers
    for one in group.roster.members:
        each = (timers.session_due(one), timers.rebalance_due(one), timers.join_due(one), timers.sync_due(one))
        found |= {f"{kind}-{group_id}-{one}": at // MS for kind, at in zip(_KINDS, each, strict=True) if at < FOREVER}
    return found


def can_fence(key: str, group_id: str, state: Json) -> bool:
    """Whether Kafka's timer of this key would do anything when it runs, with the group in this state."""
    return any(key == f"{kind}-{group_id}-{one}" for kind in _KINDS for one in state["members"])
