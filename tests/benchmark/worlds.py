"""The worlds that the speed bars speak of: heartbeat 3 s, session 45 s, a poll cycle of 0.4 s, pauses and kills."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from groupsim.sim.config import ClientConfig
from groupsim.sim.model import (
    Broker,
    Cluster,
    Distribution,
    Entry,
    GcPause,
    Group,
    Kill,
    Members,
    Processing,
    Produces,
    Rate,
    RollingRestart,
    Scenario,
    Subscription,
    Target,
    Topic,
)
from groupsim.sim.units import MINUTE, MS, S

HOUR_US = 60 * MINUTE
RATE_MRPS = 25_000
Variant = Literal["range", "cooperative", "static", "after_batch", "consumer"]


def world(
    *, groups: int, members: int, partitions: int, kills: int, horizon_us: int = HOUR_US, variant: Variant = "range"
) -> Scenario:
    """Equal groups, each with a topic of its own, under 6 GC pauses a member-hour and ``kills`` kills in all.

    A cycle is 0.4 s: 199 ms a batch and half a member's capacity in records.
    """
    names = [f"group-{index}" for index in range(groups)]
    per_partition = RATE_MRPS * 10 * members // partitions
    return Scenario(
        name="benchmark",
        question="How fast is the simulator?",
        horizon_us=horizon_us,
        cluster=Cluster(),
        topics=tuple(
            Topic(name=name, partitions=partitions, rate=Rate(per_partition_mrps=((per_partition,),))) for name in names
        ),
        groups=tuple(_group(name, members, variant) for name in names),
        timeline=tuple([_pauses(name) for name in names] + _kills(names, kills, horizon_us)),
        sample_every_us=MINUTE,
        event_budget=1_000_000_000,
    )


def sharing(scenario: Scenario, topics: int) -> Scenario:
    """The same, whose groups read the first so many topics, one each in turn."""
    shared = scenario.topics[:topics]
    groups = tuple(
        replace(group, subscription=Subscription(topics=(shared[index % topics].name,)))
        for index, group in enumerate(scenario.groups)
    )
    return replace(scenario, topics=shared, groups=groups)


def transactional(scenario: Scenario, partitions: int) -> Scenario:
    """The same, whose members make a record of each record that they read, in a transaction for each batch."""
    groups = tuple(
        replace(group, client=replace(group.client, enable_auto_commit=False), produces=Produces(to="out"))
        for group in scenario.groups
    )
    return replace(scenario, groups=groups, topics=(*scenario.topics, Topic(name="out", partitions=partitions)))


def rolled(scenario: Scenario, brokers: int) -> Scenario:
    """The same on so many brokers, which are closed one after the other from its middle on, each away for 20 s."""
    roll = RollingRestart(target=Target("broker", "all"), down=Distribution.constant(20 * S), next_="in_sync")
    return replace(
        scenario,
        cluster=replace(scenario.cluster, brokers=tuple(Broker(id=id_) for id_ in range(brokers))),
        timeline=(*scenario.timeline, Entry(id="roll", at_us=scenario.horizon_us // 2, verb=roll)),
    )


def _group(name: str, members: int, variant: Variant) -> Group:
    strategy = "cooperative-sticky" if variant == "cooperative" else "range"
    return Group(
        name=name,
        subscription=Subscription(topics=(name,)),
        members=Members(count=members, static=variant == "static"),
        client=ClientConfig(
            partition_assignment_strategy=(strategy,), group_protocol="consumer" if variant == "consumer" else "classic"
        ),
        processing=Processing(
            per_record=Distribution.constant(2 * MS),
            per_poll_us=199 * MS,
            commit="after_batch" if variant == "after_batch" else "auto",
        ),
    )


def _pauses(name: str) -> Entry:
    return Entry(
        id=f"gc-{name}",
        every=Distribution("exponential", (10 * MINUTE,)),
        per_member=True,
        verb=GcPause(target=Target("group", name), duration=Distribution("lognormal", (300 * MS, 12 * S))),
    )


def _kills(names: list[str], kills: int, horizon_us: int) -> list[Entry]:
    """Kills spread over the hour and over the groups; the process is back 20 s later."""
    return [
        Entry(
            id=f"kill-{index}",
            at_us=horizon_us * (index + 1) // (kills + 1),
            verb=Kill(
                target=Target("group", names[index * 7 % len(names)], pick="random"),
                down=Distribution.constant(20 * S),
            ),
        )
        for index in range(kills)
    ]
