"""Sorting by small numbers, fast."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def stable_order(keys: npt.NDArray[np.integer], n_values: int) -> npt.NDArray[np.intp]:
    """Indices that sort keys, equal ones staying in place.

    Parameters
    ----------
    keys : ndarray of integer
        Numbers from 0 to `n_values` - 1.
    n_values : int
    """
    # numpy sorts 16-bit numbers by radix, several times faster than wider ones
    return np.argsort(keys.astype(np.uint16) if n_values <= 1 << 16 else keys, kind="stable")
