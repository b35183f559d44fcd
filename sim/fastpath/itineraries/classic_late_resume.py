"""From the JoinGroup response to consumption: eager members whose SyncGroup comes when the group is Stable again.

Their SyncGroup is answered at once, and they go on like those whose SyncGroup was parked (`ResumePhase`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.offsets.services import Slots
from groupsim.sim.fastpath.eligibility import has_cohort
from groupsim.sim.fastpath.itineraries.classic_late_sync import answer_syncs, plan_syncs
from groupsim.sim.fastpath.itineraries.classic_resume import ResumePhase
from groupsim.sim.fastpath.phases.deferred import PRESENT
from groupsim.sim.kernel.environment import Moment
from groupsim.sim.kernel.network import Exchange


class LateResumePhase(ResumePhase):
    """Members that were on their way to the SyncGroup when the assignment was appended, and own nothing."""

    NUMBER = 8

    def plan_late(self, slots: Slots) -> NDArray[np.bool_]:
        """Work out when their SyncGroups are answered, and when they consume; who can go on."""
        deferred, now, group = self._deferred, self._deferred.now, self._group
        clear = plan_syncs(group, deferred, slots)
        for index in np.flatnonzero(clear).tolist():
            clear[index] = self._is_assigned(int(slots[index]))
        which = np.flatnonzero(clear)
        if not (which.size and has_cohort(group)):
            return np.zeros(len(slots), np.bool_)
        going = slots[which]
        now.handle[going] = [group.books.handles[deferred.member_ids[slot]] for slot in going.tolist()]
        clear[which] = self._with_positions(going, now.synced[going], deferred.other[going] + 1)
        return clear

    def _is_assigned(self, slot: int) -> bool:
        """Whether a member is assigned anything, and wants no more than it did when it joined."""
        deferred = self._deferred
        is_news = deferred.stage_of(slot) == PRESENT and deferred.clients[slot].machine.has_news
        return deferred.now.sync_response[slot].assignment.size > 0 and not is_news

    def begin_late(self, slots: Slots, since: Moment) -> None:
        """Let them go on; ``since``: they have been on the way since that moment."""
        if slots.size:
            self.begin(slots, self._deferred.now.begun[slots], self._deferred.fetched_key[slots], since)

    def _answer(self, slot: int) -> tuple[Exchange, Any]:
        return self._deferred.join_answer(slot)

    def _carry_out(self, slots: Slots) -> None:
        answer_syncs(self._group, self._deferred, slots)
        super()._carry_out(slots)
