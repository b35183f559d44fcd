"""The books of what a consumer group's members own, are to own, and still have to give up.

In the consumer protocol nobody synchronises: each member moves towards its target by itself, and a partition waits for
its donor's acknowledgement, for a target, or for its new owner's heartbeat. This turns the coordinator's facts into
owners, and into what each partition waits for that nobody owns.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.availability import Availability
from groupsim.sim.books.causes import ASSIGNMENT_INTERVAL, HANDOVER, REVOCATION
from groupsim.sim.protocol.messages import NO_PARTITIONS, Positions, without


@dataclass(slots=True)
class _Held:
    """What one member has, by the coordinator's books; ``pending``: it has not acknowledged their revocation yet."""

    assigned: Positions = field(default_factory=lambda: NO_PARTITIONS)
    pending: Positions = field(default_factory=lambda: NO_PARTITIONS)
    target: Positions = field(default_factory=lambda: NO_PARTITIONS)
    epoch: int = 0


class ConsumerAssignments:
    """Assignments of one group of the consumer protocol, by handle.

    Parameters
    ----------
    availability : Availability

    Attributes
    ----------
    target : int32 array, shape (n_partitions,)
        Handle that each partition is to belong to; -1: nobody.
    """

    def __init__(self, availability: Availability) -> None:
        self._availability = availability
        self._members: dict[int, _Held] = {}
        self._epoch = -1
        self._members_at: Counter[int] = Counter()
        """How many members have reported each epoch."""
        self.target: NDArray[np.int32] = np.empty(0, np.int32)

    def cover(self, partitions: int) -> None:
        """Make room for new positions."""
        self.target = np.concatenate([self.target, np.full(partitions - len(self.target), -1, np.int32)])

    # --- the group ----------------------------------------------------------------------------------------------------

    def bump(self, epoch: int) -> None:
        """The group epoch is ``epoch`` from now on: nobody has reported it yet."""
        self._epoch = epoch

    def retarget(self, now: int, targets: dict[int, Positions]) -> None:
        """A target has been computed: that of each member for whom it has changed."""
        for handle, positions in targets.items():
            one = self._member(handle)
            still = one.target[self.target[one.target] == handle]
            self.target[still] = -1
            one.target = positions
        for handle, positions in targets.items():
            self.target[positions] = handle
        idle = np.flatnonzero(self._availability.owner < 0).astype(np.int32)
        pending = [one.pending for one in self._members.values() if one.pending.size]
        self._wait(now, without(idle, np.concatenate(pending)) if pending else idle)

    def forget(self) -> None:
        """The group uses the classic protocol from now on."""
        self._members.clear()
        self._members_at.clear()
        self._epoch = -1
        self.target[:] = -1

    @property
    def is_reported(self) -> bool:
        """Whether every member has reported the group epoch."""
        return self._members_at[self._epoch] == len(self._members)

    def targets(self) -> dict[int, Positions]:
        """The target of each member."""
        return {handle: one.target for handle, one in self._members.items()}

    # --- one member ---------------------------------------------------------------------------------------------------

    def reconcile(self, now: int, handle: int, epoch: int, assigned: Positions, pending: Positions) -> None:
        """A member's own part has changed, or its epoch."""
        one = self._member(handle)
        self._enter(one, epoch)
        before, waited = one.assigned, one.pending
        if assigned is before and not pending.size and not waited.size:
            return
        one.assigned, one.pending = assigned, pending
        gained = without(assigned, before)
        released = without(without(np.concatenate([before, waited]), assigned), pending)
        asked = without(pending, waited)
        if asked.size:
            self._availability.take(now, asked, np.full(len(asked), REVOCATION, np.int8))
        self._release(now, handle, released)
        if gained.size:
            self._availability.give(now, handle, gained)

    def remove(self, now: int, handle: int) -> None:
        """The member is gone, and its target with it."""
        one = self._members.pop(handle, None)
        if one is None:
            return
        self._members_at[one.epoch] -= 1
        self.target[one.target[self.target[one.target] == handle]] = -1
        self._release(now, handle, np.concatenate([one.assigned, one.pending]))

    def replace(self, old: int, new: int) -> None:
        """A static member has come back under another member id: it has what the old one had, but for the epoch."""
        one = self._members.pop(old, None)
        if one is not None:
            self._enter(one, 0)
            self._members[new] = one
            self.target[self.target == old] = new

    def _member(self, handle: int) -> _Held:
        if handle not in self._members:
            self._members[handle] = _Held()
            self._members_at[0] += 1
        return self._members[handle]

    def _enter(self, one: _Held, epoch: int) -> None:
        """A member has reported an epoch."""
        self._members_at[one.epoch] -= 1
        if not self._members_at[one.epoch]:
            del self._members_at[one.epoch]
        self._members_at[epoch] += 1
        one.epoch = epoch

    def _release(self, now: int, handle: int, positions: Positions) -> None:
        """Who held these holds them no longer."""
        owner = self._availability.owner[positions]
        self._wait(now, positions[(owner == handle) | (owner < 0)])

    def _wait(self, now: int, positions: Positions) -> None:
        """Nobody holds these: they wait for their next owner's heartbeat, or to be in somebody's target."""
        if positions.size:
            causes = np.where(self.target[positions] >= 0, HANDOVER, ASSIGNMENT_INTERVAL)
            self._availability.take(now, positions, causes.astype(np.int8))
