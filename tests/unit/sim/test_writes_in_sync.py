"""What a group writes waits for the followers that are in sync, by the links of the broker that leads."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupsim.sim import simulate
from groupsim.sim.catalog import Catalog
from groupsim.sim.cluster.groups.coordinator import partition_for
from groupsim.sim.config import BrokerConfig, ClientConfig, Timing
from groupsim.sim.model import ZERO, Cut, Distribution, Entry, Kill, Link, Scenario, StartMembers
from groupsim.sim.randomness import Streams
from groupsim.sim.simulation import Fidelity
from groupsim.sim.units import FOREVER, MS, S
from tests.support.dying_logs import broker
from tests.support.fidelity import differences
from tests.support.scenarios import LOOPBACK, TIMING, Round, at, client, cooperative, group, join, rounds, scenario

METADATA_US = 10 * MS
BY_LATENCY = replace(
    TIMING, follower_fetch=None, metadata=Distribution.constant(METADATA_US), leader_change=ZERO
)  # fmt: skip
LEADER, NEAR, FAR = Catalog((), (0, 1, 2)).offsets_replicas(partition_for("g", 50), 3)
NEAR_WAY, FAR_WAY, OTHER_WAY = 5 * MS, 20 * MS, 2 * MS
LINKS = (((LEADER, NEAR), NEAR_WAY), ((LEADER, FAR), FAR_WAY), ((NEAR, FAR), OTHER_WAY))
LAG_US, SESSION_US = 6 * S, 9 * S
CONTROLLER_LOOKS_US = SESSION_US // 8
"""How often the active controller looks for sessions that are over."""
CONFIG = BrokerConfig(
    replica_lag_time_max_us=LAG_US, session_timeout_us=SESSION_US, leader_imbalance_check_us=FOREVER,
    offsets_replication_factor=3,
)  # fmt: skip
PATIENT = replace(CONFIG, session_timeout_us=60 * S)
"""Nobody is fenced while a link is cut."""
SEED = 1

CUT_OFF = (
    join(20 * S, 3),
    at(30 * S, Cut(between=(broker(str(LEADER)), broker(str(FAR))), duration=Distribution.constant(50 * S))),
    join(31 * S, 4),
    join(50 * S, 5),
    join(105 * S, 6),
)
"""The far follower is cut off from the leader from 30 to 80 s; rebalances before, until it is out, meanwhile, after."""


def follower_dies(node: int) -> tuple[Entry, ...]:
    """A follower is dead from 30 to 80 s; rebalances until it is fenced, meanwhile, after."""
    return (
        at(30 * S, Kill(target=broker(str(node)))),
        join(32 * S, 3),
        join(60 * S, 4),
        at(80 * S, StartMembers(target=broker(str(node)))),
        join(110 * S, 5),
    )


LEADER_DIES = (join(20 * S, 3), at(30 * S, Kill(target=broker(str(LEADER)))), join(90 * S, 4))
CASES = {
    "cut off": (CUT_OFF, PATIENT), "follower dies": (follower_dies(FAR), CONFIG), "leader dies": (LEADER_DIES, CONFIG),
    "alone": (follower_dies(NEAR), replace(CONFIG, offsets_replication_factor=2)),
}  # fmt: skip


def world(
    case: str, *, consumer: ClientConfig | None = None, timing: Timing = BY_LATENCY, is_drawn: bool = False
) -> Scenario:
    """Three brokers whose links differ; the group begins with two members."""
    timeline, config = CASES[case]
    members = group(2, client=consumer or client())
    made = scenario(members, *timeline, horizon_us=120 * S, brokers=3, rate_mrps=5_000, timing=timing)
    links = tuple(
        Link(between=(f"broker:{one}", f"broker:{other}"), latency=_way(way_us, is_drawn=is_drawn))
        for (one, other), way_us in LINKS
    )
    network = replace(made.cluster.network, links=links)
    if is_drawn:
        network = replace(network, latency=LOOPBACK)
    return replace(made, cluster=replace(made.cluster, network=network, broker_config=config))


def _way(way_us: int, *, is_drawn: bool) -> Distribution:
    return Distribution("lognormal", (way_us, 3 * way_us)) if is_drawn else Distribution.constant(way_us)


def fetch_us(way_us: int) -> int:
    """A way there, an append and a way back."""
    return 2 * way_us + TIMING.append_us


def rounds_of(case: str, fidelity: Fidelity) -> tuple[list[Round], list[int]]:
    """Rebalances, and how much longer each lasts, after its join phase, than if followers took no time."""
    found, plain = (
        rounds(simulate(world(case, timing=one), seed=SEED, fidelity=fidelity))
        for one in (BY_LATENCY, replace(BY_LATENCY, follower_fetch=ZERO))
    )
    waits = [_synced_us(one) - _synced_us(other) for one, other in zip(found, plain, strict=True)]
    return found, waits


def _synced_us(one: Round) -> int:
    return one.end_us - one.joined_us


both_fidelities = pytest.mark.parametrize("fidelity", ["elided", "message"])


@both_fidelities
def test_who_is_cut_off_is_waited_for_until_it_is_out_of_the_isr(fidelity: Fidelity) -> None:
    """The leader looks twice in ``replica.lag.time.max.ms``, and hears that the controller agrees: then all go on."""
    found, waits = rounds_of("cut off", fidelity)
    assert [waits[0], waits[1], waits[3], waits[4]] == [fetch_us(way) for way in (FAR_WAY, FAR_WAY, NEAR_WAY, FAR_WAY)]
    late_us = Streams(SEED).key("isr-expiration", LEADER) % (LAG_US // 2)
    assert found[2].end_us == 30 * S + LAG_US + late_us + METADATA_US


@both_fidelities
def test_who_is_dead_is_waited_for_until_it_is_fenced(fidelity: Fidelity) -> None:
    found, waits = rounds_of("follower dies", fidelity)
    assert [waits[0], waits[2], waits[3]] == [fetch_us(way) for way in (FAR_WAY, NEAR_WAY, FAR_WAY)]
    beat_us = Streams(SEED).key("broker-heartbeat", FAR) % CONFIG.heartbeat_interval_us
    over_us = 30 * S - (30 * S - beat_us) % CONFIG.heartbeat_interval_us + SESSION_US
    since_us = Streams(SEED).key("controller-claim") % SESSION_US
    looks = -(-(over_us + since_us) // CONTROLLER_LOOKS_US)
    assert found[1].end_us == looks * CONTROLLER_LOOKS_US - since_us + METADATA_US


@both_fidelities
def test_another_leader_waits_by_its_own_links(fidelity: Fidelity) -> None:
    _, waits = rounds_of("leader dies", fidelity)
    assert waits == [fetch_us(FAR_WAY), fetch_us(FAR_WAY), fetch_us(OTHER_WAY)]


@both_fidelities
def test_a_leader_that_is_alone_in_sync_waits_for_nobody(fidelity: Fidelity) -> None:
    _, waits = rounds_of("alone", fidelity)
    assert [waits[0], waits[2], waits[3]] == [fetch_us(NEAR_WAY), 0, fetch_us(NEAR_WAY)]


@pytest.mark.property
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("is_drawn", [False, True], ids=["constant", "drawn"])
@pytest.mark.parametrize(
    "consumer",
    [client(enable_auto_commit=True), cooperative(), client(group_protocol="consumer", enable_auto_commit=True)],
    ids=["eager", "cooperative", "consumer"],
)
def test_both_fidelities_wait_for_the_same(case: str, consumer: ClientConfig, is_drawn: bool) -> None:
    assert not differences(world(case, consumer=consumer, is_drawn=is_drawn), SEED, check=False)


@pytest.mark.property
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_commits_that_are_on_their_way_when_others_are_in_sync_are_answered_alike(protocol: str) -> None:
    """Followers are so far away that there mostly is one, of members that are quiet but for that."""
    consumer = client(group_protocol=protocol, enable_auto_commit=True, auto_commit_interval_us=S)
    made = world("follower dies", consumer=consumer)
    network = made.cluster.network
    ways = [Distribution.constant(20 * way_us) for _, way_us in LINKS]
    far = tuple(replace(link, latency=way) for link, way in zip(network.links, ways, strict=True))
    made = replace(made, cluster=replace(made.cluster, network=replace(network, links=far)))
    assert not differences(made, SEED, check=False)


@pytest.mark.property
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_appends_that_become_instant_do_so_in_both_fidelities(protocol: str) -> None:
    """Without a leader's append there is no wait at all while it is alone."""
    timing = replace(BY_LATENCY, append_us=0)
    consumer = client(group_protocol=protocol, enable_auto_commit=True)
    assert not differences(world("alone", consumer=consumer, timing=timing), SEED, check=False)


def test_a_heartbeat_that_its_sender_has_given_up_disturbs_its_silence() -> None:
    """It waits behind one that is held up, and comes by a connection that the member has left and is quiet since."""
    one = group(6, client=client(enable_auto_commit=True, auto_commit_interval_us=3 * S))
    timing = replace(TIMING, follower_fetch=Distribution.constant(300 * MS))
    nodes = tuple(range(6))
    _, _, follower = Catalog((), nodes).offsets_replicas(partition_for("g", 50), 3)
    dies = at(22_400 * MS, Kill(target=broker(str(follower))))
    made = scenario(
        one, dies, horizon_us=75 * S, brokers=len(nodes), rate_mrps=5_000, timing=timing, partitions=60,
        latency=LOOPBACK,
    )  # fmt: skip
    patient = replace(PATIENT, session_timeout_us=25 * S, replica_lag_time_max_us=90 * S)
    made = replace(made, cluster=replace(made.cluster, broker_config=patient))
    assert not differences(made, SEED, check=False)
