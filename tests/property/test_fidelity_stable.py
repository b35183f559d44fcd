"""Elided and message fidelity give equal tables for groups that begin aged, in either protocol and in both at once.

Their past is quiet in both, by the closed forms of quiet members; from 0 on every step is an event in the slow one.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupsim.sim import simulate
from groupsim.sim.errors import CannotBeginAged
from groupsim.sim.model import Scenario
from tests.support.consumer_scenarios import FAMILIES, Protocols
from tests.support.fidelity import differences
from tests.support.stable_scenarios import stable_scenario

pytestmark = pytest.mark.property

PROTOCOLS: tuple[Protocols | None, ...] = (None, "consumer", "mixed")
FAST = [
    (family, protocols)
    for family in FAMILIES
    for protocols in PROTOCOLS
    if family != "crowd" and (family, protocols) not in {("dense", "mixed"), ("varied", "mixed"), ("grid", "mixed")}
]
"""Of groups of both protocols every step is an event; those that are left out here take a minute."""


@pytest.mark.parametrize(("family", "protocols"), FAST, ids=str)
def test_both_fidelities_give_equal_tables(family: str, protocols: Protocols | None) -> None:
    assert not differences(stable_scenario(5, family, protocols), 5, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("protocols", PROTOCOLS, ids=str)
@pytest.mark.parametrize("family", FAMILIES)
def test_both_fidelities_give_equal_tables_at_length(family: str, protocols: Protocols | None) -> None:
    different = {}
    for seed in range(1000, 1040):
        one = stable_scenario(seed, family, protocols)
        if _begins(one, seed) and (names := differences(one, seed)):
            different[seed] = names
    assert not different, f"{family}: {different}"


def _begins(one: Scenario, seed: int) -> bool:
    """Whether it is stable and without lag at 0: random groups may be neither."""
    try:
        simulate(replace(one, timeline=(), horizon_us=1), seed=seed)
    except CannotBeginAged:
        return False
    return True
