"""Request and response of the consumer protocol, with the fields that decide something (``ConsumerGroupHeartbeat``)."""

from __future__ import annotations

from dataclasses import dataclass

from groupsim.sim.protocol.messages import Error, Positions

JOIN_EPOCH = 0
"""``ConsumerGroupHeartbeatRequest.JOIN_GROUP_MEMBER_EPOCH``."""
LEAVE_EPOCH = -1
"""``LEAVE_GROUP_MEMBER_EPOCH``."""
STATIC_LEAVE_EPOCH = -2
"""``LEAVE_GROUP_STATIC_MEMBER_EPOCH``: gone for a while; the place is kept until the session is over."""


@dataclass(slots=True, eq=False)
class ConsumerGroupHeartbeat:
    """``ConsumerGroupHeartbeatRequest``; None is "as before".

    Parameters
    ----------
    member_id : str
    member_epoch : int
        0 joins, above it stays, `LEAVE_EPOCH` and `STATIC_LEAVE_EPOCH` leave.
    instance_id, rack : str or None
    rebalance_timeout_us : int or None
        ``max.poll.interval.ms``.
    topics : tuple of str or None
        Sorted.
    pattern : str or None
        ``SubscribedTopicRegex``, RE2/J; empty removes it.
    server_assignor : str or None
    owned : int32 array, shape (n,), or None
        The partitions that the member holds, as positions in the group's partition vector.
    name : str
        The member's name in the scenario; decides nothing.
    """

    member_id: str
    member_epoch: int
    instance_id: str | None = None
    rack: str | None = None
    rebalance_timeout_us: int | None = None
    topics: tuple[str, ...] | None = None
    pattern: str | None = None
    server_assignor: str | None = None
    owned: Positions | None = None
    name: str = ""


@dataclass(slots=True, eq=False)
class ConsumerGroupHeartbeatResponse:
    """``ConsumerGroupHeartbeatResponse``.

    ``assignment`` is everything that the member may own now; None is "as before".
    """

    error: Error
    member_id: str = ""
    member_epoch: int = 0
    heartbeat_interval_us: int = 0
    assignment: Positions | None = None
    message: str = ""
