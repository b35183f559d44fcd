"""Topics that are created or grow: when coordinators hear of it, in both fidelities alike."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import pytest

from groupsim.sim import Result, simulate
from groupsim.sim.cluster.groups.group_host import GroupHost
from groupsim.sim.config import ClientConfig, EventTimes, Timing
from groupsim.sim.model import (
    AddPartitions,
    Broker,
    CreateTopic,
    Distribution,
    Entry,
    Kill,
    Override,
    Reassign,
    Scenario,
    Subscription,
    Target,
    Topic,
)
from groupsim.sim.units import MS, S
from tests.support.coordinators import moved
from tests.support.fidelity import differences
from tests.support.scenarios import LOOPBACK, TIMING, at, client, group, rounds, scenario

GROWN_US = 60 * S
CONSUMER = client(group_protocol="consumer")
GROWS = at(GROWN_US, AddPartitions(topic="t", to=24))


def heard_after(heard_us: int, each_us: int = 0) -> Timing:
    """What it takes until a broker has heard of a change, and has made each partition that it leads."""
    constant = Distribution.constant
    return replace(TIMING, metadata=constant(heard_us), leader_change=constant(each_us))


def world(*timeline: Entry, timing: Timing, who: ClientConfig = CONSUMER, brokers: int = 1) -> Scenario:
    """Three members; topic ``t`` has twelve partitions at first."""
    return scenario(
        group(3, client=who), *timeline, horizon_us=100 * S, timing=timing, brokers=brokers, rate_mrps=1_000,
        latency=LOOPBACK,
    )  # fmt: skip


def told(one: Scenario) -> list[tuple[int, int]]:
    """When coordinators heard of topics, microseconds, and how many partitions ``t`` had then."""
    found, hear = [], GroupHost.on_metadata

    def heard(self: GroupHost, image: dict[str, int]) -> None:
        found.append((self._env.now, image["t"]))
        hear(self, image)

    with patch.object(GroupHost, "on_metadata", heard):
        simulate(one, seed=1)
    return found


def last_round(result: Result) -> int:
    return rounds(result)[-1].start_us


@pytest.mark.parametrize(("brokers", "led"), [(1, 12), (3, 4)])
def test_a_coordinator_hears_of_partitions_when_its_broker_has_made_those_that_it_leads(brokers: int, led: int) -> None:
    one = world(GROWS, timing=heard_after(40 * MS, 25 * MS), brokers=brokers)
    assert told(one) == [(GROWN_US + (40 + led * 25) * MS, 24)]


def test_news_come_in_order() -> None:
    """What is heard at once waits until the broker has made what it was told of before."""
    second = at(GROWN_US + 100 * MS, AddPartitions(topic="t", to=25))
    one = world(GROWS, second, timing=heard_after(0, 100 * MS))
    assert told(one) == [(GROWN_US + 1_200 * MS, 24), (GROWN_US + 1_300 * MS, 25)]


def test_news_wait_for_their_turn_in_a_busy_shard() -> None:
    """Three heartbeats of 1.5 s each every 5 s: at most these are worked on before."""
    one = world(GROWS, timing=heard_after(40 * MS))
    busy = replace(one, cluster=replace(one.cluster, event_times=EventTimes(consumer_heartbeat_us=1_500 * MS)))
    ((heard_us, _),) = told(busy)
    assert GROWN_US + 40 * MS < heard_us <= GROWN_US + 40 * MS + 4_500 * MS


def test_the_group_goes_on_with_a_heartbeat_that_comes_after_its_coordinator_has_heard() -> None:
    early, late = (simulate(world(GROWS, timing=heard_after(us)), seed=1) for us in (0, 12 * S))
    assert GROWN_US < last_round(early) <= GROWN_US + 5 * S
    assert GROWN_US + 12 * S < last_round(late) <= GROWN_US + 17 * S


def test_members_of_the_classic_protocol_look_for_themselves() -> None:
    """No coordinator hears of anything, and no broker's way to hear of it is an event."""
    quick, slow = (world(GROWS, timing=heard_after(us), who=client(metadata_max_age_us=10 * S)) for us in (0, 20 * S))
    assert told(quick) == []
    assert simulate(quick, seed=1).manifest["digests"] == simulate(slow, seed=1).manifest["digests"]


def test_a_coordinator_that_is_loaded_knows_what_its_broker_knows() -> None:
    """Partitions that are added just before are news to it, as to any other."""
    killed = at(30 * S, Kill(target=Target("broker", "coordinator/g")))
    timing = heard_after(S)
    (loaded_s,) = moved(world(killed, timing=timing, brokers=3), seed=1).loaded_s
    grown_us = round(loaded_s * S) - 100 * MS
    one = world(killed, at(grown_us, AddPartitions(topic="t", to=24)), timing=timing, brokers=3)
    assert told(one) == [(grown_us + S, 24)]
    assert last_round(simulate(one, seed=1)) > grown_us + S


def test_a_shard_that_is_loading_is_not_told() -> None:
    """It knows what its broker knows by then."""
    killed = at(30 * S, Kill(target=Target("broker", "coordinator/g")))
    slow = replace(world(killed, timing=heard_after(S), brokers=3))
    slow = replace(slow, cluster=replace(slow.cluster, offsets_log_bytes=1 << 30))
    (loaded_s,) = moved(slow, seed=1).loaded_s
    grown_us = round(loaded_s * S) - 3 * S
    one = replace(slow, timeline=(killed, at(grown_us, AddPartitions(topic="t", to=24))))
    assert told(one) == []
    assert round(loaded_s * S) < last_round(simulate(one, seed=1)) <= round(loaded_s * S) + 5 * S


def test_a_broker_that_starts_again_has_read_what_it_missed() -> None:
    """Nobody tells it of the partitions: it was down when they came. It hears that it leads, and knows all by then."""
    down = at(GROWN_US - S, Kill(target=Target("broker", "coordinator/g"), down=Distribution.constant(5 * S)))
    one = world(down, GROWS, timing=heard_after(7 * S))
    assert [count for _, count in told(one)] == []
    assert GROWN_US < last_round(simulate(one, seed=1)) < 90 * S


MIXED = (Override(members=frozenset({0}), client=client()),)


@pytest.mark.property
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("case", ["consumer", "metered", "pattern", "mixed", "killed", "drawn"])
def test_both_fidelities_hear_alike(case: str, seed: int) -> None:
    created = at(GROWN_US + 3 * S, CreateTopic(topic=Topic(name="t2", partitions=6)))
    timing = Timing() if case == "drawn" else heard_after((seed * 1_700 + 40) * MS, (seed * 90 + 20) * MS)
    one = world(GROWS, created, timing=timing, brokers=3)
    if case == "pattern":
        one = replace(one, groups=(replace(one.groups[0], subscription=Subscription(re2="t.*")),))
    elif case == "mixed":
        one = replace(one, groups=(replace(one.groups[0], overrides=MIXED),))
    elif case == "metered":
        times = EventTimes(consumer_heartbeat_us=500 * MS)
        one = replace(one, cluster=replace(one.cluster, event_times=times))
    elif case == "killed":
        killed = at(GROWN_US + S, Kill(target=Target("broker", "coordinator/g"), down=Distribution.constant(8 * S)))
        one = replace(one, timeline=(*one.timeline, killed))
    assert differences(one, seed) == []


# --- replicas that move to other racks --------------------------------------------------------------------------------


def moving(replicas: tuple[int, ...], version: str = "4.4", racks: str = "aabc") -> Scenario:
    """Partitions 0 and 1, which brokers 0 and others hold, are copied somewhere else for seconds."""
    move = Reassign(topic="t", partitions=(0, 1), replicas=replicas, throttle_bytes_per_s=10_000)
    one = world(at(GROWN_US, move), timing=heard_after(40 * MS), brokers=4)
    brokers = tuple(Broker(id=number, rack=rack.strip()) for number, rack in enumerate(racks))
    config = replace(one.cluster.config, version=version)
    cluster = replace(one.cluster, brokers=brokers, config=config)
    topics = tuple(replace(topic, replication_factor=2) for topic in one.topics)
    return replace(one, cluster=cluster, topics=topics)


def bumps(one: Scenario) -> list[int]:
    """When the group had another epoch after partitions began to move, microseconds."""
    result = simulate(one, seed=1)
    assert differences(one, 1) == []
    return [round_.start_us for round_ in rounds(result) if round_.start_us > GROWN_US]


def test_replicas_on_other_racks_bump_the_epoch_while_they_are_copied_and_when_they_are_there() -> None:
    """The racks of all replicas of a partition count (``Utils.computeTopicHash``, Kafka 4.4), not their brokers."""
    begun, done = bumps(moving((2, 3)))
    assert begun < GROWN_US + 6 * S < done
    assert bumps(moving((2, 3), racks="    ")) == [], "no broker has a rack"


def test_before_4_1_racks_did_not_count() -> None:
    assert bumps(moving((2, 3), version="4.0")) == []
