"""Whether a machine was fit to record."""

from __future__ import annotations

from tests.oracle.health import LATE_MAX_US, unfit

BUSY = {"cores": 2, "load_max": 1.99, "steal_share": 0.0, "clock_jump_us": 0, "nice": 0}


def test_a_busy_machine_is_unfit() -> None:
    assert unfit(BUSY, 0) == "1.99 processors busy over ten seconds (at most 1.94)"


def test_a_recorder_of_a_high_priority_is_not_kept_waiting_by_what_else_is_busy() -> None:
    assert unfit({**BUSY, "nice": -10}, 0) is None


def test_what_is_late_is_unfit_at_any_priority() -> None:
    assert unfit({**BUSY, "nice": -10}, LATE_MAX_US + 1) is not None
