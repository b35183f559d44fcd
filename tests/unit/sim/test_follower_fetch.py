"""What a write of a coordinator waits for followers: by law, and where it shows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from groupsim.sim import simulate
from groupsim.sim.cluster.shard.follower_fetch import both, follower_fetch
from groupsim.sim.config import ClientConfig, Timing
from groupsim.sim.model import Broker, Cluster, Distribution, Link, Network, Processing, Scenario
from groupsim.sim.randomness import Draw
from groupsim.sim.units import MS, S
from tests.support.fidelity import differences
from tests.support.scenarios import (
    LATENCY_US,
    LOOPBACK,
    TIMING,
    client,
    cooperative,
    group,
    join,
    kill,
    rounds,
    scenario,
)

BY_LATENCY = replace(TIMING, follower_fetch=None)
EVERY_BATCH = Processing(per_poll_us=200 * MS, commit="after_batch")


def cluster(*brokers: Broker, links: tuple[Link, ...] = (), timing: Timing = BY_LATENCY) -> Cluster:
    """Brokers a millisecond from one another, but for links."""
    return Cluster(brokers=brokers, timing=timing, network=Network(latency=Distribution.constant(MS), links=links))


def test_without_followers_there_is_no_wait() -> None:
    assert follower_fetch(cluster(Broker(id=0)), (0,)) is None


def test_a_follower_takes_a_way_there_an_append_and_a_way_back() -> None:
    brokers = (Broker(id=0), Broker(id=1), Broker(id=2))
    assert follower_fetch(cluster(*brokers), (0, 1, 2)) == Distribution.constant(2 * MS + BY_LATENCY.append_us)


@pytest.mark.parametrize("between", [("broker:0", "broker:2"), ("rack:b", "rack:a")])
def test_the_slowest_link_to_a_follower_counts(between: tuple[str, str]) -> None:
    far = Link(between=between, latency=Distribution.constant(20 * MS))
    world = cluster(Broker(id=0, rack="a"), Broker(id=1, rack="a"), Broker(id=2, rack="b"), links=(far,))
    assert follower_fetch(world, (0, 1, 2)) == Distribution.constant(40 * MS + BY_LATENCY.append_us)
    assert follower_fetch(world, (0, 1)) == Distribution.constant(2 * MS + BY_LATENCY.append_us)


def test_its_own_key_says_what_it_is_instead() -> None:
    given = Distribution("uniform", (MS, 3 * MS))
    world = cluster(Broker(id=0), Broker(id=1), timing=replace(TIMING, follower_fetch=given))
    assert follower_fetch(world, (0, 1)) == given
    assert follower_fetch(world, (0,)) is None


@pytest.mark.parametrize("followers", [1, 2, 4])
def test_the_wait_is_the_longest_of_as_many_fetches(followers: int) -> None:
    """Against the same sums drawn at random; what is beyond a way's quantile 1 - 1 / 512 is not drawn."""
    brokers = tuple(Broker(id=one) for one in range(followers + 1))
    law = follower_fetch(
        Cluster(brokers=brokers, timing=BY_LATENCY, network=Network(latency=LOOPBACK)), range(followers + 1)
    )
    assert law is not None
    ways = Draw(7, LOOPBACK).range(0, 2 * followers * 20_000).reshape(followers, 2, 20_000)
    longest = ways.sum(axis=1).max(axis=0) + BY_LATENCY.append_us
    for share in (0.1, 0.5, 0.9):
        assert np.quantile(law.values, share) == pytest.approx(np.quantile(longest, share), rel=0.03)


def test_one_wait_after_the_other() -> None:
    batch, fetch = Distribution("uniform", (0, 10 * MS)), Distribution.constant(7 * MS)
    law = both(batch, fetch)
    assert law is not None
    assert np.quantile(law.values, [0.1, 0.5, 0.9]) == pytest.approx([8 * MS, 12 * MS, 16 * MS], rel=0.02)
    assert both(batch, None) == both(None, batch) == batch


def _in_sync(brokers: int, timing: Timing) -> int:
    """How long the first round takes from the end of the join phase on, microseconds."""
    (first, *_) = rounds(
        simulate(scenario(group(2, client=client()), horizon_us=20 * S, brokers=brokers, timing=timing))
    )
    return first.end_us - first.joined_us


def test_a_group_is_stable_when_followers_have_its_assignment() -> None:
    wait_us = 2 * LATENCY_US + TIMING.append_us
    assert _in_sync(3, BY_LATENCY) == _in_sync(1, BY_LATENCY) + wait_us == _in_sync(3, TIMING) + wait_us


@pytest.mark.parametrize("fidelity", ["elided", "message"])
def test_who_waits_for_its_commits_waits_for_followers(fidelity: str) -> None:
    """At 200 ms of work a batch, 50 ms for followers makes passes longer by as much."""
    waits = replace(EVERY_BATCH, commit_waits=True)
    found = []
    for law in (Distribution.constant(0), Distribution.constant(50 * MS)):
        one = scenario(
            group(1, client=client(), processing=waits), horizon_us=60 * S, rate_mrps=20_000, brokers=2,
            timing=replace(TIMING, follower_fetch=law),
        )  # fmt: skip
        table = simulate(one, fidelity=fidelity).tables["requests"]  # type: ignore[arg-type]
        found.append(int(table.loc[table["api"] == "OffsetCommit", "count"].sum()))
    assert found[1] == pytest.approx(found[0] * 0.8, rel=0.05)


@pytest.mark.property
@pytest.mark.parametrize(
    "consumer",
    [client(enable_auto_commit=True), cooperative(), client(group_protocol="consumer")],
    ids=["eager", "cooperative", "consumer"],
)
@pytest.mark.parametrize("commits", ["auto", "after_batch"])
def test_both_fidelities_wait_alike(consumer: ClientConfig, commits: str) -> None:
    assert not differences(_jittery(consumer, commits), 3)


def _jittery(consumer: ClientConfig, commits: str) -> Scenario:
    """Everything is drawn, and followers are far away."""
    law = Distribution("lognormal", (20 * MS, 60 * MS))
    return scenario(
        group(5, client=consumer, processing=replace(EVERY_BATCH, commit=commits)), kill(20 * S, 1), join(33 * S, 5),
        horizon_us=45 * S, latency=LOOPBACK, brokers=3, rate_mrps=5_000, timing=Timing(follower_fetch=law),
    )  # fmt: skip
