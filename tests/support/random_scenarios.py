"""Random scenarios with every kind of fault: jitter, a grid of round times, dense pauses, crowds, records that age.

Jitter alone misses real bugs: ties only happen on a grid, pauses only pile up when they are dense, and only larger
groups of plain clients go through phases together. Records and offsets that expire within seconds are a family of
their own.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any, Literal

from groupsim.sim.config import ClientBehaviour, ClientConfig, CoordinatorConfig
from groupsim.sim.model import (
    AddPartitions,
    Broker,
    Close,
    Cluster,
    CreateTopic,
    Cut,
    DeleteGroup,
    DeleteOffsets,
    Distribution,
    Entry,
    GcPause,
    Group,
    Kill,
    Members,
    Network,
    Processing,
    Rate,
    Restart,
    RollingRestart,
    Scale,
    Scenario,
    SetConfig,
    SetRate,
    Slow,
    SlowHost,
    Start,
    StartMembers,
    Stuck,
    Subscribe,
    Subscription,
    Target,
    Topic,
    Unsubscribe,
    Verb,
)
from groupsim.sim.units import FOREVER, MS, S
from tests.support.scenarios import EVENTS_MAX

Family = Literal["jitter", "grid", "dense", "crowd", "aged", "delivery"]
HORIZON_US = 80 * S
GRID_US = 250 * MS
_OLD = ClientBehaviour(
    background_heartbeat=False, rebalance_timeout_is_session=True, member_id_required=False,
    poll_returns_in_rebalance=False, heartbeat_in_completing=False, bounded_join_prepare=False,
    keep_id_on_illegal_generation=False, skip_assignment=False, generation_in_subscription=False,
    exponential_backoff=False,
)  # fmt: skip


def random_scenario(seed: int, family: Family) -> Scenario:
    """One scenario of a family, the same for the same seed."""
    scenario = Maker(random.Random(f"{family}-{seed}"), family).scenario(f"{family}-{seed}")
    if family == "delivery":
        return _delivered(scenario, random.Random(seed))
    return _aged(scenario, random.Random(seed)) if family == "aged" else scenario


def _delivered(scenario: Scenario, chance: random.Random) -> Scenario:
    """Applications that commit in their own way, offsets that expire or are deleted, topics that are dropped."""
    (group,), everybody = scenario.groups, Target("group", "g")
    processing = replace(group.processing, **chance.choice(_COMMITS))
    reset = {"auto_offset_reset": "by_duration", "reset_duration_us": chance.choice([3, 30]) * S}
    client = replace(group.client, **reset) if chance.random() < 0.4 else group.client
    verbs = [
        lambda: DeleteOffsets(target=everybody, topics=chance.choice([("a",), ("a", "b")])),
        lambda: DeleteGroup(target=everybody),
        lambda: Subscribe(target=everybody, subscription=Subscription(topics=chance.choice([("a",), ("a", "b")]))),
        lambda: Restart(target=everybody, down=Distribution.constant(chance.choice([1, 15]) * S)),
    ]
    more = tuple(
        Entry(id=f"more-{number}", at_us=chance.randint(0, 70 * S), verb=chance.choice(verbs)()) for number in range(4)
    )
    config = replace(
        scenario.cluster.config,
        offsets_retention_us=chance.choice([2, 10, 30]) * S,
        offsets_retention_check_interval_us=chance.choice([1, 3]) * S,
    )
    return replace(
        scenario, cluster=replace(scenario.cluster, config=config), timeline=scenario.timeline + more,
        groups=(replace(group, client=client, processing=processing),),
    )  # fmt: skip


_COMMITS: tuple[dict[str, Any], ...] = (
    {},
    {"commit": "after_batch", "commit_every_us": S},
    {"commit": "after_batch", "commit_every_us": 5 * S, "commit_on_revoked": True},
    {"commit": "after_batch", "commit_waits": True},
    {"commit": "after_batch", "commit_waits": True, "commit_every_us": 3 * S},
    {"commit": "after_batch", "commit_each_record": True},
    {"commit": "after_batch", "commit_each_record": True, "commit_waits": True},
    {"commit": "none", "commit_on_revoked": True},
)
"""Ways to commit (`sim.model.Processing`); the first: whatever it was."""


def _aged(scenario: Scenario, chance: random.Random) -> Scenario:
    """Records, and the offsets of empty groups, expire within seconds."""
    first, second = scenario.topics
    topics = (
        replace(first, retention_us=chance.choice([1, 5, 20]) * S),
        replace(second, retention_us=chance.choice([3 * S, FOREVER])),
    )
    config = replace(
        scenario.cluster.config,
        offsets_retention_us=chance.choice([2, 10]) * S, offsets_retention_check_interval_us=3 * S,
    )  # fmt: skip
    cluster = replace(scenario.cluster, config=config, log_retention_check_us=chance.choice([2, 7]) * S)
    return replace(scenario, topics=topics, cluster=cluster)


class Maker:
    """Makes one scenario of a family, by chance."""

    def __init__(self, chance: random.Random, family: Family) -> None:
        self.chance = chance
        self.family = family
        self.is_crowd = family == "crowd"
        self.on_grid = family == "grid" or (self.is_crowd and chance.random() < 0.3)
        self.members = chance.randint(5, 16) if self.is_crowd else chance.choice([1, 2, 3, 4, 6])
        self.pattern = not self.is_crowd and chance.random() < 0.15

    def scenario(self, name: str) -> Scenario:
        chance = self.chance
        return Scenario(
            name=name,
            question="Do both fidelities agree?",
            horizon_us=HORIZON_US,
            event_budget=EVENTS_MAX,
            cluster=self._cluster(),
            topics=(
                Topic(
                    name="a", partitions=30 if self.is_crowd else 12, rate=rate(chance.choice([1_000, 10_000, 50_000]))
                ),
                Topic(name="b", partitions=3, rate=rate(5_000)),
            ),
            groups=(self._group(),),
            timeline=tuple([self._entry(index) for index in range(chance.randint(0, 6))] + self._pauses()),
            measure_from_us=chance.choice([0, 0, 10 * S]),
            recovery_lag_records=100,
            sample_every_us=130 * MS if self.is_crowd else 7 * S,
        )

    def _cluster(self) -> Cluster:
        chance = self.chance
        if self.is_crowd:
            latency = Distribution.constant(1 * MS) if self.on_grid else Distribution("lognormal", (500, 5_000))
        elif self.family == "grid":
            latency = Distribution.constant(chance.choice([1 * MS, 50 * MS, 62_500]))
        else:
            latency = Distribution("lognormal", (chance.choice([300, 500, 2_000]), chance.choice([5_000, 8_000])))
        config = CoordinatorConfig(
            initial_rebalance_delay_us=chance.choice([0, 3 * S]),
            max_size=chance.choice([1_000, 1_000, 1_000, self.members if self.is_crowd else 3]),
            version="4.4" if self.is_crowd else chance.choice(["4.4"] * 9 + ["0.9"]),
        )
        loss = 0.0 if self.is_crowd else chance.choice([0.0, 0.0, 0.0, 0.02])
        return Cluster(brokers=(Broker(id=0), Broker(id=1)), config=config, network=Network(latency=latency, loss=loss))

    def _group(self) -> Group:
        chance = self.chance
        start = chance.choice(
            [Start(), Start(kind="every", value_us=self._time(0, 2 * S)), Start(kind="within", value_us=5 * S)]
        )
        subscription = Subscription(pattern="[ac]") if self.pattern else Subscription(topics=("a",))
        static = not self.is_crowd and chance.random() < 0.3
        members = Members(count=self.members, static=static, start=start, per_process=chance.choice([1, 1, 2]))
        self.client = self._client()
        return Group(
            name="g",
            subscription=subscription,
            members=members,
            client=self.client,
            processing=self._processing(),
        )

    def _client(self) -> ClientConfig:
        chance = self.chance
        if self.is_crowd:
            return ClientConfig(
                partition_assignment_strategy=(chance.choice(["range", "range", "sticky", "roundrobin"]),),
                session_timeout_us=chance.choice([10, 45]) * S,
                heartbeat_interval_us=chance.choice([1, 3]) * S,
                max_poll_interval_us=chance.choice([20, 300]) * S,
                auto_commit_interval_us=chance.choice([1, 5]) * S,
                auto_offset_reset=chance.choice(["latest", "earliest"]),
            )
        strategy = chance.choice(
            [("range",), ("sticky",), ("cooperative-sticky",), ("range", "cooperative-sticky"), ("roundrobin",),
             ("random",), ("broadcast",)]
        )  # fmt: skip
        return ClientConfig(
            partition_assignment_strategy=strategy,
            session_timeout_us=chance.choice([6, 10, 45]) * S,
            heartbeat_interval_us=chance.choice([1, 2, 3]) * S,
            max_poll_interval_us=chance.choice([5, 20, 300]) * S,
            metadata_max_age_us=chance.choice([5, 15, 300]) * S,
            auto_offset_reset=chance.choice(["latest", "earliest"]),
            max_poll_records=chance.choice([50, 500]),
            auto_commit_interval_us=chance.choice([1, 5]) * S,
            behaviour=chance.choice([ClientBehaviour()] * 9 + [_OLD]),
        )

    def _another_client(self) -> ClientConfig:
        """A group does broadcast always or never."""
        client, own = self._client(), self.client.partition_assignment_strategy
        if (client.partition_assignment_strategy == ("broadcast",)) != (own == ("broadcast",)):
            return replace(client, partition_assignment_strategy=own)
        return client

    def _processing(self) -> Processing:
        chance = self.chance
        if self.is_crowd:
            cost = chance.choice([Distribution.constant(2 * MS), Distribution("exponential", (1_000,))])
            return Processing(per_record=cost, per_poll_us=chance.choice([100 * MS, 0, 400 * MS]))
        return Processing(
            per_record=chance.choice(
                [Distribution.constant(2 * MS), Distribution.constant(100), Distribution("exponential", (1_000,))]
            ),
            per_poll_us=chance.choice([100 * MS, 200 * MS, 0, 400 * MS]),
            on_revoked_us=chance.choice([0, 0, 500 * MS]),
            on_assigned_us=chance.choice([0, 0, 300 * MS]),
            commit=chance.choice(["auto", "auto", "auto", "none", "after_batch", "before_processing"]),
            commit_on_revoked=chance.random() < 0.2,
        )

    def _pauses(self) -> list[Entry]:
        """A stream of pauses, one for all or one a member."""
        chance = self.chance
        if chance.random() > 0.6:
            return []
        mean = 2 * S if self.family == "dense" else 10 * S
        every = Distribution.constant(3 * S) if self.on_grid else Distribution("exponential", (mean,))
        length = Distribution("lognormal", (300 * MS, chance.choice([900 * MS, 5 * S])))
        if self.on_grid:
            length = Distribution.constant(500 * MS)
        per_member = chance.random() < 0.6
        target = Target("group", "g") if per_member or chance.random() < 0.5 else Target("group", "g", pick="random")
        return [Entry(id="gc", every=every, per_member=per_member, verb=GcPause(target=target, duration=length))]

    def _entry(self, index: int) -> Entry:
        return Entry(id=f"entry-{index}", at_us=self._time(0, 70 * S), verb=self._verb())

    def _time(self, low: int, high: int) -> int:
        time = self.chance.randint(low, high)
        return time // GRID_US * GRID_US if self.on_grid else time

    def _length(self) -> Distribution:
        if self.on_grid:
            return Distribution.constant(self._time(250 * MS, 20 * S))
        return Distribution("uniform", (50 * MS, 15 * S))

    def _target(self) -> Target:
        pick = self.chance.choice(["index", "random", "leader", "all", "share"])
        index = self.chance.randrange(self.members)
        return Target("group", "g", pick=pick, indices=(index,), share=0.5)

    def _verb(self) -> Verb:
        chance, target, length = self.chance, self._target(), self._length()
        group = Target("group", "g")
        return chance.choice(
            [
                lambda: GcPause(target=target, duration=length),
                lambda: Stuck(target=target, duration=length),
                lambda: Slow(target=target, factor=3.0, duration=length),
                lambda: SlowHost(target=target, factor=2.0, duration=length),
                lambda: Kill(target=target, down=chance.choice([None, length])),
                lambda: Close(target=target, grace_us=chance.choice([1, 30]) * S),
                lambda: StartMembers(target=group, every_us=500 * MS),
                lambda: Restart(target=target, down=length, stop=chance.choice(["close", "kill"])),
                lambda: RollingRestart(
                    target=group, down=length, next_=chance.choice(["running", "assigned", "stable", "gap"]),
                    gap_us=5 * S, surge=chance.choice([0, 0, 1]),
                ),
                lambda: Scale(target=group, to=chance.randint(1, self.members + 2)),
                lambda: Cut(between=(target, Target("broker", str(chance.randrange(2)))), duration=length),
                lambda: AddPartitions(topic="a", to=chance.randint(13, 20)),
                lambda: CreateTopic(topic=Topic(name="c", partitions=3, rate=rate(10_000))),
                lambda: SetRate(topic="a", rate=rate(chance.choice([0, 500, 20_000, 100_000]))),
                lambda: Subscribe(target=target, subscription=Subscription(topics=("a", "b"))),
                lambda: Unsubscribe(target=target),
                lambda: SetConfig(target=group, client=self._another_client()),
            ]
        )()  # fmt: skip


def rate(mrps: int) -> Rate:
    return Rate(per_partition_mrps=((mrps,),))
