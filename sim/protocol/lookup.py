"""How a member of any protocol finds its coordinator, and how long it backs off.

Source: ``AbstractCoordinator``, ``CoordinatorRequestManager``, ``ExponentialBackoff`` (Kafka 4.4).
"""

from __future__ import annotations

from collections.abc import Callable

from groupsim.sim.config import ClientConfig
from groupsim.sim.protocol.effects import Disconnect, Effects, Send
from groupsim.sim.protocol.messages import Api, Error, FindCoordinator
from groupsim.sim.units import FOREVER, MS, S

LOST_COORDINATOR = frozenset({Error.NOT_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE, Error.DISCONNECTED})
"""Answers after which a member looks for its coordinator anew."""

RECONNECT_US, RECONNECT_MAX_US = 50 * MS, S
"""``reconnect.backoff.ms`` and its maximum, which nobody changes."""


class Backoff:
    """``ExponentialBackoff``: retry.backoff.ms doubling up to its maximum, jittered; constant before 3.7.

    Parameters
    ----------
    first_us, longest_us : int, microseconds
        ``retry.backoff.ms``, ``retry.backoff.max.ms``.
    jitter : callable
        Retry number -> factor in permille (800 .. 1200).
    is_exponential : bool
    """

    __slots__ = ("_first_us", "_is_exponential", "_retries", "jitter", "longest_us")

    def __init__(
        self, first_us: int, longest_us: int, jitter: Callable[[int], int], *, is_exponential: bool = True
    ) -> None:
        self._first_us, self.longest_us = first_us, longest_us
        self._is_exponential = is_exponential
        self.jitter = jitter
        self._retries = 0

    @classmethod
    def of(cls, config: ClientConfig, jitter: Callable[[int], int]) -> Backoff:
        """Of a consumer."""
        is_exponential = config.behaviour.exponential_backoff
        return cls(config.retry_backoff_us, config.retry_backoff_max_us, jitter, is_exponential=is_exponential)

    def after(self, attempts: int) -> int:
        """How long to wait after so many failures before this one, microseconds."""
        if not self._is_exponential:
            return self._first_us
        if self.longest_us <= self._first_us:
            return self.longest_us
        base = min(self._first_us << min(attempts, 20), self.longest_us)
        return min(base * self.draw() // 1000, self.longest_us)

    def draw(self) -> int:
        """The next factor, in permille."""
        self._retries += 1
        return self.jitter(self._retries)


class CoordinatorLookup:
    """Finds the coordinator (``ensureCoordinatorReady`` / ``lookupCoordinator``).

    Parameters
    ----------
    group_id : str
    backoff : Backoff
    poll_timeout_us : int, microseconds
        How long a poll() looks for it, which the next one does anew; `FOREVER`: a thread of its own does.

    Attributes
    ----------
    node : int or None
        Broker id of the coordinator; None while it is unknown.
    retry_at : int, microseconds
        No lookup before.
    """

    __slots__ = (
        "_attempts", "_backoff", "_closed", "_closed_until", "_group_id", "_poll_timeout_us", "_poll_us", "in_flight",
        "node", "retry_at",
    )  # fmt: skip

    def __init__(self, group_id: str, backoff: Backoff, poll_timeout_us: int = FOREVER) -> None:
        self._group_id = group_id
        self._backoff = backoff
        self._poll_timeout_us = poll_timeout_us
        self._poll_us = 0
        """When the poll() began that has failed last; the one that looks first begins there."""
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
        if not self._attempts:
            self._poll_us = now
        return [Send(Api.FIND_COORDINATOR, FindCoordinator(self._group_id))]

    def answered(self, now: int, node: int | None) -> bool:
        """A lookup is answered with a node that can be reached, or failed (None); whether that is news."""
        if not self.in_flight:
            return False
        self.in_flight = False
        if self.node is not None:
            return False
        if node is None or (node == self._closed and now < self._closed_until):
            self._failed(now)
            return False
        self._attempts = 0
        self.retry_at = 0
        self.node = node
        return True

    def _failed(self, now: int) -> None:
        """Back off, at most until the poll() under way is over; its attempts count (``ensureCoordinatorReady``)."""
        begun = now - (now - self._poll_us) % self._poll_timeout_us
        if begun > self._poll_us:
            self._poll_us, self._attempts = begun, 0
        self.retry_at = min(now + self._backoff.after(self._attempts), begun + self._poll_timeout_us)
        self._attempts += 1

    def lose(self, now: int, error: Error = Error.DISCONNECTED) -> Effects:
        """``markCoordinatorUnknown``: everything in flight fails.

        Who says that it is not available is named again, but its connection has just been closed
        (``AbstractCoordinator.ensureCoordinatorReady``, ``ConsumerNetworkClient.isUnavailable``).
        """
        if self.node is None:
            return []
        if error is Error.COORDINATOR_NOT_AVAILABLE:
            self._closed, self._closed_until = self.node, now + RECONNECT_US
        self.node = None
        self.retry_at = now
        return [Disconnect()]
