"""Who was removed by a timer: of each incarnation in the table ``members``, of the group in the summary."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupsim.sim import Result, simulate
from groupsim.sim.model import Scenario, Unsubscribe
from groupsim.sim.units import S
from tests.support.scenarios import at, client, close, group, kill, member, pause, scenario

PROTOCOLS = pytest.mark.parametrize("protocol", ["classic", "consumer"])


def crowd(protocol: str, *entries: object, static: bool = False) -> Scenario:
    config = client(group_protocol=protocol, session_timeout_us=10 * S)
    one = scenario(group(3, client=config, static=static), *entries, horizon_us=120 * S)
    times = replace(one.cluster.config, consumer_session_timeout_us=10 * S, consumer_heartbeat_interval_us=3 * S)
    return replace(one, cluster=replace(one.cluster, config=times))


def evicted(result: Result) -> dict[tuple[str, int], int]:
    """How often each incarnation was, where it was."""
    rows = result.tables["members"]
    found = {(row.member, row.incarnation): row.evicted for row in rows.itertuples() if row.evicted}
    assert sum(found.values()) == result.summary["evictions"].item()
    return found


@PROTOCOLS
def test_of_a_pod_that_died_its_first_incarnation_is_removed_though_the_next_runs(protocol: str) -> None:
    died = simulate(crowd(protocol, kill(30 * S, 1, down_us=2 * S)), seed=1)
    assert evicted(died) == {("g/1", 1): 1}


@PROTOCOLS
def test_who_stands_still_for_longer_than_its_session_each_time(protocol: str) -> None:
    frozen = simulate(crowd(protocol, pause(30 * S, 25 * S, 2), pause(70 * S, 25 * S, 2)), seed=1)
    assert evicted(frozen) == {("g/2", 1): 2}


@PROTOCOLS
def test_who_leaves_is_not(protocol: str) -> None:
    assert evicted(simulate(crowd(protocol, close(30 * S, 0)), seed=1)) == {}


def test_a_consumer_group_is_not_stable_while_a_static_member_is_away() -> None:
    """It left with epoch -2, which is no rebalance; its session goes on from its last heartbeat, at most 3 s before."""
    leaves = at(30 * S, Unsubscribe(target=member(2)))
    result = simulate(crowd("consumer", leaves, static=True), seed=1)
    summary = result.summary.iloc[0]
    states = result.tables["states"]
    waits = states[(states["state"] == "Reconciling") & (states["from_us"] > 20 * S)].iloc[0]
    assert 7 * S < waits["to_us"] - waits["from_us"] <= 10 * S
    assert result.tables["rebalances"]["start_us"].between(29 * S, waits["to_us"] - 1).sum() == 0
    settled = states["state"].isin(["Stable", "Empty"])
    assert summary["unstable_s"] == pytest.approx((states["to_us"] - states["from_us"])[~settled].sum() / S)
