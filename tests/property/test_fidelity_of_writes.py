"""Elided and message fidelity give equal tables where writes wait for followers, and in batches."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest

from groupsim.sim.model import Distribution, Link, Scenario
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


def far_apart(scenario: Scenario) -> Scenario:
    """The same, with followers that are 3 to 120 ms away, each pair of brokers by a law of its own."""
    cluster = scenario.cluster
    nodes = [broker.id for broker in cluster.brokers]
    links = tuple(
        Link(
            between=(f"broker:{one}", f"broker:{other}"),
            latency=Distribution("lognormal", ((3 + 7 * ((5 * one + 3 * other) % 6)) * MS, 120 * MS)),
        )
        for one, other in combinations(nodes, 2)
    )
    network, timing = replace(cluster.network, links=links), replace(cluster.timing, follower_fetch=None)
    return replace(scenario, cluster=replace(cluster, network=network, timing=timing))


@pytest.mark.parametrize(
    ("seed", "family"),
    [
        pytest.param(325, "classic", id="a step of the heartbeat thread ended with records, not with an assignment"),
        (326, "consumer"), (327, "mixed"),
    ],
)  # fmt: skip
def test_while_brokers_that_are_far_apart_fail(seed: int, family: Family) -> None:
    assert not differences(far_apart(broker_scenario(seed, family)), seed, check=False)


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
