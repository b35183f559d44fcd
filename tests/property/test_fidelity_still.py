"""Where nothing comes from outside, metadata refreshes of quiet leaders are no events, and wait as those that are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from groupsim.sim import simulate
from groupsim.sim.model import Distribution, Rate, Scenario, Subscription
from groupsim.sim.units import MINUTE, S
from tests.benchmark.worlds import Variant, world
from tests.support.fidelity import differences
from tests.support.random_scenarios import Family, random_scenario

pytestmark = pytest.mark.property

VARIANTS: tuple[Variant, ...] = ("range", "cooperative", "static", "after_batch")
FAMILIES: tuple[Family, ...] = ("jitter", "grid", "dense")


SHAPE: dict[str, Any] = {"groups": 1, "members": 3, "partitions": 30, "horizon_us": 3 * MINUTE}


def _asking_every(age_us: int, scenario: Scenario) -> Scenario:
    """The same with this ``metadata.max.age.ms``, and nothing on the timeline."""
    groups = tuple(
        replace(group, client=replace(group.client, metadata_max_age_us=age_us)) for group in scenario.groups
    )
    return replace(scenario, groups=groups, timeline=())


def _three_members(variant: Variant, age_us: int) -> Scenario:
    """A record of each partition in ten seconds: fetches are parked, and refreshes wait for them."""
    return _asking_every(age_us, _with_few_records(world(**SHAPE, kills=0, variant=variant)))


def _with_few_records(scenario: Scenario) -> Scenario:
    topics = tuple(replace(topic, rate=Rate(per_partition_mrps=((100,),))) for topic in scenario.topics)
    return replace(scenario, topics=topics)


def _that_pause_and_die(variant: Variant) -> Scenario:
    """Members that pause every ten seconds, and are killed now and then: so are leaders."""
    made = _with_few_records(world(**SHAPE, kills=4, variant=variant))
    pauses, *kills = made.timeline
    often = replace(pauses, every=Distribution("exponential", (10 * S,)))
    return replace(_asking_every(1 * S, made), timeline=(often, *kills))


@pytest.mark.parametrize("variant", VARIANTS)
def test_both_fidelities_count_the_same_refreshes(variant: Variant) -> None:
    assert not differences(_three_members(variant, 1 * S), 1)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("seed", range(3))
def test_both_fidelities_count_the_same_refreshes_of_members_that_pause_and_die(variant: Variant, seed: int) -> None:
    scenario = _that_pause_and_die(variant)
    assert scenario.is_still
    assert not differences(scenario, seed)


def test_both_fidelities_count_the_same_refreshes_of_pattern_subscribers() -> None:
    scenario = _three_members("range", 1 * S)
    (group,) = scenario.groups
    subscribing = replace(group, subscription=Subscription(pattern="group-.*"))
    assert not differences(replace(scenario, groups=(subscribing,)), 1)


@pytest.mark.parametrize("family", FAMILIES)
def test_both_fidelities_give_equal_tables_of_still_worlds(family: Family) -> None:
    different = {
        seed: names
        for seed in range(2)
        if (names := differences(_asking_every(5 * S, random_scenario(seed, family)), seed))
    }
    assert not different


def test_a_refresh_of_a_quiet_leader_is_no_event() -> None:
    often, never = (simulate(_three_members("range", age_us)) for age_us in (10 * S, 60 * MINUTE))
    assert often.manifest["events"] == never.manifest["events"]
