"""Small runs of all that is modelled: a bug that changes no table of any of them is left alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from groupsim.sim.config import CoordinatorConfig, TransactionConfig
from groupsim.sim.model import Broker, Cluster, CrashAt, Cut, Entry, Kill, Network, Restart, Scenario, Target
from groupsim.sim.protocol.transactions.messages import TV1
from groupsim.sim.units import MS, S
from tests.support.broker_scenarios import broker_scenario
from tests.support.consumer_scenarios import consumer_scenario
from tests.support.producer_scenarios import random_writing
from tests.support.random_scenarios import random_scenario
from tests.support.varied_scenarios import varied_scenario
from tests.unit.sim.scenes import entry, lasting, member
from tests.unit.sim.transactional_scenes import JITTER, SLOW_LOG, transform

FIRST_SEED: Final = 7_000


def scenarios() -> list[Scenario]:
    """Groups of both protocols, brokers that fail, producers, transactions."""
    return [*_groups(), *_brokers(), *_transactions()]


def _groups() -> Iterator[Scenario]:
    families: list[Any] = ["jitter", "grid", "dense", "aged", "delivery"] * 2 + ["crowd"]
    for seed, family in enumerate(families, FIRST_SEED):
        yield random_scenario(seed, family)
    for seed in range(FIRST_SEED, FIRST_SEED + 4):
        yield varied_scenario(seed)
    for seed, family in enumerate(["jitter", "dense"], FIRST_SEED):
        yield consumer_scenario(seed, family)


def _brokers() -> Iterator[Scenario]:
    families: list[Any] = ["classic", "consumer", "mixed"] * 2
    for seed, family in enumerate(families, FIRST_SEED):
        yield broker_scenario(seed, family)
    for seed in range(FIRST_SEED, FIRST_SEED + 4):
        yield replace(random_writing(seed), name=f"writing-{seed}")


def _transactions() -> Iterator[Scenario]:
    deaths = (
        entry(8 * S, Kill(target=member(0), down=lasting(S)), "kill"),
        entry(15 * S, CrashAt(target=member(1), point="before_end_txn", down=lasting(4 * S)), "crash"),
        entry(24 * S, CrashAt(target=member(0), point="after_send", down=lasting(4 * S)), "crash-again"),
    )
    led = Target("broker", "leader/out/0")
    failing = (
        entry(9 * S, Kill(target=led, down=lasting(4 * S)), "leader"),
        entry(24 * S, Restart(target=Target("broker", "coordinator/g"), down=lasting(S)), "coordinator"),
        entry(36 * S, Cut(between=(led, Target("broker", "all")), duration=lasting(5 * S)), "cut"),
    )
    yield _named("ahead", (entry(30 * S, Kill(target=member(0), down=lasting(S)), "kill"),), cluster=JITTER)
    yield _named("deaths", deaths, cluster=SLOW_LOG)
    yield _named("deaths-tv1", deaths, cluster=replace(JITTER, transactions=TransactionConfig(version=TV1)))
    yield replace(_named("deaths-consumer", deaths, protocol="consumer", cluster=JITTER), data="exact")
    yield _named("brokers", failing, protocol="cooperative", cluster=_three(), copies=3)


def _named(name: str, timeline: tuple[Entry, ...], **more: Any) -> Scenario:
    return replace(transform(*timeline, **more), name=f"transactions-{name}")


def _three() -> Cluster:
    return Cluster(
        brokers=tuple(Broker(id=id_) for id_ in range(3)),
        config=CoordinatorConfig(initial_rebalance_delay_us=0),
        network=Network(latency=lasting(2 * MS)),
    )
