"""When entries of the timeline fire again and again."""

from __future__ import annotations

from groupsim.sim.model import Distribution, Entry, Kill, Target
from groupsim.sim.randomness import Streams
from groupsim.sim.timeline.dispatcher import firing_times


def test_an_entry_fires_every_microsecond_at_most_and_no_more_at_its_end() -> None:
    for gap_us in (0, 1):
        entry = Entry(
            id="often", verb=Kill(target=Target("group", "g")), every=Distribution.constant(gap_us), at_us=10,
            until_us=14,
        )  # fmt: skip
        assert list(firing_times(entry, Streams(1, 0), "", horizon_us=100)) == [11, 12, 13]
        assert list(firing_times(entry, Streams(1, 0), "", horizon_us=12)) == [11]
