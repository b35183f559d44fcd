"""Groups in which nobody is ever quiet: every step of every member is an event, in either fidelity.

Members of the ZooKeeper protocol keep a session alive whose expiry depends on every message, and share one queue at
each server with all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from groupsim.sim.client.client import Client
from groupsim.sim.protocol.interface import Reply


class Loud:
    """One client that acts by itself all the time (`sim.client.interface.Elision`)."""

    def look(self) -> bool:
        """Everything shows."""
        return True

    def wake(self) -> None:
        """It is awake."""

    def finish(self) -> None:
        """It has nothing to add."""

    def rest(self, now: int) -> bool:
        """It never rests."""
        return False

    def park(self, now: int) -> bool:
        """Nothing is foretold."""
        return False

    def absorb(self, now: int, until: int) -> bool:
        """Every pause is an event."""
        return False

    def be_loud(self) -> None:
        """It is."""


class LoudEngine:
    """The fast path of a group that has none (`sim.cluster.interface.FastPath`)."""

    def elide(self, client: Client) -> Loud:
        """A client that is about to open."""
        return Loud()

    def before_request(self, request: Any, *, is_given_up: bool) -> bool:
        """No request moves the group on."""
        return False

    def before_deadline(self, now: int) -> None:
        """Nobody is behind."""

    def renewed(self, now: int, member_id: str) -> None:
        """There is no session at the broker."""

    def after_decision(self, replies: Sequence[Reply], leave_us: int) -> Sequence[Reply]:
        """All answers go out as messages."""
        return replies

    def wake_all(self) -> None:
        """Everybody is awake."""

    def settle_readers(self) -> bool:
        """Nobody is behind."""
        return False

    def settle(self) -> None:
        """Nobody is behind."""

    def finish(self) -> None:
        """Nobody is behind."""

    def be_loud(self) -> None:
        """It has no quiet members."""
