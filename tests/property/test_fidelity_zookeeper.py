"""Both fidelities give equal tables for random groups of the ZooKeeper protocol, and their invariants hold in both."""

from __future__ import annotations

import pytest

from tests.support.fidelity import differences
from tests.support.zookeeper_scenarios import random_zookeeper_scenario

pytestmark = pytest.mark.property


def test_both_fidelities_give_equal_tables() -> None:
    different = {seed: names for seed in range(8) if (names := differences(random_zookeeper_scenario(seed), seed))}
    assert not different


@pytest.mark.slow
@pytest.mark.parametrize("block", range(5))
def test_both_fidelities_give_equal_tables_at_length(block: int) -> None:
    seeds = range(1000 + block * 40, 1040 + block * 40)
    different = {seed: names for seed in seeds if (names := differences(random_zookeeper_scenario(seed), seed))}
    assert not different
