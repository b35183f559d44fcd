"""Elided and message fidelity give equal tables for groups of the consumer protocol, and for groups of both.

The invariants of the published TLA+ model hold after every event in both (`sim.books.consumer_invariants`).
"""

from __future__ import annotations

import pytest

from tests.support.consumer_scenarios import FAMILIES, Protocols, consumer_scenario
from tests.support.fidelity import differences

pytestmark = pytest.mark.property


@pytest.mark.parametrize("protocols", ["consumer", "mixed"])
@pytest.mark.parametrize("family", FAMILIES)
def test_both_fidelities_give_equal_tables(family: str, protocols: Protocols) -> None:
    seeds = range(4 if protocols == "consumer" else 2)
    different = {seed: names for seed in seeds if (names := _differences(seed, family, protocols))}
    assert not different, f"{family}: {different}"


@pytest.mark.slow
@pytest.mark.parametrize("protocols", ["consumer", "mixed"])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("block", range(10))
def test_both_fidelities_give_equal_tables_at_length(block: int, family: str, protocols: Protocols) -> None:
    seeds = range(1000 + block * 50, 1050 + block * 50)
    different = {seed: names for seed in seeds if (names := _differences(seed, family, protocols))}
    assert not different, f"{family}: {different}"


@pytest.mark.parametrize(
    ("family", "seed"),
    [
        pytest.param("jitter", 2, id="a member was quiet that had a new subscription to tell"),
        pytest.param("crowd", 1, id="members that were behind computed the next target when they reported"),
    ],
)
def test_scenarios_that_once_told_the_difference(family: str, seed: int) -> None:
    assert not _differences(seed, family, "consumer")


def _differences(seed: int, family: str, protocols: Protocols) -> list[str]:
    return differences(consumer_scenario(seed, family, protocols), seed)
