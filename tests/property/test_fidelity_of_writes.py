"""Elided and message fidelity give equal tables where writes wait for followers, and in batches."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupsim.sim.model import Scenario
from groupsim.sim.units import MS
from tests.support.broker_scenarios import Family, broker_scenario
from tests.support.consumer_scenarios import consumer_scenario
from tests.support.fidelity import differences
from tests.support.varied_scenarios import varied_scenario

pytestmark = pytest.mark.property


def waiting(scenario: Scenario) -> Scenario:
    """The same, with a linger of 5 ms, and followers as far away as clients."""
    cluster = scenario.cluster
    timing, config = replace(cluster.timing, follower_fetch=None), replace(cluster.config, append_linger_us=5 * MS)
    return replace(scenario, cluster=replace(cluster, timing=timing, config=config))


@pytest.mark.parametrize("family", ["classic", "consumer"])
@pytest.mark.parametrize("seed", [11, 12])
def test_while_brokers_fail(seed: int, family: Family) -> None:
    assert not differences(waiting(broker_scenario(seed, family)), seed)


@pytest.mark.parametrize("seed", [903, 906, 911])
def test_with_everything_that_a_scenario_can_say(seed: int) -> None:
    assert not differences(waiting(varied_scenario(seed)), seed)


@pytest.mark.parametrize("seed", range(60, 63))
def test_in_groups_of_the_consumer_protocol(seed: int) -> None:
    assert not differences(waiting(consumer_scenario(seed, "jitter")), seed)
