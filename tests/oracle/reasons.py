"""How what remains is listed: replays that differ, and figures of which agreement is not shown, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Remaining:
    """Repetitions of a scenario whose replay differs, and the reason."""

    reason: str
    repetitions: tuple[int, ...]


@dataclass(frozen=True)
class Unsettled:
    """Figures by scenario of which agreement is not shown, or a difference is, and the reason."""

    reason: str
    verdict: str
    figures: Mapping[str, tuple[str, ...]]
