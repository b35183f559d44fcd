"""The timers of one classic group, all exact and all keyed: arming an armed one replaces it.

Source: the timer keys of ``GroupMetadataManager`` (Kafka 4.4): join (also the initial rebalance's), sync, session.
"""

from __future__ import annotations

from typing import NamedTuple

from groupsim.sim.protocol.classic.roster import Member
from groupsim.sim.protocol.deadlines import Deadlines
from groupsim.sim.units import FOREVER


class Window(NamedTuple):
    """One window of the initial-rebalance delay, microseconds: its length, and what of the delay is left after it."""

    delay_us: int
    remaining_us: int


class Timers:
    """When something happens to a group by itself; microseconds, `FOREVER` for what is not armed.

    Attributes
    ----------
    join_due : int
        The join phase ends, though somebody may be missing.
    window : Window or None
        What ``join_due`` ends, in an initial rebalance.
    sync_due : int
        Members that have not synced are out.
    """

    __slots__ = ("_sessions", "join_due", "sync_due", "window")

    def __init__(self) -> None:
        self._sessions = Deadlines()
        self.join_due = FOREVER
        self.window: Window | None = None
        self.sync_due = FOREVER

    @property
    def earliest(self) -> int:
        """The earliest of all."""
        return min(self.join_due, self.sync_due, self._sessions.earliest)

    def open_window(self, now: int, delay_us: int, remaining_us: int, late_us: int) -> None:
        """Let the join phase of an initial rebalance last for one more window, and until its end is heard of."""
        self.join_due = now + delay_us + late_us
        self.window = Window(delay_us, remaining_us)

    def close_join(self) -> None:
        """The join phase is over."""
        self.join_due, self.window = FOREVER, None

    def lapse(self, now: int) -> None:
        """What is due by now runs to no effect."""
        if self.join_due <= now:
            self.close_join()
        if self.sync_due <= now:
            self.sync_due = FOREVER
        while self.pop_session(now) is not None:
            pass

    # --- sessions -----------------------------------------------------------------------------------------------------

    def renew(self, now: int, member: Member) -> None:
        """Restart the session of a member (``rescheduleClassicGroupMemberHeartbeat``)."""
        self._sessions.arm(member.member_id, now + member.session_timeout_us)

    def arm_session(self, member_id: str, due: int) -> None:
        """Let the session of ``member_id``, which may be no member yet, end at ``due``."""
        self._sessions.arm(member_id, due)

    def cancel_session(self, member_id: str) -> None:
        """Take the session timer away."""
        self._sessions.cancel(member_id)

    def session_due(self, member_id: str) -> int:
        """When the session of ``member_id`` ends; `FOREVER` while it has no timer."""
        return self._sessions.due(member_id)

    def pop_session(self, now: int) -> str | None:
        """Whose session ends first, at or before ``now``, ties by id; None if nobody's does."""
        return self._sessions.pop(now)
