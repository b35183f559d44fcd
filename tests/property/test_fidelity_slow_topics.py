"""Elided and message fidelity give equal tables where there is little to read: requests wait behind parked fetches."""

from __future__ import annotations

from typing import get_args

import pytest

from groupsim.sim.model import Scenario
from tests.support.fidelity import differences
from tests.support.random_scenarios import Family, random_scenario
from tests.support.slow_topics import with_slow_topics
from tests.support.varied_scenarios import varied_scenario

pytestmark = pytest.mark.property

FAMILIES: tuple[Family, ...] = get_args(Family)


def _of_family(seed: int, family: Family) -> Scenario:
    return with_slow_topics(random_scenario(seed, family), seed)


def _varied(seed: int) -> Scenario:
    return with_slow_topics(varied_scenario(seed), seed)


@pytest.mark.parametrize("family", FAMILIES)
def test_both_fidelities_give_equal_tables_when_requests_wait_behind_fetches(family: Family) -> None:
    different = {seed: names for seed in range(4) if (names := differences(_of_family(seed, family), seed))}
    assert not different, f"{family}: {different}"


@pytest.mark.parametrize("block", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_both_fidelities_give_equal_tables_when_groups_are_not_alike_either(block: int) -> None:
    seeds = range(block * 8, block * 8 + 8)
    assert not {seed: names for seed in seeds if (names := differences(_varied(seed), seed))}


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("block", range(8))
def test_both_fidelities_give_equal_tables_when_requests_wait_at_length(family: Family, block: int) -> None:
    seeds = range(1000 + block * 25, 1025 + block * 25)
    different = {seed: names for seed in seeds if (names := differences(_of_family(seed, family), seed))}
    assert not different, f"{family}: {different}"


@pytest.mark.slow
@pytest.mark.parametrize("block", range(8))
def test_both_fidelities_give_equal_tables_when_groups_are_not_alike_either_at_length(block: int) -> None:
    seeds = range(1000 + block * 25, 1025 + block * 25)
    assert not {seed: names for seed in seeds if (names := differences(_varied(seed), seed))}
