"""Both fidelities give equal tables for random groups of the ZooKeeper protocol, and their invariants hold in both."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupsim.sim import simulate
from groupsim.sim.model import GcPause, Target
from tests.support.fidelity import differences
from tests.support.zookeeper_scenarios import random_zookeeper_scenario

pytestmark = pytest.mark.property
EVERYBODY = Target("group", "g", "all")


def test_both_fidelities_give_equal_tables() -> None:
    different = {seed: names for seed in range(8) if (names := differences(random_zookeeper_scenario(seed), seed))}
    assert not different


def test_the_owner_node_is_a_lock_as_long_as_every_session_lives() -> None:
    """Who pauses reads on without a session; who is closed or killed does not, and servers that lag change nothing."""
    for seed in range(16):
        world = random_zookeeper_scenario(seed)
        harmless = tuple(
            one for one in world.timeline
            if not isinstance(one.verb, GcPause) and getattr(one.verb, "target", EVERYBODY).kind == "group"
        )  # fmt: skip
        result = simulate(replace(world, timeline=harmless), seed=seed)
        assert result.tables["zookeeper"]["two_readers_us"].sum() == 0, seed


@pytest.mark.slow
@pytest.mark.parametrize("block", range(5))
def test_both_fidelities_give_equal_tables_at_length(block: int) -> None:
    seeds = range(1000 + block * 40, 1040 + block * 40)
    different = {seed: names for seed in seeds if (names := differences(random_zookeeper_scenario(seed), seed))}
    assert not different
