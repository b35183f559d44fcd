"""Elided and message fidelity give equal tables where requests wait for the event loop, drawn or in a queue."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupsim.sim import simulate
from groupsim.sim.config import ClientConfig, EventTimes
from groupsim.sim.model import Scenario
from groupsim.sim.units import MS, S
from tests.support.fidelity import differences
from tests.support.random_scenarios import Family, random_scenario
from tests.support.scenarios import client, cooperative, group, join, kill, pause, scenario

pytestmark = pytest.mark.property

FAMILIES: tuple[Family, ...] = ("jitter", "grid", "crowd", "aged")


def taking(scenario: Scenario, service_us: int) -> Scenario:
    """The same, and every request takes so long."""
    times = dict.fromkeys(EventTimes.__dataclass_fields__, service_us)
    return replace(scenario, cluster=replace(scenario.cluster, event_times=EventTimes(**times)))


def basis(scenario: Scenario, seed: int) -> set[str]:
    """How the waits of its shards are known."""
    return set(simulate(scenario, seed=seed).tables["coordinators"]["basis"])


@pytest.mark.parametrize("family", FAMILIES)
def test_both_fidelities_draw_the_same_waits(family: Family) -> None:
    queued = {
        seed: taking(random_scenario(seed, family), 10 * MS)
        for seed in range(700, 700 + (2 if family == "crowd" else 4))
    }
    drawn = {seed: one for seed, one in queued.items() if basis(one, seed) == {"formula"}}
    assert len(drawn) >= 2
    different = {seed: names for seed, one in drawn.items() if (names := differences(one, seed))}
    assert not different


@pytest.mark.parametrize("family", FAMILIES)
def test_both_fidelities_queue_alike_in_a_busy_shard(family: Family) -> None:
    queued = {
        seed: taking(random_scenario(seed, family), 400 * MS)
        for seed in range(720, 720 + (1 if family == "crowd" else 4))
    }
    busy = {seed: one for seed, one in queued.items() if basis(one, seed) == {"queue"}}
    assert busy
    different = {seed: names for seed, one in busy.items() if (names := differences(one, seed))}
    assert not different


@pytest.mark.parametrize("consumer", [client(), cooperative()], ids=["eager", "cooperative"])
def test_members_that_rejoin_together_have_waited_too(consumer: ClientConfig) -> None:
    """Columns of many members (`sim.fastpath.quiet.steady_columns`) draw what each of them draws by itself."""
    often = replace(consumer, heartbeat_interval_us=S, enable_auto_commit=True)
    faults = (kill(20 * S, 3), join(31 * S, 20), pause(47 * S, 12 * S, 5))
    one = scenario(group(20, client=often), *faults, horizon_us=70 * S, partitions=40, rate_mrps=5_000)
    queued = replace(one, cluster=replace(one.cluster, event_times=EventTimes(heartbeat_us=20 * MS)))
    assert basis(queued, 1) == {"formula"}
    assert simulate(queued, seed=1).tables["coordinators"]["wait_p99_us"].item() > 20 * MS
    assert not differences(queued, 1)
