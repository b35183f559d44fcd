"""Elided and message fidelity give equal tables where requests wait for the event loop, drawn or in a queue."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupsim.sim import simulate
from groupsim.sim.config import EventTimes
from groupsim.sim.model import Scenario
from groupsim.sim.units import MS
from tests.support.fidelity import differences
from tests.support.random_scenarios import Family, random_scenario

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
        for seed in range(700, 700 + (2 if family == "crowd" else 6))
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
