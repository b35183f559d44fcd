"""Sessions of brokers at the active controller: when one that is silent is fenced, and when its id is free again.

Source: ``BrokerHeartbeatManager``, ``QuorumController.registerMaybeFenceStaleBroker`` (Kafka 4.4).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

_CHECKS_PER_SESSION: Final = 8


class BrokerSessions:
    """Brokers that the controller no longer hears from.

    Parameters
    ----------
    session_us : int, microseconds
        ``broker.session.timeout.ms``.
    claimed_us : int, microseconds
        Since when the controller is the active one: it looks for sessions that are over from then on.
    """

    def __init__(self, session_us: int, claimed_us: int) -> None:
        self._session_us = session_us
        self._silent: dict[int, int] = {}
        self.claimed_us = claimed_us

    @property
    def silent(self) -> tuple[int, ...]:
        """Brokers that are silent, ascending."""
        return tuple(sorted(self._silent))

    def fall_silent(self, broker: int, last_us: int) -> None:
        """The last heartbeat of a broker was at ``last_us``."""
        self._silent[broker] = max(last_us, self.claimed_us)

    def forget(self, broker: int) -> None:
        """The broker is fenced, or back."""
        self._silent.pop(broker, None)

    def claim(self, now: int, fenced: Collection[int]) -> None:
        """Another controller takes over at ``now``: sessions start anew; brokers that are fenced have none."""
        self.claimed_us = now
        self._silent = {broker: now for broker in self._silent if broker not in fenced}

    def due(self, broker: int) -> int:
        """When a silent broker is fenced: at the first look after its session, microseconds."""
        over, every = self.free_at(broker), self._session_us // _CHECKS_PER_SESSION
        return self.claimed_us + -(-(over - self.claimed_us) // every) * every

    def free_at(self, broker: int) -> int:
        """When another incarnation of a broker may register, microseconds; 0: its session is not known."""
        return self._silent[broker] + self._session_us if broker in self._silent else 0
