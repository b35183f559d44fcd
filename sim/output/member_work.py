"""What each incarnation of a member has done, from what its services have processed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.group_books import GroupBooks
from groupsim.sim.books.record import Life
from groupsim.sim.output.lag_figures import LagFigures
from groupsim.sim.output.stretches import begun_last


def slots_of(books: GroupBooks) -> dict[str, int]:
    """Index in the group of each consumer."""
    return {name: slot for slot, name in enumerate(books.handles.names)}


def lives_of(lives: Sequence[Life], slots: Mapping[str, int], lag: LagFigures) -> NDArray[np.intp]:
    """Index of the life to which each service belongs. Shape (n_services,).

    Parameters
    ----------
    lives : sequence of Life
    slots : mapping of str to int
        `slots_of`.
    lag : LagFigures
        Whose services they are.
    """
    if not lives:
        return np.empty(0, np.intp)
    slot = np.array([slots[life.member] for life in lives])
    started = np.array([life.started_us for life in lives])
    return begun_last(slot, started, lag.slots, lag.since, "right")


def work_of(lives: Sequence[Life], life: NDArray[np.intp], lag: LagFigures) -> dict[str, NDArray[Any]]:
    """Columns ``records``, ``busy`` and ``partitions`` of the table of members. Shapes (n_lives,).

    Parameters
    ----------
    lives : sequence of Life
    life : intp array, shape (n_services,)
        `lives_of`.
    lag : LagFigures
    """
    length = np.array([one.ended_us - max(one.started_us, lag.origin_us) for one in lives], np.int64)
    length = np.maximum(length, 1)

    def total(values: NDArray[Any]) -> NDArray[Any]:
        return np.bincount(life, values, len(lives))

    return {
        "records": total(lag.records).astype(np.int64),
        "busy": total(lag.busy_us) / length,
        "partitions": total(lag.partition_us) / length,
    }
