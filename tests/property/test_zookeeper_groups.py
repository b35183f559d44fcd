"""Invariants of random groups of the ZooKeeper protocol.

Both fidelities are the same code for them, since everybody is loud (decision 0020): nothing is compared here.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest

from groupsim.sim import simulate
from groupsim.sim.model import GcPause, Scenario, Target
from groupsim.sim.protocol.zookeeper.states import Phase
from groupsim.sim.units import S
from tests.support.zookeeper_scenarios import random_zookeeper_scenario
from tests.support.zookeeper_watch import Watched, watched

pytestmark = pytest.mark.property
EVERYBODY = Target("group", "g", "all")
SEEDS = range(60)
LAST_FAULT = 56 * S
"""Entries come until 40 s, what they stop is there again 15 s later at most, and boots."""
SESSION = 12 * S
"""The longest session, rounded up to a tick."""
TRY = 10 * S
"""No try takes as long: some 150 requests of eight members to servers that need up to 25 ms for one."""


def lasting(seed: int) -> Scenario:
    """A random scenario with time to get over it."""
    return replace(random_zookeeper_scenario(seed), horizon_us=200 * S)


def without_harm(seed: int) -> Scenario:
    """A random scenario whose sessions all live: nobody pauses, and servers are left alone."""
    world = lasting(seed)
    kept = (
        one for one in world.timeline
        if not isinstance(one.verb, GcPause) and getattr(one.verb, "target", EVERYBODY).kind == "group"
    )  # fmt: skip
    return replace(world, timeline=tuple(kept))


@cache
def run(seed: int) -> Watched:
    return watched(lasting(seed), seed)


def test_the_owner_node_is_a_lock_as_long_as_every_session_lives() -> None:
    """Who pauses reads on without a session; who is closed or killed does not, and servers that lag change nothing."""
    for seed in range(16):
        result = simulate(without_harm(seed), seed=seed)
        assert result.tables["zookeeper"]["two_readers_us"].sum() == 0, seed


def test_everybody_has_settled_or_given_up_some_time_after_the_last_fault() -> None:
    """Each of two changes (of ids, of a topic) is worth all tries; then nobody is at anything."""
    ends = set()
    for seed in SEEDS:
        one, world = run(seed), lasting(seed)
        client = world.groups[0].client.zookeeper
        assert client is not None
        tries = 2 * (client.rebalance_max_retries + 1)
        assert one.last_us() < LAST_FAULT + SESSION + tries * client.rebalance_backoff_us + 2 * TRY, seed
        ends |= {*one.at_the_end().values()}
    assert ends == {Phase.SETTLED, Phase.GIVEN_UP}


def test_a_group_is_stable_in_the_end_unless_somebody_has_given_up() -> None:
    states = set()
    for seed in SEEDS:
        one = run(seed)
        assert one.group is not None
        phases, state = one.at_the_end(), one.group.describe().state
        expected = "Rebalancing" if Phase.GIVEN_UP in phases.values() else "Stable" if phases else "Empty"
        assert state == expected, seed
        states.add(state)
    assert states == {"Rebalancing", "Stable", "Empty"}


def test_owner_nodes_are_of_those_who_are_there_and_all_of_them_of_a_stable_group() -> None:
    """What the leader's tree has at the end, not what the group thinks of it."""
    for seed in SEEDS:
        one = run(seed)
        assert one.group is not None
        nodes = one.owner_nodes()
        assert {*nodes.values()} <= {*one.group._registered}, seed
        if one.group.is_stable:
            assert len(nodes) == one.group._partitions["t"], seed
        gone = {member for member, phase in one.at_the_end().items() if phase is Phase.GIVEN_UP}
        assert not {one.group._member_id(owner) for owner in nodes.values()} & gone, seed


def test_a_member_tries_as_often_as_it_may_and_waits_in_between() -> None:
    given_up = 0
    for seed in range(30):
        world = without_harm(seed)
        client = world.groups[0].client.zookeeper
        assert client is not None
        for told in watched(world, seed).phases.values():
            failed = 0
            for (at, phase), (then, after) in pairwise([*told, (0, Phase.SETTLED)]):
                failed = failed + 1 if phase is Phase.BACKOFF else failed if phase is Phase.TRYING else 0
                assert failed <= client.rebalance_max_retries, seed
                if phase is Phase.BACKOFF and then:
                    assert then - at == client.rebalance_backoff_us, seed
                given_up += after is Phase.GIVEN_UP
    assert given_up


def test_what_is_counted_is_what_servers_were_asked() -> None:
    """And how busy they were is what each of it costs: every request a read, a write besides."""
    for seed in SEEDS:
        one, world = run(seed), lasting(seed)
        counted, spec = one.counted(), world.cluster.zookeeper
        assert one.result is not None
        assert all(counted[api] <= one.received[api] <= one.sent[api] for api in one.sent), seed
        if not any(getattr(entry.verb, "target", EVERYBODY).kind == "zookeeper" for entry in world.timeline):
            assert one.received.total() - counted.total() <= 30, seed
        (row,) = one.result.tables.rows("zookeeper")
        busy_us = row["utilisation_mean"] * spec.nodes * world.horizon_us
        asked_us = one.received.total() * spec.read_us + one.writes * spec.write_us
        assert busy_us == pytest.approx(asked_us, abs=spec.read_us + spec.write_us), seed
