"""Consumers that read from the replica in their rack (KIP-392): whom leaders name, until when clients keep to it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from groupsim.sim import simulate
from groupsim.sim.model import AddPartitions, Distribution, Kill, Reassign, Restart, Scenario, Target
from groupsim.sim.protocol.replica_selector import read_replica
from groupsim.sim.units import MS, S
from tests.support.fidelity import differences
from tests.support.racks import RECORD_BYTES, far, parted, racks
from tests.support.scenarios import at

FETCH_BACKOFF_US = 1 * S
"""``replica.fetch.backoff.ms``."""
IN_RACKS = {0: "rack-a", 1: "rack-a", 2: "rack-b", 3: "rack-b"}


@pytest.mark.parametrize(
    ("rack", "leader", "in_sync", "told"),
    [
        pytest.param("rack-a", 0, (0, 1, 2, 3), 0, id="the leader is in the rack"),
        pytest.param("rack-a", 1, (0, 1, 2, 3), 1, id="the leader is in the rack, and another one, too"),
        pytest.param("rack-b", 0, (0, 1, 2, 3), 3, id="two are in the rack and as far"),
        pytest.param("rack-b", 0, (0, 1, 2), 2, id="one of them is not in sync"),
        pytest.param("rack-b", 0, (0, 1), 0, id="nobody in the rack is in sync"),
        pytest.param("not-a-rack", 0, (0, 1, 2, 3), 0, id="no replica is in the rack"),
        pytest.param("", 3, (0, 1, 2, 3), 3, id="the client has no rack"),
    ],
)
def test_whom_a_leader_names(rack: str, leader: int, in_sync: Collection[int], told: int) -> None:
    """``ReplicaSelectorTest``, Kafka 4.4, with replicas that have the same records."""
    assert read_replica(rack, leader, in_sync, IN_RACKS) == told


def first_us(scenario: Scenario) -> dict[int, int]:
    """Partition -> when it was read first."""
    table = simulate(scenario).tables["ownership"]
    return {int(row.partition): int(row.from_us) for row in table.itertuples()}


def test_a_follower_is_read_one_round_trip_after_its_leader_was_asked() -> None:
    leaders, followers = first_us(racks(is_rack_aware=False)), first_us(racks())
    later = {partition: followers[partition] - leaders[partition] for partition in leaders}
    timing = racks().cluster.timing
    trip_us = 2 * int(racks().cluster.network.latency.values[0]) + timing.service_us
    is_far = far(racks())
    assert later == {partition: trip_us if partition in is_far else 0 for partition in range(12)}


@pytest.mark.parametrize("fidelity", ["elided", "message"])
def test_who_rebalances_waits_for_the_fetch_that_began_when_a_follower_showed_a_record(fidelity: Any) -> None:
    """Member 0 reads partitions 8 to 11 from broker 0, gives them up for a rebalance, and reads 6 to 11 there."""
    killed = at(20 * S, Kill(target=Target("group", "g", "index", (1,)), down=None))
    table = simulate(racks(killed, rate_mrps=300), fidelity=fidelity).tables["ownership"]
    begun = table[(table.member == "g/0") & (table.from_us > 20 * S)].groupby("partition").from_us.first()
    way_us, service_us = 500, 300
    # The last one that was seen there is the ninth of partition 10, which begins with 83 of 1,000 (it takes turns).
    # Nothing that the follower copies from its leader comes within half a second.
    produced_us = -(-(9_000 - 83) * S // 300)
    seen_us = produced_us + 500 * MS + 3 * way_us
    parked_until_us = seen_us + 500 * MS + 2 * way_us + service_us
    assert set(begun) == {parked_until_us + service_us + way_us, parked_until_us + 2 * service_us + 3 * way_us}


def gaps(scenario: Scenario, since_us: int) -> dict[str, list[tuple[int, int]]]:
    """Member -> when its partitions were not read after an instant, from the stretches in which they were."""
    table = simulate(scenario).tables["ownership"].sort_values(["partition", "from_us"])
    found: dict[str, list[tuple[int, int]]] = {}
    for _, rows in table.groupby("partition"):
        for ended, begun, name in zip(rows.to_us[:-1], rows.from_us[1:], rows.member[1:], strict=True):
            if ended >= since_us:
                found.setdefault(name, []).append((int(ended), int(begun)))
    return found


def crossed(scenario: Scenario) -> dict[str, float]:
    """Member -> seconds of its four partitions' production that came from other racks."""
    rows = simulate(scenario).tables.rows("members")
    return {row["member"]: row["cross_rack_bytes"] / (4 * 10 * RECORD_BYTES) for row in rows}


def restart(time_us: int, node: int, down_us: int) -> Any:
    return at(time_us, Restart(target=Target("broker", str(node)), down=Distribution.constant(down_us)))


def test_a_follower_that_is_closed_is_left_and_read_again_once_in_sync() -> None:
    scenario = racks(restart(20 * S, 1, 10 * S))
    left = gaps(scenario, 20 * S)
    of_follower = [end - begin for begin, end in left["g/1"]]
    assert len(left["g/1"]) == 4
    assert max(of_follower) < FETCH_BACKOFF_US + 500 * MS, "replicas of new leaders may be refused once"
    share = crossed(scenario)
    assert (share["g/0"], share["g/2"]) == (0, 0)
    assert 15 < share["g/1"] < 18, "down for 10 s, then 6 s until it runs, and up to 1 s until it is in sync"


def test_a_follower_that_is_cut_off_from_leaders_is_kept_to_until_metadata_are_too_old() -> None:
    """It leaves the ISR after 30 s; who reads from it asks the leader every metadata.max.age.ms only."""
    age_us = 120 * S
    cut = parted(20 * S, 100 * S, "broker:0", "broker:1")
    found = gaps(racks(cut, horizon_us=180 * S, metadata_max_age_us=age_us), 20 * S)
    away = {name: max(end for _, end in rows) - 20 * S for name, rows in found.items() if rows}
    assert 30 * S < away["g/2"] < 45 * S, "its partitions wait for the ISR to shrink"
    assert 99 * S < away["g/1"] < 101 * S or 99 * S < away["g/0"] < 101 * S, "until the cut is over"


def test_metadata_that_are_refreshed_often_end_that() -> None:
    cut = parted(20 * S, 100 * S, "broker:0", "broker:1")
    found = gaps(racks(cut, horizon_us=180 * S, metadata_max_age_us=5 * S), 20 * S)
    assert max(end - 20 * S for rows in found.values() for _, end in rows) < 50 * S


def test_who_is_cut_off_from_leaders_reads_on_from_followers_until_metadata_are_too_old() -> None:
    age_us = 30 * S
    scenario = racks(parted(20 * S, 8 * S, "1", "broker:2"), metadata_max_age_us=age_us)
    assert not gaps(scenario, 19 * S), "nothing was asked for meanwhile"
    longer = racks(parted(20 * S, 25 * S, "1", "broker:2"), metadata_max_age_us=age_us)
    begun = first_us(racks(metadata_max_age_us=age_us))
    found = gaps(longer, 19 * S)
    assert set(found) == {"g/1"}
    expiry = {time + age_us for time in begun.values()}
    assert {begin for begin, _ in found["g/1"]} <= expiry
    assert all(end == 45 * S for _, end in found["g/1"])


def test_who_is_cut_off_from_its_follower_does_not_get_anything_from_the_leader() -> None:
    found = gaps(racks(parted(20 * S, 10 * S, "1", "broker:1")), 19 * S)
    assert found == {"g/1": [(20 * S, 30 * S)] * 4}


def test_a_broker_dies_before_clients_have_heard_of_new_partitions() -> None:
    grown, killed = AddPartitions(topic="t", to=16), Kill(target=Target("broker", "1"))
    scenario = racks(at(20 * S, grown), at(22 * S, killed))
    assert set(first_us(scenario)) == set(range(12))
    assert not differences(scenario, 1)


def test_a_replica_that_is_taken_away_is_left_at_once() -> None:
    move = at(20 * S, Reassign(topic="t", partitions=tuple(range(12)), replicas=(0, 2)))
    share = crossed(racks(move, horizon_us=120 * S))
    assert (share["g/0"], share["g/2"]) == (0, 0)
    assert share["g/1"] > 80


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(at(20 * S, Kill(target=Target("broker", "1"), down=Distribution.constant(5 * S))), id="kill"),
        pytest.param(restart(20 * S, 0, 5 * S), id="restart"),
        pytest.param(parted(20 * S, 40 * S, "broker:0", "broker:1"), id="followers"),
        pytest.param(parted(20 * S, 15 * S, "1", "broker:0"), id="leader"),
        pytest.param(at(20 * S, Kill(target=Target("group", "g", "index", (1,)), down=None)), id="member"),
    ],
)
def test_both_fidelities_agree(entry: Any) -> None:
    assert not differences(racks(entry, horizon_us=80 * S, metadata_max_age_us=20 * S), 1)
