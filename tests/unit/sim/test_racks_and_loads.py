"""Assignors that look at racks, rates and capacities are told them in a simulation."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from groupsim.sim import Result
from groupsim.sim.config import ClientBehaviour, ClientConfig
from groupsim.sim.model import Broker, Override, Processing, Rate, Scenario
from groupsim.sim.units import MS
from tests.unit.sim.scenes import CLIENT, FIDELITIES, PROCESSING, group, lasting, rows, scene, simulate

BROKERS = (Broker(id=0, rack="a"), Broker(id=1, rack="b"), Broker(id=2, rack="c"))
both = pytest.mark.parametrize("fidelity", FIDELITIES)


def in_racks(client: ClientConfig, *, replication_factor: int) -> Scenario:
    """Three members, one in each rack, and nine partitions."""
    overrides = tuple(
        Override(members=frozenset((index,)), client=replace(client, client_rack=rack))
        for index, rack in enumerate("abc")
    )
    made = scene(group(count=3, client=client, overrides=overrides), partitions=9)
    topic = replace(made.topics[0], replication_factor=replication_factor)
    return replace(made, topics=(topic,), cluster=replace(made.cluster, brokers=BROKERS))


def owners(result: Result) -> dict[int, str]:
    return {one["partition"]: one["member"] for one in rows(result, "ownership", ended_by="horizon")}


def near(result: Result) -> int:
    """Partitions that are read by a member in the rack of their leader: every third one has the same."""
    readers = [Counter(member for partition, member in owners(result).items() if partition % 3 == n) for n in range(3)]
    return sum(max(counts.values()) for counts in readers)


@both
def test_range_reads_nearby_if_racks_make_a_difference(fidelity: str) -> None:
    """One replica: each member gets the three partitions that its rack leads, every third one."""
    result = simulate(in_racks(CLIENT, replication_factor=1), fidelity)
    assert near(result) == 9


@both
def test_range_does_not_look_at_racks_if_every_rack_has_everything(fidelity: str) -> None:
    result = simulate(in_racks(CLIENT, replication_factor=3), fidelity)
    assert len({owners(result)[partition] for partition in range(3)}) == 1, "the first three, whoever leads them"


@both
def test_clients_before_3_5_do_not_tell_their_rack(fidelity: str) -> None:
    old = replace(CLIENT, behaviour=ClientBehaviour(rack_in_subscription=False))
    result = simulate(in_racks(old, replication_factor=1), fidelity)
    assert len({owners(result)[partition] for partition in range(3)}) == 1, "the first three, whoever leads them"


@both
def test_leader_rack_reads_from_leaders_nearby_however_many_replicas_there_are(fidelity: str) -> None:
    result = simulate(
        in_racks(replace(CLIENT, partition_assignment_strategy=("leader-rack",)), replication_factor=3), fidelity
    )
    assert near(result) == 9


WEIGHTED = replace(CLIENT, partition_assignment_strategy=("weighted",))


@both
def test_weighted_spreads_what_is_produced(fidelity: str) -> None:
    """One partition as hot as the three others together: it has a member of its own."""
    rate = Rate(per_partition_mrps=((30_000, 10_000, 10_000, 10_000),))
    result = simulate(scene(group(count=2, client=WEIGHTED), rate=rate), fidelity)
    found = owners(result)
    assert found[1] == found[2] == found[3] != found[0]


@both
def test_weighted_gives_more_to_who_is_faster(fidelity: str) -> None:
    """One member processes three times as much as the other: three equal partitions against one."""
    slow = Override(members=frozenset((1,)), processing=replace(PROCESSING, per_record=lasting(3 * MS)))
    fast = Processing(per_record=lasting(1 * MS), per_poll_us=PROCESSING.per_poll_us)
    result = simulate(scene(group(count=2, client=WEIGHTED, processing=fast, overrides=(slow,))), fidelity)
    assert Counter(owners(result).values()) == {"g/0": 3, "g/1": 1}
