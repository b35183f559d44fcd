"""The end of a run: what quiet members that are behind have sent is counted, and their machines need not catch up."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.offsets.services import Slots
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.fastpath.phases.deferred import PRESENT, DeferredMembers
from groupsim.sim.fastpath.quiet.steady_columns import SteadyColumns
from groupsim.sim.kernel.environment import Moment
from groupsim.sim.protocol.messages import Api


def finish_silent(group: GroupHost, deferred: DeferredMembers, moment: Moment) -> None:
    """Put into the books what these have sent before ``moment``; what they consume is theirs to write down.

    Not of members of whom something is on its way, who have paused since anybody looked, or whose passes are drawn:
    they catch up like all others.
    """
    silent = deferred.silent()
    silent = silent[(deferred.next_start[silent] > moment[0]) & (deferred.kind[silent] >= 0)]
    if not silent.size:
        return
    steady = deferred.steady(silent, moment)
    steady.commits.send_at_polls(steady.schedules, moment[0] + (deferred.poll_key[silent] < moment[1]))
    is_over = _is_answered(steady, moment[0])
    requests = group.books.requests
    requests.count_measured(Api.HEARTBEAT, int(steady.heartbeats.measured[is_over].sum()))
    requests.count_measured(Api.OFFSET_COMMIT, int(steady.commits.measured[is_over].sum()))
    _take_up(deferred, silent[is_over])


def _is_answered(steady: SteadyColumns, now: int) -> NDArray[np.bool_]:
    """Whose requests are all answered. Shape (n,)."""
    last = np.maximum(steady.heartbeats.newer, steady.commits.newer)
    is_answered: NDArray[np.bool_] = last + steady.round_trip_us < now
    return is_answered


def _take_up(deferred: DeferredMembers, slots: Slots) -> None:
    """Their own objects show what they consume, and what only counts up; nobody looks at more than that."""
    was = deferred.was
    deferred.stage[slots], deferred.has_round[slots] = PRESENT, False
    for slot in slots.tolist():
        client = deferred.clients[slot]
        deferred.elided[slot].is_behind = False
        deferred.return_order(client, slot)
        if not deferred.is_cooperative[slot]:
            client.consumption.take_up(
                was.begun.item(slot), was.handle.item(slot), was.partitions[slot], was.offsets[slot]
            )
