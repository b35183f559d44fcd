"""One step of a member towards its target (``CurrentAssignmentBuilder``, Kafka 4.4).

A member first gives up what it is not to have any more, and says so; only then it gets more. What others still hold is
given to it when it is free, piece by piece. A pure function; who holds what is all that it knows of others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.protocol.consumer.partition_epochs import PartitionEpochs
from groupsim.sim.protocol.consumer.records import NO_EPOCHS, CurrentAssignment, Epochs
from groupsim.sim.protocol.consumer.refusals import Refused
from groupsim.sim.protocol.consumer.rules import Rules
from groupsim.sim.protocol.consumer.states import MemberState
from groupsim.sim.protocol.messages import NO_PARTITIONS, Error, Positions, are_same, within

STABLE, UNREVOKED, UNRELEASED, UNKNOWN = MemberState


@dataclass(slots=True, eq=False)
class Aim:
    """Where a member is moved to, and by which evidence.

    Parameters
    ----------
    target : int32 array, ascending
    epoch : int
        For which the target was computed.
    owned : int32 array or None
        What the request says that the member owns.
    subscribed : bool array, shape (n_partitions,)
        Partitions of topics that exist and that the member subscribes to.
    subscription_changed : bool
        By this request.
    held : PartitionEpochs
    rules : Rules
    """

    target: Positions
    epoch: int
    owned: Positions | None
    subscribed: NDArray[np.bool_]
    subscription_changed: bool
    held: PartitionEpochs
    rules: Rules

    @property
    def enforces_subscription(self) -> bool:
        """Whether a member without a step to take has to give up what it no longer subscribes to."""
        return self.subscription_changed and self.rules.enforces_subscription

    def has_revoked(self, positions: Positions) -> bool:
        """Whether the request shows that none of these is owned any more; no evidence is no."""
        return self.owned is not None and not within(positions, self.owned).any()

    def wants(self, positions: Positions) -> NDArray[np.bool_]:
        """Which of these, ascending, the member subscribes to. Shape of ``positions``."""
        if positions.size and positions[-1] < len(self.subscribed):
            return self.subscribed[positions]
        known = positions < len(self.subscribed)
        wanted = known.copy()
        wanted[known] = self.subscribed[positions[known]]
        return wanted


def reconcile(member: CurrentAssignment, aim: Aim) -> CurrentAssignment:
    """The next current assignment; the same object if there is nothing to do.

    Raises
    ------
    Refused
        FENCED_MEMBER_EPOCH: the member's state is unknown, and it still owns something.
    """
    if member.state is STABLE and member.member_epoch == aim.epoch:
        return _narrowed(member, aim) if aim.enforces_subscription else member
    if member.state is UNREVOKED:
        if not aim.has_revoked(member.pending):
            return _narrowed(member, aim) if aim.enforces_subscription else member
        return _step(member, aim, member.member_epoch + (not aim.rules.keeps_epoch_on_ack))
    if member.state is UNKNOWN:
        if aim.owned is None or aim.owned.size:
            raise Refused(Error.FENCED_MEMBER_EPOCH, "the member is in an unknown state")
        return _step(member, aim, aim.epoch)
    return _step(member, aim, member.member_epoch)


def _step(member: CurrentAssignment, aim: Aim, epoch: int) -> CurrentAssignment:
    """``computeNextAssignment``; ``epoch`` is that of a member that has to give something up first."""
    target = aim.target
    if aim.rules.enforces_subscription and np.count_nonzero(wanted := aim.wants(target)) < len(target):
        target = target[wanted]
    if are_same(target, member.assigned):
        return _moved(member, aim.epoch, STABLE, member.assigned, member.assigned_epochs)
    stays = within(member.assigned, target)
    kept, kept_epochs = member.assigned[stays], member.assigned_epochs[stays]
    revoked, revoked_epochs = member.assigned[~stays], member.assigned_epochs[~stays]
    if revoked.size and not aim.has_revoked(revoked):
        return _moved(member, epoch, UNREVOKED, kept, kept_epochs, revoked, revoked_epochs)
    added = target[~within(target, kept)]
    is_free = aim.held.are_free(added)
    if aim.rules.enforces_subscription and member.pending.size:
        is_free |= within(added, member.pending)
    state = STABLE if np.count_nonzero(is_free) == len(added) else UNRELEASED
    return _moved(member, aim.epoch, state, *_merged(kept, kept_epochs, added[is_free], aim.epoch))


def _merged(kept: Positions, kept_epochs: Epochs, added: Positions, epoch: int) -> tuple[Positions, Epochs]:
    if not added.size:
        return kept, kept_epochs
    new_epochs = np.full(len(added), epoch, np.int32)
    if not kept.size:
        return added, new_epochs
    positions, epochs = np.concatenate([kept, added]), np.concatenate([kept_epochs, new_epochs])
    order = np.argsort(positions)
    return positions[order], epochs[order]


def _narrowed(member: CurrentAssignment, aim: Aim) -> CurrentAssignment:
    """``updateCurrentAssignment``: give up what is not subscribed to any more, and stay at the epoch.

    Who subscribes to no topic that exists gives up everything, even if that is nothing: its former epoch is forgotten.
    """
    stays = aim.wants(member.assigned)
    if stays.all() and (member.pending.size or aim.subscribed.any()):
        return member
    kept, kept_epochs = member.assigned[stays], member.assigned_epochs[stays]
    revoked = np.concatenate([member.pending, member.assigned[~stays]])
    if not revoked.size or aim.has_revoked(revoked):
        return _moved(
            member, member.member_epoch, member.state, kept, kept_epochs, member.pending, member.pending_epochs
        )
    order = np.argsort(revoked)
    epochs = np.concatenate([member.pending_epochs, member.assigned_epochs[~stays]])
    return _moved(member, member.member_epoch, UNREVOKED, kept, kept_epochs, revoked[order], epochs[order])


def _moved(
    member: CurrentAssignment,
    epoch: int,
    state: MemberState,
    assigned: Positions,
    assigned_epochs: Epochs,
    pending: Positions = NO_PARTITIONS,
    pending_epochs: Epochs = NO_EPOCHS,
) -> CurrentAssignment:
    """The former epoch is kept even if the new one is the same (``ConsumerGroupMember.Builder.updateMemberEpoch``)."""
    return CurrentAssignment(epoch, member.member_epoch, state, assigned, assigned_epochs, pending, pending_epochs)
