"""Durations as users write them in scenarios."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Final

_UNITS_S: Final = MappingProxyType({"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0})
_DURATION: Final = re.compile(r"\s*(\d+(?:\.\d+)?) ?(us|ms|s|min|h|d)\s*", re.ASCII)


def seconds_of(value: object) -> float | None:
    """The seconds of a duration; None for anything else."""
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    return float(found[1]) * _UNITS_S[found[2]] if found else None
