"""Processes that are started again: none of that may meet what is left of the start before."""

from __future__ import annotations

from groupsim.sim import simulate
from groupsim.sim.units import MS, S
from tests.support.fidelity import differences
from tests.support.scenarios import BOOT_US, client, group, join, rounds, scenario


def test_a_member_that_is_taken_away_while_it_boots_and_wanted_again_boots_anew() -> None:
    out, back, again = join(15 * S, 3), join(15 * S + 200 * MS, 2), join(15 * S + 300 * MS, 3)
    run = scenario(group(2, client=client()), out, back, again, horizon_us=30 * S, partitions=6)
    joined = rounds(simulate(run))[-1]
    assert joined.start_us > 15 * S + 300 * MS + BOOT_US
    assert not differences(run, seed=1)
