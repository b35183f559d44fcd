"""Three brokers in three racks, a consumer in each, and consumers that read from the nearest replica if they may."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from groupsim.sim import simulate
from groupsim.sim.catalog import Catalog
from groupsim.sim.config import BrokerConfig
from groupsim.sim.model import Broker, Cut, Distribution, Entry, Group, Network, Override, Scenario, Target, Topic
from groupsim.sim.units import S
from tests.support.scenarios import at, client, group, scenario

RACKS = ("a", "b", "c")
RECORD_BYTES = 1_000


def racks(
    *timeline: Entry, is_rack_aware: bool = True, price: float | None = None, horizon_us: int = 60 * S,
    rate_mrps: int = 10_000, places: tuple[str, ...] = RACKS, **config: Any,
) -> Scenario:  # fmt: skip
    """Group ``g``: member i is in the rack of broker i, or in ``places[i]``.

    Twelve partitions, each at ten records of 1,000 bytes a second.
    """
    given = {"enable_auto_commit": True, **config}
    overrides = tuple(
        Override(members=frozenset((index,)), rack=rack, client=client(**given, client_rack=rack))
        for index, rack in enumerate(places)
    )
    one = group(3, client=client(**given), overrides=overrides)
    found = scenario(one, *timeline, horizon_us=horizon_us, rate_mrps=rate_mrps)
    cluster = replace(
        found.cluster,
        brokers=tuple(Broker(id=index, rack=rack) for index, rack in enumerate(RACKS)),
        broker_config=BrokerConfig(is_rack_aware=is_rack_aware),
        network=Network(latency=found.cluster.network.latency, cross_rack_price_per_gb=price),
    )
    topics: tuple[Topic, ...] = tuple(replace(topic, record_bytes=RECORD_BYTES) for topic in found.topics)
    return replace(found, cluster=cluster, topics=topics)


def far(scenario: Scenario) -> set[int]:
    """Partitions whose leader is not in the rack of the member that owns them."""
    places = dict(enumerate(RACKS))
    leaders = Catalog(scenario.topics, tuple(places), places).leaders("t", range(12))
    table = simulate(scenario).tables["ownership"]
    owners = {int(row.partition): int(row.member.removeprefix("g/")) for row in table.itertuples()}
    return {partition for partition, leader in enumerate(leaders) if leader != owners[partition]}


def parted(time_us: int, length_us: int, one: str, other: str) -> Entry:
    """Nothing gets through between two places for a while: ``broker:0``, or a member's index."""
    sides = [
        Target("broker", place.removeprefix("broker:"))
        if place.startswith("broker:")
        else Target("group", "g", "index", (int(place),))
        for place in (one, other)
    ]
    return at(time_us, Cut(between=(sides[0], sides[1]), duration=Distribution.constant(length_us)))


def placed(found: Scenario, chance: random.Random) -> Scenario:
    """A scenario with its brokers in racks, and members in some of them that read from the nearest replica.

    In some of them brokers send less than could be processed.
    """
    names = RACKS[: chance.randint(1, 3)]
    bandwidth = chance.choice([None, 50_000, 500_000])
    brokers = tuple(
        replace(one, rack=names[index % len(names)], bandwidth_bytes_per_s=bandwidth)
        for index, one in enumerate(found.cluster.brokers)
    )
    cluster = replace(
        found.cluster, brokers=brokers, broker_config=replace(found.cluster.broker_config, is_rack_aware=True)
    )
    topics = tuple(replace(topic, record_bytes=chance.choice([100, 1_000])) for topic in found.topics)
    groups = tuple(_in_racks(one, chance) for one in found.groups)
    return replace(found, cluster=cluster, topics=topics, groups=groups)


def _in_racks(group: Group, chance: random.Random) -> Group:
    age_us = chance.choice([3, 300]) * S
    overrides = []
    for index in range(group.members.count):
        one, rack = group.override_of(index), chance.choice(["", *RACKS])
        config = replace(one.client or group.client, client_rack=rack, metadata_max_age_us=age_us)
        overrides.append(replace(one, rack=rack, client=config))
    return replace(group, overrides=tuple(overrides))
