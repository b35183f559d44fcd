"""How a member of any protocol finds its coordinator, and how long it backs off.

Source: ``AbstractCoordinator``, ``CoordinatorRequestManager``, ``ExponentialBackoff`` (Kafka 4.4).
"""

from __future__ import annotations

from collections.abc import Callable

from groupsim.sim.config import ClientConfig
from groupsim.sim.protocol.effects import Disconnect, Effects, Send
from groupsim.sim.protocol.messages import Api, Error, FindCoordinator
from groupsim.sim.units import MS

LOST_COORDINATOR = frozenset({Error.NOT_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE, Error.DISCONNECTED})
"""Answers after which a member looks for its coordinator anew."""

_RECONNECT_US = 50 * MS
"""``reconnect.backoff.ms``, which nobody changes."""


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
        base = min(config.retry_backoff_us << min(attempts, 20), config.retry_backoff_max_us)
        return min(base * self.draw() // 1000, config.retry_backoff_max_us)

    def draw(self) -> int:
        """The next factor, in permille."""
        self._retries += 1
        return self.jitter(self._retries)

    @property
    def longest_us(self) -> int:
        """``retry.backoff.max.ms``."""
        return self._config.retry_backoff_max_us


class CoordinatorLookup:
    """Finds the coordinator (``ensureCoordinatorReady`` / ``lookupCoordinator``).

    Attributes
    ----------
    node : int or None
        Broker id of the coordinator; None while it is unknown.
    retry_at : int, microseconds
        No lookup before.
    """

    __slots__ = ("_attempts", "_backoff", "_closed", "_closed_until", "_group_id", "in_flight", "node", "retry_at")

    def __init__(self, group_id: str, backoff: Backoff) -> None:
        self._group_id = group_id
        self._backoff = backoff
        self._attempts = 0
        self.node: int | None = None
        self.in_flight = False
        self.retry_at = 0
        self._closed: int | None = None
        """Broker whose connection was closed on purpose, and until when no other is opened, microseconds."""
        self._closed_until = 0

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
        if node is None or (node == self._closed and now < self._closed_until):
            self.retry_at = now + self._backoff.after(self._attempts)
            self._attempts += 1
            return False
        self._attempts = 0
        self.retry_at = 0
        self.node = node
        return True

    def lose(self, now: int, error: Error = Error.DISCONNECTED) -> Effects:
        """``markCoordinatorUnknown``: everything in flight fails.

        Who says that it is not available is named again, but its connection has just been closed
        (``AbstractCoordinator.ensureCoordinatorReady``, ``ConsumerNetworkClient.isUnavailable``).
        """
        if self.node is None:
            return []
        if error is Error.COORDINATOR_NOT_AVAILABLE:
            self._closed, self._closed_until = self.node, now + _RECONNECT_US
        self.node = None
        self.retry_at = now
        return [Disconnect()]
