"""The order of many whole numbers, digit by digit: numpy sorts numbers of 16 bits in a time that goes with how many."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_BITS = 16


def order_of(values: NDArray[np.integer[Any]]) -> NDArray[np.intp]:
    """Indices by which numbers from 0 on ascend; equal ones stay in their order. Shape (n,)."""
    most = int(values.max(initial=0))
    order: NDArray[np.intp] = values.astype(np.uint16).argsort(kind="stable")
    while most := most >> _BITS:
        values = values >> _BITS
        order = order[values.astype(np.uint16)[order].argsort(kind="stable")]
    return order
