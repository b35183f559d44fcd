"""What a member does with the answers to its heartbeats.

Source: ``AbstractHeartbeatRequestManager.onResponse``, ``onErrorResponse``, ``onFailure``;
``ConsumerMembershipManager.onHeartbeatSuccess`` (Kafka 4.4).
"""

from __future__ import annotations

import numpy as np

from groupsim.sim.protocol.consumer.member.departure import Departure
from groupsim.sim.protocol.consumer.member.epoch import MemberEpoch
from groupsim.sim.protocol.consumer.member.heartbeats import HeartbeatContent, HeartbeatTimer
from groupsim.sim.protocol.consumer.member.reconciliation import Reconciliation
from groupsim.sim.protocol.consumer.member.states import LEAVING, SILENT, UNSUBSCRIBED
from groupsim.sim.protocol.consumer.messages import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatResponse
from groupsim.sim.protocol.effects import Effects
from groupsim.sim.protocol.lookup import CoordinatorLookup
from groupsim.sim.protocol.messages import Error

_MOVED = frozenset({Error.NOT_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE})
_FENCED = frozenset({Error.FENCED_MEMBER_EPOCH, Error.UNKNOWN_MEMBER_ID})


class HeartbeatResponses:
    """Works on the answers to one member.

    Parameters
    ----------
    membership, reconciliation, departure, timer, content, lookup
        The member's.
    """

    __slots__ = ("_content", "_departure", "_lookup", "_membership", "_reconciliation", "_timer")

    def __init__(
        self, membership: MemberEpoch, reconciliation: Reconciliation, departure: Departure, timer: HeartbeatTimer,
        content: HeartbeatContent, lookup: CoordinatorLookup,
    ) -> None:  # fmt: skip
        self._membership = membership
        self._reconciliation = reconciliation
        self._departure = departure
        self._timer = timer
        self._content = content
        self._lookup = lookup

    def beaten(self, now: int, request: ConsumerGroupHeartbeat, response: ConsumerGroupHeartbeatResponse) -> Effects:
        """A heartbeat is answered; nobody listens to what is said to one that left because poll() came too late."""
        if request.member_epoch < 0 and not self._departure.is_awaited:
            return []
        if response.error is Error.NONE:
            return self._succeeded(now, response)
        self._content.reset()
        self._timer.failed(now)
        if self._membership.state is UNSUBSCRIBED and self._departure.is_awaited:
            return [*self._departure.answered(), *self._react(now, response.error)]
        return self._react(now, response.error)

    def _succeeded(self, now: int, response: ConsumerGroupHeartbeatResponse) -> Effects:
        membership = self._membership
        self._timer.succeeded(now, response.heartbeat_interval_us)
        if membership.state is UNSUBSCRIBED:
            return self._departure.answered()
        if membership.state is LEAVING or membership.state in SILENT:
            return []
        membership.epoch = response.member_epoch
        if response.assignment is not None and membership.takes_assignments:
            self._reconciliation.receive(np.sort(response.assignment))
        return []

    def _react(self, now: int, error: Error) -> Effects:
        """``onErrorResponse``: backoff, look for the coordinator, join anew, or give up."""
        if error in _MOVED:
            self._timer.reset()
            return self._lookup.lose(now)
        if error is Error.DISCONNECTED:
            return self._lookup.lose(now)
        if error is Error.COORDINATOR_LOAD_IN_PROGRESS or self._is_ignored(error) or self._is_history:
            return []
        if error in _FENCED:
            self._timer.reset()
            return self._departure.fenced(now)
        return self._departure.failed(now, error)

    @property
    def _is_history(self) -> bool:
        """Whether the member has given up already what the answer would take from it."""
        return self._membership.state in SILENT and self._membership.state is not UNSUBSCRIBED

    def _is_ignored(self, error: Error) -> bool:
        """A group that does not exist has been left (4.3); librdkafka before 2.15 never takes it for an answer."""
        if error is not Error.GROUP_ID_NOT_FOUND:
            return False
        behaviour = self._membership.config.behaviour
        has_left = self._membership.state is UNSUBSCRIBED and behaviour.ignores_missing_group_after_leave
        return has_left or behaviour.ignores_missing_group
