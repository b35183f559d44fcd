"""States of both classic machines, by Kafka's names; what each does is in the tables of the package."""

from __future__ import annotations

from enum import Enum


class GroupState(Enum):
    """``ClassicGroupState`` (Kafka 4.4)."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


VALID_PREVIOUS_STATES = {
    GroupState.EMPTY: (GroupState.PREPARING_REBALANCE,),
    GroupState.PREPARING_REBALANCE: (GroupState.EMPTY, GroupState.STABLE, GroupState.COMPLETING_REBALANCE),
    GroupState.COMPLETING_REBALANCE: (GroupState.PREPARING_REBALANCE,),
    GroupState.STABLE: (GroupState.COMPLETING_REBALANCE,),
    GroupState.DEAD: tuple(GroupState),
}
"""``ClassicGroupState.validPreviousStates``."""


class MemberState(Enum):
    """``AbstractCoordinator.MemberState`` (Kafka 4.4)."""

    UNJOINED = "UNJOINED"
    PREPARING_REBALANCE = "PREPARING_REBALANCE"
    COMPLETING_REBALANCE = "COMPLETING_REBALANCE"
    STABLE = "STABLE"


class Step(Enum):
    """What a member goes on with when a rebalance listener has returned, or a commit is answered."""

    REVOKE = "revoke"
    """``onJoinPrepare``, after its commit: give partitions up."""
    JOIN = "join"
    """``initiateJoinGroup``, after onPartitionsRevoked or onPartitionsLost."""
    ADOPT = "adopt"
    """``onJoinComplete``, after onPartitionsRevoked: take the assignment over."""
    POLL = "poll"
    """``ConsumerCoordinator.poll``, after onPartitionsAssigned."""
    CLOSE = "close"
    """``onLeavePrepare``, after the last commit: give everything up."""
    LEAVE = "leave"
    """``maybeLeaveGroup``, after the last listener."""
