"""Partitions assigned by hand (``KafkaConsumer.assign``): consumed and committed, never rebalanced."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest

from groupsim.sim import Result, simulate
from groupsim.sim.config import ClientConfig
from groupsim.sim.model import (
    Cluster,
    Distribution,
    Entry,
    Group,
    Kill,
    Members,
    Network,
    Override,
    Processing,
    Rate,
    Scenario,
    Subscription,
    Target,
    Topic,
)
from groupsim.sim.units import MS, S
from tests.support.scenarios import EVENTS_MAX

Protocol = Literal["classic", "consumer"]
AWAY = Entry(
    id="kill",
    at_us=33 * S,
    verb=Kill(target=Target("group", "g", pick="index", indices=(0,)), down=Distribution.constant(9 * S)),
)
"""The first is killed, and its process is back 9 s later."""


def scene(*timeline: Entry, protocol: Protocol = "classic") -> Scenario:
    """Two consumers, three partitions each, ten records a second and partition."""
    mine, yours = (Subscription(assign={"orders": numbers}) for numbers in ((0, 1, 2), (3, 4, 5)))
    return Scenario(
        name="by-hand",
        question="What happens without a group?",
        horizon_us=60 * S,
        event_budget=EVENTS_MAX,
        cluster=Cluster(network=Network(latency=Distribution.constant(1 * MS))),
        topics=(Topic(name="orders", partitions=6, rate=Rate(per_partition_mrps=((10_000,),))),),
        groups=(
            Group(
                name="g",
                subscription=mine,
                members=Members(count=2),
                client=ClientConfig(auto_offset_reset="earliest", group_protocol=protocol),
                processing=Processing(per_record=Distribution.constant(1 * MS)),
                overrides=(Override(members=frozenset({1}), subscription=yours),),
            ),
        ),
        timeline=timeline,
    )


def run(fidelity: str, *timeline: Entry, protocol: Protocol = "classic") -> Result:
    return simulate(scene(*timeline, protocol=protocol), seed=1, fidelity=fidelity, check=True)  # type: ignore[arg-type]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("fidelity", ["elided", "message"])
def test_there_is_no_rebalance_and_everybody_reads_its_own(fidelity: str, protocol: Protocol) -> None:
    result = run(fidelity, protocol=protocol)
    assert result.summary.rebalances.tolist() == [0]
    assert result.summary.lag_records_end.tolist() == [0]
    owners = result.tables["ownership"].groupby("partition").member.unique()
    assert [list(one) for one in owners] == [["g/0"]] * 3 + [["g/1"]] * 3
    apis = set(result.tables["requests"].api)
    assert apis == {"FindCoordinator", "Metadata", "OffsetCommit", "OffsetFetch"}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("fidelity", ["elided", "message"])
def test_a_killed_one_leaves_its_partitions_unowned_until_it_is_back(fidelity: str, protocol: Protocol) -> None:
    result = run(fidelity, AWAY, protocol=protocol)
    gaps = result.tables["unavailability"].query("from_us >= 33_000_000 and cause == 'unowned'")
    assert gaps.partition.tolist() == [0, 1, 2]
    assert set(gaps.to_us - gaps.from_us) == {9 * S + 700 * MS}
    assert result.summary.rebalances.tolist() == [0]
    assert result.tables["delivery"].cause.tolist() == ["kill"], "read twice from the last commit on"
    assert run("elided", AWAY, protocol=protocol).manifest["digests"] == result.manifest["digests"]


def test_partitions_that_do_not_exist_are_left_out() -> None:
    scenario = scene()
    group = replace(scenario.groups[0], subscription=Subscription(assign={"orders": (0, 9)}), overrides=())
    result = simulate(replace(scenario, groups=(group,)), seed=1)
    assert set(result.tables["ownership"].partition) == {0}


@pytest.mark.parametrize("fidelity", ["elided", "message"])
def test_two_that_take_the_same_read_everything_twice_and_lose_nothing(fidelity: str) -> None:
    """One is away from 33 s to 42.7 s; what it has missed the other has read, and it goes on from the last commit."""
    scenario = scene(AWAY)
    group = replace(scenario.groups[0], overrides=())
    result = simulate(replace(scenario, groups=(group,)), seed=1, fidelity=fidelity, check=True)  # type: ignore[arg-type]
    delivery = result.tables["delivery"]
    assert set(delivery.kind) == {"duplicate"}
    together, again = 30 * (33 + 60 - 42.7), 30 * 5
    assert together - 30 <= delivery.records.sum() <= together + again
    gaps = result.tables["unavailability"].query("from_us >= 33_000_000 and cause == 'unowned'")
    assert set(gaps.partition) <= {3, 4, 5}, "the other serves what the one has left"
