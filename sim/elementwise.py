"""Arithmetic of one number, or of many as a column: what is written with these is written once for both.

Of one number everything here gives what Python gives, and of a column, element by element, the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def choose(condition: Any, this: Any, that: Any) -> Any:
    """Either ``this``, where the condition holds, or ``that``; both are worked out."""
    if condition is True:  # most often, and sooner found than a type
        return this
    if condition is False:
        return that
    return np.where(condition, this, that) if isinstance(condition, np.ndarray) else this if condition else that


def least(one: Any, other: Any) -> Any:
    """The smaller of two."""
    is_first = one <= other
    if is_first is True:
        return one
    if is_first is False:
        return other
    return np.minimum(one, other) if isinstance(is_first, np.ndarray) else one if is_first else other


def most(one: Any, other: Any) -> Any:
    """The greater of two."""
    is_first = one >= other
    if is_first is True:
        return one
    if is_first is False:
        return other
    return np.maximum(one, other) if isinstance(is_first, np.ndarray) else one if is_first else other


def some(condition: Any) -> bool:
    """Whether it holds; of many, of any of them."""
    return condition if condition is True or condition is False else bool(np.count_nonzero(condition))


def nearest(value: Any) -> Any:
    """The nearest whole number, the even one of two."""
    return np.rint(value).astype(np.int64) if isinstance(value, np.ndarray) else round(value)


def whole(value: Any) -> Any:
    """The whole part of a number that is not negative."""
    return value.astype(np.int64) if isinstance(value, np.ndarray) else int(value)
