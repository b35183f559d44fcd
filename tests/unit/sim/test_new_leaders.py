"""From a leader that is gone to the next one: known before it leads, refused until then, and read when it can be."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from groupsim.sim import Result, simulate
from groupsim.sim.catalog import Announcement, Catalog
from groupsim.sim.cluster.groups.coordinator import partition_for
from groupsim.sim.cluster.loading import Loading
from groupsim.sim.config import BrokerConfig, ClientBehaviour
from groupsim.sim.model import Close, Distribution, Kill, Restart, Scenario, Target, Topic, Verb
from groupsim.sim.simulation import Fidelity
from groupsim.sim.units import FOREVER, MS, S
from tests.support.coordinators import moved
from tests.support.fidelity import differences
from tests.support.scenarios import TIMING, at, client, group, pause, scenario

FAULT_US = 30 * S
WAY_US = MS
SERVICE_US = TIMING.service_us
HEARD_US, LEAVING_US = 30 * MS, 70 * MS
BROKER = Target("broker", "1")
CONSUMER = {"group_protocol": "consumer", "group_remote_assignor": "range"}


def world(verb: Verb, each_us: int, *, partitions: int = 3, replicas: int = 3, **of_client: Any) -> Scenario:
    """Something happens to one of three brokers; who takes over a partition needs ``each_us`` for it."""
    config = BrokerConfig(leader_imbalance_check_us=FOREVER)
    timing = replace(TIMING, metadata=Distribution.constant(HEARD_US), leader_change=Distribution.constant(each_us))
    made = scenario(
        group(3, client=client(**of_client)), at(FAULT_US, verb), horizon_us=60 * S, rate_mrps=10_000, brokers=3,
        partitions=partitions, timing=timing, latency=Distribution.constant(WAY_US),
    )  # fmt: skip
    failover = replace(made.cluster.failover, controlled_shutdown=Distribution.constant(LEAVING_US))
    (topic,) = made.topics
    made = replace(made, topics=(replace(topic, replication_factor=replicas),))
    return replace(made, cluster=replace(made.cluster, broker_config=config, failover=failover))


def resumed(result: Result, partitions: int = 3) -> dict[int, tuple[int, int]]:
    """Partition whose leader is another one now -> since when it can be read, and when it is, microseconds."""
    rows = result.tables["unavailability"]
    rows = rows[(rows.from_us >= FAULT_US) & (rows.cause == "resume")]
    return {one.partition: (one.from_us, one.to_us) for one in rows.itertuples() if one.partition in led(partitions)}


def led(partitions: int) -> set[int]:
    """Partitions that the broker leads at first."""
    topic = Topic(name="t", partitions=partitions, replication_factor=3)
    leaders = Catalog((topic,), (0, 1, 2)).leaders("t", range(partitions))
    return {number for number, leader in enumerate(leaders) if leader == 1}


MOVED = led(3)
COORDINATOR = Catalog((), (0, 1, 2)).offsets_replicas(partition_for("g", 50), 3)[0]
STRANGER = next(node for node in range(3) if node != COORDINATOR)


@pytest.mark.parametrize("fidelity", ["elided", "message"])
@pytest.mark.parametrize("how", [Close, Kill])
def test_who_knows_the_leader_before_it_serves_reads_a_way_after_the_high_watermark_moves(
    how: type[Close | Kill], fidelity: Fidelity
) -> None:
    """The fetch is parked there: whoever follows has more to take over than who leads."""
    found = resumed(simulate(world(how(target=BROKER), 500 * MS, partitions=12), fidelity=fidelity), 12)
    assert len(found) == 4
    assert {to - since for since, to in found.values()} == {SERVICE_US + WAY_US}


@pytest.mark.parametrize("each_us", [0, 2 * MS, 20 * MS, 45 * MS])
def test_a_leader_that_does_not_lead_yet_refuses_and_is_asked_again_after_the_backoff(
    monkeypatch: pytest.MonkeyPatch, each_us: int
) -> None:
    """Nobody is left who follows: the high watermark moves when it leads."""
    announced = _heard(monkeypatch)
    found = resumed(simulate(world(Close(target=BROKER), each_us, replicas=2)))
    assert set(found) == MOVED
    for number, (served_us, begun_us) in found.items():
        former, heard_us, led_us = announced["t", number]
        asked = heard_us[former] + 2 * WAY_US
        while asked < led_us:
            asked += 2 * WAY_US + SERVICE_US + client().retry_backoff_us
        assert begun_us == max(asked + SERVICE_US + 2 * WAY_US, served_us) + SERVICE_US + WAY_US


def _heard(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, int], Announcement]:
    """What is announced, the first time."""
    announced: dict[tuple[str, int], Announcement] = {}
    move = Loading._announce

    def listen(self: Loading, *parts: Any) -> None:
        move(self, *parts)
        for name, told in self._catalog.announced.items():
            announced.setdefault(name, told)

    monkeypatch.setattr(Loading, "_announce", listen)
    return announced


def test_clients_that_are_refused_ask_for_metadata_before_3_7() -> None:
    new, old = (
        resumed(simulate(world(Close(target=BROKER), 0, behaviour=ClientBehaviour(leader_in_fetch_response=knows))))
        for knows in (True, False)
    )
    assert {old[one][1] - new[one][1] for one in MOVED} == {2 * WAY_US + SERVICE_US}


@pytest.mark.parametrize("fidelity", ["elided", "message"])
def test_a_broker_that_leaves_holds_up_what_others_lead_until_they_have_heard_of_it(fidelity: Fidelity) -> None:
    rows = simulate(world(Close(target=BROKER), 0, partitions=12), fidelity=fidelity).tables["unavailability"]
    others = rows[(rows.from_us >= FAULT_US) & ~rows.partition.isin(led(12))]
    decided_us = FAULT_US + LEAVING_US
    heard_us = decided_us + HEARD_US
    stretches = sorted((one.cause, one.from_us, one.to_us) for one in others.itertuples())
    held_up = [("detection", decided_us, heard_us)] * 8
    assert stretches == [*held_up, *[("resume", heard_us, heard_us + WAY_US)] * 8]


@pytest.mark.parametrize("fidelity", ["elided", "message"])
def test_a_broker_that_comes_back_holds_up_nobody(fidelity: Fidelity) -> None:
    """What others lead changes once more when it is in sync again, and that it left in good order is over."""
    made = world(Restart(target=BROKER, down=Distribution.constant(5 * S)), 0, partitions=12)
    rows = simulate(made, fidelity=fidelity).tables["unavailability"]
    assert not ((rows.from_us > FAULT_US + 2 * S) & ~rows.partition.isin(led(12))).any()


def test_who_reads_from_a_broker_that_leaves_goes_to_the_leader() -> None:
    """And not when its preference is over, five minutes later."""
    made = world(Close(target=BROKER), 0, partitions=12)
    brokers = tuple(replace(one, rack=rack) for one, rack in zip(made.cluster.brokers, "abc", strict=True))
    (reader,) = made.groups
    reader = replace(reader, client=replace(reader.client, client_rack="b"))
    config = replace(made.cluster.broker_config, is_rack_aware=True)
    made = replace(made, groups=(reader,), cluster=replace(made.cluster, brokers=brokers, broker_config=config))
    rows = simulate(made).tables["unavailability"]
    rows = rows[rows.from_us >= FAULT_US]
    assert rows.partition.nunique() == 12
    assert (rows.to_us < FAULT_US + S).all()


def test_commits_to_a_coordinator_that_stays_wait_while_another_broker_leaves() -> None:
    each = {"enable_auto_commit": True, "auto_commit_interval_us": 50 * MS}
    made = world(Close(target=Target("broker", str(STRANGER))), 30 * MS, **each)
    times = [time for time in moved(made, seed=1).committed_s if time > FAULT_US / S - 1]
    gaps = sorted((later - one, one) for one, later in pairwise(times))
    assert gaps[-2][0] < 0.11
    assert gaps[-1] == (pytest.approx(0.294, abs=0.001), pytest.approx((FAULT_US + LEAVING_US) / S, abs=0.06))


def test_who_is_connected_to_a_dead_broker_finds_the_next_leader_with_its_backoff() -> None:
    (found,) = resumed(simulate(world(Kill(target=BROKER), 0))).values()
    longest = client().retry_backoff_max_us + 8 * WAY_US
    assert 4 * WAY_US < found[1] - found[0] < longest


def test_who_stood_still_when_the_leader_could_be_read_begins_to_ask_then() -> None:
    made = world(Close(target=BROKER), 0)
    still = replace(made, timeline=(*made.timeline, pause(FAULT_US - S, 4 * S, 0, 1, 2)))
    (found,) = resumed(simulate(still)).values()
    assert found[1] == FAULT_US + 3 * S + 2 * (2 * WAY_US + SERVICE_US)


@pytest.mark.parametrize("of_client", [{}, CONSUMER], ids=["classic", "consumer"])
@pytest.mark.parametrize("how", [Close, Kill])
def test_both_fidelities_agree_on_who_stands_still_while_leaders_change(
    how: type[Close | Kill], of_client: dict[str, str]
) -> None:
    made = world(how(target=BROKER), 40 * MS, **of_client)
    paused = [pause(FAULT_US + after_us, 3 * S, number) for number, after_us in enumerate((-S, S, 8 * S))]
    assert not differences(replace(made, timeline=(*made.timeline, *paused)), 1)


@pytest.mark.parametrize("fidelity", ["elided", "message"])
def test_two_brokers_that_leave_one_after_the_other_each_hold_up_what_they_follow(fidelity: Fidelity) -> None:
    """The second leaves before others have heard of the first: what both follow waits for the news of the second."""
    first, second, apart_us = 1, 2, HEARD_US // 3
    made = world(Close(target=Target("broker", str(first))), 0, partitions=24, replicas=3)
    again = at(FAULT_US + apart_us, Close(target=Target("broker", str(second))))
    brokers = tuple(replace(made.cluster.brokers[0], id=number) for number in range(5))
    made = replace(made, timeline=(*made.timeline, again), cluster=replace(made.cluster, brokers=brokers))
    rows = simulate(made, fidelity=fidelity).tables["unavailability"]
    rows = rows[(rows.from_us >= FAULT_US) & (rows.cause == "detection")]
    gaps_of = rows.groupby("partition")
    found = {
        number: (begin - FAULT_US, end - FAULT_US)
        for number, begin, end in zip(gaps_of.groups, gaps_of.from_us.min(), gaps_of.to_us.max(), strict=True)
    }
    assert sum(end - begin for begin, end in found.values()) == (rows.to_us - rows.from_us).sum(), "one gap each"
    catalog = Catalog(made.topics, range(5))
    for number in range(24):
        followed = [node for node in catalog.replicas("t", number)[1:] if node in (first, second)]
        leaves_us = {first: LEAVING_US, second: LEAVING_US + apart_us}
        expected = (leaves_us[min(followed)], leaves_us[max(followed)] + HEARD_US) if followed else None
        if catalog.replicas("t", number)[0] not in (first, second):
            assert found.get(number) == expected


@pytest.mark.parametrize("loss", [0.0, 0.1])
def test_refusals_that_are_worked_out_together_are_those_of_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch, loss: float
) -> None:
    """Seconds of them; three at a time, all at once, or (0) each by itself, with the same latencies drawn."""
    made = world(Kill(target=BROKER), 2 * S, partitions=12)
    network = replace(made.cluster.network, latency=Distribution("lognormal", (MS, 9 * MS)), loss=loss)
    made = replace(made, cluster=replace(made.cluster, network=network), horizon_us=90 * S)
    assert resumed(simulate(made), 12).keys() == led(12)
    found = []
    for together in (0, 3, 256):
        monkeypatch.setattr("groupsim.sim.client.fetching.leader_search._MOST_AT_ONCE", together)
        found.append(simulate(made).manifest["digests"])
    assert found[0] == found[1] == found[2]


def test_who_waits_for_a_leader_that_nobody_elects_sends_its_heartbeats_quietly() -> None:
    """Each of three members reads on what others lead, for half an hour in which next to nothing is an event."""
    made = world(Kill(target=BROKER), 0, partitions=9, replicas=1, enable_auto_commit=True)
    made = replace(made, sample_every_us=1800 * S)
    longer, short = simulate(replace(made, horizon_us=1800 * S)), simulate(made)
    rows = longer.tables["unavailability"]
    assert set(rows[rows.to_us == 1800 * S].cause) == {"detection"}
    assert longer.manifest["events"] - short.manifest["events"] <= 9
    assert not differences(replace(made, horizon_us=300 * S), 1)


@pytest.mark.parametrize("partitions", [3, 9])
def test_who_has_waited_for_a_leader_commits_what_it_reads_again(partitions: int) -> None:
    """A member with one partition, too, which has none to read meanwhile."""
    verb = Kill(target=BROKER, down=Distribution.constant(60 * S))
    made = world(verb, 0, partitions=partitions, replicas=1, enable_auto_commit=True)
    made = replace(made, horizon_us=180 * S)
    rows = simulate(made).tables["unavailability"]
    assert FAULT_US + 60 * S < rows.to_us.max() < made.horizon_us
    assert not differences(made, 1)
