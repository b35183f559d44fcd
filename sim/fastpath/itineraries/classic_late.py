"""From the JoinGroup response to silence: cooperative members whose SyncGroup comes when the group is Stable again.

They read the response at their next poll, and that can be after the leader's assignment is in the log. Their SyncGroup
is answered at once; if they are assigned what they own already, they go on like those that were parked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.availability import SHORT_PAUSE_US
from groupsim.sim.books.ledger import Slots
from groupsim.sim.cluster.group_host import GroupHost
from groupsim.sim.fastpath.deferred import DeferredMembers
from groupsim.sim.fastpath.itineraries.classic_adoption import adopt, keeps
from groupsim.sim.fastpath.phase import CohortPhase
from groupsim.sim.kernel.environment import Environment, Moment
from groupsim.sim.protocol.messages import Api, Error, SyncResponse


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
        deferred, now, group = self._deferred, self._deferred.now, self._group
        roster = group.machine.roster
        left = now.asked[slots] = now.synced[slots] + group.cluster.timing.service_us
        told = now.told[slots] = np.maximum(deferred.answered[slots] + 1, left + now.sync_back[slots])
        adopted = now.begun[slots] = deferred.schedules(slots).reactions(told, np.arange(len(slots)))
        renewed_by = now.first_beat[slots] + SHORT_PAUSE_US + deferred.round_trip_us[slots]
        members: list[Any] = [roster.get(deferred.member_ids[slot]) for slot in slots.tolist()]
        clear = np.array([one is not None for one in members])
        clear &= adopted < now.first_beat[slots]
        for index in np.flatnonzero(clear).tolist():
            member = members[index]
            now.sync_response[slots[index]] = SyncResponse(Error.NONE, member.assignment)
            clear[index] = group.machine.session_due(member.member_id) > renewed_by[index]
        which = np.flatnonzero(clear)
        clear[which] = keeps(deferred, slots[which], [members[index].assignment for index in which.tolist()])
        clear &= deferred.next_start[slots] > adopted[clear].max(initial=0)
        return clear

    def precede_decision(self) -> None:
        """Nothing that is decided now touches those whose SyncGroup has been answered."""
        now = self._env.now
        self.settle_some(self._deferred.now.synced[self._slots] >= now)

    def begin_late(self, slots: Slots, since: Moment) -> None:
        """Let them go on; ``since``: they have been on the way since that moment."""
        if slots.size:
            self.begin(slots, self._deferred.now.begun[slots], self._deferred.poll_key[slots])
            self.since = since

    def _carry_out(self, slots: Slots) -> None:
        group, deferred, now = self._group, self._deferred, self._deferred.now
        group.books.requests.count_quietly(Api.SYNC_GROUP, Error.NONE, now.accepted[slots], 1)
        deferred.order(slots, now.synced[slots], now.asked[slots], now.told[slots])
        for slot in slots.tolist():
            join = deferred.join[slot]
            assert join is not None
            join.answered = True
            request = deferred.clients[slot].machine.sync_request(now.join_response[slot])
            group.machine.on_request(now.synced.item(slot), request, join)
        deferred.synced(slots)
        adopt(group, deferred, slots)
        # Another rebalance may have begun.
        self._gather()

    def _start(self, slot: int) -> None:
        deferred = self._deferred
        exchange = deferred.join[slot]
        assert exchange is not None
        deferred.clients[slot].suspension.arm_pause()
        exchange.connection.reply(exchange, deferred.now.join_response[slot], deferred.leaving.item(slot))
