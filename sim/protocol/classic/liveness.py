"""What a member's heartbeat thread keeps: who the coordinator is, when to beat, and how long to back off.

Source: ``AbstractCoordinator``, ``Heartbeat``, ``ExponentialBackoff`` (Kafka 4.4).
"""

from __future__ import annotations

from collections.abc import Callable

from groupsim.sim.config import ClientConfig
from groupsim.sim.protocol.effects import Disconnect, Effects, Send
from groupsim.sim.protocol.messages import Api, FindCoordinator
from groupsim.sim.units import FOREVER


class Backoff:
    """``ExponentialBackoff``: retry.backoff.ms doubling up to its maximum, jittered; constant before 3.7.

    Parameters
    ----------
    config : ClientConfig
    jitter : callable
        Retry number -> factor in permille (800 .. 1200).
    """

    __slots__ = ("_config", "_retries", "jitter")

    def __init__(self, config: ClientConfig, jitter: Callable[[int], int]) -> None:
        self._config = config
        self.jitter = jitter
        self._retries = 0

    def after(self, attempts: int) -> int:
        """How long to wait after so many failures before this one, microseconds."""
        config = self._config
        if not config.behaviour.exponential_backoff:
            return config.retry_backoff_us
        if config.retry_backoff_max_us <= config.retry_backoff_us:
            return config.retry_backoff_max_us
        self._retries += 1
        base = min(config.retry_backoff_us << min(attempts, 20), config.retry_backoff_max_us)
        return min(base * self.jitter(self._retries) // 1000, config.retry_backoff_max_us)


class CoordinatorLookup:
    """Finds the coordinator (``ensureCoordinatorReady`` / ``lookupCoordinator``).

    Attributes
    ----------
    node : int or None
        Broker id of the coordinator; None while it is unknown.
    retry_at : int, microseconds
        No lookup before.
    """

    __slots__ = ("_attempts", "_backoff", "_group_id", "in_flight", "node", "retry_at")

    def __init__(self, group_id: str, backoff: Backoff) -> None:
        self._group_id = group_id
        self._backoff = backoff
        self._attempts = 0
        self.node: int | None = None
        self.in_flight = False
        self.retry_at = 0

    def look_up(self, now: int) -> Effects:
        """One request at a time, shared by both threads."""
        if self.in_flight or now < self.retry_at:
            return []
        self.in_flight = True
        return [Send(Api.FIND_COORDINATOR, FindCoordinator(self._group_id))]

    def answered(self, now: int, node: int | None) -> bool:
        """A lookup is answered with a node that can be reached, or failed (None); whether that is news."""
        if not self.in_flight:
            return False
        self.in_flight = False
        if self.node is not None:
            return False
        if node is None:
            self.retry_at = now + self._backoff.after(self._attempts)
            self._attempts += 1
            return False
        self._attempts = 0
        self.retry_at = 0
        self.node = node
        return True

    def lose(self, now: int) -> Effects:
        """``markCoordinatorUnknown``: everything in flight fails."""
        if self.node is None:
            return []
        self.node = None
        self.retry_at = now
        return [Disconnect()]


class HeartbeatTimers:
    """``Heartbeat``: when to beat, and when the session is over on this side; microseconds."""

    __slots__ = ("_backoff", "_config", "_failures", "due", "session_due")

    def __init__(self, config: ClientConfig, backoff: Backoff) -> None:
        self._config = config
        self._backoff = backoff
        self._failures = 0
        self.due = FOREVER
        self.session_due = FOREVER

    def reset(self, now: int) -> None:
        """``resetTimeouts``: the heartbeat thread has woken."""
        self.due = now + self._config.heartbeat_interval_us
        self.succeeded(now)

    def sent(self, now: int) -> None:
        """``sentHeartbeat``."""
        self.due = now + self._config.heartbeat_interval_us

    def succeeded(self, now: int) -> None:
        """``receiveHeartbeat``."""
        self.restart_session(now)
        self._failures = 0

    def failed(self, now: int) -> None:
        """``failHeartbeat``."""
        self.due = now + self._backoff.after(self._failures)
        self._failures += 1

    def restart_session(self, now: int) -> None:
        """``resetSessionTimeout``."""
        self.session_due = now + self._config.session_timeout_us
