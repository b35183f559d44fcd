"""How far a run has come, for somebody who looks on from another thread."""

from __future__ import annotations

from collections.abc import Sized
from enum import StrEnum
from typing import Protocol


class Stage(StrEnum):
    """What a run is doing."""

    SETTING_UP = "setting up"
    PAST = "going through the past of groups that begin aged"
    RUNNING = "running"
    TABLES = "making the tables"


class _Clock(Protocol):
    events: int
    origin_us: int

    @property
    def told_us(self) -> int: ...


class Gauge:
    """Tells how far one run has come; reading it costs the run nothing and changes nothing.

    Attributes
    ----------
    stage : Stage
    """

    def __init__(self) -> None:
        self.stage = Stage.SETTING_UP
        self._clock: _Clock | None = None
        self._members: Sized = ()

    def attach(self, clock: _Clock, members: Sized) -> None:
        """Look at this run from now on."""
        self._clock, self._members = clock, members

    @property
    def now_us(self) -> int:
        """Virtual time, microseconds; 0 during the past of groups that begin aged."""
        return max(self._clock.told_us, 0) if self._clock is not None else 0

    @property
    def past_share(self) -> float:
        """How much of the past of groups that begin aged has been gone through; 1 where there is none."""
        clock = self._clock
        if clock is None or not clock.origin_us:
            return 1.0
        return min(1 + clock.told_us / clock.origin_us, 1.0)

    @property
    def events(self) -> int:
        """Kernel events so far."""
        return self._clock.events if self._clock is not None else 0

    @property
    def members(self) -> int:
        """Members that have been set up."""
        return len(self._members)
