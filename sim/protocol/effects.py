"""What a client machine wants done: returned to the shell, never carried out by the machine itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from groupsim.sim.protocol.consumer.messages import ConsumerGroupHeartbeat
from groupsim.sim.protocol.messages import (
    Api,
    Error,
    FindCoordinator,
    Heartbeat,
    JoinGroup,
    JoinResponse,
    LeaveGroup,
    OffsetCommit,
    OffsetFetch,
    Positions,
    SyncGroup,
)

Request = (
    FindCoordinator
    | JoinGroup
    | SyncGroup
    | Heartbeat
    | LeaveGroup
    | ConsumerGroupHeartbeat
    | OffsetCommit
    | OffsetFetch
)


@dataclass(slots=True, eq=False)
class Send:
    """Send a request to the coordinator, or (FindCoordinator) to the least loaded node."""

    api: Api
    body: Request


@dataclass(slots=True, eq=False)
class Commit:
    """Commit the positions of ``positions`` as they are now, in the current generation (or member epoch).

    ``is_awaited``: a member of the consumer protocol goes on with something when the answer has come.
    """

    positions: Positions
    generation: int
    member_id: str
    is_awaited: bool = False


@dataclass(slots=True, eq=False)
class Listen:
    """Run a rebalance listener on the application thread, then call ``on_listener_done``."""

    callback: Literal["revoked", "assigned", "lost"]
    positions: Positions


@dataclass(slots=True, eq=False)
class RunAssignor:
    """The leader computes the assignment, then calls ``on_assignments``."""

    response: JoinResponse


@dataclass(slots=True, eq=False)
class Drop:
    """Stop consuming these partitions: no more of their records are handed out."""

    positions: Positions
    lost: bool


@dataclass(slots=True, eq=False)
class Adopt:
    """The assignment is now ``positions``; ``added`` are new and need a position first."""

    positions: Positions
    added: Positions


@dataclass(slots=True, eq=False)
class Disconnect:
    """Close the connection to the coordinator: every request in flight on it fails with DISCONNECTED."""


@dataclass(slots=True, eq=False)
class Raise:
    """An error that poll() raises to the application: the consumer ends."""

    error: Error


@dataclass(slots=True, eq=False)
class Closed:
    """close() or unsubscribe() is through."""


Effect = Send | Commit | Listen | RunAssignor | Drop | Adopt | Disconnect | Raise | Closed
Effects = list[Effect]
