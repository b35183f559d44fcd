"""What a replay has of its recording besides the instants."""

from __future__ import annotations

from groupsim.sim.model import Rate
from tests.oracle.replay import EARLIER_US, _later


def test_records_begin_with_the_recording() -> None:
    rate = _later(Rate(times_us=(0, 7), per_partition_mrps=((1_000, 2_000), (3_000,))))
    assert rate.times_us == (0, EARLIER_US, EARLIER_US + 7)
    assert rate.per_partition_mrps == ((0, 0), (1_000, 2_000), (3_000,))
