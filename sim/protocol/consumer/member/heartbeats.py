"""When a member beats, and what its heartbeat says.

Source: ``HeartbeatRequestState``, ``ConsumerHeartbeatRequestManager.HeartbeatState`` (Kafka 4.4).
"""

from __future__ import annotations

from groupsim.sim.protocol.consumer.member.epoch import MemberEpoch
from groupsim.sim.protocol.consumer.member.local_assignment import LocalAssignment
from groupsim.sim.protocol.consumer.member.states import JOINING
from groupsim.sim.protocol.consumer.member.subscription import MemberSubscription
from groupsim.sim.protocol.consumer.messages import ConsumerGroupHeartbeat
from groupsim.sim.protocol.lookup import Backoff
from groupsim.sim.units import FOREVER


class HeartbeatTimer:
    """``HeartbeatRequestState``: the interval runs from each heartbeat sent, and a failure ends it.

    Parameters
    ----------
    backoff : Backoff
    is_jitter_sound : bool
        4.2: jitter of a fifth. False: ``max.poll.interval.ms`` stands where the jitter belongs, so that half of all
        backoffs are none at all and the others the longest.

    Attributes
    ----------
    interval_us : int, microseconds
        As the coordinator says; 0 until it has.
    in_flight : bool
    sent_us : int, microseconds
        When one was last sent.
    woken_us : int, microseconds
        When one was last sent, or answered.
    """

    __slots__ = (
        "_attempts", "_backoff", "_due", "_is_jitter_sound", "_not_before", "in_flight", "interval_us", "sent_us",
        "woken_us",
    )  # fmt: skip

    def __init__(self, backoff: Backoff, *, is_jitter_sound: bool) -> None:
        self._backoff = backoff
        self._is_jitter_sound = is_jitter_sound
        self._attempts = 0
        self._due = 0
        self._not_before = 0
        self.in_flight = False
        self.interval_us = 0
        self.sent_us = self.woken_us = 0

    def sent(self, now: int) -> None:
        """``onSendAttempt``, ``resetTimer``."""
        self.await_answer(now)
        self._due = now + self.interval_us

    def await_answer(self, sent: int) -> None:
        """One was sent then; its answer is still to come."""
        self.in_flight = True
        self.sent_us = self.woken_us = sent

    def restore(self, due: int) -> None:
        """The next is due then, after some that nobody has looked at."""
        self._due = due

    def succeeded(self, now: int, interval_us: int) -> None:
        """``onSuccessfulAttempt``; an interval that is news begins now."""
        self.reset()
        self.woken_us = now
        if interval_us != self.interval_us:
            self.interval_us = interval_us
            self._due = now + interval_us

    def failed(self, now: int) -> None:
        """``onFailedAttempt``: the interval is over, a backoff begins."""
        self.in_flight = False
        self.woken_us = now
        self._due = now
        self._not_before = now + self._wait_us()
        self._attempts += 1

    def _wait_us(self) -> int:
        wait = self._backoff.after(self._attempts)
        if self._is_jitter_sound:
            return wait
        return self._backoff.longest_us if self._backoff.draw() >= 1_000 else 0

    def reset(self) -> None:
        """``RequestState.reset``: nothing is in flight, and there is no backoff."""
        self.in_flight = False
        self._attempts = 0
        self._not_before = 0

    @property
    def due(self) -> int:
        """When the next one goes out by itself, microseconds; `FOREVER` while one is in flight."""
        return FOREVER if self.in_flight else max(self._due, self._not_before)


class HeartbeatContent:
    """``HeartbeatState``: what has been said is not said again, until a heartbeat fails.

    Parameters
    ----------
    membership : MemberEpoch
    subscription : MemberSubscription
    """

    __slots__ = ("_local", "_membership", "_names", "_pattern", "_rebalance_timeout_us", "_subscription", "is_partial")

    def __init__(self, membership: MemberEpoch, subscription: MemberSubscription) -> None:
        self._membership = membership
        self._subscription = subscription
        self.is_partial = False
        """librdkafka before 2.15: the next join says only what has changed."""
        self.reset()

    def reset(self) -> None:
        """``SentFields.reset``: the next heartbeat says everything."""
        self._rebalance_timeout_us: int | None = None
        self._names: tuple[str, ...] | None = None
        self._pattern: str | None = None
        self._local: LocalAssignment | None = None

    def is_said(self, local: LocalAssignment) -> bool:
        """Whether the next heartbeat of a member that has joined says nothing but its epoch."""
        return (
            self._rebalance_timeout_us is not None
            and self._names == self._subscription.topics
            and (self._pattern or None) == self._subscription.broker_pattern
            and self._local is not None
            and local.is_same(self._local)
        )

    def request(self, local: LocalAssignment) -> ConsumerGroupHeartbeat:
        """``buildRequestData``: all fields when joining, else what has changed; ``local`` is what the member owns."""
        membership = self._membership
        config, says_all = membership.config, membership.state is JOINING and not self.is_partial
        self.is_partial = False
        request = ConsumerGroupHeartbeat(
            membership.member_id, membership.epoch, membership.instance_id, name=membership.name
        )
        if says_all and config.behaviour.rack_in_heartbeat:
            request.rack = config.client_rack or None
        if says_all or self._rebalance_timeout_us is None:
            request.rebalance_timeout_us = self._rebalance_timeout_us = config.max_poll_interval_us
            request.server_assignor = config.group_remote_assignor
        self._say_subscription(request, says_all=says_all)
        if says_all or self._local is None or not local.is_same(self._local):
            request.owned, self._local = local.positions, local
        return request

    def _say_subscription(self, request: ConsumerGroupHeartbeat, *, says_all: bool) -> None:
        """Names and pattern; a pattern that was said and is no longer wanted is taken back with an empty one."""
        names, pattern = self._subscription.topics, self._subscription.broker_pattern
        if says_all or names != self._names:
            request.topics = self._names = names
        if pattern is None and self._pattern:
            request.pattern = ""
        elif pattern is not None and (says_all or pattern != self._pattern):
            request.pattern = pattern
        self._pattern = pattern
