"""Time inside the simulator is an integer number of microseconds."""

from __future__ import annotations

MS = 1_000
S = 1_000_000
MINUTE = 60 * S

FOREVER = 1 << 62
"""A deadline that never comes."""


def seconds(time_us: int) -> float:
    """Microseconds as seconds, for tables and figures."""
    return time_us / S
