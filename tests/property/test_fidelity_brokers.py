"""Elided and message fidelity give equal tables while brokers are killed, closed, started and rolled."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupsim.scenarios.build.loading import parse
from groupsim.sim.units import MINUTE
from tests.benchmark.worlds import Variant, rolled, world
from tests.support.broker_scenarios import Family, broker_scenario
from tests.support.fidelity import differences

pytestmark = pytest.mark.property

FAMILIES: tuple[Family, ...] = ("classic", "consumer", "mixed")


def _different(seed: int, family: Family) -> list[str]:
    """Tables that differ; the invariants of groups, which take longer than the run, are checked by the next test."""
    return differences(broker_scenario(seed, family), seed, check=False)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("block", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_both_fidelities_give_equal_tables(family: Family, block: int) -> None:
    seeds = range(block * 12, block * 12 + 12)
    different = {seed: names for seed in seeds if (names := _different(seed, family))}
    assert not different, f"{family}: {different}"


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "commits",
    [{"commit_waits": True}, {"commit_again": True}, {"commit_waits": True, "commit_each_record": True}],
    ids=str,
)
def test_commits_that_fail_for_now_are_repeated_alike(family: Family, commits: dict[str, bool]) -> None:
    for seed in range(2):
        made = broker_scenario(seed, family)
        groups = tuple(
            replace(
                one, client=replace(one.client, enable_auto_commit=False),
                processing=replace(one.processing, commit="after_batch", commit_every_us=0, **commits),
            )
            for one in made.groups
        )  # fmt: skip
        assert not differences(replace(made, groups=groups), seed, check=False)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", [2, 5])
def test_the_invariants_of_groups_hold_after_every_event(family: Family, seed: int) -> None:
    assert not differences(broker_scenario(seed, family), seed)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("block", range(10))
def test_both_fidelities_give_equal_tables_at_length(family: Family, block: int) -> None:
    first = 1000 + block * 40
    different = {seed: names for seed in range(first, first + 40) if (names := _different(seed, family))}
    assert not different, f"{family}: {different}"


@pytest.mark.parametrize(
    ("family", "seed"),
    [
        pytest.param("classic", 57, id="heartbeats that nobody looked at did not end the backoff of failed ones"),
        pytest.param("consumer", 13, id="passes through poll() of a member cut off from everything had no beginning"),
    ],
)
def test_seeds_that_once_differed(family: Family, seed: int) -> None:
    assert not _different(seed, family)


@pytest.mark.parametrize("variant", ["range", "cooperative"])
def test_members_that_are_quiet_between_two_leaders_are_woken_in_time(variant: Variant) -> None:
    """Six brokers are rolled while members are as busy as those of the speed bars."""
    busy = world(groups=2, members=6, partitions=40, kills=1, horizon_us=9 * MINUTE, variant=variant)
    assert not differences(rolled(busy, brokers=6), 0, check=False)


@pytest.mark.parametrize("seed", [1, 2])
def test_who_kept_its_partitions_through_a_rebalance_waits_for_no_assignment_later(seed: int) -> None:
    """Leaders go and come back long after a cooperative rebalance that changed nothing for two of three members."""
    document = {
        "version": 1, "question": "What is waited for when a leader is back?", "horizon": "30s",
        "cluster": {"brokers": 3}, "topics": {"payments": {"partitions": 3, "rate": {"per_partition": 20}}},
        "groups": {
            "cooperative": {
                "topics": ["payments"], "config": {"partition.assignment.strategy": ["cooperative-sticky"]},
                "processing": {"per_record": "2ms"}, "members": {"count": 3, "start": {"at": "0s"}},
            }
        },
        "timeline": [
            {"id": "out", "at": "9s", "scale": {"target": "cooperative", "to": 5}},
            {"id": "roll", "at": "20s", "rolling_restart": {"target": "broker:all", "down": "1ms"}},
        ],
        "event_budget": 100_000,
    }  # fmt: skip
    assert not differences(parse(document, file="kept.yaml", name="kept"), seed)
