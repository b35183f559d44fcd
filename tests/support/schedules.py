"""Poll schedules whose passes a test has chosen itself."""

from __future__ import annotations

from groupsim.sim.client.polling.pace import Pace
from groupsim.sim.client.polling.poll_schedule import NOT_INSIDE, PollSchedule
from groupsim.sim.client.polling.settling import Settling
from groupsim.sim.units import FOREVER


def in_closed_form(
    start: int,
    full_passes: int,
    paced: Pace,
    held_until: int = NOT_INSIDE,
    settling: Settling | None = None,
    *,
    before: int | None = None,
    fetch_us: int = FOREVER,
) -> PollSchedule:
    """So many full passes, these in which it settles, then steady ones."""
    return PollSchedule.of_columns(
        start, full_passes, paced.full_us, paced.full_wait_us, paced.steady_us, paced.steady_wait_us, paced.slowdown,
        before, held_until, fetch_us, settling,
    )  # fmt: skip
