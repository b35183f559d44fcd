"""A consumer's membership in one group: state, generation, member id, and what makes it rejoin.

Source: ``AbstractCoordinator`` and its ``Generation`` (Kafka 4.4).
"""

from __future__ import annotations

from groupsim.sim.config import ClientConfig
from groupsim.sim.protocol.classic.states import MemberState, Step
from groupsim.sim.protocol.interface import CloseOperation
from groupsim.sim.protocol.messages import NO_PARTITIONS, Api, Error, LeaveGroup, MemberIdentity, Positions

UNJOINED, PREPARING, COMPLETING, STABLE = MemberState

ALREADY_REBALANCING = "group is already rebalancing"
"""Why a member rejoins whose heartbeat was answered REBALANCE_IN_PROGRESS."""
LEAVING = "consumer pro-actively leaving the group"

_EXCEPTIONS = {Error.NONE: "UnjoinedGroup", Error.DISCONNECTED: "Disconnect"}
"""Exceptions that are not called after an error of the protocol."""


def encountered(error: Error, api: Api) -> str:
    """Why a member rejoins that has been told that it is none (``resetStateOnResponseError``)."""
    return f"encountered {error.name} from {api.name} response"


class Membership:
    """One consumer in one group.

    Parameters
    ----------
    name : str
    config : ClientConfig
    instance_id : str or None
        ``group.instance.id``; None: dynamic member.

    Attributes
    ----------
    rejoin_needed : bool
        The next poll() joins.
    prepare_needed : bool
        Before it joins, it has to give partitions up (once per successful rebalance).
    join_in_flight : bool
        JoinGroup or SyncGroup is under way, or its result waits for the application.
    synced : int32 array or None
        An assignment that waits for the application.
    adopting : int32 array
        An assignment that is taken over when onPartitionsRevoked has returned.
    after_listener : Step or None
        What follows when the rebalance listener returns; None: none runs.
    after_commit : Step or None
        What follows when the commit under way is answered; None: nothing waits for one.
    join_retry_at : int, microseconds
        No JoinGroup before; 0: there is nothing to wait for.
    failed : Error or None
        What the next poll() raises.
    """

    __slots__ = (
        "adopting", "after_commit", "after_listener", "config", "failed", "generation", "instance_id", "is_leader",
        "join_in_flight", "join_retry_at", "member_id", "name", "prepare_needed", "protocol", "rejoin_needed",
        "rejoin_reason", "state", "synced",
    )  # fmt: skip

    def __init__(self, name: str, config: ClientConfig, instance_id: str | None) -> None:
        self.name = name
        self.config = config
        self.instance_id = instance_id
        self.state = UNJOINED
        self.generation = -1
        self.member_id = ""
        self.protocol: str | None = None
        self.is_leader = False
        self.rejoin_needed = True
        self.rejoin_reason = ""
        self.prepare_needed = True
        self.join_in_flight = False
        self.synced: Positions | None = None
        self.adopting: Positions = NO_PARTITIONS
        self.after_listener: Step | None = None
        self.after_commit: Step | None = None
        self.join_retry_at = 0
        self.failed: Error | None = None

    @property
    def heartbeats_enabled(self) -> bool:
        """Whether the heartbeat thread is awake (``HeartbeatThread.run``; idle while UNJOINED or PREPARING)."""
        if self.failed is not None:
            return False
        if self.config.behaviour.heartbeat_in_completing:
            return self.state is STABLE or self.state is COMPLETING
        return self.state is STABLE

    def request_rejoin(self, reason: str) -> None:
        """``requestRejoin``: acted on at the next poll(); the last reason is what counts."""
        self.rejoin_needed = True
        self.rejoin_reason = reason

    def reset(self, reason: str, *, keep_id: bool) -> None:
        """``resetStateAndRejoin``: the partitions are lost at the next poll.

        An assignment that waits for the application is given up, and the member id with it (``joinGroupIfNeeded``).
        """
        self.state = UNJOINED
        self.generation = -1
        self.protocol = None
        if not keep_id or self.synced is not None:
            self.member_id = ""
        if self.synced is not None:
            self.synced = None
            self.join_in_flight = False
        self.request_rejoin(reason)
        self.prepare_needed = True

    def join_failed(self, error: Error) -> None:
        """A round that comes to nothing; NONE: its join was good, but a reset came first (``joinGroupIfNeeded``)."""
        self.join_in_flight = False
        name = _EXCEPTIONS.get(error) or error.value.title().replace("_", "")
        self.request_rejoin(f"rebalance failed due to {name}Exception")

    def _leaves(self, operation: CloseOperation) -> bool:
        if not self.config.behaviour.close_operations or operation is CloseOperation.DEFAULT:
            return self.instance_id is None
        return operation is CloseOperation.LEAVE_GROUP

    def farewell(self, reason: str, operation: CloseOperation) -> LeaveGroup | None:
        """``maybeLeaveGroup``: what a member says that leaves; a static one only forgets itself, unless told to leave.

        ``operation``: KIP-1092 (4.1).
        """
        if self.state is UNJOINED or not self.member_id or not self._leaves(operation):
            return None
        return LeaveGroup((MemberIdentity(self.member_id, self.instance_id, self.told(reason)),))

    def told(self, reason: str) -> str:
        """What of a reason JoinGroup and LeaveGroup have; the broker notes an empty one as "not provided"."""
        return reason if self.config.behaviour.reason_in_request else ""
