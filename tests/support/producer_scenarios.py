"""Small worlds in which producers write, groups read that, and brokers or members are killed; and what logs have."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from groupsim.sim.catalog import Catalog
from groupsim.sim.cluster.topics.data_logs import DataLogs
from groupsim.sim.config import BrokerConfig, CoordinatorConfig, ProducerConfig
from groupsim.sim.model import (
    Broker,
    Distribution,
    Entry,
    Group,
    Kill,
    Network,
    Processing,
    Producers,
    Scenario,
    Target,
    Topic,
    Verb,
)
from groupsim.sim.units import FOREVER, MS, S
from tests.support.scenarios import client
from tests.unit.sim.scenes import constant, entry, group, lasting, member, scene

PLAIN = ProducerConfig(enable_idempotence=False, acks=1, linger_us=0)
SURE = replace(PLAIN, acks=-1)
IDEMPOTENT = ProducerConfig(linger_us=0)
LINGERING = ProducerConfig(linger_us=40 * MS)
UNHEARD = replace(PLAIN, acks=0)
READING = Processing(per_record=lasting(MS), commit="after_batch")
SHORT = CoordinatorConfig(
    initial_rebalance_delay_us=0, consumer_session_timeout_us=8 * S, consumer_min_session_timeout_us=8 * S,
    consumer_heartbeat_interval_us=2 * S, consumer_min_heartbeat_interval_us=2 * S,
)  # fmt: skip
"""Who is killed is out of its group after eight seconds, whatever the protocol."""
CLASSIC = client(auto_offset_reset="earliest", session_timeout_us=8 * S, heartbeat_interval_us=2 * S)
CONSUMER = replace(CLASSIC, group_protocol="consumer")


def written(
    *timeline: Entry, groups: tuple[Group, ...], config: ProducerConfig = PLAIN, partitions: int = 1, count: int = 1,
    rate: int = 50, horizon_s: int = 30, brokers: int = 3, **more: Any,
) -> Scenario:  # fmt: skip
    """A topic of three copies, brokers 10 ms apart; ``rate``: records a second of each partition."""
    acks = {0: "0", 1: "1", -1: "all"}[config.acks]
    topic = Topic(name="t", partitions=partitions, rate=constant(1000 * rate), acks=acks)  # type: ignore[arg-type]
    shop = Producers(name="shop", topics=("t",), count=count, config=config)
    made = scene(*groups, timeline=timeline, horizon_us=horizon_s * S, topics=(topic,), producers=(shop,), **more)
    cluster = replace(
        made.cluster, config=SHORT, brokers=tuple(Broker(id=id_) for id_ in range(brokers)),
        broker_config=BrokerConfig(leader_imbalance_check_us=FOREVER),
        network=Network(latency=Distribution.constant(10 * MS)),
    )  # fmt: skip
    return replace(made, cluster=cluster)


def leader(number: int = 0) -> Target:
    return Target("broker", f"leader/t/{number}")


def random_writing(seed: int) -> Scenario:
    """One to three partitions and producers, one group or two of either protocol, and two kills of anybody."""
    random = Random(seed)
    groups = tuple(
        group(name, random.randint(1, 2), client=random.choice([CLASSIC, CONSUMER]), processing=READING)
        for name in ("g", "h")[: random.randint(1, 2)]
    )
    down = lasting(random.choice([S, 6 * S]))
    timeline = []
    for number in range(2):
        who = random.choice([leader(), leader(), Target("broker", str(random.randrange(3))), member(0)])
        verb: Verb = Kill(target=who, down=down)
        timeline.append(entry(random.randint(4 * S, 9 * S), verb, f"kill-{number}"))
    return written(
        *timeline, groups=groups, config=random.choice([PLAIN, SURE, SURE, IDEMPOTENT, LINGERING, UNHEARD]),
        partitions=random.randint(1, 3), count=random.randint(1, 3), rate=random.choice([10, 40]),
        data=random.choice(["fluid", "exact"]),
    )  # fmt: skip


class Logs:
    """What is in the logs at the horizon, and how far groups have got."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.sent_us: dict[int, list[int]] = {}
        """Partition -> when each record of its log was sent, as far as readers see it."""
        self.seen: dict[int, int] = {}
        """Partition -> how many they saw two seconds before the horizon."""
        finish = DataLogs.finish

        def finished(logs: DataLogs) -> None:
            for (_, number), one in logs._logs.items():
                passed = [each for each in one.appended if each.end <= one.log.high_watermark]
                self.sent_us[number] = [time for each in passed for time in each.source.produced_us]
                self.seen[number] = self._seen(logs._catalog, logs._env.now, number)
            finish(logs)

        patch.setattr(DataLogs, "finish", finished)

    @staticmethod
    def _seen(catalog: Catalog, now: int, number: int) -> int:
        (arrivals, *_) = catalog.arrivals["t"].values()
        return int(arrivals.shown_by(np.array([now - 2 * S]), number)[0])
