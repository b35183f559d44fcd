"""Elided and message fidelity give equal tables when members are at work most of the time: heartbeats drift apart."""

from __future__ import annotations

import pytest

from groupsim.sim.model import Distribution, Processing
from groupsim.sim.units import S
from tests.support.busy_scenarios import busy_scenario
from tests.support.fidelity import differences
from tests.support.scenarios import cooperative, group, join, scenario

pytestmark = pytest.mark.property


@pytest.mark.parametrize("block", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
def test_both_fidelities_give_equal_tables_when_heartbeats_drift_apart(block: int) -> None:
    seeds = range(block * 5, block * 5 + 5)
    different = {seed: names for seed in seeds if (names := differences(busy_scenario(seed), seed))}
    assert not different


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_both_fidelities_give_equal_tables_when_heartbeats_drift_apart_at_length(block: int) -> None:
    seeds = range(1000 + block * 30, 1030 + block * 30)
    different = {seed: names for seed in seeds if (names := differences(busy_scenario(seed), seed))}
    assert not different


@pytest.mark.parametrize(("cost_us", "batch_us"), [(20_000, 300_000), (20_000, 200_000), (5_000, 450_000)])
def test_busy_cooperative_members_carry_the_wait_of_their_heartbeat_thread(cost_us: int, batch_us: int) -> None:
    """Members that keep what they own: the thread takes several steps until the poll that adopts it."""
    busy = Processing(per_record=Distribution.constant(cost_us), per_poll_us=batch_us)
    members = group(8, client=cooperative(enable_auto_commit=True), processing=busy)
    joins = [join(time_s * S, 8 + number) for number, time_s in enumerate((31, 62, 93), 1)]
    run = scenario(members, *joins, horizon_us=130 * S, partitions=48, rate_mrps=round(0.1e9 / cost_us))
    assert not differences(run, 1)
