"""Random scenarios with few records: what is asked of brokers waits behind fetches that are parked there.

A record every ten seconds to five a second, the same in all partitions or not; two to four brokers; any
``fetch.max.wait.ms``.
"""

from __future__ import annotations

import random
from dataclasses import replace

from groupsim.sim.model import Broker, Rate, Scenario, SetRate, Topic
from groupsim.sim.units import MS, S

_RATES_MRPS = (0, 100, 300, 1_000, 2_000, 5_000)
_WAITS_US = (0, 30 * MS, 500 * MS, 500 * MS, 2 * S)


def with_slow_topics(scenario: Scenario, seed: int) -> Scenario:
    """The same scenario with little to read, the same for the same seed."""
    chance = random.Random(f"slow-{seed}")
    cluster = replace(scenario.cluster, brokers=tuple(Broker(id=number) for number in range(chance.randint(2, 4))))
    groups = tuple(
        replace(group, client=replace(group.client, fetch_max_wait_us=chance.choice(_WAITS_US)))
        for group in scenario.groups
    )
    timeline = tuple(
        replace(entry, verb=replace(entry.verb, rate=_rate(chance))) if isinstance(entry.verb, SetRate) else entry
        for entry in scenario.timeline
    )
    return replace(
        scenario,
        cluster=cluster,
        topics=tuple(_slow(topic, chance) for topic in scenario.topics),
        groups=groups,
        timeline=timeline,
    )


def _slow(topic: Topic, chance: random.Random) -> Topic:
    return replace(topic, rate=_rate(chance))


def _rate(chance: random.Random) -> Rate:
    """All partitions alike, or each at a rate of its own."""
    if chance.random() < 0.5:
        return Rate(per_partition_mrps=((chance.choice(_RATES_MRPS),),))
    return Rate(per_partition_mrps=(tuple(chance.choice(_RATES_MRPS) for _ in range(12)),))
