"""Cooperative members that are assigned what they own already: they adopt it, and go on consuming at a new pace."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.ledger import Slots
from groupsim.sim.client.client import Client
from groupsim.sim.client.poll_schedule import Load, PollSchedule, full_passes
from groupsim.sim.cluster.group_host import GroupHost
from groupsim.sim.fastpath.catch_up import replay_keep
from groupsim.sim.fastpath.columns import Column
from groupsim.sim.fastpath.deferred import DeferredMembers
from groupsim.sim.protocol.messages import Positions


def keeps(client: Client, assignment: NDArray[np.int32]) -> bool:
    """Whether nothing is added and nothing revoked, and the member can be quiet with it."""
    owned = client.machine.owned
    if not owned.size or client.machine.uninitialised.size or len(client.consumption.partitions) != len(owned):
        return False
    return len(owned) == len(assignment) and bool((np.sort(owned) == np.sort(assignment)).all())


def adopt(group: GroupHost, deferred: DeferredMembers, slots: Slots) -> None:
    """These have adopted what they owned already, each at its time in ``begun``, and are quiet."""
    now = deferred.now
    for slot in slots.tolist():
        client = deferred.clients[slot]
        deferred.return_order(client, slot)
        replay_keep(client, now, slot)
    for kind in np.unique(deferred.kind[slots]).tolist():
        alike = slots[deferred.kind[slots] == kind]
        _repace(group, deferred, kind, alike, now.begun[alike])
    for slot in slots.tolist():
        client, renewed = deferred.clients[slot], group.suspend(deferred.member_ids[slot])
        machine = client.machine
        deferred.elided[slot].fall_silent(machine.heartbeat_due, machine.commit_due, client.poll_loop.schedule, renewed)
        client.watch_long_pauses()


def _repace(group: GroupHost, deferred: DeferredMembers, kind: int, slots: Slots, times: Column) -> None:
    """`Fetcher.repace` of members of one kind that consume all they own, each at its own time."""
    ledger, clients = group.books.ledger, [deferred.clients[slot] for slot in slots.tolist()]
    parts: list[Positions] = [client.consumption.partitions for client in clients]
    lengths, partitions = np.array([len(one) for one in parts]), np.concatenate(parts)
    begins = np.cumsum(lengths) - lengths
    offsets, which = ledger.positions_of(slots, partitions, lengths.tolist(), times)
    load = Load(*ledger.loads_of(times[which], partitions, offsets, begins))
    paced = deferred.pace(kind, slots, lengths, load)
    ledger.anchor_all(slots, times, partitions, offsets, lengths, paced.capacity)
    poll_us, slowdown = group.cluster.timing.poll_us, deferred.slowdown[slots].tolist()
    columns = (paced.full_us, paced.steady_us, paced.steady_wait_us, full_passes(paced, load))
    passes = zip(*(column.tolist() for column in columns), strict=True)
    rows = zip(clients, times.tolist(), parts, np.split(offsets, begins[1:]), slowdown, passes, strict=True)
    for client, now, part, at, factor, (full, steady, wait, many) in rows:
        ledger.recall(client.consumption.holding, now, part, at)
        start, before, held_until = client.poll_loop.known_schedule.hand_over(now, factor, now)
        client.poll_loop.schedule = PollSchedule.of_columns(
            start, many, full, poll_us, steady, wait, factor, before, held_until, client.config.fetch_max_wait_us
        )
