"""Random groups of the ZooKeeper protocol: few members, an ensemble that lags, and what happens to both."""

from __future__ import annotations

import random

from groupsim.sim.model import (
    AddPartitions,
    Close,
    Distribution,
    Entry,
    GcPause,
    Kill,
    Restart,
    Scale,
    Scenario,
    Target,
    Zookeeper,
)
from groupsim.sim.model.verbs import Verb
from groupsim.sim.units import MS, S
from tests.support.zookeeper import zookeeper_client, zookeeper_scenario

_EVERYBODY = Target("group", "g", "all")
_LAGS = (
    Distribution.constant(0), Distribution("lognormal", (20 * MS, 400 * MS)), Distribution("uniform", (0, 2 * S))
)  # fmt: skip


def random_zookeeper_scenario(seed: int) -> Scenario:
    """One scenario, the same for the same seed."""
    chance = random.Random(f"zookeeper-{seed}")
    nodes = chance.choice([1, 3, 3, 5])
    servers = Zookeeper(
        nodes=nodes, follower_lag=chance.choice(_LAGS), read_us=chance.choice([0, 35, 5_000]),
        write_us=chance.choice([0, 48, 20_000]),
    )  # fmt: skip
    client = zookeeper_client(
        storage=chance.choice(["zookeeper", "kafka"]), auto_offset_reset=chance.choice(["earliest", "latest"]),
        session_timeout_us=chance.choice([4, 6, 10]) * S, rebalance_max_retries=chance.choice([0, 1, 4]),
        rebalance_backoff_us=chance.choice([200 * MS, 2 * S]),
    )  # fmt: skip
    timeline = [
        Entry(id=f"entry-{number}", at_us=chance.randint(3 * S, 40 * S), verb=_verb(chance, nodes))
        for number in range(chance.randint(1, 5))
    ]
    members, partitions = chance.choice([1, 2, 3, 5, 8]), chance.choice([1, 6, 12])
    return zookeeper_scenario(
        members, *timeline, servers=servers, config=client, partitions=partitions, horizon_us=60 * S
    )  # fmt: skip


def _verb(chance: random.Random, nodes: int) -> Verb:
    some = Target("group", "g", chance.choice(["random", "all"]))  # type: ignore[arg-type]
    length = Distribution("uniform", (50 * MS, chance.choice([1, 9, 15]) * S))
    return chance.choice(
        [
            Kill(target=Target("group", "g", "random"), down=chance.choice([None, length])),
            Kill(target=Target("zookeeper", str(chance.randrange(nodes))), down=length),
            Restart(target=some, stop=chance.choice(["close", "kill"]), down=length),  # type: ignore[arg-type]
            Close(target=Target("group", "g", "random")),
            GcPause(target=some, duration=length),
            Scale(target=_EVERYBODY, to=chance.randint(0, 9)),
            AddPartitions(topic="t", to=40),
        ]
    )
