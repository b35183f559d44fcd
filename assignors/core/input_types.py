"""What callers may hand over, checked where it comes in: Python would go on with much of the rest, and be wrong."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Final

import numpy as np

from groupsim.assignors.core.errors import InvalidSnapshot

GENERATION_MAX: Final = (1 << 31) - 1
"""Generations are 32 bits wide (``ConsumerProtocolSubscription.json``, Kafka 4.4)."""


def require(fits: bool, what: str, must_be: str, value: object) -> None:
    """See that a value is what it must be.

    Parameters
    ----------
    fits : bool
    what, must_be : str
        Such as "the generation of 'm1'" and "a whole number".
    value : object

    Raises
    ------
    InvalidSnapshot
        It does not fit.
    """
    if not fits:
        text = repr(value)
        raise InvalidSnapshot(f"{what} must be {must_be}, not {text if len(text) <= 60 else text[:57] + '...'}")


def is_whole(value: object) -> bool:
    """Whether it is a whole number; True and False are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_text(value: object) -> bool:
    """Whether it is text or None."""
    return value is None or isinstance(value, str)


def are_texts(values: Iterable[object]) -> bool:
    """Whether all are text."""
    return set(map(type, values)) <= {str}


def are_positions(value: object) -> bool:
    """Whether it is a vector of whole numbers; an empty one may be of any numbers."""
    return isinstance(value, np.ndarray) and value.ndim == 1 and (value.dtype.kind in "iu" or not len(value))


def is_generation(value: object) -> bool:
    """Whether it is None or fits into the 32 bits of a generation."""
    return value is None or (is_whole(value) and abs(value) <= GENERATION_MAX)  # type: ignore[arg-type]
