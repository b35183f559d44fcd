"""A group that leaves Stable as soon as it is: who was not quiet yet rejoins without an event for every poll."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupsim.sim import simulate
from groupsim.sim.model import Processing, Scenario
from groupsim.sim.units import MS, S
from tests.support.fidelity import differences
from tests.support.scenarios import client, close, group, join, rounds, scenario

MEMBERS = 8
BUSY = Processing(commit="after_batch")


def _left(after_us: int) -> Scenario:
    """A member joins, and another one leaves so long after the group is Stable again."""
    one = group(MEMBERS, client=client(), processing=BUSY)
    joined = scenario(one, join(20 * S, MEMBERS + 1), horizon_us=35 * S, partitions=40, rate_mrps=50_000)
    stable_us = rounds(simulate(joined))[-1].end_us
    return replace(joined, timeline=(*joined.timeline, close(stable_us + after_us, 1)))


@pytest.mark.parametrize("after_us", [0, 1 * MS, 3 * MS, 5 * MS, 8 * MS])
def test_members_that_resume_when_the_next_rebalance_begins_are_quiet_until_they_rejoin(after_us: int) -> None:
    """Each of eight would otherwise poll and commit 250 times a second until its next heartbeat, 3 s later."""
    assert simulate(_left(after_us)).manifest["events"] < simulate(_left(1 * S)).manifest["events"] + 40 * MEMBERS


@pytest.mark.parametrize("after_us", [3 * MS, *(pytest.param(one, marks=pytest.mark.slow) for one in (0, 8 * MS))])
def test_both_fidelities_agree_on_them(after_us: int) -> None:
    assert not differences(_left(after_us), seed=3)
