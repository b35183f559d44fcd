"""What keeps the application thread away from its polls until somebody's time is over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from groupsim.sim.kernel.environment import Occurrence


@dataclass(slots=True)
class Job:
    """A rebalance listener, or the assignor of the leader. Times in microseconds."""

    since: int
    due: int
    done: Callable[[int], None]
    holds_monitor: bool
    occurrence: Occurrence
