"""Cooperative members that are assigned what they own already: they adopt it, and go on consuming at a new pace."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.offsets.services import Slots
from groupsim.sim.client.client import Client
from groupsim.sim.client.polling.pace import Load
from groupsim.sim.client.polling.poll_schedule import PollSchedule
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.fastpath.phases.columns import Column
from groupsim.sim.fastpath.phases.deferred import NO_COMMITS, PRESENT, DeferredMembers
from groupsim.sim.fastpath.quiet.heartbeats import waiting_since
from groupsim.sim.protocol.messages import Positions
from groupsim.sim.units import FOREVER


def keeps(deferred: DeferredMembers, slots: Slots, assignments: Sequence[Positions]) -> NDArray[np.bool_]:
    """To whom nothing is added and from whom nothing is revoked, and who can be quiet with it. Shape of ``slots``."""
    consumed = [deferred.clients[slot].consumption.partitions for slot in slots.tolist()]
    fits = np.array([len(one) == len(other) > 0 for one, other in zip(consumed, assignments, strict=True)], np.bool_)
    which: list[int] = np.flatnonzero(fits).tolist()
    if which:
        fits[which] = _are_alike([consumed[index] for index in which], [assignments[index] for index in which])
    # Who has gone through a whole rebalance since somebody looked could be quiet then; nothing has changed.
    for index in np.flatnonzero(fits & ~deferred.has_round[slots]).tolist():
        fits[index] = _can_be_quiet(deferred, int(slots[index]))
    return fits


def _are_alike(consumed: Sequence[Positions], assigned: Sequence[Positions]) -> NDArray[np.bool_]:
    """Which rows hold the same partitions; those that are consumed ascend, and no row is empty."""
    lengths = np.array([len(one) for one in consumed])
    flat = np.concatenate(assigned)
    flat = flat[np.lexsort((flat, np.repeat(np.arange(len(lengths)), lengths)))]
    alike: NDArray[np.bool_] = np.logical_and.reduceat(flat == np.concatenate(consumed), np.cumsum(lengths) - lengths)
    return alike


def _can_be_quiet(deferred: DeferredMembers, slot: int) -> bool:
    """Whether a member has no more to do than to go on, however much of that there is."""
    client: Client = deferred.clients[slot]
    machine, partitions = client.machine, client.consumption.partitions
    return (
        (deferred.stage_of(slot) != PRESENT or not machine.has_news)
        and not machine.uninitialised.size
        and len(partitions) == len(machine.owned)
        and client.poll_loop.known_schedule.slowdown == deferred.slowdown[slot]
        and bool(deferred.elided[slot].bounds.may_poll_always())
    )


def adopt(group: GroupHost, deferred: DeferredMembers, slots: Slots) -> None:
    """These have adopted what they owned already, each at its time in ``begun``, and are quiet."""
    now = deferred.now
    _tell_books(group, deferred, slots)
    for kind in np.unique(deferred.kind[slots]).tolist():
        alike = slots[deferred.kind[slots] == kind]
        _repace(group, deferred, kind, alike, now.begun[alike])
    due = now.begun[slots] + deferred.commit_interval[slots]
    now.next_commit[slots] = np.where(deferred.commits[slots] == NO_COMMITS, FOREVER, due)
    for slot in slots.tolist():
        deferred.renewed[slot] = group.suspend(deferred.member_ids[slot])
    deferred.adopted(slots)


def _tell_books(group: GroupHost, deferred: DeferredMembers, slots: Slots) -> None:
    """`Rebalancing.adopt`: whoever stops reading what it kept waits for no assignment any more."""
    clients = [deferred.clients[slot] for slot in slots.tolist()]
    parts: list[Positions] = [client.consumption.partitions for client in clients]
    lengths = [len(one) for one in parts]
    handles = np.array([client.consumption.handle for client in clients], np.int32)
    times = np.repeat(deferred.now.begun[slots], lengths)
    group.books.availability.receive(times, np.repeat(handles, lengths), np.concatenate(parts))


def _repace(group: GroupHost, deferred: DeferredMembers, kind: int, slots: Slots, times: Column) -> None:
    """`Fetcher.repace` of members of one kind that consume all they own, each at its own time."""
    ledger, now, (config, _) = group.books.ledger, deferred.now, deferred.kinds[kind]
    parts: list[Positions] = [deferred.clients[slot].consumption.partitions for slot in slots.tolist()]
    lengths, partitions = np.array([len(one) for one in parts]), np.concatenate(parts)
    offsets, which = ledger.positions_of(slots, partitions, lengths.tolist(), times)
    load = Load(*ledger.loads_of(times[which], partitions, offsets, np.cumsum(lengths) - lengths))
    paced = deferred.pace(kind, slots, lengths, load)
    ledger.anchor_all(slots, times, partitions, offsets, lengths, paced.capacity)
    schedules, steps_us = deferred.schedules(slots), deferred.step_us[slots]
    now.waiting_since[slots] = waiting_since(schedules, now.waiting_since[slots], steps_us, times)
    start, before, held_until = schedules.hand_over(times, deferred.was.before[slots], config.fetch_max_wait_us)
    left = load.after(start - times, paced.capacity)
    now.follow(slots, PollSchedule(start, paced, left, before, held_until))
