"""The timers of one consumer group: sessions and rebalance timeouts of its members, all keyed and all exact.

Source: ``GroupMetadataManager.scheduleConsumerGroupSessionTimeout``, ``...RebalanceTimeout`` (Kafka 4.4).
"""

from __future__ import annotations

from groupsim.sim.protocol.deadlines import Deadlines

WRITE_RETRY_US = 500_000
"""A timer whose records could not be appended runs again after this (``CoordinatorRuntime``)."""


class Timers:
    """When members are fenced if nothing is heard of them; microseconds, `FOREVER` for what is not armed."""

    __slots__ = ("_epochs", "_rebalances", "_sessions")

    def __init__(self) -> None:
        self._sessions = Deadlines()
        self._rebalances = Deadlines()
        self._epochs: dict[str, int] = {}

    @property
    def earliest(self) -> int:
        """The earliest of all."""
        return min(self._sessions.earliest, self._rebalances.earliest)

    def session_due(self, member_id: str) -> int:
        """When the session of ``member_id`` ends."""
        return self._sessions.due(member_id)

    def rebalance_due(self, member_id: str) -> int:
        """Until when ``member_id`` has to have acknowledged its revocation."""
        return self._rebalances.due(member_id)

    def arm_session(self, member_id: str, due: int) -> None:
        """Let the session of ``member_id`` end at ``due``."""
        self._sessions.arm(member_id, due)

    def cancel_session(self, member_id: str) -> None:
        """Take the session timer away."""
        self._sessions.cancel(member_id)

    def arm_rebalance(self, member_id: str, due: int, epoch: int) -> None:
        """``member_id``, now at ``epoch``, has to have acknowledged at ``due``."""
        self._rebalances.arm(member_id, due)
        self._epochs[member_id] = epoch

    def cancel_rebalance(self, member_id: str) -> None:
        """Nothing has to be acknowledged any more."""
        self._rebalances.cancel(member_id)

    def cancel(self, member_id: str) -> None:
        """The member is gone."""
        self._sessions.cancel(member_id)
        self._rebalances.cancel(member_id)
        self._epochs.pop(member_id, None)

    def pop(self, now: int) -> tuple[str, int | None] | None:
        """Whose timer is due first, at or before ``now``, and the epoch that a rebalance timer is of; None if none is.

        Ties by kind, rebalances first, then by member id.
        """
        if self.earliest > now:
            return None
        if self._rebalances.earliest <= self._sessions.earliest:
            member_id = self._rebalances.pop(now)
            assert member_id is not None
            return member_id, self._epochs.pop(member_id)
        member_id = self._sessions.pop(now)
        assert member_id is not None
        return member_id, None
