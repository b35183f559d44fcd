"""What a member's heartbeat thread keeps: when to beat, and when its session is over on this side.

Source: ``Heartbeat`` (Kafka 4.4).
"""

from __future__ import annotations

from groupsim.sim.config import ClientConfig
from groupsim.sim.protocol.lookup import Backoff
from groupsim.sim.units import FOREVER


class HeartbeatTimers:
    """``Heartbeat``: when to beat, and when the session is over on this side; microseconds.

    Attributes
    ----------
    waiting_since : int
        Since when the heartbeat thread has waited to be woken, or for retry.backoff.ms (``HeartbeatThread.run``).
    """

    __slots__ = ("_backoff", "_config", "_failures", "due", "session_due", "waiting_since")

    def __init__(self, config: ClientConfig, backoff: Backoff) -> None:
        self._config = config
        self._backoff = backoff
        self._failures = 0
        self.due = FOREVER
        self.session_due = FOREVER
        self.waiting_since = 0

    def reset(self, now: int) -> None:
        """``resetTimeouts``: the heartbeat thread has woken."""
        self.sent(now)
        self.succeeded(now)

    def sent(self, now: int) -> None:
        """``sentHeartbeat``."""
        self.due = now + self._config.heartbeat_interval_us
        self.waiting_since = now

    def succeeded(self, now: int) -> None:
        """``receiveHeartbeat``."""
        self.restart_session(now)
        self._failures = 0

    def failed(self, now: int) -> None:
        """``failHeartbeat``."""
        self.due = now + self._backoff.after(self._failures)
        self.waiting_since = now
        self._failures += 1

    def restart_session(self, now: int) -> None:
        """``resetSessionTimeout``."""
        self.session_due = now + self._config.session_timeout_us
