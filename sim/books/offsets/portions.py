"""Long columns are worked on some rows at a time: those that a processor has at hand are fast, and need less memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray


def portions(ends: NDArray[np.integer[Any]], rows: int) -> Iterator[tuple[int, int]]:
    """Items, from one up to before another: as few at once as have so many ``rows``, and then what is left.

    ``ends``, shape (n,): rows up to the end of each item.
    """
    first = done = 0
    while first < len(ends):
        end = min(int(np.searchsorted(ends, done + rows)) + 1, len(ends))
        yield first, end
        first, done = end, int(ends[end - 1])
