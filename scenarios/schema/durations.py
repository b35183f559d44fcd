"""Durations as users write them (``20s``, ``1.5h``), and their text from whole microseconds."""

from __future__ import annotations

import re
from decimal import Decimal
from types import MappingProxyType
from typing import Final

from groupsim.sim.units import MINUTE, MS, S

UNITS: Final = MappingProxyType({"us": 1, "ms": MS, "s": S, "min": MINUTE, "h": 60 * MINUTE, "d": 24 * 60 * MINUTE})
LONGEST_US: Final = 36_500 * UNITS["d"]
"""A hundred years: sums of a few durations stay far below `sim.units.FOREVER`."""

_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?) ?(us|ms|s|min|h|d)", re.ASCII)


def parse_duration(text: object) -> int:
    """Whole microseconds of a text such as ``700ms`` or ``1.5h``.

    Parameters
    ----------
    text : str
        ``<number><us|ms|s|min|h|d>``; no sign, at most a hundred years.

    Returns
    -------
    int, microseconds

    Raises
    ------
    ValueError
        No unit, no number, a fraction of a microsecond, or too long.
    """
    if isinstance(text, int | float) and not isinstance(text, bool):
        raise ValueError(f"a duration needs a unit (us, ms, s, min, h, d): write {text}s or {text}ms, say")
    if isinstance(text, str) and _DURATION.fullmatch(text.strip().removeprefix("-")) and text.strip().startswith("-"):
        raise ValueError("must not be negative: a duration has no sign")
    match = _DURATION.fullmatch(text.strip()) if isinstance(text, str) else None
    if isinstance(text, str) and re.fullmatch(r"\d{1,9} ?m", text.strip(), re.ASCII):
        raise ValueError(f"must be a duration, and m is no unit: write {text.strip()}in or {text.strip()}s")
    if match is None:
        raise ValueError("must be a duration: <number><us|ms|s|min|h|d>, such as 700ms or 1.5h")
    value_us = Decimal(match[1]) * UNITS[match[2]]
    if value_us > LONGEST_US:
        raise ValueError("must be a duration of at most 36500d")
    if value_us != int(value_us):
        raise ValueError("must be whole microseconds: time in the simulator has no smaller unit")
    return int(value_us)


def format_duration(value_us: int) -> str:
    """The shortest exact text for whole microseconds, in the largest unit that needs no fraction: ``90s``, ``2min``."""
    for unit, size_us in reversed(tuple(UNITS.items())):
        if value_us % size_us == 0 and (value_us or unit == "s"):
            return f"{value_us // size_us}{unit}"
    raise AssertionError("one microsecond divides every integer")
