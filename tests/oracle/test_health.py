"""Whether a machine was fit to record."""

from __future__ import annotations

import pytest

from tests.oracle.health import LATE_MAX_US, Health, _Sample, unfit

FREE = {"cores": 2, "load_max": 1.2, "steal_share": 0.0, "clock_jump_us": 0, "beats_late_ms": 40.0}


def test_a_busy_machine_is_unfit() -> None:
    assert unfit(FREE, 0) is None
    assert unfit({**FREE, "load_max": 1.99}, 0) == "1.99 processors busy over ten seconds (at most 1.94)"


def test_a_busy_machine_that_serves_a_recorder_of_high_priority_in_time_is_fit() -> None:
    busy = {**FREE, "load_max": 1.99, "nice": -15}
    assert unfit({**busy, "beats_late_ms": 20.0}, 0) is None
    assert unfit({**busy, "beats_late_ms": 20.1}, 0) is not None
    assert unfit({**busy, "beats_late_ms": 20.0, "nice": 0}, 0) is not None


def test_what_is_late_is_unfit() -> None:
    assert unfit(FREE, LATE_MAX_US + 1) is not None


def test_work_of_a_lower_priority_is_told_apart() -> None:
    health = Health()
    health._samples = [_Sample(0, 0, 0, 0, 0, 0), _Sample(1, idle=20, stolen=0, jiffies=100, niced=30, offset_us=0)]
    told = health.report(0, 1)
    assert (told["load_max"], told["niced"]) == (pytest.approx(0.5 * told["cores"]), pytest.approx(0.3 * told["cores"]))
