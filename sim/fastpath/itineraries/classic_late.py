"""From the JoinGroup response to silence: cooperative members whose SyncGroup comes when the group is Stable again.

They read the response at their next poll, and that can be after the leader's assignment is in the log. Their SyncGroup
is answered at once; if they are assigned what they own already, they go on like those that were parked.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.offsets.services import Slots
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.fastpath.itineraries.classic_adoption import adopt, keeps
from groupsim.sim.fastpath.itineraries.classic_late_sync import answer_syncs, plan_syncs
from groupsim.sim.fastpath.phases.deferred import DeferredMembers
from groupsim.sim.fastpath.phases.phase import CohortPhase
from groupsim.sim.kernel.environment import Environment, Moment


class LatePhase(CohortPhase):
    """Members that were on their way to the SyncGroup when the assignment was appended."""

    NUMBER = 5

    def __init__(
        self, env: Environment, group: GroupHost, deferred: DeferredMembers, gather: Callable[[], None]
    ) -> None:
        super().__init__(env, group, deferred)
        self._gather = gather

    def plan_late(self, slots: Slots) -> NDArray[np.bool_]:
        """Work out when their SyncGroups are answered, and when they adopt that; who can go on."""
        deferred, now = self._deferred, self._deferred.now
        clear = plan_syncs(self._group, deferred, slots)
        adopted = deferred.schedules(slots).reaction(now.told[slots])
        now.begun[slots] = adopted
        clear &= adopted < now.first_beat[slots]
        which = np.flatnonzero(clear)
        assigned = [response.assignment for response in now.sync_response[slots[which]]]
        clear[which] = keeps(deferred, slots[which], assigned)
        clear &= deferred.next_start[slots] > adopted[clear].max(initial=0)
        return clear

    def precede_decision(self) -> None:
        """Nothing that is decided now touches those whose SyncGroup has been answered."""
        now = self._env.now
        self.settle_some(self._deferred.now.synced[self._slots] >= now)

    def begin_late(self, slots: Slots, since: Moment) -> None:
        """Let them go on; ``since``: they have been on the way since that moment."""
        if slots.size:
            self.begin(slots, self._deferred.now.begun[slots], self._deferred.poll_key[slots], since)

    def _carry_out(self, slots: Slots) -> None:
        answer_syncs(self._group, self._deferred, slots)
        adopt(self._group, self._deferred, slots)
        # Another rebalance may have begun.
        self._gather()

    def _start(self, slot: int) -> None:
        deferred = self._deferred
        exchange, response = deferred.join_answer(slot)
        deferred.clients[slot].suspension.arm_pause()
        exchange.connection.reply(exchange, response, deferred.leaving.item(slot))
