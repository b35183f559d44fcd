"""SyncGroups that come when the group is Stable again: they are answered at once, with what the leader has assigned."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.offsets.services import Slots
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.fastpath.itineraries.classic_answer import sessions_last
from groupsim.sim.fastpath.phases.deferred import DeferredMembers
from groupsim.sim.protocol.messages import Api, Error, SyncResponse


def plan_syncs(group: GroupHost, deferred: DeferredMembers, slots: Slots) -> NDArray[np.bool_]:
    """Work out when these are answered, and what; whose session lasts until they beat.

    Nothing renews it: that happened when the JoinGroup was answered.
    """
    now, machine = deferred.now, group.machine
    left = now.synced[slots] + group.cluster.timing.service_us
    now.told[slots] = np.maximum(deferred.answered[slots] + 1, left + now.sync_back[slots])
    is_member = np.zeros(len(slots), np.bool_)
    for index, slot in enumerate(slots.tolist()):
        member = machine.roster.get(deferred.member_ids[slot])
        if member is not None:
            now.sync_response[slot] = SyncResponse(Error.NONE, member.assignment)
            is_member[index] = True
    return is_member & sessions_last(group, deferred, slots)


def answer_syncs(group: GroupHost, deferred: DeferredMembers, slots: Slots) -> None:
    """These have been answered as planned."""
    now, synced = deferred.now, deferred.now.synced[slots]
    group.books.requests.count_quietly(Api.SYNC_GROUP, Error.NONE, now.accepted[slots], 1)
    deferred.order(slots, synced, synced + group.cluster.timing.service_us, now.told[slots])
    for slot, time in zip(slots.tolist(), synced.tolist(), strict=True):
        join = deferred.join[slot]
        assert join is not None
        join.answered = True
        request = deferred.clients[slot].machine.sync_request(now.join_response[slot])
        group.machine.on_request(time, request, join)
    deferred.synced(slots)
