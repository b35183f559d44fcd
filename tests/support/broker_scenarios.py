"""Random small clusters whose brokers are killed, closed, started and rolled under groups of either protocol."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Literal

from groupsim.sim.config import BrokerConfig, ClientConfig
from groupsim.sim.model import (
    Broker,
    Close,
    Cluster,
    Cut,
    Distribution,
    ElectLeaders,
    Entry,
    GcPause,
    Group,
    Kill,
    Members,
    Network,
    Override,
    Processing,
    Reassign,
    Restart,
    RollingRestart,
    Scale,
    Scenario,
    Start,
    StartMembers,
    Stuck,
    Subscription,
    Target,
    Topic,
    Verb,
)
from groupsim.sim.units import MS, S
from tests.support.random_scenarios import rate
from tests.support.scenarios import EVENTS_MAX

Family = Literal["classic", "consumer", "mixed"]
HORIZON_US = 90 * S
_PLACES = ("all", "random", "controller", "coordinator/g", "leader/t/3", "0", "1", "2")


def broker_scenario(seed: int, family: Family) -> Scenario:
    """One scenario, the same for the same seed."""
    chance = random.Random(f"brokers-{family}-{seed}")
    brokers = chance.choice([1, 2, 3, 3, 3, 5])
    topic = Topic(
        name="t", partitions=12, rate=rate(chance.choice([1_000, 20_000])),
        replication_factor=chance.choice([1, 3, 3]), min_insync_replicas=chance.choice([1, 1, 2]),
    )  # fmt: skip
    logs = random.Random(f"logs-{family}-{seed}")
    topic = replace(
        topic, acks=logs.choice(["0", "1", "all", "all"]), unclean_leader_election=logs.choice([True, False, False])
    )
    return Scenario(
        name=f"brokers-{family}-{seed}",
        question="Do both fidelities agree while brokers come and go?",
        horizon_us=HORIZON_US,
        event_budget=EVENTS_MAX,
        cluster=_cluster(chance, brokers),
        topics=(topic,),
        groups=tuple(_group(chance, family, name) for name in ("g", "h")[: chance.randint(1, 2)]),
        timeline=(*_entries(chance, brokers), *_more_entries(logs, brokers)),
        recovery_lag_records=100,
        sample_every_us=7 * S,
    )


def _cluster(chance: random.Random, brokers: int) -> Cluster:
    latency = chance.choice([Distribution.constant(1 * MS), Distribution("lognormal", (500, 5_000))])
    config = BrokerConfig(
        session_timeout_us=chance.choice([3, 9]) * S,
        heartbeat_interval_us=chance.choice([500 * MS, 2 * S]),
        leader_imbalance_check_us=chance.choice([20, 300]) * S,
        offsets_replication_factor=chance.choice([1, 3, 3, 3]),
        min_insync_replicas=chance.choice([1, 1, 1, 2]),
    )
    return Cluster(
        brokers=tuple(Broker(id=id_) for id_ in range(brokers)),
        network=Network(latency=latency),
        broker_config=replace(config, min_insync_replicas=min(config.min_insync_replicas, brokers)),
    )


def _group(chance: random.Random, family: Family, name: str) -> Group:
    count = chance.choice([1, 3, 5])
    start = chance.choice([Start(), Start(kind="every", value_us=1 * S), Start(kind="within", value_us=5 * S)])
    common = {"auto_offset_reset": chance.choice(["latest", "earliest"]), "auto_commit_interval_us": 1 * S}
    overrides: tuple[Override, ...] = ()
    if family == "mixed":
        client = ClientConfig(partition_assignment_strategy=("range",), session_timeout_us=6 * S, **common)  # type: ignore[arg-type]
        modern = ClientConfig(group_protocol="consumer", **common)  # type: ignore[arg-type]
        overrides = (Override(members=frozenset(range(chance.randint(0, count))), client=modern),)
    elif family == "consumer":
        client = ClientConfig(group_protocol="consumer", **common)  # type: ignore[arg-type]
    else:
        strategy = chance.choice([("range",), ("cooperative-sticky",), ("sticky",), ("range", "cooperative-sticky")])
        client = ClientConfig(
            partition_assignment_strategy=strategy, session_timeout_us=chance.choice([6, 45]) * S,
            max_poll_interval_us=20 * S, **common,
        )  # type: ignore[arg-type]  # fmt: skip
    return Group(
        name=name,
        subscription=Subscription(topics=("t",)),
        members=Members(count=count, start=start, static=chance.random() < 0.3),
        client=client,
        overrides=overrides,
        processing=Processing(per_poll_us=chance.choice([0, 100 * MS])),
    )


def _entries(chance: random.Random, brokers: int) -> list[Entry]:
    of_brokers = [_broker_verb(chance, brokers) for _ in range(chance.randint(1, 3))]
    verbs = of_brokers + [_member_verb(chance) for _ in range(chance.randint(0, 2))]
    return [
        Entry(id=f"entry-{index}", at_us=chance.randint(1 * S, 70 * S), verb=one) for index, one in enumerate(verbs)
    ]


def _more_entries(chance: random.Random, brokers: int) -> list[Entry]:
    """Links between brokers, elections and reassignments: none in half of the scenarios."""
    found, offsets = [], tuple(range(50))
    for index in range(chance.choice([0, 0, 1, 2])):
        one, other = (Target("broker", str(chance.randrange(brokers))) for _ in range(2))
        verb: Verb = chance.choice(
            [
                Cut(between=(one, other), duration=Distribution("uniform", (1 * S, 40 * S))),
                Cut(between=(one, Target("broker", "all")), duration=Distribution("uniform", (1 * S, 40 * S))),
                ElectLeaders(election=chance.choice(["preferred", "unclean"])),  # type: ignore[arg-type]
                Reassign(topic="t", partitions=(0, 1, 2), replicas=tuple(chance.sample(range(brokers), 1))),
                Reassign(topic="__consumer_offsets", partitions=offsets, replicas=(chance.randrange(brokers),)),
            ]
        )
        found.append(Entry(id=f"more-{index}", at_us=chance.randint(1 * S, 70 * S), verb=verb))
    return found


def _broker_verb(chance: random.Random, brokers: int) -> Verb:
    place = chance.choice([one for one in _PLACES if not one.isdigit() or int(one) < brokers])
    target, down = Target("broker", place), Distribution("uniform", (100 * MS, 8 * S))
    return chance.choice(
        [
            lambda: Kill(target=target, down=chance.choice([None, down])),
            lambda: Close(target=target, grace_us=chance.choice([1, 30]) * S),
            lambda: Restart(target=target, down=down, stop=chance.choice(["close", "kill"])),
            lambda: RollingRestart(
                target=Target("broker", "all"), down=down, stop=chance.choice(["close", "kill"]),
                next_=chance.choice(["in_sync", "gap"]), gap_us=5 * S,
            ),
            lambda: StartMembers(target=Target("broker", "all")),
        ]
    )()  # fmt: skip


def _member_verb(chance: random.Random) -> Verb:
    target = Target("group", "g", pick=chance.choice(["random", "all", "leader"]))  # type: ignore[arg-type]
    length = Distribution("uniform", (50 * MS, 15 * S))
    return chance.choice(
        [
            lambda: GcPause(target=target, duration=length),
            lambda: Stuck(target=target, duration=length),
            lambda: Kill(target=target, down=chance.choice([None, length])),
            lambda: Restart(target=target, down=length),
            lambda: Scale(target=Target("group", "g"), to=chance.randint(1, 6)),
            lambda: Cut(between=(target, Target("broker", "0")), duration=length),
        ]
    )()
