"""Elided and message fidelity give equal tables while consumers read from followers and brokers come and go."""

from __future__ import annotations

import random

import pytest

from tests.support.broker_scenarios import Family, broker_scenario
from tests.support.fidelity import differences
from tests.support.racks import placed

pytestmark = pytest.mark.property

FAMILIES: tuple[Family, ...] = ("classic", "consumer", "mixed")


def _different(seed: int, family: Family) -> list[str]:
    scenario = placed(broker_scenario(seed, family), random.Random(f"racks-{family}-{seed}"))
    return differences(scenario, seed, check=False)


@pytest.mark.parametrize("family", FAMILIES)
def test_both_fidelities_give_equal_tables(family: Family) -> None:
    different = {seed: names for seed in range(8) if (names := _different(seed, family))}
    assert not different, f"{family}: {different}"


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("block", range(5))
def test_both_fidelities_give_equal_tables_at_length(family: Family, block: int) -> None:
    first = 1000 + block * 40
    different = {seed: names for seed in range(first, first + 40) if (names := _different(seed, family))}
    assert not different, f"{family}: {different}"
