"""Where a member stands: its state, its epoch, and what it has been told to do about the group.

Source: ``AbstractMembershipManager``, ``ConsumerMembershipManager`` (Kafka 4.4).
"""

from __future__ import annotations

from groupsim.sim.config import ClientConfig
from groupsim.sim.protocol.consumer.member.states import (
    ACTIVE,
    FATAL,
    JOINING,
    PREVIOUS,
    RECONCILING,
    UNSUBSCRIBED,
    MemberState,
)
from groupsim.sim.protocol.consumer.messages import JOIN_EPOCH, LEAVE_EPOCH, STATIC_LEAVE_EPOCH
from groupsim.sim.protocol.interface import CloseOperation
from groupsim.sim.protocol.messages import Error


class MemberEpoch:
    """One consumer in one group.

    Parameters
    ----------
    name : str
        The member's name in the scenario.
    member_id : str
        Made by the client when it is constructed, and kept for the life of the process (KIP-1082).
    config : ClientConfig
    instance_id : str or None
        ``group.instance.id``; None: dynamic member.

    Attributes
    ----------
    epoch : int
        As the coordinator last said; 0 before that, and after it was fenced.
    failed : Error or None
        What poll() raises.
    operation : CloseOperation
        What close() has been asked to do about the group.
    """

    __slots__ = ("config", "epoch", "failed", "instance_id", "member_id", "name", "operation", "state")

    def __init__(self, name: str, member_id: str, config: ClientConfig, instance_id: str | None) -> None:
        self.name = name
        self.member_id = member_id
        self.config = config
        self.instance_id = instance_id
        self.state = UNSUBSCRIBED
        self.epoch = JOIN_EPOCH
        self.failed: Error | None = None
        self.operation = CloseOperation.DEFAULT

    def enter(self, state: MemberState) -> None:
        """``transitionTo``."""
        assert state is self.state or self.state in PREVIOUS[state], f"{self.name}: {self.state} -> {state}"
        self.state = state

    def join(self) -> None:
        """``transitionToJoining``: epoch 0, the same member id."""
        if self.state is FATAL:
            return
        self.epoch = JOIN_EPOCH
        self.enter(JOINING)

    @property
    def is_member(self) -> bool:
        """Whether the coordinator has let it in: commits carry member id and epoch only then."""
        return self.epoch > JOIN_EPOCH and self.state is not FATAL

    @property
    def takes_assignments(self) -> bool:
        """``canHandleNewAssignment``."""
        return self.state in PREVIOUS[RECONCILING]

    @property
    def is_active(self) -> bool:
        """Whether it is in the group, or on its way in."""
        return self.state in ACTIVE

    @property
    def leave_epoch(self) -> int:
        """``leaveGroupEpoch``: a static member goes for a while, unless close() is told otherwise (KIP-1092, 4.1)."""
        if self.instance_id is not None and self.operation is not CloseOperation.LEAVE_GROUP:
            return STATIC_LEAVE_EPOCH
        return LEAVE_EPOCH

    @property
    def stays_in_group(self) -> bool:
        """Whether it goes without a word: a dynamic member that remains in the group (``isLeavingGroup``)."""
        return self.operation is CloseOperation.REMAIN_IN_GROUP and self.instance_id is None
