"""The timers of one consumer group's members, all keyed and all exact.

All have a session. Who uses the consumer protocol has a rebalance timeout while it must give something up; who uses the
classic protocol must join when it is called, and sync when it has joined. Source: ``GroupMetadataManager``'s
``scheduleConsumerGroupSessionTimeout``, ``...RebalanceTimeout``, ``...JoinTimeoutIfAbsent``, ``...SyncTimeout``
(Kafka 4.4).
"""

from __future__ import annotations

from typing import NamedTuple

from groupsim.sim.protocol.deadlines import Deadlines
from groupsim.sim.protocol.facts import Cause
from groupsim.sim.units import FOREVER

WRITE_RETRY_US = 500_000
"""A timer whose records could not be appended runs again after this (``CoordinatorRuntime``)."""


class Due(NamedTuple):
    """A timer that is due: whose, why it is out then, and the epoch at which it had to revoke (None: any)."""

    member_id: str
    cause: Cause
    epoch: int | None


class Timers:
    """When members are fenced if nothing is heard of them; microseconds, `FOREVER` for what is not armed."""

    __slots__ = ("_epochs", "_joins", "_rebalances", "_sessions", "_syncs")

    def __init__(self) -> None:
        self._sessions = Deadlines()
        self._rebalances = Deadlines()
        self._joins = Deadlines()
        self._syncs = Deadlines()
        self._epochs: dict[str, int] = {}

    @property
    def earliest(self) -> int:
        """The earliest of all."""
        return min(self._rebalances.earliest, self._joins.earliest, self._sessions.earliest, self._syncs.earliest)

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

    # --- members that use the classic protocol ------------------------------------------------------------------------

    def join_due(self, member_id: str) -> int:
        """Until when ``member_id``, which has been called, has to have joined."""
        return self._joins.due(member_id)

    def sync_due(self, member_id: str) -> int:
        """Until when ``member_id``, which has joined, has to have asked for its assignment."""
        return self._syncs.due(member_id)

    def call(self, member_id: str, due: int) -> None:
        """``member_id`` has to have joined at ``due``, unless it has been called before."""
        if self._joins.due(member_id) == FOREVER:
            self._joins.arm(member_id, due)

    def joined(self, member_id: str) -> None:
        """It has joined."""
        self._joins.cancel(member_id)

    def await_sync(self, member_id: str, due: int) -> None:
        """It has to have synced at ``due``."""
        self._syncs.arm(member_id, due)

    def synced(self, member_id: str) -> None:
        """It has synced."""
        self._syncs.cancel(member_id)

    # --- of one member, or of all -------------------------------------------------------------------------------------

    def cancel(self, member_id: str) -> None:
        """The member is gone."""
        self._sessions.cancel(member_id)
        self._rebalances.cancel(member_id)
        self._joins.cancel(member_id)
        self._syncs.cancel(member_id)
        self._epochs.pop(member_id, None)

    def lapse(self, now: int) -> None:
        """What is due at or before ``now`` has run to no effect."""
        while self.pop(now) is not None:
            pass

    def pop(self, now: int) -> Due | None:
        """The timer that is due first, at or before ``now``; None if none is. Ties by kind, then by member id."""
        kinds = ((Cause.NOT_REVOKED, self._rebalances), (Cause.NOT_REJOINED, self._joins),
                 (Cause.EXPIRED, self._sessions), (Cause.NOT_SYNCED, self._syncs))  # fmt: skip
        cause, first = min(kinds, key=lambda kind: kind[1].earliest)
        member_id = first.pop(now)
        if member_id is None:
            return None
        return Due(member_id, cause, self._epochs.pop(member_id) if first is self._rebalances else None)
