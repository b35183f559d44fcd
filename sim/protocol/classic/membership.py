"""A consumer's membership: coordinator, generation, subscription, heartbeats, and what makes it rejoin or leave.

Source: ``AbstractCoordinator`` and ``Heartbeat`` (Kafka 4.4). Everything here may happen on the heartbeat thread.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import Enum

from groupsim.sim.config import ClientConfig
from groupsim.sim.protocol.effects import Disconnect, Effects, Send
from groupsim.sim.protocol.messages import Api, Error, FindCoordinator, LeaveGroup, Positions
from groupsim.sim.units import FOREVER


class MemberState(Enum):
    """``AbstractCoordinator.MemberState`` (Kafka 4.4)."""

    UNJOINED = "UNJOINED"
    PREPARING_REBALANCE = "PREPARING_REBALANCE"
    COMPLETING_REBALANCE = "COMPLETING_REBALANCE"
    STABLE = "STABLE"


UNJOINED, PREPARING, COMPLETING, STABLE = (
    MemberState.UNJOINED,
    MemberState.PREPARING_REBALANCE,
    MemberState.COMPLETING_REBALANCE,
    MemberState.STABLE,
)

ALREADY_REBALANCING = "group is already rebalancing"
"""Why a member rejoins whose heartbeat was answered REBALANCE_IN_PROGRESS."""

LOST_COORDINATOR = frozenset({Error.NOT_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE, Error.DISCONNECTED})


class Membership:
    """State of one consumer in one group.

    Parameters
    ----------
    group_id, name : str
    config : ClientConfig
    instance_id : str or None
        ``group.instance.id``; None: dynamic member.
    jitter : callable
        Retry number -> factor in permille (800 .. 1200), ``ExponentialBackoff``'s jitter.
    """

    # Beyond thirty attributes an instance has a hash table of its own, and ten thousand members do not fit any cache.
    __slots__ = (
        "_heartbeat_failures", "_jitter", "_join_in_flight", "_joined_topics", "_lookup_attempts", "_lookup_in_flight",
        "_lookup_retry_at", "_prepare_needed", "_retries", "_snapshot", "_synced", "config", "coordinator", "failed",
        "generation", "group_id", "group_topics", "heartbeat_due", "instance_id", "is_leader", "member_id", "metadata",
        "name", "pattern", "protocol", "rejoin_needed", "rejoin_reason", "session_due", "state", "topics",
    )  # fmt: skip

    def __init__(
        self, *, group_id: str, name: str, config: ClientConfig, instance_id: str | None, jitter: Callable[[int], int]
    ) -> None:
        self.group_id = group_id
        self.name = name
        self.config = config
        self.instance_id = instance_id
        self._jitter = jitter
        self._retries = 0

        self.state = UNJOINED
        self.generation = -1
        self.member_id = ""
        self.protocol: str | None = None
        self.coordinator: int | None = None
        self.is_leader = False
        self.rejoin_needed = True
        self.rejoin_reason = ""
        self.failed: Error | None = None

        self.topics: tuple[str, ...] = ()
        self.pattern: re.Pattern[str] | None = None
        self.metadata: Mapping[str, int] = {}
        self._joined_topics: tuple[str, ...] = ()
        self._snapshot: dict[str, int] | None = None
        self.group_topics: tuple[str, ...] = ()

        self._prepare_needed = True
        self._join_in_flight = False
        self._synced: Positions | None = None

        self._lookup_in_flight = False
        self._lookup_attempts = 0
        self._lookup_retry_at = 0

        self.heartbeat_due = FOREVER
        self.session_due = FOREVER
        self._heartbeat_failures = 0

    # --- subscription and metadata ------------------------------------------------------------------------------------

    def subscribe(self, topics: tuple[str, ...], pattern: str | None) -> None:
        """``subscribe()``: takes effect at the next poll."""
        self.pattern = re.compile(pattern) if pattern is not None else None
        self.topics = self._matched() if self.pattern is not None else tuple(sorted(topics))

    def on_metadata(self, counts: Mapping[str, int]) -> None:
        """A metadata response: topic -> number of partitions (``maybeUpdateSubscriptionMetadata``)."""
        self.metadata = counts
        if self.pattern is not None:
            self.topics = self._matched()

    def _matched(self) -> tuple[str, ...]:
        assert self.pattern is not None
        return tuple(sorted(topic for topic in self.metadata if self.pattern.fullmatch(topic)))

    def _view(self) -> dict[str, int]:
        """Partition counts of all topics of the group: what the leader watches (``MetadataSnapshot``)."""
        return {topic: self.metadata[topic] for topic in self.group_topics if topic in self.metadata}

    # --- what makes it rejoin -----------------------------------------------------------------------------------------

    @property
    def wants_group(self) -> bool:
        """Whether the consumer is subscribed to anything."""
        return bool(self.topics) or self.pattern is not None

    def _wants_rejoin(self) -> bool:
        """``ConsumerCoordinator.rejoinNeededOrPending``."""
        if not self.wants_group:
            return False
        if self.rejoin_needed:
            return True
        if self.state is not STABLE:
            return False
        if self.topics != self._joined_topics:
            self.rejoin_reason = "the subscription has changed"
            return True
        if self.is_leader and self._snapshot is not None and self._snapshot != self._view():
            self.rejoin_reason = "cached metadata has changed"
            return True
        return False

    @property
    def _must_forget(self) -> bool:
        """Whether a reset awaits its onPartitionsLost while the request it came across is still unanswered."""
        return self._prepare_needed and self.state is UNJOINED and self.wants_group

    def _request_rejoin(self, reason: str) -> None:
        """``requestRejoin``: acted on at the next poll()."""
        self.rejoin_needed = True
        self.rejoin_reason = self.rejoin_reason or reason

    def _reset(self, *, keep_id: bool) -> None:
        """``resetStateAndRejoin``: the partitions are lost at the next poll.

        An assignment that waits for the application is given up, and the member id with it (``joinGroupIfNeeded``).
        """
        self.state = UNJOINED
        self.generation = -1
        self.protocol = None
        if not keep_id or self._synced is not None:
            self.member_id = ""
        if self._synced is not None:
            self._synced = None
            self._join_in_flight = False
        self.rejoin_needed = True
        self._prepare_needed = True

    # --- heartbeats ---------------------------------------------------------------------------------------------------

    @property
    def heartbeats_enabled(self) -> bool:
        """Whether the heartbeat thread is awake (``HeartbeatThread.run``; idle while UNJOINED or PREPARING)."""
        if self.failed is not None:
            return False
        if self.config.behaviour.heartbeat_in_completing:
            return self.state in (STABLE, COMPLETING)
        return self.state is STABLE

    def _reset_heartbeat(self, now: int) -> None:
        self.heartbeat_due = now + self.config.heartbeat_interval_us
        self.session_due = now + self.config.session_timeout_us
        self._heartbeat_failures = 0

    def on_heartbeat_response(self, now: int, error: Error, generation: int) -> Effects:
        """``HeartbeatResponseHandler``; that an older generation is refused counts as a success."""
        refused = error in (Error.FENCED_INSTANCE_ID, Error.UNKNOWN_MEMBER_ID, Error.ILLEGAL_GENERATION)
        if error in (Error.NONE, Error.REBALANCE_IN_PROGRESS) or (refused and generation != self.generation):
            self.session_due = now + self.config.session_timeout_us
            self._heartbeat_failures = 0
            if error is Error.REBALANCE_IN_PROGRESS and self.state is STABLE:
                self._request_rejoin(ALREADY_REBALANCING)
            return []
        self.heartbeat_due = now + self._backoff(self._heartbeat_failures)
        self._heartbeat_failures += 1
        if refused:
            self._reset(keep_id=error is Error.ILLEGAL_GENERATION)
            self.failed = error if error is Error.FENCED_INSTANCE_ID else self.failed
        elif error in LOST_COORDINATOR:
            return self.mark_coordinator_unknown(now)
        return []

    # --- coordinator lookup -------------------------------------------------------------------------------------------

    def _look_up(self, now: int) -> Effects:
        """``ensureCoordinatorReady`` / ``lookupCoordinator``: one request at a time, shared by both threads."""
        if self._lookup_in_flight or now < self._lookup_retry_at:
            return []
        self._lookup_in_flight = True
        return [Send(Api.FIND_COORDINATOR, FindCoordinator(self.group_id))]

    def on_coordinator(self, now: int, node: int | None) -> Effects:
        """A lookup is answered with a node that can be reached, or failed (None)."""
        if not self._lookup_in_flight:
            return []
        self._lookup_in_flight = False
        if self.coordinator is not None:
            return []
        if node is None:
            self._lookup_retry_at = now + self._backoff(self._lookup_attempts)
            self._lookup_attempts += 1
            return []
        self._lookup_attempts = 0
        self._lookup_retry_at = 0
        self.coordinator = node
        self.session_due = now + self.config.session_timeout_us
        return []

    def mark_coordinator_unknown(self, now: int) -> Effects:
        """``markCoordinatorUnknown``: state and assignment stay; everything in flight fails."""
        if self.coordinator is None:
            return []
        self.coordinator = None
        self._lookup_retry_at = now
        return [Disconnect()]

    def _backoff(self, attempts: int) -> int:
        """``ExponentialBackoff``: retry.backoff.ms doubling up to its maximum, jittered; constant before 3.7."""
        config = self.config
        if not config.behaviour.exponential_backoff:
            return config.retry_backoff_us
        if config.retry_backoff_max_us <= config.retry_backoff_us:
            return config.retry_backoff_max_us
        self._retries += 1
        base = min(config.retry_backoff_us << min(attempts, 20), config.retry_backoff_max_us)
        return min(base * self._jitter(self._retries) // 1000, config.retry_backoff_max_us)

    # --- leaving ------------------------------------------------------------------------------------------------------

    def on_poll_expired(self, now: int) -> Effects:
        """max.poll.interval.ms is over (``handlePollTimeoutExpiry``): leave; lose the partitions at the next poll."""
        effects = self._leave("consumer poll timeout has expired")
        self._reset(keep_id=False)
        return effects

    def _leave(self, reason: str) -> Effects:
        """``maybeLeaveGroup``: a static member only forgets itself."""
        if self.coordinator is None or self.state is UNJOINED or not self.member_id or self.instance_id is not None:
            return []
        return [Send(Api.LEAVE_GROUP, LeaveGroup(self.member_id, self.instance_id, reason))]
