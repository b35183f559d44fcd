"""`Service.end` and `Service.begin` for many consumers at once: the same books, written in blocks.

Only for consumers in the plain case: no zombies, no cuts; everything ends, or everything begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sim.actors.delivery import account_starts
from sim.production import Offsets
from sim.protocol.messages import Positions

if TYPE_CHECKING:
    from sim.actors.hosted_group import HostedGroup
    from sim.actors.service import Service


def end_services(
    group: HostedGroup, services: Sequence[Service], times: NDArray[np.int64], code: int
) -> tuple[Positions, Offsets]:
    """Each of these stops consuming everything, at its own time; what that was, and how far it had got.

    Parameters
    ----------
    times : int64 array, shape (n,), microseconds
    code : int
        Why (`sim.recorder`).

    Returns
    -------
    partitions, offsets : arrays, shape (k,)
    """
    holdings = [service.holding for service in services]
    partitions, offsets, which = group.ledger.positions_of(holdings, times)
    at = times[which]
    slots = np.array([service.slot for service in services], np.int64)[which]
    handles = np.array([service.handle for service in services], np.int32)[which]
    since = np.concatenate([service.forget_stretches() for service in services])
    group.record.ownership.add(partitions, slots, since, at, code)
    group.ended_by[partitions] = code
    group.availability.stop(at, handles, partitions)
    group.ledger.release_all(holdings, times.tolist(), partitions, offsets)
    return partitions, offsets


def begin_services(
    group: HostedGroup,
    services: Sequence[Service],
    times: NDArray[np.int64],
    partitions: Positions,
    offsets: Offsets,
    lengths: Sequence[int],
    capacity: Sequence[float],
) -> None:
    """Each of these begins to consume what it owns, at its own time, with its capacity.

    Parameters
    ----------
    times : int64 array, shape (n,), microseconds
    partitions, offsets : arrays, shape (k,)
        Of one consumer after the other, ``lengths`` of them, ascending.
    """
    at = np.repeat(times, lengths)
    account_starts(group, group.ledger.frontier, at, partitions, offsets)
    group.ledger.anchor_all([service.holding for service in services], times, partitions, offsets, lengths, capacity)
    handles = np.repeat(np.array([service.handle for service in services], np.int32), lengths)
    group.availability.serve(at, handles, partitions)
    for service, time, length in zip(services, times.tolist(), lengths, strict=True):
        service.begin_stretches(time, length)
