"""Elided and message fidelity give equal tables, whatever the groups are like and whatever happens to them.

A file of its own, beside `test_fidelity`: each file of tests has a processor.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from groupsim.sim.model import Scenario
from tests.support.fidelity import differences
from tests.support.placed_scenarios import placed_scenario
from tests.support.varied_scenarios import varied_scenario

pytestmark = pytest.mark.property

LONG = {"varied": 11, "placed": 6}
"""Tens or hundreds of thousands of events, hardly fewer in one fidelity than in the other."""


@pytest.mark.parametrize("block", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_both_fidelities_give_equal_tables_whatever_the_groups_are_like(block: int) -> None:
    seeds = [seed for seed in range(block * 8, block * 8 + 8) if seed != LONG["varied"]]
    different = {seed: names for seed in seeds if (names := differences(varied_scenario(seed), seed))}
    assert not different


@pytest.mark.parametrize("block", range(1))
def test_both_fidelities_give_equal_tables_wherever_everybody_is(block: int) -> None:
    seeds = [seed for seed in range(block * 8, block * 8 + 8) if seed != LONG["placed"]]
    different = {seed: names for seed in seeds if (names := differences(placed_scenario(seed), seed))}
    assert not different


@pytest.mark.slow
@pytest.mark.parametrize(("made", "seed"), [(varied_scenario, LONG["varied"]), (placed_scenario, LONG["placed"])])
def test_both_fidelities_give_equal_tables_of_a_long_run(made: Callable[[int], Scenario], seed: int) -> None:
    assert not differences(made(seed), seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_both_fidelities_give_equal_tables_wherever_everybody_is_at_length(block: int) -> None:
    seeds = range(1000 + block * 50, 1050 + block * 50)
    different = {seed: names for seed in seeds if (names := differences(placed_scenario(seed), seed))}
    assert not different


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_both_fidelities_give_equal_tables_whatever_the_groups_are_like_at_length(block: int) -> None:
    first = 1000 + block * 50
    different = {
        seed: names for seed in range(first, first + 50) if (names := differences(varied_scenario(seed), seed))
    }
    assert not different


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(8, id="the books took a static twin for the other, and it was fenced without being woken"),
        pytest.param(11, id="others commit what was taken by hand, and nobody asked what quiet ones had committed"),
        pytest.param(60, id="no commit of anybody was on its way, and latencies came from several laws"),
    ],
)
def test_placed_scenarios_that_once_told_the_difference(seed: int) -> None:
    assert not differences(placed_scenario(seed), seed)


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(14, id="without an append the SyncGroups of others came after the assignment"),
        pytest.param(1144, id="a static member came back with a shorter session, which was renewed to the longer one"),
    ],
)
def test_varied_scenarios_that_once_told_the_difference(seed: int) -> None:
    assert not differences(varied_scenario(seed), seed)
