"""Whole records of what is shared over partitions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.offsets.production import Offsets

_ROUNDING = 1e-6
"""Of a record: what products of floating-point numbers lack of it at most."""


def whole_records(fractions: NDArray[np.float64], has_more: NDArray[np.bool_]) -> Offsets:
    """One record more for the partitions that lack least of it, as many as the fractions make together. Shape (n,).

    Parameters
    ----------
    fractions : float64 array, shape (n,)
        Of the record that each partition is at.
    has_more : bool array, shape (n,)
        Where there is such a record.
    """
    more = np.zeros(len(fractions), np.int64)
    waiting = np.flatnonzero(has_more)
    order = np.argsort(-fractions[waiting], kind="stable")
    more[waiting[order[: int(fractions.sum() + _ROUNDING)]]] = 1
    return more


def equal_shares(waiting: Offsets, most: int) -> Offsets:
    """Of each partition the same number of records, or all that wait, together ``most`` or a few less. Shape (n,)."""
    if int(waiting.sum()) <= most:
        return waiting
    ascending = np.sort(waiting)
    sharing = np.arange(len(waiting), 0, -1)
    level = (most - (np.cumsum(ascending) - ascending)) // sharing
    shares: Offsets = np.minimum(waiting, level[np.argmax(level < ascending)])
    return shares
