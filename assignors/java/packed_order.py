"""Sorting by several keys at once, fast."""

from __future__ import annotations

from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Keys: TypeAlias = npt.NDArray[np.integer]
Number = TypeVar("Number", bound=np.integer)


def order_by(*keys: Keys) -> npt.NDArray[np.int64]:
    """Indices that sort by the first key, where that is equal by the second, and so on; equal rows stay in place.

    Parameters
    ----------
    keys : ndarray of integer, shape (n,)
        At least one; none negative.
    """
    n = len(keys[0])
    if n == 0:
        return np.zeros(0, dtype=np.int64)
    widths = [int(key.max()).bit_length() for key in keys]
    place_width = n.bit_length()
    if sum(widths) + place_width > 63:
        return np.lexsort(keys[::-1])
    # one vector of plain numbers sorts many times faster than an index sort: it ends with the row's place
    packed = np.zeros(n, dtype=np.int64)
    for key, width in zip(keys, widths, strict=True):
        packed <<= width
        packed |= key
    packed <<= place_width
    packed |= np.arange(n)
    packed.sort()
    packed &= (1 << place_width) - 1
    return packed


def spans(starts: npt.NDArray[Number], counts: npt.NDArray[np.integer]) -> npt.NDArray[Number]:
    """`starts[k]`, `starts[k]` + 1, ... of every span, one span after the other, in the type of `starts`.

    Parameters
    ----------
    starts, counts : ndarray of integer, shape (n_spans,)
        First number and length of each.
    """
    if not len(starts):
        return starts[:0]
    kind = starts.dtype
    ends = np.cumsum(counts, dtype=kind)
    shift = (starts - (ends - counts)).astype(kind)
    numbers: npt.NDArray[Number] = np.repeat(shift, counts)
    numbers += np.arange(int(ends[-1]), dtype=kind)
    return numbers
