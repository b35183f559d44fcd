"""Processes that are started again: none of that may meet what is left of the start before; and what they find."""

from __future__ import annotations

import pytest

from groupsim.sim import simulate
from groupsim.sim.model import Cut, Distribution, Processing, SetConfig, Target
from groupsim.sim.units import MS, S
from tests.support.fidelity import differences
from tests.support.scenarios import BOOT_US, at, client, group, join, kill, member, rounds, scenario


def test_a_member_that_is_taken_away_while_it_boots_and_wanted_again_boots_anew() -> None:
    out, back, again = join(15 * S, 3), join(15 * S + 200 * MS, 2), join(15 * S + 300 * MS, 3)
    run = scenario(group(2, client=client()), out, back, again, horizon_us=30 * S, partitions=6)
    joined = rounds(simulate(run))[-1]
    assert joined.start_us > 15 * S + 300 * MS + BOOT_US
    assert not differences(run, seed=1)


def test_what_a_record_costs_is_changed_by_the_next_restart() -> None:
    """Ten records a second of 2 ms, and of 20 ms."""
    slow, own = Processing(per_record=Distribution.constant(20 * MS)), client(enable_auto_commit=True)
    change = at(20 * S, SetConfig(target=Target("group", "g"), client=own, processing=slow))
    fast = group(1, client=own, processing=Processing(per_record=Distribution.constant(2 * MS)))
    run = scenario(fast, change, kill(40 * S, 0, down_us=S), horizon_us=90 * S, partitions=1, rate_mrps=10_000)
    busy = simulate(run).tables["members"]["busy"].to_list()
    assert busy == [pytest.approx(0.02, abs=0.005), pytest.approx(0.2, abs=0.05)]


def test_a_cut_is_the_same_from_either_side() -> None:
    """Whoever is named first: who is not, and starts meanwhile, connects."""
    ends, length = (member(0), Target("broker", "0")), Distribution.constant(20 * S)
    cuts = (at(20 * S, Cut(between=between, duration=length)) for between in (ends, ends[::-1]))
    worlds = (scenario(group(2, client=client()), cut, kill(22 * S, 1, down_us=S), horizon_us=60 * S) for cut in cuts)
    one, other = map(simulate, worlds)
    assert one.manifest["digests"] == other.manifest["digests"]
    assert one.tables["members"].query("member == 'g/1'")["stable_us"].iloc[-1] < 40 * S
