"""The fast path of a group whose members use, or can use, the consumer protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from groupsim.sim.client.client import Client
from groupsim.sim.protocol.interface import Reply


class LoudMember:
    """A client of which every step is an event."""

    def look(self) -> bool:
        """Its own objects always show everything."""
        return True

    def wake(self) -> None:
        """It is awake."""

    def rest(self, now: int) -> bool:
        """It never goes quiet."""
        return False

    def absorb(self, now: int, until: int) -> bool:
        """A pause is an event."""
        return False


class ConsumerEngine:
    """Of one group."""

    def elide(self, client: Client) -> LoudMember:
        """The fast path's view of a client that is about to open."""
        return LoudMember()

    def before_request(self, request: Any) -> bool:
        """A request is about to be worked on."""
        return False

    def before_deadline(self, now: int) -> None:
        """A timer of the group is due."""

    def renewed(self, now: int, member_id: str) -> None:
        """A commit has renewed a session."""

    def after_decision(self, replies: Sequence[Reply], leave_us: int) -> Sequence[Reply]:
        """Every answer goes out as a message."""
        return replies

    def wake_all(self) -> None:
        """Everybody is awake."""

    def settle_readers(self) -> None:
        """Whoever has begun to consume has begun."""

    def settle(self) -> None:
        """Everything is in the books."""
