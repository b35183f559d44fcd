"""Writes of coordinators wait for followers that are in sync, and for nobody else."""

from groupsim.sim.cluster.watermark import Watermark
from groupsim.sim.units import MS


def test_who_left_is_not_waited_for_and_who_is_back_is() -> None:
    """A follower 40 ms away and one 2 ms away: 1 ms for the append, and the slower of those in sync."""
    away_ms = {1: 2, 2: 40}

    def among(in_sync: tuple[int, ...]):  # type: ignore[no-untyped-def]
        wait_us = max((away_ms[one] for one in in_sync[1:]), default=0) * MS
        return (lambda _: wait_us) if wait_us else None

    mark = Watermark(MS, among, (0, 1, 2))
    assert mark.passes(100 * MS) == 141 * MS
    mark.await_only((0, 1))
    assert mark.passes(100 * MS) == 103 * MS
    mark.await_only((0,))
    assert mark.passes(100 * MS) == 101 * MS
    mark.await_only((0, 1, 2))
    assert mark.passes(100 * MS) == 141 * MS
