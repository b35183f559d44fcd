"""Random scenarios whose groups begin aged: other families, whose members have been there for long when it begins.

What happens to the groups is what the family has, four times as fast.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from groupsim.sim.model import Group, Override, Processing, Scenario, SetRate, Start
from groupsim.sim.units import MINUTE, MS, S
from tests.support.consumer_scenarios import FAMILIES, Protocols, consumer_scenario

_AGES_US = (10 * S, 17 * S + 1, 90 * S, 6 * MINUTE, 24 * 60 * MINUTE)
_LOUD = 4
"""So many of these for groups of both protocols, in whose past every request is an event."""
_HURRY = 4
_MRPS_MAX = 10_000


def stable_scenario(seed: int, family: str, protocols: Protocols | None = None) -> Scenario:
    """One scenario of a family, the same for the same seed; with ``protocols`` converted to these."""
    chance = random.Random(f"stable-{family}-{seed}")
    world = FAMILIES[family](seed) if protocols is None else consumer_scenario(seed, family, protocols)
    ages = _AGES_US[:_LOUD] if protocols == "mixed" else _AGES_US
    config = replace(world.cluster.config, max_size=1_000, consumer_max_size=1_000)
    return replace(
        world,
        name=f"stable-{world.name}",
        horizon_us=world.horizon_us // _HURRY,
        cluster=replace(world.cluster, config=config),
        topics=tuple(replace(topic, rate=_slower(topic.rate)) for topic in world.topics),
        groups=tuple(_group(one, chance.choice(ages)) for one in world.groups),
        timeline=tuple(
            replace(entry, at_us=(entry.at_us or 0) // _HURRY, verb=_verb(entry.verb)) for entry in world.timeline
        ),
        measure_from_us=world.measure_from_us // _HURRY,
        sample_every_us=min(world.sample_every_us, S),
    )


def _verb(verb: Any) -> Any:
    return replace(verb, rate=_slower(verb.rate)) if isinstance(verb, SetRate) else verb


def _slower(rate: Any) -> Any:
    """No more than the slowest of members keeps up with."""
    return replace(
        rate, per_partition_mrps=tuple(tuple(min(one, _MRPS_MAX) for one in row) for row in rate.per_partition_mrps)
    )


def _group(group: Group, age_us: int) -> Group:
    """Has been there for so long; passes are long enough for each to be gone through."""
    return replace(
        group,
        members=replace(group.members, start=Start(kind="aged", value_us=age_us)),
        client=replace(group.client, max_poll_records=500),
        processing=_longer(group.processing),
        overrides=tuple(_override(one) for one in group.overrides),
    )


def _override(one: Override) -> Override:
    client, processing = one.client, one.processing
    return replace(
        one,
        client=client and replace(client, max_poll_records=500),
        processing=processing and _longer(processing),
    )


def _longer(processing: Processing) -> Processing:
    return replace(processing, per_poll_us=max(processing.per_poll_us, 100 * MS))
