"""Latency between two places holds for members in one of them whose coordinator is in the other."""

from __future__ import annotations

from groupsim.sim import simulate
from groupsim.sim.config import ClientConfig
from groupsim.sim.model import (
    Broker,
    Cluster,
    Distribution,
    Group,
    Link,
    Members,
    Network,
    Scenario,
    Subscription,
    Topic,
)
from groupsim.sim.units import MS, S
from tests.support.scenarios import EVENTS_MAX


def stable_us(*between: str) -> int:
    """When a member in rack a is stable; all brokers are in rack b; the link costs 50 ms instead of 1 ms."""
    links = (Link(between=(between[0], between[1]), latency=Distribution.constant(50 * MS)),) if between else ()
    scenario = Scenario(
        name="links",
        question="Which link counts?",
        horizon_us=20 * S,
        event_budget=EVENTS_MAX,
        cluster=Cluster(
            brokers=tuple(Broker(id=id_, rack="b") for id_ in range(3)),
            network=Network(latency=Distribution.constant(1 * MS), links=links),
        ),
        topics=(Topic(name="orders", partitions=2),),
        groups=(
            Group(
                name="g",
                subscription=Subscription(topics=("orders",)),
                members=Members(count=1),
                client=ClientConfig(client_rack="a"),
            ),
        ),
    )
    return int(simulate(scenario, seed=1).tables["members"].stable_us[0])


def test_a_link_between_the_two_racks_counts_in_either_direction() -> None:
    near = stable_us()
    assert stable_us("rack:a", "rack:b") == stable_us("rack:b", "rack:a") == near + 8 * 49 * MS


def test_a_link_to_anywhere_else_does_not() -> None:
    assert stable_us("rack:a", "rack:c") == stable_us("rack:b", "rack:c") == stable_us()


def test_a_group_is_a_place_too() -> None:
    assert stable_us("g", "rack:b") == stable_us("rack:a", "rack:b")
