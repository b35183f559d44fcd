"""Whole records of a flow that is shared over partitions: fractions put together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from groupsim.sim.books.production import Offsets

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
