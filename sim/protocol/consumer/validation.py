"""Requests that no group would take (``GMM.throwIfConsumerGroupHeartbeatRequestIsInvalid``, Kafka 4.4)."""

from __future__ import annotations

from collections.abc import Sequence

from groupsim.sim.protocol.consumer.messages import JOIN_EPOCH, STATIC_LEAVE_EPOCH, ConsumerGroupHeartbeat
from groupsim.sim.protocol.consumer.refusals import Refused
from groupsim.sim.protocol.messages import Error


def check(request: ConsumerGroupHeartbeat, assignors: Sequence[str]) -> None:
    """See that the fields of a heartbeat go together.

    Parameters
    ----------
    request : ConsumerGroupHeartbeat
    assignors : sequence of str
        That the broker offers.

    Raises
    ------
    Refused
        INVALID_REQUEST, UNSUPPORTED_ASSIGNOR.
    """
    for name in ("member_id", "instance_id", "rack"):
        value = getattr(request, name)
        if value is not None and not value.strip():
            raise Refused(Error.INVALID_REQUEST, f"{name} can't be empty.")
    if request.member_epoch == JOIN_EPOCH:
        _check_join(request)
    elif request.member_epoch < STATIC_LEAVE_EPOCH:
        raise Refused(Error.INVALID_REQUEST, f"member_epoch {request.member_epoch} is invalid.")
    elif request.member_epoch == STATIC_LEAVE_EPOCH and request.instance_id is None:
        raise Refused(Error.INVALID_REQUEST, "instance_id can't be null.")
    if request.server_assignor is not None and request.server_assignor not in assignors:
        raise Refused(
            Error.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.server_assignor} is not supported. Supported assignors: {', '.join(assignors)}.",
        )


def _check_join(request: ConsumerGroupHeartbeat) -> None:
    if request.rebalance_timeout_us is None:
        raise Refused(Error.INVALID_REQUEST, "rebalance_timeout must be provided in first request.")
    if request.owned is None or request.owned.size:
        raise Refused(Error.INVALID_REQUEST, "owned partitions must be empty when (re-)joining.")
    if request.topics is None and request.pattern is None:
        raise Refused(Error.INVALID_REQUEST, "topics or a pattern must be set in first request.")
