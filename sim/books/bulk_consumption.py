"""Many consumers that stop, or begin, in one go: what `Consumption` writes down for one, written in blocks.

Only for consumers in the plain case: no zombies, no cuts; everything ends, or everything begins. The consumers
themselves learn of it later (`Consumption.let_go`, `Consumption.take_up`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.group_books import GroupBooks
from groupsim.sim.books.offsets.production import Offsets
from groupsim.sim.books.offsets.services import Slots
from groupsim.sim.protocol.messages import Positions


def end_consumption(
    books: GroupBooks, slots: Slots, handles: NDArray[np.int64], parts: Sequence[Positions],
    since: NDArray[np.int64], times: NDArray[np.int64], code: int,
) -> tuple[Positions, Offsets]:  # fmt: skip
    """Each of these stops consuming everything, at its own time; what that was, and how far it had got.

    Parameters
    ----------
    slots, handles : int arrays, shape (n,)
    parts : sequence of int32 arrays, length n
        What each consumes.
    since : int64 array, shape (k,), microseconds
        Since when.
    times : int64 array, shape (n,), microseconds
    code : int
        Why (`sim.books.record`).

    Returns
    -------
    partitions, offsets : arrays, shape (k,)
    """
    lengths = [len(part) for part in parts]
    partitions: Positions = np.concatenate(parts)
    offsets, which = books.ledger.positions_of(slots, partitions, lengths, times)
    at = times[which]
    books.record.ownership.add(partitions, slots[which], since, at, code)
    books.delivery.ended_by[partitions] = code
    books.availability.stop(at, handles.astype(np.int32)[which], partitions)
    books.ledger.release_all(slots[which], at, partitions, offsets)
    return partitions, offsets


def begin_consumption(
    books: GroupBooks, slots: Slots, handles: NDArray[np.int32], times: NDArray[np.int64], partitions: Positions,
    offsets: Offsets, lengths: NDArray[np.int64], capacity: NDArray[np.float64],
) -> None:  # fmt: skip
    """Each of these begins to consume what it owns, at its own time, with its capacity.

    Parameters
    ----------
    slots, handles, capacity : arrays, shape (n,)
    times : int64 array, shape (n,), microseconds
    partitions, offsets : arrays, shape (k,)
        Of one consumer after the other, ``lengths`` of them, ascending.
    """
    at = np.repeat(times, lengths)
    books.delivery.account_starts(books.ledger.frontier, at, partitions, offsets)
    books.ledger.anchor_all(slots, times, partitions, offsets, lengths, capacity)
    books.availability.serve(at, np.repeat(handles, lengths), partitions)
